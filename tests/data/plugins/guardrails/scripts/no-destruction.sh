#!/bin/sh
case "$(cat)" in
*"rm -rf"*)
    echo "Not without a person." >&2
    exit 2
    ;;
esac
