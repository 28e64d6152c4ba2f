#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""Each kind of alarm from libaon to the journal: slower kernels by name and shape, idle GPUs, growing memory, lost
throughput, a rank that comes late."""
import re
import time

from aontest import Daemon, Place, app, done, ok, wait_for
from faultkit import alarms

KINDS = {"kernel": "kernel_slower", "idle": "gpu_idle", "memory": "memory_growth", "pace": "throughput_drop"}


def gpus(place):
    at = place.path / "gpus" / "0000:00:00.0"
    at.mkdir(parents=True)
    (at / "information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: \t 7\n")
    return at.parent


with Place() as p, Daemon(p, {"escalate_s": 0, "gpus_dir": gpus(p), "hang_stacks": "off"}) as d:
    job = {"TORCHELASTIC_RUN_ID": "j4", "WORLD_SIZE": 3}
    ranks = [app(p, "app_told", "late", share, env={**job, "RANK": r}, stdin=-1)
             for r, share in enumerate((500, 20, 500))]
    procs = {k: app(p, "app_told", k, stdin=-1) for k in (*KINDS, "shape")}

    def told(kind, proc):
        time.sleep(0.2)
        return [a["text"] for a in alarms(p) if a["kind"] == kind and f"pid {proc.pid}:" in a["text"]]
    for what, kind in KINDS.items():
        got = wait_for(lambda: told(kind, procs[what]), 60)
        ok(got and len(got) == 1, f"{kind}: told once", (alarms(p), d.text()[-2000:]))
    ok(re.search(r"gemm takes 1[2-5]\.\d ms instead of 10\.0 ms", told("kernel_slower", procs["kernel"])[0]), "a kernel by its name, with both times",
       told("kernel_slower", procs["kernel"]))
    ok("busy 10 % of the time instead of 60 %" in told("gpu_idle", procs["idle"])[0], "a GPU by its shares",
       told("gpu_idle", procs["idle"]))
    got = wait_for(lambda: [a for a in alarms(p) if a["kind"] == "straggler"], 90)
    ok(got and all("rank 1, job j4" in a["text"] for a in got), "straggler: the rank that the others wait for", alarms(p))
    ok(not told("kernel_slower", procs["shape"]), "a kernel in another shape is another kernel",
       told("kernel_slower", procs["shape"]))
    for x in (*ranks, *procs.values()):
        x.kill()
        x.communicate()
done()
