# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 parallel=no
"""aond is stopped, starved or overrun: programs do not feel it, and what was lost is counted."""
import os
import signal
import subprocess
import time

from aontest import *

POOLS, QUEUE = 24, 8  # MiB
BESIDES = 24  # MiB: code, SQLite, tables, sessions


def steady(place, *args):
    return app(place, "steady", *args, stdin=subprocess.PIPE)


def normal_cost(place):
    return min(emitted(steady(place, "-s", 0.5))["p50_ns"] for _ in range(3))


def rss_mib(d):
    return d.status()["memory"]["rss_kib"] / 1024


def stopped(seconds):
    with Place() as place, Daemon(place) as d:
        normal = normal_cost(place)
        p = steady(place, "-w")
        wait_joined(d, p.pid)
        time.sleep(0.5)
        os.kill(d.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(d.pid, signal.SIGCONT)
        t = time.monotonic()
        ok(d.ping() and time.monotonic() - t < 2, "aond answers at once when it goes on")
        time.sleep(1)
        e = finish(p)
        d.flush()
        a = account_of(place.store, p.pid)
        same(a, e, f"stopped for {seconds} s: emitted is exact")
        ok(lost(a[0], "pool_full") > 0, "what did not fit the pool is counted", a)
        ok(SANITIZED or e["p50_ns"] <= 2 * normal, "the program's emit costs what it did",
           f"{e} normal {normal}")
        ok(d.counter("accounts_wrong") == 0, "accounts added up at every commit", d.text()[-1000:])


def overrun(seconds):
    sets = {"pools_mib": POOLS, "queue_mib": QUEUE, "pool_kib": 2048}
    with Place() as place, Daemon(place, sets=sets) as d:
        group = limit_memory(d.pid, POOLS + QUEUE + BESIDES)
        normal = normal_cost(place)
        many = [steady(place, "-t", 2, "-s", seconds, "-k", k)
                for k in ("mark", "range", "mark", "name", "mark", "range")]
        peak, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            peak = max(peak, rss_mib(d))
            time.sleep(0.2)
        es = [emitted(p) for p in many]
        d.flush()
        a = account_of(place.store, *(p.pid for p in many))
        ok(total(a, "emitted") == sum(e["emitted"] for e in es) and all(map(balanced, a)),
           "overrun: emitted is exact for all programs", f"{es}\n{a}")
        ok(all(e["joined"] for e in es), "all of them were let in", es)
        ok(sum(map(lost, a)) > 0, "what was too much is counted", a)
        ok(SANITIZED or peak <= POOLS + QUEUE + BESIDES,
           f"aond keeps its budget: {peak:.0f} MiB at most", sets)
        marks = [e["p50_ns"] for e, k in zip(es, (1, 0, 1, 0, 1, 0)) if k]
        # Twelve threads share the cores, so this is the cost of an emit, not of waiting for one.
        ok(SANITIZED or min(marks) <= 2 * normal, "an emit costs the program no more than before",
           f"{marks} normal {normal}")
        ok(d.counter("accounts_wrong") == 0, "accounts added up at every commit", d.text()[-1000:])
        if group:
            ok(d.stop() == 0, "with its budget as a hard limit it is not killed", d.text()[-1000:])
            os.rmdir(group)


def limit_memory(pid, mib):
    """A memory cgroup of that size around aond, from now on; None where there is none."""
    group = f"/sys/fs/cgroup/memory/aon-test-{os.getpid()}"
    try:
        if SANITIZED:
            return None
        os.mkdir(group)
        for name, v in (("memory.limit_in_bytes", mib << 20), ("cgroup.procs", pid)):
            with open(f"{group}/{name}", "w") as f:
                f.write(str(v))
        return group
    except OSError:
        return None


def starved(seconds):
    with Place() as place, Daemon(place, sets={"nice": 19}) as d:
        group = starve(d.pid)
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
        try:
            p = steady(place, "-s", seconds)
            e = emitted(p)
        finally:
            for b in busy:
                b.kill()
                b.wait()
            if group:
                unstarve(group, d.pid)
        ok(d.ping(), "a starved aond answers when it may run again")
        d.flush()
        a = accounts(place.store)
        how = "1 % of a core" if group else "nice 19"
        same(a, e, f"starved ({how}, both cores busy): emitted is exact")
        ok(e["max_us"] < 1e6, "no emit waited for aond", e)


def starve(pid):
    base = "/sys/fs/cgroup/cpu"
    group = f"{base}/aon-test-{os.getpid()}"
    try:
        os.mkdir(group)
        with open(f"{group}/cpu.cfs_quota_us", "w") as f:
            f.write("1000")  # of 100,000
        with open(f"{group}/cgroup.procs", "w") as f:
            f.write(str(pid))
        return group
    except OSError:
        return None


def unstarve(group, pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        os.setpriority(os.PRIO_PROCESS, int(task), 0)
    with open("/sys/fs/cgroup/cpu/cgroup.procs", "w") as f:
        f.write(str(pid))
    wait_for(lambda: not open(f"{group}/cgroup.procs").read().strip(), 5)
    os.rmdir(group)


stopped(60 if LONG else 5)
overrun(30 if LONG else 5)
starved(20 if LONG else 4)
done()
