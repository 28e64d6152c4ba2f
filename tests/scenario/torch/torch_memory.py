#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Memory of tensors: on the CPU the bytes that torch's own profiler counts, of GPUs what the caching allocator
says (a torch.cuda that answers as one: there is no GPU here), and `aon report --memory` of both."""
import json

import aonschema
from aontest import Place, done, ok
from clitest import aon
from torchtest import APPS, bare, run, torches

APP = APPS / "torch_memory.py"


def memory(p):
    r = aon(p, "report", "--memory", "--json", p.path / "run.db")
    rep = json.loads(r.stdout)
    ok(not aonschema.check(rep), "--memory --json is as docs/json.md says", aonschema.check(rep)[:3])
    return rep["memory"]


def cpu_exact(p, version, python):
    """Each step's change and its highest, in bytes, against profile_memory of torch.profiler."""
    r, _ = run(p, python, APP, "cpu", 24, env={"AON_TORCH_MEMORY": "cpu"})
    ok(r.returncode == 0, f"{version}: a training under torch.profiler", r)
    told = {int(k): v for k, v in json.loads(r.stdout)["told"].items()}
    rows = memory(p)
    ok(len(rows) == 1 and rows[0]["device"] is None, f"{version}: the CPU's memory, and no other", rows)
    at = {s["step"]: s for s in rows[0]["steps"]}
    ok(sorted(at) == list(range(2, 25)), f"{version}: of every step but the first, which is known as one when the second ends", sorted(at))
    other = {n: (at[n]["allocated_bytes"] - at[n - 1]["allocated_bytes"],
                 at[n]["highest_bytes"] - at[n - 1]["allocated_bytes"], told[n])
             for n in range(3, 25)
             if [at[n]["allocated_bytes"] - at[n - 1]["allocated_bytes"],
                 at[n]["highest_bytes"] - at[n - 1]["allocated_bytes"]] != told[n]}
    ok(not other and told[3][1] > 10000, f"{version}: bytes kept and highest of each step are torch's own", other or told)


def cpu_leak(p, version, python):
    want = json.loads(bare(p, python, APP, "leak", 40, 3 << 20).stdout)["sum"]
    r, rep = run(p, python, APP, "leak", 40, 3 << 20, env={"AON_TORCH_MEMORY": "cpu"})
    ok(r.returncode == 0 and json.loads(r.stdout)["sum"] == want, f"{version}: the same result as without aon", r)
    row = memory(p)[0]
    ok(row["growth_bytes_per_step"] == 3 << 20, f"{version}: growth a step, to the byte", row["growth_bytes_per_step"])
    ok(row["peak_step"] == 40 and row["peak_bytes"] >= 39 * (3 << 20), f"{version}: the peak and its step", row)
    text = aon(p, "report", "--memory", p.path / "run.db").stdout.decode()
    ok("CPU" in text and "It grows by 3.15 MB a step" in text, f"{version}: the report says so", text)
    ok(not rep["accounting"]["lost"], f"{version}: nothing is lost", rep["accounting"])


def gpu(p, version, python):
    r, rep = run(p, python, APP, "cuda", 60)
    ok(r.returncode == 0, f"{version}: a training whose torch.cuda answers", r)
    seen = json.loads(r.stdout)["seen"]
    rows = {x["device"]: x for x in memory(p)}
    ok(set(rows) == {0, 1}, f"{version}: the two GPUs in use, and nothing of the CPU unless it is asked for", list(rows))
    got = [(s["allocated_bytes"], s["reserved_bytes"], s["retries"]) for s in rows[0]["steps"]]
    want = [tuple(s[1:]) for s in seen if s[0] == 0]
    ok(len(got) > 10 and got == want[:len(got)] and len(want) - len(got) <= 1,
       f"{version}: what torch answered, each time", (got[:3], want[:3], len(got), len(want)))
    n = len(got)
    ok(rows[0]["peak_bytes"] == got[-1][0] + (1 << 20) and rows[0]["peak_step"] == rows[0]["steps"][-1]["step"] and
       rows[0]["retries"] == got[-1][2] - got[0][2], f"{version}: peak, its step, retries", rows[0])
    # One megabyte for each question; on a busy machine not every step is asked about.
    ok(0 < rows[0]["growth_bytes_per_step"] <= 1 << 20 and rows[1]["growth_bytes_per_step"] == 0,
       f"{version}: one grows, one does not", [x["growth_bytes_per_step"] for x in rows.values()])
    ok(abs(rows[1]["unused_share"] - (1 - 10 ** 9 / (4 << 30))) < 1e-6, f"{version}: what is reserved and not used", rows[1]["unused_share"])
    text = aon(p, "report", "--memory", p.path / "run.db").stdout.decode()
    ok("GPU 0" in text and "GPU 1" in text and "had to empty the cache" in text and "is not used" in text,
       f"{version}: the report's sentences", text)
    ok(not rep["accounting"]["lost"] and n, f"{version}: nothing is lost", rep["accounting"])


def elsewhere(p, version, python):
    """Python's main thread waits for the one that trains, and asks nobody: the hook of optimizers does."""
    r, _ = run(p, python, APP, "cuda", 30, "thread")
    seen = [s[1] for s in json.loads(r.stdout)["seen"] if s[0] == 0]
    got = [s["allocated_bytes"] for x in memory(p) if x["device"] == 0 for s in x["steps"]]
    ok(len(got) > 10 and set(got) <= set(seen), f"{version}: a training that is not on the main thread", (len(got), len(seen), r))


with Place() as place:
    for which in torches():
        cpu_leak(place, *which)
        if int(which[0].split(".")[0]) >= 2:  # 1.13 of Debian has neither CUDA nor Kineto
            gpu(place, *which)
            elsewhere(place, *which)
            cpu_exact(place, *which)
    r = aon(place, "report", "--memory", "--by", "rank", place.path / "run.db")
    ok(r.returncode == 2 and b"two reports" in r.stderr, "--memory and --by: misuse", r)
done()
