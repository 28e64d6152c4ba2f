#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 long=yes
"""The records of steps that aond makes while a job runs, value by value against the same computed from the events of
its store: DDP over gloo on two ranks, and a program on the stand-in GPU. A rank that hangs has a partial one."""
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import time

from aontest import BUILD, Daemon, Place, done, find, ok, skip, wait_for
from clitest import aon, env_for
from torchtest import APPS, run, torches

STEPS = 40
SIM = "129"
NEAR = 512  # ns: times are single precision


def sql(p, store, text):
    r = aon(p, "sql", "--json", text, store)
    if r.returncode:
        return r.stderr.decode()
    got = json.loads(r.stdout)
    return [dict(zip([c["name"] if isinstance(c, dict) else c for c in got["columns"]], row)) for row in got["rows"]]


def union(spans, lo, hi):
    total, end = 0, lo
    for a, b in sorted(spans):
        a, b = max(a, end), min(b, hi)
        if b > a:
            total += b - a
            end = b
    return total


def longest_gap(spans, lo, hi):
    best, end = 0, lo
    for a, b in sorted(spans):
        if a > end:
            best = max(best, min(a, hi) - end)
        end = max(end, min(b, hi))
    return max(best, hi - end)


class Store:
    """The events of one process, for a computation of its own."""

    def __init__(self, p, store, process):
        one = lambda table, cols="ts, dur, name, track": sql(p, store, f"select {cols} from {table} where process = {process}")
        self.steps = sorted((s["ts"], s["ts"] + s["dur"], s["number"]) for s in one("step", "ts, dur, number"))
        gpu = sql(p, store, f"select count(*) n from track where process = {process} and device is not null and stream is not null")
        self.gpu = gpu[0]["n"] > 0
        of = lambda rows: [(r["ts"], r["ts"] + r["dur"], r["name"]) for r in rows]
        kernels = of(one("kernel", "ts, dur, name"))
        self.comm = [k[:2] for k in kernels if "nccl" in k[2].lower()]
        self.compute = [k[:2] for k in kernels if "nccl" not in k[2].lower()]
        self.copy = [k[:2] for k in of(one("copy", "ts, dur, name")) + of(one("memset", "ts, dur, name"))]
        self.colls = one("collective", "ts, dur, name, bytes, sequence, track")
        if not self.gpu:
            self.comm += [(c["ts"], c["ts"] + c["dur"]) for c in self.colls]
        apis = of(one("api", "ts, dur, name"))
        calls = {a["correlation"]: a["ts"] + a["dur"] for a in one("api", "ts, dur, name, correlation") if "launch" in a["name"].lower()}
        self.issue = [(k["ts"], max(0, k["ts"] - calls[k["correlation"]])) for k in one("kernel", "ts, name, correlation")
                      if k["correlation"] in calls and "nccl" not in k["name"].lower()]
        self.launch = [a[:2] for a in apis if "launch" in a[2].lower()]
        self.sync = [a[:2] for a in apis if "synchronize" in a[2].lower()]


def expect(st, begin, end):
    busy = st.compute + st.comm + st.copy
    u = lambda spans: union(spans, begin, end)
    issue = [x for t, x in st.issue if begin <= t < end]
    return {"step_ns": end - begin, "compute_ns": u(st.compute), "comm_ns": u(st.comm),
            "exposed_ns": u(st.compute + st.comm) - u(st.compute), "copy_ns": u(st.copy), "idle_ns": end - begin - u(busy),
                        "launch_ns": u(st.launch), "issue_ns": sum(issue) // len(issue) if issue else 0,
            "stall_ns": longest_gap(busy, begin, end)}


def compare(p, store, text, least):
    """Every record of every process, every time that events tell."""
    n, wrong, colls = 0, [], []
    for process in sql(p, store, "select process, pid, wall_offset from process"):
        records = sql(p, store, f"select * from step_record where process = {process['process']} and not partial order by step")
        if not records:
            continue
        st = Store(p, store, process["process"])
        for r in records:
            begin = r["wall"] - process["wall_offset"]
            at = [i for i, s in enumerate(st.steps) if s[0] == begin]
            if not at:
                wrong.append(("no such step", r))
                continue
            end = st.steps[at[0]][1]
            if at[0] + 1 < len(st.steps) and st.steps[at[0] + 1][0] - end < end - begin:
                end = st.steps[at[0] + 1][0]
            want = expect(st, begin, end)
            bad = {k: (r[k], v) for k, v in want.items() if abs(r[k] - v) > NEAR + v * 1e-6}
            if bad:
                wrong.append((r["step"], bad))
            mine = [c for c in st.colls if begin <= c["ts"] < end and c["sequence"]]
            slots = sql(p, store, f"select * from exchange where process = {process['process']} and step = {r['step']}")
            got = (sum(s["count"] for s in slots), max([s["done"] for s in slots], default=0))
            if got != (len(mine), max([c["sequence"] for c in mine], default=0)) or \
                    abs(sum(s["sum_ns"] for s in slots) - sum(c["dur"] for c in mine)) > NEAR * max(1, len(mine)):
                colls.append((r["step"], slots, mine))
            n += 1
    ok(n >= least and not wrong, f"{text}: {n} records, every time as computed from the events", wrong[:3])
    ok(not colls, f"{text}: exchanges by number, count and time", colls[:2])


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def torchrun(python, app, *argv, n=2):
    return [python, "-m", "torch.distributed.run", "--nproc-per-node", n, "--master-port", port(), app, *argv]


