#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail when a name of src/ means two things: a tag of two headers, a function of two files.

    check-names.py [ROOT]
"""
import collections
import pathlib
import re
import sys

# Names that may be in more than one file, and why.
MAY = {
    "main": "each program has one",
    "InitializeInjection": "the driver's name for the way into what it loads",
}
NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|__attribute__\(\(.*?\)\)(?=[\s;])", re.S)
TAG = re.compile(r"^\s*(?:typedef\s+)?(struct|union|enum)\s+(\w+)\s*\{", re.M)
# A definition begins in the first column and has its brace on a line of its own (.clang-format).
FUNCTION = re.compile(r"^(?!static\b|typedef\b|extern\b|else\b)[A-Za-z_][\w \t*\n()\",]*?\b(\w+)\([^;{}]*\)\n\{", re.M)


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def names(root):
    """What is defined where: {(kind, name): {path: line}}."""
    found = collections.defaultdict(dict)
    for f in sorted((root / "src").rglob("*.[ch]")):
        text = NO_CODE.sub(blank, f.read_text())
        path = f.relative_to(root).as_posix()
        rule = [("tag", TAG, 2)] if f.suffix == ".h" else [("function", FUNCTION, 1)]
        for kind, pattern, group in rule:
            for m in pattern.finditer(text):
                found[kind, m[group]].setdefault(path, text.count("\n", 0, m.start(group)) + 1)
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found, clashes = names(root), 0
    for (kind, name), where in sorted(found.items()):
        if len(where) > 1 and name not in MAY:
            clashes += 1
            print(f"{kind} {name}: " + ", ".join(f"{path}:{line}" for path, line in where.items()))
    print(f"{len(found)} names, {clashes} clashes")
    return 1 if clashes else 0


if __name__ == "__main__":
    sys.exit(main())
