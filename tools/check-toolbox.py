#!/usr/bin/env python3
"""Fail where a file of src/ has its own copy of a tool of src/base.

    check-toolbox.py [ROOT]          list the copies; exit 1 if there are any
    check-toolbox.py --count NAME    print how many files have one: maps, vectors, hashes, ...

tools/toolbox.txt lists the files that may keep theirs, and why: a table that may stay may have its
own hash. An entry that is no longer needed fails, too.
"""
import argparse
import pathlib
import re
import sys

# name: what is found, and what to use instead.
CHECKS = {
    "vectors": (r"\brealloc(?:array)?\(", "vec_more() or vec_room() of base/vec.h"),
    "maps": (
        r"(?<![.>\w])(\w+) = \(\1 \+ 1\) [&%]"  # i = (i + 1) & mask
        r"|\[\((?:[^].>]|>>)*\+ [a-z]\w*\) (?:% [A-Z]|& )"  # slot[(hash + i) & (SLOTS - 1)]
        r"|\[\w+ &=? ?\(?[a-z][\w.>-]*(?: - 1\)?|mask)\]"  # slot[i & (cap - 1)]
        r"|\[\w*hash\w*(?:\(\w+\))? [%&]|\bbucket\[",  # bucket[hash % BUCKETS]
        "struct map or struct lookup of base/map.h",
    ),
    "hashes": (
        r"(?i)0x9e3779b97f4a7c15|0x9e3779b1|0x100000001b3|0xcbf29ce484222325|14695981039346656037"
        r"|1099511628211|16777619|2166136261|0xd6e8feb86659fd93",
        "hash_u64() or fnv_bytes() of base/hash.h",
    ),
    # {"key, "key":VALUE and "key": %FORMAT; a message that names a key writes "key": and a word.
    "json": (r"\{\\\"[\w%]|\\\":(?! (?!%))", "base/json.h"),
    "clocks": (r"\b(?:clock_gettime|gettimeofday|timespec_get)\(", "base/clock.h"),
    "numbers": (r"\b(?:strto(?:l|ul|ll|ull|d|f)|ato[ifl])\(", "base/num.h"),
    "options": (r"\bgetopt(?:_long)?\(|<getopt\.h>", "options_next() of base/options.h"),
}


def find(root, name):
    """Each (path, line, text) outside src/base that the check matches."""
    pattern = re.compile(CHECKS[name][0])
    for f in sorted((root / "src").rglob("*.[ch]")):
        path = str(f.relative_to(root))
        if path.startswith("src/base/"):
            continue
        for n, line in enumerate(f.read_text().splitlines(), 1):
            if pattern.search(line):
                yield path, n, line.strip()


def allowed(root):
    """The listed (check, path)."""
    for line in (root / "tools/toolbox.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            check, path, why = line.split(None, 2)
            yield check, path


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("root", nargs="?", default=pathlib.Path(__file__).parents[1], type=pathlib.Path)
    p.add_argument("--count", choices=CHECKS)
    args = p.parse_args()
    may = set(allowed(args.root))
    unused, copies = set(may), []
    for name in [args.count] if args.count else CHECKS:
        for path, n, text in find(args.root, name):
            if (name, path) in may:
                unused.discard((name, path))
            elif name == "hashes" and ("maps", path) in may:
                pass  # of the table that may stay
            else:
                copies.append((name, path, n, text))
    if args.count:
        print(len({path for _, path, _, _ in copies}))
        return 0
    for name, path, n, text in copies:
        print(f"{path}:{n}: use {CHECKS[name][1]}: {text}")
    for name, path in sorted(unused):
        print(f"tools/toolbox.txt: {name} {path}: nothing is found there")
    return 1 if copies or unused else 0


if __name__ == "__main__":
    sys.exit(main())
