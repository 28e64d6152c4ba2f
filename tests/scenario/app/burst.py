# SPDX-License-Identifier: Apache-2.0
# test: timeout=600 sanitize=no long=yes
"""Ten times the events for a while: answered within a second, without swinging, and over by itself."""
import json
import os
import re

from aontest import LONG, SANITIZED, Daemon, Place, account_of, aon, app, balanced, done, emitted, ok, skip, wait_for

LEVELS = ["all", "no-ops", "no-counters", "half", "quarter", "tenth", "rare", "heartbeat"]
# Seconds before the burst, of it, and after it: it is a level up in some eight seconds.
SOAK_S = max(int(os.environ.get("AON_SOAK_S", 210)), 90)
TIMES = ("-c", SOAK_S // 7, "-b", SOAK_S // 7, "-a", 5 * SOAK_S // 7) if LONG else ("-c", 2, "-b", 4, "-a", 14)
# Of which the calm takes half of the budget, and the burst five times of it.
MARKS = 25000

with Place() as p, Daemon(p, {"measure": "off", "max_slowdown": 0.1}) as d:
    proc = app(p, "app_burst", "-e", MARKS, *TIMES)
    peak, said = {"rss": 0}, None

    def look():
        s = d.status()
        peak["rss"] = max(peak["rss"], s.get("memory", {}).get("rss_kib", 0) / 1024)
        return proc.poll() is not None

    wait_for(look, SOAK_S + 400)
    said = emitted(proc)
    wait_for(lambda: not d.session(proc.pid))
    budget = {r["key"]: r for r in json.loads(aon("budget", "--json", env={"AON_RUN_DIR": str(p.run)}).stdout)["budget"]}
    level, ring = d.counter("shed_level"), d.counter("batches_dropped")
    d.flush()
    journal = aon("store", "journal", p.store).stdout
    moves = [(LEVELS.index(m[0]), m[1]) for m in re.findall(r"fidelity level ([a-z-]+), left out.*\((.*?);", journal)]
    print("#", said, moves, peak, budget["cpu_percent"]["used"], "stalls", d.counter("stalls"))
    down = [i for i, m in enumerate(moves) if m[1] != "room again"]
    up = [i for i, m in enumerate(moves) if m[1] == "room again"]
    ok(down and moves[down[0]][1] == "accounted cost", "a burst leads down the ladder, and the journal says why", journal)
    a = account_of(p.store, proc.pid)
    ok(len(a) == 1 and balanced(a[0]) and a[0]["emitted"] == said["emitted"], "every record of it is accounted for",
       (a, said))
    ok(peak["rss"] < (300 if SANITIZED else 64) and budget["pools_mib"]["used"] <= 256 and not ring,
       f"aond keeps its memory: {peak['rss']:.0f} MiB at most", peak)
    ok(budget["cpu_percent"]["used"] <= 100 and level == 0, "and its CPU", budget["cpu_percent"])
    if SANITIZED:
        skip("up again", "a record costs what the budget is, with sanitizers")
    else:
        ok(len(down) <= 2 and up and max(down) < min(up), "it goes down, and afterwards up: no swinging", moves)
        ok(all(moves[i][0] < moves[i - 1][0] for i in up), "by itself, a level at a time", moves)
        rows = aon("report", p.store).stdout
        ok("skipped at random" in rows and "reduced detail" in rows, "the report tells of both, and totals are of all steps",
           rows)
    if LONG:
        ok(moves and moves[-1][0] == 0, "in the end all is recorded again", moves)
        ok(0 <= said["react_s"] <= 2, f"the answer came after {said['react_s']} s", said)
        ok(said["p99_burst"] <= 2 * said["p99_calm"] + 20,
           f"a mark took {said['p99_burst']} ns (p99), {said['p99_calm']} before the burst", said)
done()
