# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""The pages of a cluster in a browser: a made-up fleet in a real ClickHouse, with a slow rank, an idle job, a silent node and kernels
that got slower with a driver and a framework."""
import sys
import time

from aontest import Place, skip_all
from clustertest import Cluster, missing
from fleettest import Fleet
from servetest import Server
from webtest import can_run, walk

HOSTILE = "<script>alert(1)</script>"

can_run("axe-core")
why = missing()
if why:
    skip_all(why)
with Place() as place, Cluster(place.path / "ch", "alone") as c:
    if c.why:
        skip_all(c.why)
    fleet = Fleet(place, c.server[0], nodes=400, first=256, now=int(time.time()))
    fleet.init()
    for table in ("process", "name", "finding"):
        fleet.rows(table)
    fleet.rows("node", every=60, hours=2)
    fleet.rows("step", seconds=30)
    fleet.rows("rank_hour", kind="TabSeparated", hours=4)
    fleet.rows("kernel_hour", kind="TabSeparated", hours=4)
    c.server[0].post("INSERT INTO aon.process (cluster, proc, host, job, user, rank, world, begin_ns, end_ns, day) VALUES "
                     f"('sim', 7, 'evil', '{HOSTILE}', 'mallory', 0, 1, {fleet.now - 50}000000000, {fleet.now - 1}000000000, today())")
    with Server(place, fleet.url, env=fleet.env) as s:
        code = walk("fleet.mjs", s, job="job-000", other="job-001", hostile=HOSTILE)
sys.exit(code)
