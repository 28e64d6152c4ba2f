# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""The page in a real browser: web/test/page.mjs walks it, this serves what it walks through."""
import json
import sys

from aontest import Daemon, Place, app, wait_for
from clitest import aon
from servetest import Server, job
from webtest import can_run, resnet, walk

HOSTILE = ["<script>window.hacked = 1</script>", "<img src=x onerror='window.hacked=1'>", "\x1b[31mred\x07 \u202e\"'&amp;"]


def hostile(path):
    """A trace whose kernels are called what an attacker would call them."""
    events = [{"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": 7, "ts": 1000 + 100 * i, "dur": 80,
               "args": {"device": 0, "stream": 7, "correlation": i + 1}} for i, n in enumerate(HOSTILE * 20)]
    events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 990 + 100 * i,
                "dur": 5, "args": {"correlation": i + 1}} for i in range(len(events))]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def main():
    can_run()
    first, second = resnet(0, 1623143089861), resnet(4, 1623212756351)
    with Place() as place, Daemon(place) as d:
        saved = place.path / "saved.html"
        r = aon(place, "report", "--html", saved, first)
        if r.returncode:
            sys.exit(r.stderr.decode())
        busy = app(place, "app_pace", "-s", "600", "-r", "200", "-S", "20")
        wait_for(lambda: place.store.exists(), 20)
        names = hostile(place.path / "names.json")
        many = job(place.path / "job", 6, 60, slow=4)
        with Server(place, place.store, first, second, names, many) as s:
            find_run = lambda n: wait_for(lambda: next((x["id"] for x in s.get("runs")["runs"] if n(x)), None), 20)
            wait_for(lambda: (d.ask(f"capture {busy.pid} 100") or "").startswith("number"), 20)
            code = walk("page.mjs", s, saved=str(saved), traces=[find_run(lambda x, p=p: x["name"] == p.name) for p in (first, second)],
                        job=find_run(lambda x: x["name"] == many.name), hostile=find_run(lambda x: x["name"] == names.name),
                        live=find_run(lambda x: x["state"] == "live"))
        busy.kill()
        busy.wait()
    sys.exit(code)


main()
