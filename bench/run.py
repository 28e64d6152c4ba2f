#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks whose ids match a pattern; print one table, write BUILD/bench.json.

A benchmark is a benchmark() of bench/meson.build; its suites are the ids of the rows that it
prints, one JSON object a line: {"id","value","unit","bar","ok","command"} and a "note".
bench/rows.txt lists every id; one that no benchmark measures is a failed row. Rows that a run does
not measure stay in BUILD/bench.json with their date, so that the figures may be measured in several
runs. docs/benchmarks.md (--doc) has every row; those that no run has measured yet are named there.

--short runs the rows that rows.txt calls "short" for a moment: each must have a value, and those
called "short=exact", which no load changes, must hold their bar. `make check` does that.

A bar that is a time belongs to a machine. The rows that rows.txt calls "scaled" are compared with
their bar times how slow this machine is at that moment (bench/speed.c).
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
import textwrap
import time


MARKS = ("scaled", "short", "short=exact")


def matches(pattern, name):
    try:
        return bool(re.search(pattern, name))
    except re.error:
        return fnmatch.fnmatch(name, pattern)


def slowness(build):
    """How slow this machine is now; 1 is the one that the bars were set on."""
    return float(subprocess.check_output([build.resolve() / "bench/speed"]))


def judged(row, slow):
    """A scaled row against its bar on this machine."""
    if row["ok"] is None or row["value"] is None or row["bar"] is None:
        return row
    least = row.get("least")
    bar = row["bar"] / slow if least else row["bar"] * slow
    return {**row, "slow": slow, "ok": row["value"] >= bar if least else row["value"] <= bar}


def rows_of(bench, ids, build, scaled):
    """The rows that one program gives, and those that it owes as failed ones."""
    slow = slowness(build) if set(ids) & scaled else 1
    env = {**os.environ, **bench["env"], "BENCH_IDS": " ".join(ids)}
    print(f"  {bench['name']} ...", end="", file=sys.stderr, flush=True)
    load = round(os.getloadavg()[2], 1)
    done = subprocess.run(bench["cmd"], env=env, cwd=build, stdout=subprocess.PIPE, text=True)
    print(f" {'done' if done.returncode == 0 else f'failed, status {done.returncode}'}", file=sys.stderr)
    rows = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            row.setdefault("command", f"make bench ONLY={row['id']}")
            rows[row["id"]] = judged(row, slow) if row["id"] in scaled else row
    for i in ids:
        if i not in rows or done.returncode and rows[i].get("ok"):
            rows[i] = {**rows.get(i, {"id": i, "value": None, "unit": "", "bar": None}), "ok": False,
                       "command": f"make bench ONLY={i}", "note": f"{bench['name']}: status {done.returncode}"}
    when = {"date": time.strftime("%Y-%m-%d"), "load": load, "nice": os.nice(0)}
    return [{**rows[i], **when} for i in ids]


def merged(path, rows, ids):
    """The rows of this run over those of earlier ones, in the order of bench/rows.txt."""
    known = {r["id"]: r for r in json.loads(path.read_text())} if path.exists() else {}
    known.update((r["id"], r) for r in rows)
    return [known[i] for i in ids if i in known]


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
    """{id: id of its peer, or ""} of bench/rows.txt, and the ids of each mark."""
    lines = (pathlib.Path(__file__).parent / "rows.txt").read_text().splitlines()
    words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    peers = {w[0]: next((x for x in w[1:] if x not in MARKS), "") for w in words}
    return peers, {mark: {w[0] for w in words if mark in w[1:]} for mark in MARKS}


def owed(rows, ids):
    """Failed rows for the ids that no benchmark of this build measures."""
    have = {r["id"] for r in rows}
    return [{"id": i, "value": None, "unit": "", "bar": None, "ok": False, "command": f"make bench ONLY={i}",
             "note": "no benchmark of this build measures it"} for i in ids if i not in have]


def machine():
    """Processor and cores of this machine in a few words."""
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} cores"


def bar_of(r):
    if r["bar"] is None:
        return ""
    scale = f" {'/' if r.get('least') else 'x'} {r['slow']:.2f}" if "slow" in r else ""
    return f"{'>=' if r.get('least') else '<='} {number(r['bar'])}{scale}"


