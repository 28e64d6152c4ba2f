#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""`srun -N2 aon run -- python train.py` on two nodes of Slurm: each node records its rank, and the two stores together
say which job it was, which steps both have, and which rank the other waits for."""
import json
import subprocess

import aonschema
from aontest import Place, done, find, ok, skip_all
from clitest import aon, env_for
from slurmtest import NODES, Slurm, free_ports, missing
from torchtest import APPS, torches

STEPS = 25

why = missing()
if why:
    skip_all(why)
version, python = torches()[0]
with Place() as place:
    folder = place.path / "slurm"
    folder.mkdir()
    with Slurm(folder) as slurm:
        if slurm.why:
            skip_all(slurm.why)
        work = place.path / "job"
        work.mkdir()
        env = env_for(place, SLURM_CONF=slurm.env["SLURM_CONF"], MASTER_ADDR="127.0.0.1", MASTER_PORT=free_ports(1)[0],
                      GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS=1, SLOW_MS=40)
        env["PATH"] = slurm.env["PATH"]
        r = subprocess.run(["srun", "-N2", "-n2", "--kill-on-bad-exit", find("aon"), "run", "--no-report", "--", python,
                            APPS / "torch_ddp.py", str(STEPS)], env=env, cwd=work, capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=200)
    stores = sorted(work.glob("aon-*.db"))
    ok(r.returncode == 0 and len(stores) == 2, "two tasks run, each node has its store", (r, stores))
    told = {x["rank"]: x for x in map(json.loads, (y for y in r.stdout.splitlines() if y.startswith("{")))}
    ok(sorted(told) == [0, 1], "two ranks", r.stdout)
    out = aon(place, "report", *stores, "--by", "rank", "--json")
    rep = json.loads(out.stdout)
    ranks = rep["ranks"]
    ok(not aonschema.check(rep), "as docs/json.md has it", aonschema.check(rep)[:5])
    ok([(x["rank"], x["pid"]) for x in ranks] == [(k, told[k]["pid"]) for k in (0, 1)], "a row for each rank", ranks)
    ok(sorted(x["node"] for x in ranks) == list(NODES), "both nodes, as Slurm names them", ranks)
    ok(ranks[0]["job"] and ranks[0]["job"].isdigit() and ranks[0]["job"] == ranks[1]["job"], "the job's number", ranks)
    ok(rep["steps_on_all_ranks"] == STEPS and rep["collectives_matched"] == STEPS - 1,
       "steps and collectives of both are the same", rep)
    ok([x["slow"] for x in ranks] == [False, True] and ranks[0]["waiting_ns"] > max(15e6, ranks[1]["waiting_ns"]),
       "the slow rank is named: the other waits for it", rep)
    text = aon(place, "report", *stores, "--by", "rank").stdout.decode()
    ok("The others wait for rank 1" in text and "n1" in text and "n2" in text, "and in words", text)
done()
