#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""PyTorch programs that know nothing of aon, under `aon run`: their steps are found to the step,
and their results, output and exit status are what they are without it."""
import json
import sys

from aontest import Place, balanced, done, ok
from torchtest import APPS, bare, run, steps_of, torches

LOOPS = APPS / "torch_loops.py"


def lines(r):
    return [json.loads(x) for x in r.stdout.splitlines() if x.startswith("{")]


def loops(p, version, python):
    want = lines(bare(p, python, LOOPS))
    r, rep = run(p, python, LOOPS)
    got = lines(r)
    ok(r.returncode == 0 and len(got) == len(want) > 10, f"{version}: all loops ran", r)
    ok([(w["loop"], w["sum"]) for w in want] == [(g["loop"], g["sum"]) for g in got],
       f"{version}: the same results as without aon", f"{want}\n{got}")
    steps = steps_of(rep)
    for g in got:
        s = steps.get(g["pid"], [])
        ok(len(s) == g["steps"] and [x["step"] for x in s] == list(range(1, len(s) + 1)),
           f"{version}: {g['loop']}: {g['steps']} steps", f"found {len(s)}")
        ok(all(b["start_ns"] >= a["start_ns"] + a["dur_ns"] for a, b in zip(s, s[1:])) and
           all(x["dur_ns"] > 0 for x in s) and not any(x["open"] for x in s),
           f"{version}: {g['loop']}: they follow one another", s[:3])
    names = {}
    for row in rep["ranges"]:
        names[row["name"]] = names.get(row["name"], 0) + row["count"]
    ok(names.get("my step") == names.get("my loss") == 30, f"{version}: the program's own ranges", names)
    ok(any(n.startswith("enumerate(DataLoader)#") for n in names), f"{version}: the wait for data", names)
    ok(not any("self-test" in n for n in names), f"{version}: nothing of aon's own", names)
    ok(rep["processes"] and all(balanced(x["accounting"]) and not x["accounting"]["lost"] for x in rep["processes"]),
       f"{version}: nothing is lost", rep["accounting"])
    told = {x["pid"]: x["identity"].get("framework", "") for x in rep["processes"]}
    ok(all(told[g["pid"]].startswith("torch ") for g in got), f"{version}: what they are written with is told", told)


with Place() as place:
    for which in torches():
        loops(place, *which)
done()
