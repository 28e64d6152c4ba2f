#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=900 sanitize=no long=yes
"""aon why on every recorded trace that was read by hand, and on the simulator's faults: no fewer right
answers than the last time, and nothing that cannot be true."""
import collections
import os

import verdictkit
import verdictsim
import verdictvary
from aontest import Place, data, done, find, ok, skip

# The least that the engine reaches. Raise a floor when it does better; never lower one.
RIGHT = 57  # of the traces
SURE = 0.95  # of those said with confidence high
SIM = 29  # of 30 simulated jobs

# Sentences that cannot be true, by kind, that the engine still says. A number may only fall; a kind
# that is not here must not occur.
STILL = {}


def traces(aon, root):
    rows, broken = [], collections.defaultdict(list)
    for case in verdictkit.cases():
        path = root / case["path"]
        _, why, text = verdictkit.ask(aon, "why", "--json", path)
        rows.append(verdictkit.judge(case, why, text))
        for kind, what in verdictkit.breaks(why, verdictkit.ask(aon, "report", "--json", path)[1], path):
            broken[kind].append(f"{case['path']}: {what}")
    print("#", verdictkit.table(rows).replace("\n", "\n# "))
    right = sum(r["right"] for r in rows)
    ok(right >= RIGHT, f"the first finding is right on {right} of {len(rows)} traces", f"at least {RIGHT}")
    high = [r["right"] for r in rows if r["confidence"] == "high"]
    ok(sum(high) >= SURE * len(high), f"of those said with high {sum(high)} of {len(high)} are right")
    ok(not any(r["said"] == "refused" for r in rows), "every trace gets an answer", [r["path"] for r in rows if r["said"] == "refused"])
    for kind in sorted(set(STILL) | set(broken)):
        n = len(broken[kind])
        ok(n <= STILL.get(kind, 0), f"{kind}: {n}, at most {STILL.get(kind, 0)}", "\n".join(broken[kind]))


# Small ones, of a GPU that waits for its host, one that computes, one without operators, one that communicates.
VARIED = ("worker2_step", "Falconsai", "mi210/gpu_only", "torch_compile_triton")


def varied(aon, root, folder):
    """Changes of a recording do not change what is wrong with it."""
    some = ("",) if os.environ.get("AON_LONG") else VARIED
    rows = [r for pattern in some for r in verdictvary.judged(aon, root, folder, pattern)]
    print("#", "\n# ".join(verdictvary.line(r) for r in rows))
    wrong = [f"{r['path']} {r['name']}: {r['said']}" for r in rows if not r["right"]]
    ok(len(wrong) <= len(rows) * (1 - SURE if len(some) == 1 else 0), f"{len(rows) - len(wrong)} of {len(rows)} changed traces get the answer of the original", wrong)
    ok(not any(r["broken"] for r in rows), "nothing that cannot be true is said of them", [r["broken"] for r in rows if r["broken"]])


def simulated(aon, folder):
    rows = verdictsim.rows(aon, folder, "dev")
    print("#", verdictkit.table(rows).replace("\n", "\n# "))
    right = sum(r["right"] for r in rows)
    ok(right >= SIM and len(rows) == len(verdictsim.KINDS), f"the first finding is right on {right} of {len(rows)} simulated faults")


with Place() as place:
    if root := data():
        traces(find("aon"), root)
        varied(find("aon"), root, place.path)
    else:
        skip("the first finding is right", "the recorded traces are not beside the tree")
    simulated(find("aon"), place.path)
done()
