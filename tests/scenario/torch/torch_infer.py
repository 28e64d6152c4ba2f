#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Inference with PyTorch that knows nothing of aon: each outermost call of a module with gradients off is a
step, found to the step; a training's steps stay what they are; results are the same."""
import json

from aontest import Place, balanced, done, ok
from torchtest import APPS, bare, run, steps_of, torches

INFER = APPS / "torch_infer.py"


def lines(r):
    return [json.loads(x) for x in r.stdout.splitlines() if x.startswith("{")]


def loops(p, version, python):
    want = lines(bare(p, python, INFER))
    r, rep = run(p, python, INFER)
    got = lines(r)
    ok(r.returncode == 0 and len(got) == len(want) == 15, f"{version}: all loops ran", r)
    ok([(w["loop"], w["sum"]) for w in want] == [(g["loop"], g["sum"]) for g in got],
       f"{version}: the same results as without aon", f"{want}\n{got}")
    steps = steps_of(rep)
    for g in got:
        s = sorted(steps.get(g["pid"], []), key=lambda x: x["step"])
        ok([x["step"] for x in s] == list(range(1, g["steps"] + 1)), f"{version}: {g['loop']}: {g['steps']} steps",
           f"found {len(s)}")
        apart = g["loop"] == "threads" or all(b["start_ns"] >= a["start_ns"] + a["dur_ns"] for a, b in zip(s, s[1:]))
        ok(apart and all(x["dur_ns"] > 0 for x in s), f"{version}: {g['loop']}: they follow one another", s[:3])
    ok(rep["processes"] and all(balanced(x["accounting"]) and not x["accounting"]["lost"] for x in rep["processes"]),
       f"{version}: nothing is lost", rep["accounting"])


with Place() as place:
    for which in torches():
        loops(place, *which)
done()
