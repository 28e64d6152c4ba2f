#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Modules and operators of PyTorch programs that know nothing of aon, in every table of the report: each call of a
module by its path, the backward pass by the module that it is of, and as many operations as torch's own counter
finds."""
import json

from aontest import Daemon, Place, done, ok, report
from clitest import aon
from torchtest import APPS, bare, torches

APP, STEPS = APPS / "torch_modules.py", 12


def record(p, python, mode, **sets):
    """What the program said, and its store analysed."""
    for f in p.path.glob("store.db*"):
        f.unlink()
    with Daemon(p, sets=sets) as d:
        r = aon(p, "run", "--no-report", "--", python, APP, mode, STEPS, timeout=200)
        d.flush()
        d.stop()
    told = json.loads(r.stdout.splitlines()[-1]) if r.returncode == 0 else {"failed": r}
    return told, report(p.store, "--by", "module")


def rows(p, by, *more):
    """The first words of the rows of a table, and its text."""
    text = aon(p, "report", p.store, "--by", by, "--all", "--wide", *more).stdout.decode()
    return [x.split()[0] for x in text.splitlines() if x.startswith("    ")], text


def flops_of(rep, steps):
    return {o["name"].replace("aten::", ""): o["flops"] / steps for o in rep["host_ops"] if o.get("flops")}


def train(p, version, python):
    told, rep = record(p, python, "train", tier="full")
    modules = {m["name"]: m for m in rep["host_modules"]}
    steps = modules["Model"]["count"] if "Model" in modules else 0
    ok(STEPS - 3 <= steps <= STEPS, f"{version}: the model is called in each step whose operators are recorded", steps)
    ok({n: m["count"] for n, m in modules.items()} == {n: c * steps for n, c in told["calls"].items()},
       f"{version}: every call of every module, by its path", (told["calls"], modules))
    ok(all(0 < m["self_ns"] <= m["total_ns"] for m in modules.values()), f"{version}: a module's own time is part of it",
       modules)
    leaf = [n for n in modules if n not in ("Model", "layers.0.mlp", "layers.1.mlp", "layers.0", "layers.1")]
    ok(all(modules[n]["backward_ns"] > 0 for n in leaf), f"{version}: the backward pass of each module is known",
       {n: modules[n]["backward_ns"] for n in leaf})
    if told["flops"]:
        ours, theirs = flops_of(rep, steps), told["flops"]["Global"]
        ok(all(ours.get(op) == n for op, n in theirs.items()) and len(theirs) >= 6,
           f"{version}: operations of a step are those that torch's counter finds", (ours, theirs))
        # Torch counts a module with all inside of it, we without; and we count pointwise operators, too.
        whole = {n: sum(told["flops"].get("Model." + n, {}).values()) for n in leaf}
        want = {n: w - sum(whole[x] for x in whole if x.startswith(n + ".")) for n, w in whole.items() if w}
        got = {n: modules[n].get("flops", 0) / steps for n in want}
        far = {n: (want[n], got[n]) for n in want if not want[n] <= got[n] <= 1.1 * want[n] + 20000}
        ok(len(want) >= 12 and not far, f"{version}: and so they are for each module, forward and backward", far)
        ok(all(o["bytes"] > 0 for o in rep["host_ops"] if o.get("flops")), f"{version}: bytes where there are operations",
           rep["host_ops"][:3])
    for by, some in (("op", "aten::mm"), ("module", "layers.1.attn.qkv")):
        names, text = rows(p, by)
        ok(some in names and "GFLOP" in text, f"{version}: aon report --by {by}", text)
    names, text = rows(p, "step")
    ok(names.count("step") == STEPS == len(rep["steps"]), f"{version}: aon report --by step", text)
    _, text = rows(p, "rank")
    ok("no GPU work" in text, f"{version}: aon report --by rank says that there is none", text)
    return told


def infer(p, version, python):
    told, rep = record(p, python, "infer", ops_every=5)
    modules = {m["name"]: m["count"] for m in rep["host_modules"]}
    ok(modules == {n: 2 * c for n, c in told["calls"].items()}, f"{version}: inference: modules of every fifth step",
       modules)
    ok(len(rep["steps"]) == STEPS, f"{version}: inference: all steps", rep["steps"])
    ops = {o["name"]: o["count"] for o in rep["host_ops"]}
    ok(ops.get("aten::embedding") == 2 and ops.get("aten::layer_norm") == 4,
       f"{version}: inference: operators of the same steps", ops)
    return told


with Place() as place:
    for which in torches():
        for mode, check in (("train", train), ("infer", infer)):
            got = check(place, *which)
            plain = json.loads(bare(place, which[1], APP, mode, STEPS).stdout)
            ok(plain["sum"] == got["sum"], f"{which[0]}: {mode}: the same result as without aon", (plain, got))
done()
