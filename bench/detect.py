#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recall and false alarms of aond's detectors.

detector_recall   of runs with a fault, those in which it is reported: of a generator of series, of the simulator's faults on
                  the first node of a job (bench/detect.c), and of faults done to real programs (faultkit.py)
false_alarms_day  alarms in a healthy day, the worst of several kinds of jobs and noise
AON_LONG=1: five seeds of each simulated fault, and ten and five rounds of the real ones."""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/scenario/lib"))
os.environ.setdefault("AON_BUILD", os.getcwd())
import aontest  # noqa: E402
import faultkit  # noqa: E402
import torchtest  # noqa: E402

LONG = bool(os.environ.get("AON_LONG"))


def real(rounds):
    """By fault: told, tried."""
    got = {}
    for _ in range(rounds):
        with aontest.Place() as p, aontest.Daemon(p, {"escalate_s": 0}):
            rig = faultkit.Rig(p, faultkit.FAULTS)
            try:
                rig.run()
                for name, told in rig.wait(60).items():
                    n = got.setdefault(name, [0, 0])
                    n[0] += told
                    n[1] += 1
            finally:
                rig.end()
    return got


def ranks(rounds):
    """The same of two ranks of torch over gloo: one that is late, then one that does not come, and where it stands."""
    got, torch = {}, torchtest.installed()
    for _ in range(rounds if torch else 0):
        with aontest.Place() as p:
            for name, told in faultkit.ranks(p, torch[0][1], 45, 120).items():
                n = got.setdefault(name, [0, 0])
                n[0] += told
                n[1] += 1
    return got


said = json.loads(subprocess.run([aontest.BUILD / "bench/bench_detect", "5" if LONG else "1"], capture_output=True,
                                 check=True, text=True).stdout)
done = {**real(10 if LONG else 2), **ranks(5 if LONG else 1)}
told = said["told"] + sum(n[0] for n in done.values())
tried = said["all"] + sum(n[1] for n in done.values())
note = said["note"] + "; done to real programs: " + ", ".join(f"{k} {n[0]}/{n[1]}" for k, n in done.items())
# Series are many and easy: each of the three must reach the bar by itself.
least = min(told / tried, *(n[0] / n[1] for n in done.values()))
print(json.dumps({"id": "detector_recall", "value": round(told / tried, 4), "unit": "", "bar": 0.95,
                  "ok": told >= 0.95 * tried and least >= 0.95, "least": True, "note": note}), flush=True)
print(json.dumps({"id": "false_alarms_day", "value": said["worst"], "unit": "", "bar": 1, "ok": said["worst"] <= 1,
                  "note": said["days"]}), flush=True)