def ddp(p, version, python):
    r, _ = run(p, *torchrun(python, APPS / "torch_ddp.py", STEPS), env={"SLOW_MS": "60"})
    store = p.path / "run.db"
    ok(r.returncode == 0, f"{version}: two ranks over gloo", r)
    compare(p, store, f"{version}, gloo", 2 * (STEPS // 2 - 4))
    alike = sql(p, store, "select step, count(distinct regime) regimes, count(*) n, min(exchange.comm) = max(exchange.comm) same"
                          " from step_record join exchange using (step, rank) where step > 2 and op = 'all_reduce' group by step")
    ok(alike and all(x["same"] for x in alike), f"{version}: both ranks hash the group alike", alike[:3])
    # Clocks tell nothing here: who stays for the shortest time came last.
    last = sql(p, store, "select rank, avg(sum_ns) mean from exchange where step > 2 group by rank order by mean")
    ok(last and last[0]["rank"] == 1, f"{version}: the slow rank stays for the shortest time", last)
    out = p.path / "job.steps"
    e = aon(p, "export", "-o", out, "--json", store)
    told = json.loads(e.stdout) if e.returncode == 0 else {}
    data = out.read_bytes() if out.exists() else b""
    at, heads = 0, []
    while at < len(data):
        magic, ver, size = struct.unpack_from("<IHH", data, at)
        rank, world, step = struct.unpack_from("<III", data, at + 32)
        heads.append((step, rank, world, magic, ver))
        at += size
    ok(heads and len(heads) == told.get("records") and heads == sorted(heads) and {h[2] for h in heads} == {2} and
       {h[1] for h in heads} == {0, 1} and {h[3:] for h in heads} == {(0x53504e41, 1)},
       f"{version}: exported step by step, ranks in order", (told, heads[:4]))


def gpu(p, version, python):
    for f in p.path.glob("store.db*"):
        f.unlink()
    with Daemon(p, sets={"tier": "full"}) as d:
        env = {"LD_LIBRARY_PATH": BUILD / "tests/sim" / SIM, "RANK": 0, "WORLD_SIZE": 2, "AON_JOIN_MS": 1000}
        r = aon(p, "run", "--no-report", "--", python, APPS / "torch_cuda.py", 900, env=env, timeout=200)
        d.flush()
        d.stop()
    ok(r.returncode == 0, f"{version}: a program on the stand-in GPU", r)
    compare(p, p.store, f"{version}, stand-in GPU", 1)  # fast steps: one in many has a record
    busy = sql(p, p.store, "select count(*) n from step_record where compute_ns > 0 and launch_ns > 0")
    ok(busy and busy[0]["n"] > 0, f"{version}: kernels and the calls that launch them", busy)


def hang(p, version, python):
    """One rank stops: the other one's record says to which exchange it has come."""
    for f in p.path.glob("store.db*"):
        f.unlink()
    with Daemon(p) as d:
        a = subprocess.Popen([str(x) for x in [find("aon"), "run", "--no-report", "--",
                              *torchrun(python, APPS / "torch_ddp.py", 100000)]],
                             env=env_for(p, AON_JOIN_MS="2000", SLOW_MS="30"), cwd=p.path, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
        got = None
        try:
            def ranks():
                d.flush()
                got = sql(p, p.store, "select rank, process.pid, max(step) step from step_record join process using (process)"
                                      " where rank is not null group by rank order by rank")
                return got if isinstance(got, list) and len(got) == 2 and got[0]["step"] > 20 else None
            got = wait_for(ranks, 90)
            stopped = got[1]["pid"] if got else 0
            if stopped:
                os.kill(stopped, signal.SIGSTOP)

            def partial():
                d.flush()
                x = sql(p, p.store, "select step_record.rank, issued, done from step_record join exchange using (wall, process)"
                                    " where partial and op = 'all_reduce'")
                return x if isinstance(x, list) and {y["rank"] for y in x} >= {0, 1} else None
            x = wait_for(partial, 120) if stopped else None
            by = {y["rank"]: y for y in x or []}
            ok(x and by[0]["issued"] > by[0]["done"], f"{version}: who waits has begun what is not done", x)
            ok(x and by[1]["done"] <= by[0]["issued"], f"{version}: who is waited for stands before it", x)
        finally:
            os.killpg(a.pid, signal.SIGKILL)
            a.wait()
            for rank in got or []:  # torchrun gives each a group of its own
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rank["pid"], signal.SIGKILL)
        d.stop()


with Place() as place:
    for which in torches(lambda why: skip("records of torch's steps", why))[:1]:
        ddp(place, *which)
        gpu(place, *which)
        hang(place, *which)
done()
