#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a file of src/ includes a layer, or a vendor's header, that tools/layers.txt forbids."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
rules, vendors = {}, {}
for line in (root / "tools/layers.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        what, _, allowed = line.partition(":")
        if what.startswith("<"):
            vendors[what.strip("<>")] = set(allowed.split())
        else:
            rules[what] = {what, *allowed.split()}

bad = 0
files = sorted((root / "src").rglob("*.[ch]"))
for f in files:
    layer = f.relative_to(root / "src").parts[0]
    if layer not in rules:
        print(f"{f}: tools/layers.txt has no rule for src/{layer}")
        bad += 1
        continue
    for n, line in enumerate(f.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+(?:"([a-z_]+)/|<([^>]+)>)', line)
        if m and m[1] and m[1] not in rules[layer]:
            print(f"{f}:{n}: {layer} may not include {m[1]}/")
            bad += 1
        if m and m[2] in vendors and layer not in vendors[m[2]]:
            print(f"{f}:{n}: <{m[2]}> is for {', '.join(sorted(vendors[m[2]]))} only")
            bad += 1
print(f"{len(files)} files, {bad} breaches")
sys.exit(1 if bad or not files else 0)
