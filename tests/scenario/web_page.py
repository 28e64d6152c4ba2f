# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser: web/test/page.mjs walks it, this serves what it walks through."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from aontest import SANITIZED, Daemon, Place, app, data, skip_all, wait_for
from clitest import aon
from servetest import Server, job

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
HOSTILE = ["<script>window.hacked = 1</script>", "<img src=x onerror='window.hacked=1'>", "\x1b[31mred\x07 \u202e\"'&amp;"]


def can_run():
    if SANITIZED:
        skip_all("the page is the same; serve_* try the server under sanitizers")
    for tool in ("node", "chromium"):
        if not shutil.which(tool):
            skip_all(f"{tool} is not installed")
    if not (CACHE / "web/node_modules/playwright-core").is_dir():
        skip_all("playwright-core is not there (tools/setup check)")
    if not (ROOT / "web/dist/index.html").exists():
        skip_all("the page was not built (make web)")
    if not data():
        skip_all("there are no recorded traces")


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
    resnet = data() / "kineto/kineto_tb"
    first = next((resnet / "resnet50_num_workers_0").glob("worker0.1623143089861*"))
    second = next((resnet / "resnet50_num_workers_4").glob("worker0.1623212756351*"))
    with Place() as place, Daemon(place) as d:
        saved = place.path / "saved.html"
        r = aon(place, "report", "--html", saved, first)
        if r.returncode:
            sys.exit(r.stderr.decode())
        busy = app(place, "app_pace", "-s", "120", "-r", "200", "-S", "20")
        wait_for(lambda: place.store.exists(), 20)
        names = hostile(place.path / "names.json")
        many = job(place.path / "job", 6, 60, slow=4)
        with Server(place, place.store, first, second, names, many) as s:
            find_run = lambda n: wait_for(lambda: next((x["id"] for x in s.get("runs")["runs"] if n(x)), None), 20)
            page = {"address": s.said["address"], "base": s.said["base"], "saved": str(saved),
                    "traces": [find_run(lambda x, p=p: x["name"] == p.name) for p in (first, second)],
                    "job": find_run(lambda x: x["name"] == many.name),
                    "hostile": find_run(lambda x: x["name"] == names.name), "live": find_run(lambda x: x["state"] == "live")}
            wait_for(lambda: d.ask(f"capture {busy.pid} 100").startswith("number"), 20)
            code = subprocess.run(["node", ROOT / "web/test/page.mjs"], env={**os.environ, "AON_PAGE": json.dumps(page)},
                                  stdin=subprocess.DEVNULL).returncode
        busy.kill()
        busy.wait()
    sys.exit(code)


main()
