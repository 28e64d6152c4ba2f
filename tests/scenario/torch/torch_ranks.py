#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Two and four ranks (AON_LONG=1: eight) over gloo, started by torchrun under `aon run`: each is known by its rank, its
steps and collectives are counted, and the rank that the others wait for is named."""
import json
import socket
import subprocess

import aonschema
from aontest import LONG, Daemon, Place, app_env, done, find, ok, report, skip
from clitest import aon
from torchtest import APPS, bare, run, steps_of, torches

STEPS = 25
# variable: value, and what becomes of it: (rank, world, job)
JOBS = [
    ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "TORCHELASTIC_RUN_ID": "exp-7"}, (3, 8, "exp-7")),
    ({"RANK": "3", "TORCHELASTIC_RUN_ID": "none"}, (3, None, None)),
    ({"SLURM_PROCID": "5", "SLURM_NTASKS": "16", "SLURM_JOB_ID": "777"}, (5, 16, "777")),
    ({"RANK": "1", "SLURM_PROCID": "0", "SLURM_JOB_ID": "9"}, (1, None, "9")),
    ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, (2, 4, None)),
    ({"PMI_RANK": "0", "PMI_SIZE": "2"}, (0, 2, None)),
    ({"JOB_COMPLETION_INDEX": "6", "JOB_NAME": "train.a_b"}, (6, None, "train.a_b")),
    ({"RANK": "", "WORLD_SIZE": "x", "SLURM_JOB_ID": "a secret = b"}, (None, None, None)),
    ({"RANK": "-1", "AON_JOB": "j" * 60}, (None, None, "j" * 47)),
    ({"AWS_SECRET_ACCESS_KEY": "hunter2", "HOSTNAME": "h"}, (None, None, None)),
]


def identity(p):
    clear = {k: None for env, _ in JOBS for k in env}
    with Daemon(p) as d:
        pids = []
        for env, _ in JOBS:
            full = {k: v for k, v in app_env(p, AON_JOIN_MS=1000).items() if k not in clear}
            a = subprocess.Popen([find("emitter"), "10"], env={**full, **env}, stdout=subprocess.DEVNULL)
            pids.append(a.pid)
            a.wait(timeout=60)
        d.flush()
        rep = {x["pid"]: x for x in report(p.store, "--all")["processes"]}
        d.stop()
    for pid, (env, want) in zip(pids, JOBS):
        x = rep.get(pid, {})
        ok((x.get("rank"), x.get("world"), x.get("job")) == want, f"{' '.join(env)}: {want}", x)
    ok(b"hunter2" not in p.store.read_bytes(), "no other variable is read", "")
    last = [want for _, want in JOBS if want[0] is not None][-1]
    ranks = json.loads(aon(p, "report", p.store, "--by", "rank", "--json").stdout)["ranks"]
    ok([(x["rank"], x["job"]) for x in ranks] == [(last[0], last[2])], "--by rank is of the latest job of a store", ranks)


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def torchrun(python, n=2):
    return [python, "-m", "torch.distributed.run", "--nproc-per-node", n, "--master-port", port(),
            APPS / "torch_ddp.py", STEPS]


def told(r):
    return {x["rank"]: x for x in map(json.loads, (y for y in r.stdout.splitlines() if y.startswith("{")))}


def ranks(p, version, python):
    plain = told(bare(p, *torchrun(python)))
    r, rep = run(p, *torchrun(python), env={"SLOW_MS": "40"})
    got = told(r)
    ok(r.returncode == 0 and {k: v["sum"] for k, v in plain.items()} == {k: v["sum"] for k, v in got.items()} and
       len(got) == 2, f"{version}: two ranks, the same result as without aon", (plain, r))
    by = {x["rank"]: x for x in rep["processes"] if x["rank"] is not None}
    ok({k: x["pid"] for k, x in by.items()} == {k: v["pid"] for k, v in got.items()} and
       all(x["world"] == 2 for x in by.values()), f"{version}: each process is known by its rank", by)
    steps = steps_of(rep)
    ok([len(steps[v["pid"]]) for v in got.values()] == [STEPS, STEPS], f"{version}: steps of each", rep["steps"][:3])
    works = {}
    for k in rep["kernels"]:
        works.setdefault(k["pid"], {})[k["name"]] = k["count"]
    first, second = (works.get(v["pid"], {}) for v in got.values())
    ok(first == second and first.get("gloo:all_reduce f32", 0) >= STEPS, f"{version}: collectives of each", works)
    text = aon(p, "report", p.path / "run.db", "--by", "rank").stdout.decode()
    ok("The others wait for rank 1" in text, f"{version}: the slow rank is named", text)
    told_by(p, version, 2, slow_ms=40)


def many(p, version, python, n):
    r, rep = run(p, *torchrun(python, n), env={"SLOW_MS": "60"})
    got = told(r)
    ok(r.returncode == 0 and sorted(got) == list(range(n)), f"{version}: {n} ranks", r)
    works = {}
    for k in rep["kernels"]:
        works.setdefault(k["pid"], {})[k["name"]] = (k["count"], k["bytes"])
    ok(len({str(sorted(works.get(x["pid"], {}).items())) for x in got.values()}) == 1 and works,
       f"{version}: collectives of {n} ranks are the same", works)
    told_by(p, version, n, slow_ms=60)


def told_by(p, version, world, slow_ms):
    """What --by rank says of a job whose last rank is slow."""
    r = json.loads(aon(p, "report", p.path / "run.db", "--by", "rank", "--json").stdout)
    ok(not aonschema.check(r), f"{version}: as docs/json.md has it", aonschema.check(r)[:5])
    ok([x["rank"] for x in r["ranks"]] == list(range(world)) and
       [x["slow"] for x in r["ranks"]] == [False] * (world - 1) + [True], f"{version}: of {world} ranks the slow one", r)
    ok(r["steps_on_all_ranks"] == STEPS, f"{version}: the same steps on all {world} ranks", r)
    # One all-reduce a step, but for the first, which is left out.
    ok(r["collectives_matched"] == STEPS - 1 and r["ranks"][-1]["came_last"] > (STEPS - 1) // 2,
       f"{version}: it came last to most collectives", r)
    ok(all(x["waiting_ns"] > slow_ms * 1e6 / 2 and x["waiting_ns"] > r["ranks"][-1]["waiting_ns"] and
           x["collectives_ns"] > x["waiting_ns"] for x in r["ranks"][:-1]),
       f"{version}: the others wait for it, and waiting is not transfer", r)


with Place() as place:
    identity(place)
    for which in torches(lambda why: skip("two ranks of torch", why))[:1]:
        ranks(place, *which)
        for n in (4, 8) if LONG else (4,):
            many(place, *which, n)
done()
