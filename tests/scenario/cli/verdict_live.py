#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""The judge of live verdicts, and its programs with planted problems: every kind has its truth, every program can be written,
made-up answers are judged right and wrong, and programs that aon records end well and measure their own problem."""
import ast
import json
import re

import livekit
from aontest import LONG, Place, done, ok, skip
from livekit import Case, judge

SOME = ("torch/slow_transform", "torch/sleeping", "gpu/host_code", "native/slow_range")
# Of these the answer must be right, unless other load was the larger problem. None, as long as aon why has no answer for them.
RIGHT = ()
KEYS = {"kind", "family", "culprit", "action", "needs", "draw"}
MORE = {"says", "ranks", "cost", "loaded", "healthy"}
KINDS = livekit.kinds()
TRUTH = {"planted": 1, "steps": 100, "step_ms": 30.0, "cost_ms": 12.0, "waited_ms": 0.2}


def heads():
    held = [k for k in KINDS.values() if k.heldout]
    ok(len(KINDS) >= 40 and len(held) >= 10, f"{len(KINDS)} kinds of problems, {len(held)} of them held out")
    ok(sum("healthy" in k.head for k in KINDS.values()) >= 12, "a dozen of them are judged without their problem, too")
    bad = {n: sorted(set(k.head) ^ KEYS) for n, k in KINDS.items() if not KEYS <= set(k.head) <= KEYS | MORE}
    ok(not bad, "each has its family, culprit, action, needs and what is drawn in its head", bad)


def written():
    bad = []
    for kind in KINDS.values():
        for size in range(3):
            case = Case(kind, "written", size)
            with Place() as p:
                case.write(p.path)
                for f in p.path.glob("*.py"):
                    text = f.read_text()
                    ast.parse(text)
                    bad += [(str(case), f.name, w) for w in ("plant_", "PlantC", "# family", "# culprit") if w in text]
    ok(not bad, "programs are written with drawn names, and without their truth", bad)
    a, b, c = (Case(KINDS[SOME[0]], s, 0) for s in ("1", "1", "2"))
    ok((a.names, a.p) == (b.names, b.p) and a.names != c.names and a.p != c.p, "names and numbers follow from the seed", (a.p, b.p, c.p))
    ms = [Case(KINDS["torch/sleeping"], "1", n).p["ms"] for n in range(3)]
    ok(8 <= ms[0] < ms[1] < ms[2] <= 50, "three sizes are three thirds of a range", ms)


def answer(family, text, cost_ms=12.0, **more):
    return {"findings": [{"family": family, "title": text, "cost_ns": int(cost_ms * 1e6), "per": "step", "share": 0.4, "confidence": "high", "rank": None,
                          "seen": [], "action": "set num_workers to 4", "not": "", **more}]}


def answers():
    case = Case(KINDS["torch/slow_transform"], "1", 0)
    f, g = case.names["plant_f"], case.names["plant_g"]
    v = judge(case, TRUTH, answer("input_bound", f"The loop waits for {f}()"))
    ok(v.right and v.cost and v.action, "cause, culprit, cost and action are right", v)
    for what, why, right, cost in (
            ("another cause", answer("launch_bound", f"{f} is slow"), False, True),
            ("another function", answer("input_bound", f"The loop waits for {g}()"), False, True),
            ("a function whose name has the culprit's in it", answer("input_bound", f"The loop waits for x{f}y"), False, True),
            ("a culprit that is only ruled out", {"findings": [{**answer("input_bound", "slow")["findings"][0], "not": f}]}, False, True),
            ("twice the cost", answer("input_bound", f, 24.0), True, False),
            ("a cost a quarter too high", answer("input_bound", f, 15.0), True, True),
            ("the cost of the whole recording", answer("input_bound", f, 1236.0, per="trace"), True, True),
            ("no finding", {"findings": []}, False, False), ("no answer", {}, False, False)):
        v = judge(case, TRUTH, why)
        ok((v.right, v.cost) == (right, cost), f"{what}: {'right' if right else 'wrong'}, cost {'right' if cost else 'wrong'}", v)
    second = answer("launch_bound", "x")
    second["findings"] += answer("input_bound", f)["findings"]
    ok(not judge(case, TRUTH, second).right, "only the first finding counts")
    late = Case(KINDS["ddp/batch_sizes"], "1", 2)
    n = round(late.p["slow"])
    ok([judge(late, TRUTH, answer("straggler", "late", rank=r)).right for r in (n, 1 - n)] == [True, False], "the late rank is the culprit")
    sleep = Case(KINDS["torch/sleeping"], "1", 0)
    f = sleep.names["plant_f"]
    ok([judge(sleep, TRUTH, answer("host_code", t)).right for t in (f"{f} sleeps", f"{f} computes")] == [True, False], "a sleep must be called one")
    well = Case(KINDS["torch/sleeping"], "1", 0, on=False)
    ok([judge(well, TRUTH, w).right for w in ({"findings": []}, answer("gpu_saturated", "busy"), answer("input_bound", "x", share=0.03),
                                              answer("input_bound", "x"))] == [True, True, True, False], "of a healthy program no problem may be said")
    ok(judge(case, {**TRUTH, "waited_ms": 20.0}, {}).noisy and not judge(case, TRUTH, {}).noisy, "a run that other load disturbed is known as one")


def recorded(name):
    kind = KINDS[name]
    if why := livekit.why_not(kind):
        return skip(name, why)
    case = Case(kind, "1", 1)
    case.p["seconds"] = 8 if name in RIGHT else 2
    with Place() as p:
        r = livekit.Run(case, p)
        t = r.truth
        good = r.rc == 0 and t.get("steps", 0) >= 5 and 0 <= t.get("cost_ms", -1) <= t["step_ms"]
        ok(good, f"{name}: it ends well under aon, and says what its problem costs", f"{t}\n{r.rc}\n{r.err[-2000:]}")
        why, _, _ = livekit.why(r.store, p)
        ok(isinstance(why.get("findings"), list), f"{name}: aon why answers", why)
        v = judge(case, t, why)
        if name in RIGHT and not v.noisy:
            ok(v.right, f"{name}: the first finding is right", f"{v}\n{json.dumps(why)[:2000]}")
        return ok(re.fullmatch(r"[a-z_]+", v.said.family) if v.said else True, f"{name}: the answer can be judged", json.dumps(why)[:2000])


heads()
written()
answers()
for one in KINDS if LONG else SOME:
    recorded(one)
done()
