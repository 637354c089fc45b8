# A worker in plain sh. It says that it is ready, then answers each line with a line.
echo '{"ready": true}'
while read -r line; do
    id=${line#*:} id=${id%%,*}
    case $line in
        *'{"cancel":'*) continue ;; # The call has been answered already.
        *'ignore all previous instructions'*) answer='{"decision": "deny", "reason": "that is not your own prompt"}' ;;
        *) answer=null ;;
    esac
    echo "{\"id\": $id, \"answer\": $answer}"
done
