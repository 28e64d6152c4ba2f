#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often aon why is right (docs/insights.md#how-the-verdict-is-judged).

verdict_traces  of the recorded traces that were read by hand: those whose first finding is right
verdict_sim     of the simulator's faults, each drawn five times: the same
verdict_high    of the first findings of both that have confidence high: those that are right
account_error   the largest distance, in nanoseconds, of the parts of an account of time from its base

Seeds of the simulator follow from the release: nobody can have tuned on them."""
import collections
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/scenario/lib"))
import verdictkit  # noqa: E402
import verdictsim  # noqa: E402

BUILD = pathlib.Path(os.environ.get("AON_BUILD", os.getcwd()))
DATA = HERE.parents[1] / "shared" / "data"
EACH = 15 if os.environ.get("AON_LONG") else 5


def row(name, value, bar, least, note, good=True):
    ok = None if value is None and good else value is not None and (value >= bar if least else value <= bar)
    print(json.dumps({"id": name, "value": value, "unit": "ns" if name == "account_error" else "", "bar": bar, "ok": ok, "least": least, "note": note}), flush=True)


def seed():
    out = subprocess.run([BUILD / "aon", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return hashlib.sha256(b"aon-verdict" + re.search(r"\d+\.\d+\.\d+", out).group().encode()).hexdigest()[:8]


def traces():
    """Rows of the recorded traces, and the largest error of their accounts; None where no answer has one."""
    rows, worst = [], None
    for case in verdictkit.cases() if DATA.is_dir() else []:
        _, why, text = verdictkit.ask(BUILD / "aon", "why", "--json", DATA / case["path"])
        rows.append(verdictkit.judge(case, why, text))
        error = verdictkit.account_error(why)
        worst = max(worst or 0, error) if error is not None else worst
    return rows, worst


def share(rows):
    return sum(r["right"] for r in rows) / len(rows) if rows else None


def wrong(rows):
    """Wrong answers by kind."""
    some = collections.Counter(f"{r['said']} instead of {r['want'].split('|')[0]}" for r in rows if not r["right"])
    return "".join(f"; {what} x {n}" for what, n in some.most_common())


def main():
    ids = os.environ.get("BENCH_IDS", "verdict_traces verdict_sim verdict_high account_error").split()
    read, worst = traces()
    with tempfile.TemporaryDirectory(prefix="aon-verdict-") as d:
        drawn = verdictsim.rows(BUILD / "aon", pathlib.Path(d), seed(), each=EACH) if {"verdict_sim", "verdict_high"} & set(ids) else []
    none = "the recorded traces are not beside the tree"
    sure = [r for r in read + drawn if r["confidence"] == "high"]
    for name, some, bar in (("verdict_traces", read, 0.95), ("verdict_sim", drawn, 0.95), ("verdict_high", sure, 0.95)):
        if name in ids:
            right = sum(r["right"] for r in some)
            row(name, share(some), bar, True, f"{right} of {len(some)}{wrong(some)}" if some else none)
    if "account_error" in ids:
        row("account_error", worst, 0, False, f"{len(read)} traces" if read else none, good=not read)


main()
