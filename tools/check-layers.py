#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when src/ violates tools/layers.txt: an include that is not allowed, a rule that is not used, a folder with too
many files, or a table of docs/architecture.md that differs (--write updates it)."""
import argparse
import collections
import pathlib
import re
import sys

FILES_MAX = 45  # of one folder
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([a-z_]+)/|<([^>]+)>)', re.M)
TABLE = re.compile(r"(<!-- tools/layers.txt -->\n).*?(<!-- end -->\n)", re.S)


def read_rules(text):
    """Groups as (name, what), folders as name: (group, allowed, what), vendors' headers as name: folders."""
    groups, folders, vendors = [], {}, {}
    for line in text.splitlines():
        if m := re.match(r"<(\S+)>: (.*)", line):
            vendors[m[1]] = set(m[2].split())
        elif m := re.match(r"  (\w+):(.*?)\| (.*)", line):
            folders[m[1]] = (groups[-1][0], m[2].split(), m[3])
        elif m := re.match(r"(\w+) \| (.*)", line):
            groups.append((m[1], m[2]))
        elif line and not line.startswith("#"):
            sys.exit(f"tools/layers.txt: not understood: {line}")
    return groups, folders, vendors


def table(groups, folders):
    """The rules as a table of Markdown."""
    rows = ["| group | folder | what it is | may include |", "|---|---|---|---|"]
    for group, what in groups:
        own = [(f, r) for f, r in folders.items() if r[0] == group]
        alone = len(own) == 1 and own[0][0] == group
        if not alone:
            rows.append(f"| **`src/{group}/`** | | **{what}** | |")
        for folder, (_, allowed, text) in own:
            place = (f"**`src/{group}/`**", "") if alone else ("", f"`{folder}/`")
            rows.append(f"| {place[0]} | {place[1]} | {text} | {', '.join(allowed) or '-'} |")
    return "\n".join(rows) + "\n"


def check_sources(root, groups, folders, vendors):
    """What is wrong with the includes of src/, and how many files there are."""
    order = {name: i for i, (name, _) in enumerate(groups)}
    used, used_vendors, crowd, bad = set(), set(), collections.Counter(), []
    files = sorted((root / "src").rglob("*.[ch]"))
    for f in files:
        parts = f.relative_to(root / "src").parts
        folder = parts[0] if parts[0] in folders else parts[1] if len(parts) > 2 else ""
        crowd[f.parent] += 1
        if folder not in folders:
            bad.append(f"{f}: tools/layers.txt has no folder for it")
            continue
        group, allowed, _ = folders[folder]
        if parts[0] != group:
            bad.append(f"{f}: {folder} belongs to group {group}")
        text = f.read_text()
        for m in INCLUDE.finditer(text):
            where = f"{f}:{text.count(chr(10), 0, m.start()) + 1}"
            if m[1] and m[1] != folder:
                used.add((folder, m[1]))
                if m[1] not in allowed:
                    bad.append(f"{where}: {folder} may not include {m[1]}/")
            elif m[2] in vendors:
                used_vendors.add((m[2], folder))
                if folder not in vendors[m[2]]:
                    bad.append(f"{where}: <{m[2]}> is for {', '.join(sorted(vendors[m[2]]))} only")
    for folder, (group, allowed, _) in folders.items():
        for other in allowed:
            if other not in folders:
                bad.append(f"tools/layers.txt: {folder}: no folder {other}")
            elif order[folders[other][0]] > order[group]:
                bad.append(f"tools/layers.txt: {folder}: {other} is of a group below, {folders[other][0]}")
            elif (folder, other) not in used:
                bad.append(f"tools/layers.txt: {folder} does not include {other}")
    for header, who in vendors.items():
        bad += [f"tools/layers.txt: {w} does not include <{header}>" for w in sorted(who) if (header, w) not in used_vendors]
    bad += [f"{d}: {n} files, {FILES_MAX} at most" for d, n in crowd.items() if n > FILES_MAX]
    return bad, len(files), max(crowd.values(), default=0)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--write", action="store_true", help="write the table of docs/architecture.md")
    p.add_argument("--largest", action="store_true", help="print how many files the largest folder has")
    p.add_argument("root", type=pathlib.Path, nargs="?", default=".")
    args = p.parse_args()
    groups, folders, vendors = read_rules((args.root / "tools/layers.txt").read_text())
    bad, files, largest = check_sources(args.root, groups, folders, vendors)
    if args.largest:
        print(largest)
        return 0
    doc = args.root / "docs/architecture.md"
    text = doc.read_text()
    new = TABLE.sub(lambda m: m[1] + table(groups, folders) + m[2], text)
    if args.write:
        doc.write_text(new)
    elif new != text or not TABLE.search(text):
        bad.append(f"{doc}: its table is not tools/layers.txt: tools/check-layers.py --write")
    print("\n".join([*bad, f"{files} files, {len(bad)} breaches"]))
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main())
