#!/bin/sh
echo '{"additionalContext": "somebody was told"}'
