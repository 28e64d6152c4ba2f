#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""From an operator to its kernels: PyTorch programs whose operators launch on the stand-in GPU, as two ranks of a
job. Each kernel's operator, module, step and rank come out of the report and of SQL."""
import collections
import json

from aontest import BUILD, Daemon, Place, done, ok, report, skip_all
from clitest import aon
from cudatest import LEVELS
from torchtest import APPS, torches

STEPS, FROM = 12, 9  # the first steps teach the probe
SIM = "129"


def record(p, python):
    for f in p.path.glob("store.db*"):
        f.unlink()
    said = []
    with Daemon(p, sets={"tier": "full"}) as d:
        for rank in (0, 1):
            env = {"LD_LIBRARY_PATH": BUILD / "tests/sim" / SIM, "RANK": rank, "WORLD_SIZE": 2, "AON_JOIN_MS": 1000}
            r = aon(p, "run", "--no-report", "--", python, APPS / "torch_cuda.py", STEPS, env=env, timeout=200)
            said.append(json.loads(r.stdout.splitlines()[-1]) if r.returncode == 0 else {"failed": r})
        d.flush()
        d.stop()
    return said


def sql(p, text):
    r = aon(p, "sql", "--json", text, p.store)
    return json.loads(r.stdout).get("rows") if r.returncode == 0 else r.stderr


def of_step():
    """{(module, op, kernel): count}"""
    want = {(None, None, "update"): 1}
    for i in range(3):
        layer = f"layers.{i}"
        want |= {(layer, "Scale", "scale"): 1, (layer, "forward", "shift"): 1, (layer, "ScaleBackward", "scale_grad"): 1}
    return want


def chain(p, version, python):
    said = record(p, python)
    ok(all(s.get("launched", {}).get("scale") == 3 * STEPS for s in said), f"{version}: two ranks ran", said)
    rows = sql(p, f"select rank, step, module, op, name, count(*) from work where step >= {FROM} group by 1, 2, 3, 4, 5")
    got = collections.defaultdict(dict)
    for rank, step, module, op, name, n in rows if isinstance(rows, list) else []:
        got[rank, step][module, op, name] = n
    # What follows the last optimizer's end is of no step.
    want = {(r, s): of_step() for r in (0, 1) for s in range(FROM, STEPS + 1)}
    ok(got == want, f"{version}: SQL has each kernel's rank, step, module and operator", rows)
    alone = sql(p, "select count(*) from work where launch_ts is null")
    ok(alone == [[0]], f"{version}: each kernel has its launch", alone)
    work = report(p.store)["work"]
    for rank in (0, 1):
        mine = {(w["module"], w["op"], w["name"]): w for w in work if w["rank"] == rank}
        ok(all(k in mine and mine[k]["last_step"] == STEPS and mine[k]["count"] >= STEPS - FROM + 1 for k in of_step()),
           f"{version}: and so has the report, of rank {rank}", mine)
        ok(sum(w["count"] for w in mine.values()) == sum(said[rank].get("launched", {"none": -1}).values()),
           f"{version}: every kernel is in a row, of rank {rank}", mine)
    for by, some in (("module", "layers.1"), ("op", "ScaleBackward"), ("step", "rank 1 step 12"), ("rank", "in collectives")):
        text = aon(p, "report", p.store, "--by", by, "--all").stdout.decode()
        ok(some in text, f"{version}: aon report --by {by}", text)
    return said


if SIM not in LEVELS:
    skip_all("no stand-in GPU in this build")
with Place() as place:
    for which in torches():
        chain(place, *which)
done()
