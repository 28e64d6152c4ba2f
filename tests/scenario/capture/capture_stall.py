# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""A capture of a real PyTorch program holds up no step, and leaves nothing behind: by what the program records and
the time that its thread had a core, or waited for anything but one, which other load changes little. The figures proper are rows of `make bench`."""
import json
import statistics

from aontest import Place, aon, done, ok
from stalltest import CPU, OWN, Training, residual, stall
from torchtest import torches

STEPS, TIMES = 20, 5
GROSS = 50  # ms: a tool that stops the program to load or write something takes more
MORE = 1.5  # of what a step takes: nothing may be left on


def kinds(store, lo, hi):
    """{kind: events} that begin in that time."""
    r = aon("sql", f"SELECT kind, count(*) FROM event WHERE ts >= {lo} AND ts < {hi} GROUP BY kind", store,
            "--json")
    return {x[0]: x[1] for x in json.loads(r.stdout)["rows"]} if r.returncode == 0 else r.stderr


def main():
    python = torches()[0][1]
    with Place() as p:
        t = Training(p, python)
        quiet = [(t.tell("steps 60"), t.tell("steps 200"))]
        got = []
        for i in range(TIMES):
            got.append(t.capture(STEPS, f"{i}.csv"))
            quiet.append((t.tell("steps 60"), t.tell("steps 200")))
        steps = t.end()
        whole = [c for c in got if isinstance(c, dict)]
        if not ok(len(whole) == TIMES, f"{TIMES} captures of {STEPS} steps each", got):
            done()
        counts = [kinds(p.path / "stall.db", *x) for x in quiet]
        within = kinds(p.path / "stall.db", whole[0]["from"], whole[0]["to"])
        ok(within.get("op", 0) > 10 * STEPS and within.get("step") == STEPS,
           "in a capture every operator of every step is recorded", within)
        # One step in a hundred shows its operators anyway: two or three of two hundred.
        ops = [c["op"] / c["step"] for c in counts]
        ok(max(ops) <= 2 * min(ops) and max(ops) < 0.05 * within["op"] / STEPS,
           "after it no more is recorded than before it", (counts, within))
        most = stall(steps, whole, OWN)
        print(f"# the step in which a capture begins or ends that takes most beyond the others: {most:.3f} ms", flush=True)
        ok(most < GROSS, "no step is held up where a capture begins or ends", most)
        left = [residual(steps, c, CPU) for c in whole]
        print(f"# CPU time of a step after a capture, by one before it: {left}", flush=True)
        ok(statistics.median(left) < MORE, "and none costs more afterwards", left)
    done()


main()
