# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""The page of a node: telemetry under the timeline, captures by a form, in a real browser (web/test/node.mjs)."""
import json
import os
import subprocess
import sys

from aontest import BUILD, Daemon, Place, app, emitted, report, wait_for
from clitest import aon
from nodekit import node
from servetest import Server
from webtest import can_run, resnet, walk

can_run("axe-core")
trace = resnet(0, 1623143089861)
LEFT_OUT = """select 1.0 * sum(case when k = 0 then dur end) / (max(end_ts) - min(ts)) from
(select s.ts, s.end_ts, s.dur, (select count(*) from kernel k where k.ts >= s.ts and k.ts < s.end_ts) as k from step s)"""
# The middle one of the steps without a kernel.
ONE = """select s.wall from step s where not exists (select 1 from kernel k where k.ts >= s.ts and k.ts < s.end_ts)
order by s.ts limit 1 offset 500"""


def half(place):
    """A program of which every other step is left out; its number of steps, and of those."""
    with Daemon(place, {"measure": "on", "measure_after_s": 0, "max_slowdown": 0, "fidelity": "half"}) as d:
        p = app(place, "app_cost", "-s", 1, "-N", 2400, "-x", 0, "-n", 0, "-b", 1500, "-p", 1600, "-e", 3, "-k")
        emitted(p)
        wait_for(lambda: not d.session(p.pid))
        d.flush()
    # By time, not by number: on a loaded machine a few steps take as long as all others.
    share, at = (json.loads(aon(place, "sql", "--json", q, place.store).stdout)["rows"][0][0] for q in (LEFT_OUT, ONE))
    return {**report(place.store)["processes"][0]["overhead"], "share": share, "at": str(at)}


with Place() as other, Place() as place, node(place) as d:
    cost = half(other)
    threads = place.path / "threads.db"
    subprocess.run([BUILD / "tests" / "unit" / "test_where", threads], check=True)
    with Server(place, "--allow-capture", place.store, trace, other.store, threads) as s:
        run = wait_for(lambda: next((x["id"] for x in s.get("runs")["runs"] if x["gpus"] == 2 and s.get(f"run/{x['id']}/telemetry")["series"]), None), 60)
        bare = next(x["id"] for x in s.get("runs")["runs"] if x["name"] == trace.name)
        saved = place.path / "saved.html"
        r = aon(place, "report", "--html", saved, place.store)
        if r.returncode:
            sys.exit(r.stderr.decode())
        code = walk("node.mjs", s, run=run, bare=bare, sampled=next(x["id"] for x in s.get("runs")["runs"] if x["name"] not in (trace.name, "app_cost") and x["id"] != run), saved=str(saved), half=next(x["id"] for x in s.get("runs")["runs"] if x["name"] == "app_cost"), cost=cost, shots=os.environ.get("AON_SHOTS"))
sys.exit(code)
