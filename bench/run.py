#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks whose ids match a pattern; print one table, write BUILD/bench.json.

A benchmark is a benchmark() of bench/meson.build; its suites are the ids of the rows that it
prints, one JSON object a line: {"id","value","unit","bar","ok","command"} and a "note".
bench/rows.txt lists every id; one that no benchmark measures is a failed row. A run of all of them
also writes docs/benchmarks.md (--doc).
"""
import argparse
import fnmatch
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time


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
        bar = bar_of(r)
        ok = {True: "yes", False: "NO", None: "skip"}[r["ok"]]
        cells.append((r["id"], number(r["value"]), r["unit"], bar, ok, r.get("note", "")))
    w = [max(len(c[i]) for c in cells) for i in range(5)]
    for c in cells:
        print(f"{c[0]:<{w[0]}}  {c[1]:>{w[1]}} {c[2]:<{w[2]}}  {c[3]:<{w[3]}}  {c[4]:<{w[4]}}  {c[5]}".rstrip())


def listed():
    """{id: id of its peer, or ""} of bench/rows.txt."""
    lines = (pathlib.Path(__file__).parent / "rows.txt").read_text().splitlines()
    words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {w[0]: w[1] if len(w) > 1 else "" for w in words}


def owed(rows, ids):
    """Failed rows for the ids that no benchmark of this build measures."""
    have = {r["id"] for r in rows}
    return [{"id": i, "value": None, "unit": "", "bar": None, "ok": False, "command": f"make bench ONLY={i}",
             "note": "no benchmark of this build measures it"} for i in ids if i not in have]


def machine():
    """Processor, cores and memory of this machine in a few words."""
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} cores, {gib:.0f} GiB, Linux {platform.release()}"


def bar_of(r):
    return "" if r["bar"] is None else f"{'>=' if r.get('least') else '<='} {number(r['bar'])}"


def document(rows, peers):
    """The text of docs/benchmarks.md."""
    by = {r["id"]: r for r in rows}
    out = ["# Benchmarks", "", "`make bench` writes this page. Do not edit it. `make bench ONLY=NAME` measures one row.", "",
           f"- Date: {time.strftime('%Y-%m-%d')}", f"- Machine: {machine()}",
           f"- Load before: {os.getloadavg()[2]:.1f}", "", "| figure | value | bar | holds | peer | note |", "|---|---|---|---|---|---|"]
    for r in rows:
        peer = by.get(peers.get(r["id"], ""))
        beside = f"{peer['id']} {number(peer['value'])} {peer['unit']}" if peer else ""
        holds = {True: "yes", False: "**no**", None: "skipped"}[r["ok"]]
        note = r.get("note", "").replace("|", "/")
        out.append(f"| {r['id']} | {number(r['value'])} {r['unit']} | {bar_of(r)} | {holds} | {beside} | {note} |")
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=pathlib.Path, default="build")
    p.add_argument("--only", default="", help="regular expression or shell pattern for ids")
    p.add_argument("--strict", action="store_true", help="a row that is skipped has failed")
    p.add_argument("--json", type=pathlib.Path, help="where the rows go; BUILD/bench.json by default")
    p.add_argument("--doc", type=pathlib.Path, help="write the table there, if every row was asked for")
    args = p.parse_args()
    peers = listed()
    found = json.loads(subprocess.check_output(["meson", "introspect", "--benchmarks", str(args.build)]))
    rows = []
    for bench in found:
        ids = [s.split(":")[-1] for s in bench["suite"]]
        ids = [i for i in ids if matches(args.only, i)]
        if ids:
            rows += rows_of(bench, ids, args.build)
    if unlisted := {r["id"] for r in rows} - set(peers):
        sys.exit(f"bench/run.py: not in bench/rows.txt: {sorted(unlisted)}")
    rows += owed(rows, [i for i in peers if matches(args.only, i)])
    if not rows:
        sys.exit(f"bench/run.py: no id matches '{args.only}'")
    table(rows)
    (args.json or args.build / "bench.json").write_text(json.dumps(rows, indent=1) + "\n")
    if args.doc and not args.only:
        args.doc.write_text(document(rows, peers))
    return 1 if any(not r["ok"] if args.strict else r["ok"] is False for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
