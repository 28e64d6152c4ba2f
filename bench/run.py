#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks whose ids match a pattern; print one table, write BUILD/bench.json.

A benchmark is a benchmark() of bench/meson.build; its suites are the ids of the rows that it
prints, one JSON object a line: {"id","value","unit","bar","ok","command"} and a "note".
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys


def matches(pattern, name):
    try:
        return bool(re.search(pattern, name))
    except re.error:
        return fnmatch.fnmatch(name, pattern)


def rows_of(bench, ids, build):
    """The rows that one program gives, and those that it owes as failed ones."""
    env = {**os.environ, **bench["env"], "BENCH_IDS": " ".join(ids)}
    print(f"  {bench['name']} ...", end="", file=sys.stderr, flush=True)
    done = subprocess.run(bench["cmd"], env=env, cwd=build, stdout=subprocess.PIPE, text=True)
    print(f" {'done' if done.returncode == 0 else f'failed, status {done.returncode}'}", file=sys.stderr)
    rows = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            row.setdefault("command", f"make bench ONLY={row['id']}")
            rows[row["id"]] = row
    for i in ids:
        if i not in rows or done.returncode and rows[i].get("ok"):
            rows[i] = {**rows.get(i, {"id": i, "value": None, "unit": "", "bar": None}), "ok": False,
                       "command": f"make bench ONLY={i}", "note": f"{bench['name']}: status {done.returncode}"}
    return [rows[i] for i in ids]


def number(v):
    if v is None:
        return "-"
    return f"{v:,.0f}" if abs(v) >= 1000 or v == int(v) else f"{v:.3g}"


def table(rows):
    cells = [("id", "value", "unit", "bar", "ok", "")]
    for r in rows:
        bar = "" if r["bar"] is None else f"{'>=' if r.get('least') else '<='} {number(r['bar'])}"
        ok = {True: "yes", False: "NO", None: "skip"}[r["ok"]]
        cells.append((r["id"], number(r["value"]), r["unit"], bar, ok, r.get("note", "")))
    w = [max(len(c[i]) for c in cells) for i in range(5)]
    for c in cells:
        print(f"{c[0]:<{w[0]}}  {c[1]:>{w[1]}} {c[2]:<{w[2]}}  {c[3]:<{w[3]}}  {c[4]:<{w[4]}}  {c[5]}".rstrip())


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=pathlib.Path, default="build")
    p.add_argument("--only", default="", help="regular expression or shell pattern for ids")
    args = p.parse_args()
    found = json.loads(subprocess.check_output(["meson", "introspect", "--benchmarks", str(args.build)]))
    rows = []
    for bench in found:
        ids = [s.split(":")[-1] for s in bench["suite"]]
        ids = [i for i in ids if matches(args.only, i)]
        if ids:
            rows += rows_of(bench, ids, args.build)
    if not rows:
        sys.exit(f"bench/run.py: no id matches '{args.only}'")
    table(rows)
    (args.build / "bench.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(r["ok"] is False for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
