# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""The page for everybody: keyboard, screen reader, few colours, other languages, small screens, slow answers."""
import sys

from aontest import Place
from servetest import Server, job
from webtest import can_run, resnet, walk

can_run("axe-core")
trace = resnet(0, 1623143089861)
with Place() as place, Server(place, trace, job(place.path / "job", 6, 60, slow=4)) as s:
    runs = {r["name"]: r["id"] for r in s.get("runs")["runs"]}
    code = walk("ease.mjs", s, run=runs[trace.name], job=runs["job"])
sys.exit(code)
