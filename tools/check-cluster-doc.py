#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tables of docs/cluster.md with src/cluster/ship/table.tbl.h and view.tbl.h; --write writes them again."""
import pathlib
import re
import sys
import textwrap

TYPE = {"U8": "UInt8", "U16": "UInt16", "U32": "UInt32", "U64": "UInt64", "I32": "Int32", "F32": "Float32",
        "F64": "Float64", "DAY": "Date", "STR": "String", "WORD": "String"}
BEGIN, END = "<!-- tables: tools/check-cluster-doc.py --write -->\n", "<!-- end of tables -->\n"
write = "--write" in sys.argv
root = pathlib.Path([a for a in sys.argv[1:] if a != "--write"][0])
tbl = (root / "src/cluster/ship/table.tbl.h").read_text()
times = re.findall(r'^TIME\((\w+),\s*"(.*?)"', (root / "src/data/model/step_rec.tbl.h").read_text(), re.M)
col = re.compile(r'\bCOL\((\w+),\s*(\w+),\s*\w+,\s*(\d+),\s*"(.*?)"\)')
common = col.findall(tbl[tbl.index("#define COMMON"):tbl.index("TABLE(PROCESS")])


def prose(text):
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n"


begin = ", ".join(f"`{n}` {TYPE[t]} ({w})" for t, n, _, w in common)
out = [prose("For each table: what a row is, how long rows are kept by default, their order. "
             f"All tables begin with {begin}.")]
table = re.compile(r'^TABLE\(\w+, (\w+), "(.*?)", \w+, "(.*?)", ".*?", (\d+), "(.*?)"\)\n(.*?)^END', re.M | re.S)
for name, newest, order, days, what, body in table.findall(tbl):
    keep = f"{days} days" if int(days) else "for ever"
    which = f" Of rows with the same order, the one with the highest `{newest}` counts." if newest else ""
    out += ["\n" + prose(f"**`{name}`**: {what}. Kept {keep}. Ordered by {order}.{which}"),
            "\n| column | type | meaning |\n|---|---|---|\n"]
    for line in body.splitlines():
        if line.startswith("#define TIME"):
            out += [f"| `{n}_ns` | Float32 | {w} |\n" for n, w in times]
        out += [f"| `{n}` | {TYPE[t]} | {w} |\n" for t, n, _, w in col.findall(line)]
out += ["\n" + prose("The servers also keep these sums as rows come in (`view.tbl.h`). A row may be in several "
                     "pieces: add them up, or take the newest."),
        "\n| table | from | order | a row is | sums, or values of the newest |\n|---|---|---|---|---|\n"]
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
