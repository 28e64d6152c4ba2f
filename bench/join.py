#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What telemetry explains of drawn jobs (docs/insights.md#telemetry).

join_right  of jobs with a fault that telemetry tells of and that costs 1 % of the run or more: those of which
            `aon why` names the cause, on the right GPU, and no other
join_false  causes named of jobs without, most of which look as if: hot GPUs, errors, idle clocks, other work

Seeds follow from the release: nobody can have tuned on them. AON_LONG=1: six times as many cases."""
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
import joinkit  # noqa: E402

BUILD = pathlib.Path(os.environ.get("AON_BUILD", os.getcwd()))
TIMES = 6 if os.environ.get("AON_LONG") else 1
FAULTS, HEALTHY = 100 * TIMES, 60 * TIMES


def seed():
    out = subprocess.run([BUILD / "aon", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    tag = re.search(r"\d+\.\d+\.\d+", out).group()
    return hashlib.sha256(b"aon-join" + tag.encode()).hexdigest()[:8]


def row(name, value, bar, least, note):
    ok = value >= bar if least else value <= bar
    print(json.dumps({"id": name, "value": value, "unit": "", "bar": bar, "ok": ok, "least": least, "note": note}), flush=True)


def right(aon, s, folder):
    got, of, cheap, wrong = 0, 0, 0, collections.Counter()
    for case in range(FAULTS):
        which = joinkit.FAULTS[case % len(joinkit.FAULTS)]
        worth, good, said = joinkit.judge(aon, joinkit.draw_fault(joinkit.rng(s, case), aon, folder, which), folder)
        cheap += not worth
        of += worth
        got += worth and good
        if worth and not good:
            wrong[f"{which[0]} {which[1]}: {said[0][0] if said else 'nothing'}"] += 1
    row("join_right", got / of, 0.95, True, f"{got} of {of}, seed {s}; {cheap} cost too little to count" + "".join(f"; {w} x {n}" for w, n in wrong.items()))


def false(aon, s, folder):
    bad = collections.Counter()
    for case in range(HEALTHY):
        _, _, said = joinkit.judge(aon, joinkit.draw_healthy(joinkit.rng(s, f"healthy {case}"), aon, folder), folder)
        bad.update(f for f, _ in said)
    row("join_false", sum(bad.values()), 0, False, f"{HEALTHY} jobs, seed {s}" + "".join(f"; {f} {n}" for f, n in bad.items()))


def main():
    ids = os.environ.get("BENCH_IDS", "join_right join_false").split()
    with tempfile.TemporaryDirectory(prefix="aon-join-") as d:
        for name, how in (("join_right", right), ("join_false", false)):
            if name in ids:
                how(BUILD / "aon", seed(), pathlib.Path(d))


main()
