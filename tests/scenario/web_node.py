# SPDX-License-Identifier: Apache-2.0
"""The page of a node: telemetry under the timeline, captures by a form, in a real browser (web/test/node.mjs)."""
import os
import sys

from aontest import Place, wait_for
from clitest import aon
from nodekit import node
from servetest import Server
from webtest import can_run, resnet, walk

can_run("axe-core")
trace = resnet(0, 1623143089861)
with Place() as place, node(place) as d, Server(place, "--allow-capture", place.store, trace) as s:
    run = wait_for(lambda: next((x["id"] for x in s.get("runs")["runs"] if x["gpus"] == 2 and s.get(f"run/{x['id']}/telemetry")["series"]), None), 60)
    bare = next(x["id"] for x in s.get("runs")["runs"] if x["name"] == trace.name)
    saved = place.path / "saved.html"
    r = aon(place, "report", "--html", saved, place.store)
    if r.returncode:
        sys.exit(r.stderr.decode())
    code = walk("node.mjs", s, run=run, bare=bare, saved=str(saved), shots=os.environ.get("AON_SHOTS"))
sys.exit(code)
