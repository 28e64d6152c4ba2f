#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Operators of PyTorch: those of a step are the ones that torch's own profiler counts, they are recorded in
whole steps and in no others, and a backward node carries the number of its forward operator."""
import bisect
import collections
import json
import subprocess

from aontest import Daemon, Place, balanced, done, find, ok, report
from clitest import aon
from torchtest import APPS, bare, steps_of, torches

STEPS = 24


def events(store):
    out = subprocess.run([find("store_dump"), str(store)], capture_output=True, text=True, check=True).stdout
    return [json.loads(x) for x in out.splitlines() if x.startswith("{") and '"kind":"op"' in x]


def record(p, python, **sets):
    for f in p.path.glob("store.db*"):
        f.unlink()
    with Daemon(p, sets=sets) as d:
        r = aon(p, "run", "--no-report", "--", python, APPS / "torch_ops.py", STEPS, timeout=200)
        d.flush()
        d.stop()
    told = json.loads(r.stdout.splitlines()[-1]) if r.returncode == 0 else {"failed": r}
    rep = report(p.store, "--all")
    steps = steps_of(rep).get(told.get("pid"), [])
    starts = [s["start_ns"] for s in steps]
    by = collections.defaultdict(list)
    for e in events(p.store):
        # A step ends where the profiler of the next one begins: what lies between is the profiler's.
        by[bisect.bisect_right(starts, e["start"])].append(e)
    return told, rep, steps, by


def names(ev):
    return collections.Counter(e["name"] for e in ev if e["name"].startswith("aten::"))


def equal(ev, told):
    """torch takes an operator right inside one of its own name for the same one: we may have more of those."""
    ours, theirs = names(ev), collections.Counter({k: v for k, v in told.items() if k.startswith("aten::")})
    twice, open_ = set(), []
    for e in sorted(ev, key=lambda e: (e["start"], -e["dur"])):
        while open_ and open_[-1]["start"] + open_[-1]["dur"] < e["start"]:
            open_.pop()
        twice |= {e["name"]} & {o["name"] for o in open_}
        open_.append(e)
    return ours.keys() == theirs.keys() and all(
        theirs[n] <= ours[n] if n in twice else theirs[n] == ours[n] for n in ours)


def every_step(p, version, python):
    told, rep, steps, by = record(p, python, tier="full")
    ok(len(steps) == STEPS, f"{version}: all steps", (len(steps), told))
    other = {n: (names(by[n]), told["counts"][str(n)]) for n in range(3, STEPS + 1)
             if not equal(by[n], told["counts"][str(n)])}
    # 1.13's profiler counts in microseconds, and takes two of one name that touch for one.
    ok(len(other) <= 3 * version.startswith("1."), f"{version}: operators of every step are those that torch's profiler counts", other)
    back = [e for n in range(5, STEPS + 1) for e in by[n] if e["a"] & 1 and e["corr"]]
    forward = {e["corr"]: e["name"] for n in range(5, STEPS + 1) for e in by[n]
               if not e["a"] & 1 and e["corr"] and e["name"].startswith("aten::")}
    pairs = collections.Counter((e["name"], forward.get(e["corr"])) for e in back)
    ok(pairs and pairs[("AddmmBackward0", "aten::addmm")] == 2 * (STEPS - 4) and
       all(f for _, f in pairs), f"{version}: backward nodes have the number of their operator", pairs)
    inside = all(s["start_ns"] <= e["start"] and e["start"] + e["dur"] <= s["start_ns"] + s["dur_ns"] + 50000
                 for n in range(3, STEPS) for s in [steps[n - 1]] for e in by[n])
    ok(inside, f"{version}: operators lie in their step", "")
    ok(all(balanced(x["accounting"]) and not x["accounting"]["lost"] for x in rep["processes"]),
       f"{version}: nothing is lost", rep["accounting"])
    rows = {o["name"]: o for o in rep["ops"]}
    ok(0 < rows["aten::linear"]["self_ns"] < rows["aten::linear"]["total_ns"],
       f"{version}: an operator's own time is without those inside it", rows["aten::linear"])
    if int(version.split(".")[0]) >= 2:
        shapes = [e["a"] >> 1 for n in by for e in by[n] if n > 5 and e["name"] == "aten::addmm"]
        text = subprocess.run(["strings", p.store], capture_output=True, text=True).stdout
        ok(shapes and all(shapes) and "[32]t6 [8,16]t6 [16,32]t6" in text, f"{version}: shapes in tier full", shapes[:3])
    return told


def some_steps(p, version, python, before):
    told, rep, steps, by = record(p, python, ops_every=5)
    have = sorted(n for n in by if n and names(by[n]))
    ok(have == [5, 10, 15, 20], f"{version}: operators of every fifth step, and of no other", have)
    ok(equal(by[10], told["counts"]["10"]), f"{version}: all of that step's", names(by[10]))
    ok(len({e["stream"] for n in by for e in by[n]}) == 1, f"{version}: none of a forked child", "")
    ok(told["sum"] == before["sum"], f"{version}: results do not depend on it", (told["sum"], before["sum"]))
    text = aon(p, "report", p.store).stdout.decode()
    ok("Operators of 4 steps" in text, f"{version}: aon report says of how many steps", text)
    told, rep, steps, by = record(p, python, ops_every=0)
    ok(not by and len(steps) == STEPS, f"{version}: ops_every=0: none", len(by))


with Place() as place:
    for i, which in enumerate(torches()):
        got = every_step(place, *which)
        plain = bare(place, which[1], APPS / "torch_ops.py", STEPS)
        ok(json.loads(plain.stdout)["sum"] == got["sum"], f"{which[0]}: the same result as without aon", plain)
        if i == 0:
            some_steps(place, *which, got)
done()
