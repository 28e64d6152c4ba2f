#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""JAX programs that know nothing of aon, under `aon run`: their steps are found to the step, their compilations are
named, and their results, output and exit status are what they are without it."""
import json

from aontest import Place, balanced, done, ok
from jaxtest import APPS, bare, jaxes, run, steps_of

MS = 1000000  # two clocks
LOOPS, ENDS = APPS / "jax_loops.py", APPS / "jax_ends.py"


def lines(r):
    return {x["loop"]: x for x in map(json.loads, r.stdout.splitlines())}


def counts(rows, **where):
    got = {}
    for row in rows:
        if all(row.get(k) == v for k, v in where.items()):
            got[row["name"]] = got.get(row["name"], 0) + row["count"]
    return got


def loops(p, version, folder):
    want, (r, rep) = bare(p, folder, LOOPS), run(p, folder, LOOPS)
    ok((r.returncode, r.stderr) == (want.returncode, want.stderr) and not r.returncode,
       f"{version}: the same status and messages", (want, r))
    want, got = lines(want), lines(r)
    ok(len(got) == 13 and [(w["loop"], w["result"]) for w in want.values()] ==
       [(g["loop"], g["result"]) for g in got.values()], f"{version}: the same results, to the bit", (want, got))
    steps = steps_of(rep)
    for g in got.values():
        s = steps.get(g["pid"], [])
        first = 100 if g["loop"] == "annotated" else 1
        ok([x["step"] for x in s] == list(range(first, first + g["steps"])), f"{version}: {g['loop']}: {g['steps']} steps",
           [x["step"] for x in s])
        ok(all(b["start_ns"] + MS >= a["start_ns"] + a["dur_ns"] for a, b in zip(s, s[1:])) and
           not any(x["open"] for x in s[:-1]), f"{version}: {g['loop']}: they follow one another", s[:3])
    ok(rep["processes"] and all(balanced(x["accounting"]) and not x["accounting"]["lost"] for x in rep["processes"]),
       f"{version}: nothing is lost", rep["accounting"])
    return rep, got


def compilations(version, rep):
    names = counts(rep["ranges"])
    ok(names.get("my part") == 12, f"{version}: an annotation is a range", names)
    ok(names.get("jit(both)") == 10 and names.get("jit(apply)") is None and names.get("jit(update)") == 15,
       f"{version}: a range for each outermost call", names)
    ok(names.get("jax compile: both") == 1 and names.get("jax trace: both") == 1 and names.get("jax lower: both") == 1,
       f"{version}: what is traced, lowered and compiled, by name", names)
    marks = counts(rep["marks"])
    shape = [m for m in marks if m.startswith("jax compiles again: train: argument") and "float32[8, 4], is float32[4, 4]" in m]
    ok(len(shape) == 1 and marks[shape[0]] == 1, f"{version}: the argument for which a function is compiled again", marks)
    ok(marks.get("jax compiles again: <lambda>: it was jitted anew") == 5, f"{version}: a function that is jitted in a loop", marks)


def ends(p, version, folder, how):
    want, (r, rep) = bare(p, folder, ENDS, how), run(p, folder, ENDS, how)
    rc = want.returncode if want.returncode >= 0 else r.returncode  # aon dies of the same signal
    ok((r.returncode, r.stdout, r.stderr) == (rc, want.stdout, want.stderr) and
       (want.returncode >= 0 or r.returncode == want.returncode), f"{version}: {how}: the same output and status",
       (want, r))
    steps = sorted(len(s) for s in steps_of(rep).values() if s)
    ok(steps == ([9, 12] if how == "spawn" else [13 if how == "wrong" else 12]), f"{version}: {how}: its steps", steps)
    ok(all(balanced(x["accounting"]) for x in rep["processes"]) and not rep["accounting"]["lost"],
       f"{version}: {how}: nothing is lost", rep["accounting"])


with Place() as place:
    for how in ("interrupted", "killed", "_exit", "spawn", "wrong"):
        ends(place, *jaxes()[-1], how)
    for which in jaxes():
        report, _ = loops(place, *which)
        compilations(which[0], report)
done()
