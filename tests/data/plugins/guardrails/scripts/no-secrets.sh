#!/bin/sh
case "$(cat)" in
*.env*)
    echo "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"ask\",\"permissionDecisionReason\":\"Secrets, $1.\"}}"
    ;;
esac
