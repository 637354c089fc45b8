"""A formatter: takes the blanks from the ends of a file's lines, and says so on stdout."""

import pathlib
import sys

file = pathlib.Path(sys.argv[1])
before = file.read_text().splitlines()
after = [line.rstrip() for line in before]
if before != after:
    file.write_text("\n".join(after) + "\n")
    changed = sum(old != new for old, new in zip(before, after))
    print(f"{file}: blanks removed from {changed} lines; read it again before you edit it")
