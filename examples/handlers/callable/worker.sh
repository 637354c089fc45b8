# A worker in plain sh: says that it is ready, then answers each line with one of its own.
echo '{"ready": true}'
while read -r line; do
    id=${line#*:} id=${id%%,*}
    case $line in
        *'{"cancel":'*) continue ;; # What is cancelled here has been answered long since.
        *'ignore all previous instructions'*) answer='{"decision": "deny", "reason": "that is not your own prompt"}' ;;
        *) answer=null ;;
    esac
    echo "{\"id\": $id, \"answer\": $answer}"
done
