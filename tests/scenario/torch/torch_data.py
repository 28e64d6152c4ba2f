#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Batches of a DataLoader: the wait for each, the making of each in the program or in a worker, and whose worker
that is. Results, and the error of a dataset, are the program's own."""
import json
import re

import aonschema
from aontest import Place, balanced, done, ok
from clitest import aon
from torchtest import APPS, bare, run, steps_of, torches

APP = APPS / "torch_data.py"


def batches(p, version, python, workers, want):
    r, rep = run(p, python, APP, workers)
    got = json.loads(r.stdout)
    ok(r.returncode == 0 and got["weight"] == want["weight"], f"{version}, {workers} workers: the same result", r)
    ok(not aonschema.check(rep), f"{version}, {workers} workers: as docs/json.md says", aonschema.check(rep)[:3])
    ok(len(steps_of(rep)[got["pid"]]) == 8, f"{version}, {workers} workers: 8 steps", rep["steps"])
    mine = [d for d in rep["data"] if d["pid"] == got["pid"]]
    # One more wait than batches: it ends the epoch.
    ok(len(rep["data"]) == 1 and mine and mine[0]["waits"] == 9 and mine[0]["wait_ns"] > 0,
       f"{version}, {workers} workers: each wait for a batch, of this process alone", rep["data"])
    mine = mine[0]
    text = aon(p, "report", p.path / "run.db").stdout.decode()
    if not workers:
        ok(mine["fetched"] == 8 and not mine["workers"] and 0 < mine["fetch_ns"] < mine["wait_ns"],
           f"{version}: without workers the program makes them, while it waits", mine)
        ok("Batches: " in text and "(num_workers=0)." in text, f"{version}: the report says so", text)
        return
    ok(mine["fetched"] == 0 and sorted(w["pid"] for w in mine["workers"]) == got["workers"] and
       sorted(w["number"] for w in mine["workers"]) == list(range(workers)) and
       sum(w["fetched"] for w in mine["workers"]) == 8, f"{version}: its workers, and all that they make", (mine, got))
    ok(f"{workers} do." in text, f"{version}: the report says so", text)
    ok(all(balanced(x["accounting"]) and not x["accounting"]["lost"] for x in rep["processes"]), f"{version}: nothing is lost", rep["accounting"])


def fails(p, version, python):
    def error(r):
        return re.sub(r"\d+", "N", r.stderr)

    want = bare(p, python, APP, 1, "fails")
    r, _ = run(p, python, APP, 1, "fails")
    ok("of the program's own" in r.stderr and r.returncode == want.returncode == 1 and error(r) == error(want),
       f"{version}: an error in a worker reads as without aon", (r.stderr, want.stderr))


with Place() as place:
    for which in torches():
        plain = json.loads(bare(place, which[1], APP, 0).stdout)
        batches(place, *which, 0, plain)
        batches(place, *which, 2, plain)
    fails(place, *which)
done()
