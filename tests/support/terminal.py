"""Runs a command at a terminal of its own, and gives an answer where it asks [y/N].

Usage: terminal.py ANSWER COMMAND [ARGUMENT...]
"""

import os
import pty
import sys

pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
said, answered = b"", False
while True:
    try:
        part = os.read(fd, 4096)
    except OSError:  # the command has ended
        break
    if not part:
        break
    said += part
    if b"[y/N]" in said and not answered:
        os.write(fd, sys.argv[1].encode() + b"\n")
        answered = True
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