def document(rows, peers):
    """The text of docs/benchmarks.md."""
    by = {r["id"]: r for r in rows}
    absent = [i for i in peers if i not in by]
    facts = [f"Machine: {machine()}.",
             f"{len(rows)} of {len(peers)} figures are measured{'; not yet: ' + ', '.join(absent) if absent else ''}.",
             "Load: the mean number of processes that wanted to run in the 15 minutes before the row. \"nice -20\" beside it: the row was"
             " measured at that priority, ahead of the others.",
             "A bar \"<= 2 x 1.10\" is 2, times 1.10 because the machine was that much slower than the one that the bar was set on"
             " (`bench/speed.c`)."]
    out = ["# Benchmarks", "", "`make bench` writes this page. Do not edit it. `make bench ONLY=NAME` measures one row.", "",
           *(textwrap.fill(f"- {f}", 100, subsequent_indent="  ") for f in facts), "",
           "| figure | value | bar | holds | peer | date | load | note |", "|---|---|---|---|---|---|---|---|"]
    for r in rows:
        peer = by.get(peers.get(r["id"], ""))
        beside = f"{peer['id']} {number(peer['value'])} {peer['unit']}" if peer else ""
        holds = {True: "yes", False: "**no**", None: "skipped"}[r["ok"]]
        load = f"{r.get('load', '')}{', nice ' + str(r['nice']) if r.get('nice') else ''}"
        note = r.get("note", "").replace("|", "/")
        out.append(f"| {r['id']} | {number(r['value'])} {r['unit']} | {bar_of(r)} | {holds} | {beside} | {r.get('date', '')} | {load} | {note} |")
    return "\n".join(out) + "\n"


def measured(build, wanted, scaled, keep=lambda rows: None):
    """The rows that are wanted, of every benchmark that has one; keep(rows) has them after each."""
    found = json.loads(subprocess.check_output(["meson", "introspect", "--benchmarks", str(build)]))
    rows = []
    for bench in found:
        ids = [i for i in (s.split(":")[-1] for s in bench["suite"]) if wanted(i)]
        if ids:
            rows += rows_of(bench, ids, build, scaled)
            keep(rows)
    return rows


def short(build, marks):
    """Whether the rows that are short can be measured at all, as TAP."""
    exact, ids = marks["short=exact"], marks["short"] | marks["short=exact"]
    os.environ["BENCH_SHORT"] = "1"
    rows = measured(build, lambda i: i in ids, set())
    rows += owed(rows, sorted(ids))
    for n, r in enumerate(rows, 1):
        good = r["ok"] is None or r["value"] is not None and (r["ok"] or r["id"] not in exact)
        print(f"{'ok' if good else 'not ok'} {n} - {r['id']} {number(r['value'])} {r['unit']}{' # SKIP ' + r.get('note', '') if r['ok'] is None else ''}")
        if not good:
            print(f"# bar {bar_of(r)}: {r.get('note', '')}")
    print(f"1..{len(rows)}")
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=pathlib.Path, default="build")
    p.add_argument("--only", default="", help="regular expression or shell pattern for ids")
    p.add_argument("--short", action="store_true", help="the rows that are short, as a test")
    p.add_argument("--strict", action="store_true", help="a row that is skipped has failed")
    p.add_argument("--json", type=pathlib.Path, help="where the rows go; BUILD/bench.json by default")
    p.add_argument("--doc", type=pathlib.Path, help="write the table of all rows there")
    args = p.parse_args()
    peers, marks = listed()
    if args.short:
        return short(args.build, marks)
    path = args.json or args.build / "bench.json"
    # What was measured is kept when a later benchmark is interrupted.
    keep = lambda rows: path.write_text(json.dumps(merged(path, rows, peers), indent=1) + "\n")
    rows = measured(args.build, lambda i: matches(args.only, i), marks["scaled"], keep)
    if unlisted := {r["id"] for r in rows} - set(peers):
        sys.exit(f"bench/run.py: not in bench/rows.txt: {sorted(unlisted)}")
    rows += owed(rows, [i for i in peers if matches(args.only, i)])
    if not rows:
        sys.exit(f"bench/run.py: no id matches '{args.only}'")
    table(rows)
    keep(rows)
    if args.doc:
        args.doc.write_text(document(merged(path, [], peers), peers))
    return 1 if any(not r["ok"] if args.strict else r["ok"] is False for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
