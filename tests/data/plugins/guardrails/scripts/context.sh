#!/bin/sh
echo "Rules are in $(basename "$CLAUDE_PLUGIN_ROOT")."
