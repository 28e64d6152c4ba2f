#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tables of docs/cluster.md with src/cluster/ship/table.tbl.h and view.tbl.h; --write makes them anew."""
import pathlib
import re
import sys

TYPE = {"U8": "UInt8", "U16": "UInt16", "U32": "UInt32", "U64": "UInt64", "I32": "Int32", "F32": "Float32",
        "F64": "Float64", "DAY": "Date", "STR": "String", "WORD": "String"}
BEGIN, END = "<!-- tables: tools/check-cluster-doc.py --write -->\n", "<!-- end of tables -->\n"
write = "--write" in sys.argv
root = pathlib.Path([a for a in sys.argv[1:] if a != "--write"][0])
tbl = (root / "src/cluster/ship/table.tbl.h").read_text()
times = re.findall(r'^TIME\((\w+),\s*"(.*?)"', (root / "src/data/model/step_rec.tbl.h").read_text(), re.M)
col = re.compile(r'\bCOL\((\w+),\s*(\w+),\s*\w+,\s*(\d+),\s*"(.*?)"\)')
common = col.findall(tbl[tbl.index("#define COMMON"):tbl.index("TABLE(PROCESS")])
out = ["Of each table: what a row is, how long it is kept unless told, its order.\n"]
out += ["All begin with " + ", ".join(f"`{n}` {TYPE[t]} ({w})" for t, n, _, w in common) + ".\n"]
table = re.compile(r'^TABLE\(\w+, (\w+), "(.*?)", \w+, "(.*?)", ".*?", (\d+), "(.*?)"\)\n(.*?)^END', re.M | re.S)
for name, newest, order, days, what, body in table.findall(tbl):
    keep = f"{days} days" if int(days) else "for ever"
    out += [f"\n**`{name}`**: {what}. Kept {keep}; by {order}" + (f"; of equal ones the highest `{newest}`" if newest else "") + ".\n",
            "\n| column | type | |\n|---|---|---|\n"]
    for line in body.splitlines():
        if line.startswith("#define TIME"):
            out += [f"| `{n}_ns` | Float32 | {w} |\n" for n, w in times]
        out += [f"| `{n}` | {TYPE[t]} | {w} |\n" for t, n, _, w in col.findall(line)]
out += ["\nWhat the servers keep as rows come in (`view.tbl.h`); a row may stand in several pieces, so add them up, or take the newest:\n",
        "\n| table | of | order | a row is | sums, or of the newest |\n|---|---|---|---|---|\n"]
view = re.compile(r'^VIEW\((\w+), (\w+), "(.*?)", ".*?", (\d+), "(.*?)"\)\n(.*?)^DONE', re.M | re.S)
for name, of, order, days, what, body in view.findall((root / "src/cluster/ship/view.tbl.h").read_text()):
    sums = ", ".join(f"{n} ({w})" for n, w in re.findall(r'SUM\(".*?",\s*(\w+),\s*"(.*?)"', body))
    last = ", ".join(n for n in re.findall(r'(?:NEWEST|LAST)\(".*?",\s*(\w+)', body))
    out += [f"| `{name}` | {of.lower()} | {order} | {what} | {sums or last} |\n"]
doc = root / "docs/cluster.md"
text = doc.read_text()
head, rest = text.split(BEGIN)
_, tail = rest.split(END)
want = head + BEGIN + "".join(out) + END + tail
if write:
    doc.write_text(want)
elif want != text:
    print("docs/cluster.md is not what src/cluster/ship/table.tbl.h says: tools/check-cluster-doc.py --write .")
    sys.exit(1)
