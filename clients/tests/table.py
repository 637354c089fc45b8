"""Makes a table of what the frameworks' tests print, a JSON line each."""

import json
import sys

TITLES = {"killed, closed": "host killed, `closed`", "killed, open": "host killed, `open`"}
lines = [json.loads(line) for line in sys.stdin]
columns = list(dict.fromkeys(what for line in lines for _, what, _ in line["results"]))
print("| framework | moment |", " | ".join(TITLES.get(it, it) for it in columns), "|")
print("|---|---|" + "---|" * len(columns))
for line in lines:
    for moment in dict.fromkeys(moment for moment, _, _ in line["results"]):
        cells = {}
        for of, what, result in line["results"]:
            if of == moment and cells.get(what) != "FAILED":
                cells[what] = result
        row = " | ".join(cells.get(it, "") for it in columns)
        print(f"| {line['framework']} {line['version']} | {moment} | {row} |")
