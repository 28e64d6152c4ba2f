#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time that a capture adds to the steps of a PyTorch program on the CPU, by the program's own clock.

capture_stall_ms        the step, of those in which a capture of aond begins or ends, that takes most beyond those before and
                        within it: median over captures
capture_residual_ratio  a step after a capture by one before it, median over captures
A step's time is by the clock, less what its thread waited for a core that others had (/proc/thread-self/schedstat).
Beside them, in the same program and turn by turn, torch's own profiler (Kineto). Without a GPU it has no CUPTI, whose rest
after a capture is what its users complain of: here it shows what its beginning and end cost.
"""
import json
import os
import pathlib
import random
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/scenario/lib"))
os.environ.setdefault("AON_BUILD", os.getcwd())
import aontest  # noqa: E402
import stalltest  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
PYTHON = CACHE / "torch-venv/bin/python"
TIMES, STEPS = 40, 20


def row(name, value, bar, note, unit):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": None if value is None else value <= bar,
                      "note": note}), flush=True)


def measured():
    """Steps, and where captures were: by aond, by Kineto, by nobody."""
    where = {"aon": [], "kineto": [], "none": []}
    cores = sorted(os.sched_getaffinity(0))
    with aontest.Place() as p:
        # The training has a core, aon the others: what it costs where there are none is no stall.
        t = stalltest.Training(p, PYTHON, ("taskset", "-c", str(cores[-1])),
                               ("taskset", "-c", ",".join(map(str, cores[:-1] or cores))))
        for i in range(TIMES):
            for who in random.sample(list(where), 3):
                begin = t.tell("steps 100")
                if who == "aon":
                    where[who].append(t.capture(STEPS, f"{i}.csv"))
                elif who == "kineto":
                    where[who].append({"begin": begin, "from": begin, "to": t.tell(f"kineto {STEPS}")})
                else:
                    time.sleep(random.uniform(0.01, 0.05))
                    where[who].append(time.monotonic_ns())
                t.tell("steps 100")
        steps = t.end()
    where["none"] = [nothing(steps, x) for x in where["none"]]
    return steps, where


def nothing(steps, begin):
    """At a moment that a step is the more likely to be under way in the longer it takes; as those of aond are."""
    i = next(i for i, s in enumerate(steps) if s[0] + s[1] > begin) + 2
    last = steps[i + STEPS - 1]
    return {"begin": begin, "from": steps[i][0], "to": last[0] + last[1]}


def main():
    if not PYTHON.exists():
        for i in ("capture_stall_ms", "capture_residual_ratio"):
            row(i, None, None, f"skipped: no {PYTHON.name} of torch (tools/setup check)", "")
        return
    random.seed(1)
    steps, where = measured()
    stall = {who: stalltest.stall(steps, x, stalltest.OWN) for who, x in where.items()}
    rest = {who: statistics.median(stalltest.residual(steps, c, stalltest.OWN) for c in x) for who, x in where.items()}
    ms = stalltest.median(steps, stalltest.WALL) / 1e6
    load = os.getloadavg()[0]
    row("capture_stall_ms", round(max(stall["aon"], 0), 3), 1,
        f"{TIMES} captures of {STEPS} steps of {ms:.2f} ms; without any {stall['none']:.3f}, torch.profiler "
        f"{stall['kineto']:.2f}; load {load:.1f}", "ms")
    row("capture_residual_ratio", round(rest["aon"], 4), 1.02,
        f"without any {rest['none']:.4f}, torch.profiler {rest['kineto']:.4f} (no GPU: no CUPTI is left on)", "x")


main()
