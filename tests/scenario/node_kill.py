# SPDX-License-Identifier: Apache-2.0
"""aond is killed at each system call of its work, again and again, while a program emits. Nothing
is lost in silence and nothing comes twice: what the program emitted is what the store says."""
import itertools
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time

from aontest import *  # noqa: F403
from aontest import LONG

# Start, drain and commit, as far as they are system calls.
CALLS = ("pwrite64", "fdatasync", "write", "ftruncate", "recvmsg", "sendmsg", "epoll_wait", "futex",
         "openat", "read", "pread64", "fcntl", "unlink", "accept4", "mmap", "munmap", "fallocate",
         "epoll_ctl", "timerfd_settime", "getsockopt", "memfd_create", "madvise", "close")


def points():
    """(call, n) pairs: each call first, then deeper and deeper into the run."""
    steps = range(1, 200) if LONG else (1, 2, 4, 7, 12, 20, 33, 54, 88)
    return itertools.chain.from_iterable(((c, n) for c in CALLS) for n in steps)


def die_at(place, call, n):
    """Runs aond until that call kills it, or for 1.4 s, then kills it anyway."""
    d = Daemon(place, wrap=("strace", "-f", "-qq", "-o", "/dev/null", "-e",
                            f"inject={call}:signal=SIGKILL:when={n}"), start=False)
    d.start(wait=0.0)
    end = time.monotonic() + 1.4
    while time.monotonic() < end and d.alive():
        time.sleep(0.02)
    hit = not d.alive()
    d.kill_all()
    return hit


def every_call(seconds):
    never = set()
    hits = {}
    with Place() as place, Daemon(place) as d:
        p = app(place, "steady", "-r", 20000, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        time.sleep(0.3)
        d.kill()
        end = time.monotonic() + seconds
        for call, n in points():
            if time.monotonic() > end:
                break
            if call in never:
                continue
            if die_at(place, call, n):
                hits[call] = n
            elif n == 1:
                never.add(call)
        d.start()
        ok(wait_joined(d, p.pid), "the program is back with the last aond", d.text()[-2000:])
        e = finish(p)
        d.flush()
        a = accounts(place.store)
        same(a, e, f"killed at {sum(hits.values())} points or deeper of {len(hits)} calls: "
                   "emitted is what the program emitted")
        ok(len(a) == 1, "it stayed one process in the store", a)
        crash = a[0]["lost_by"].get("crash", 0) if a else 0
        ok(e["emitted"] and crash < e["emitted"], "what a dead aond had taken is counted as crash",
           f"crash {crash} of {e['emitted']}")
        ok(check(place.store), "the store is whole", check_text(place.store))
        print(f"# hit {hits}; never made: {sorted(never)}; crash {crash} of {e['emitted']}")
        ok(d.stop() == 0, "the last aond ends by SIGTERM with 0")


def at_random(rounds):
    """The moment is chosen by chance, not by call."""
    rnd = random.Random(7)
    with Place() as place, Daemon(place) as d:
        p = app(place, "steady", "-r", 50000, "-k", "range", "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        for _ in range(rounds):
            time.sleep(rnd.uniform(0.05, 1.3))
            d.kill()
            d.start()
        ok(wait_joined(d, p.pid), "after kills by chance the program is back")
        e = finish(p)
        d.flush()
        same(accounts(place.store), e, f"killed {rounds} times by chance: emitted is exact")


def elsewhere(text):
    """Records that aon recover leaves to the store of the aond that took them."""
    return sum(f.get("taken_before", 0) for f in json.loads(text or "{}").get("files", []))


def node_dies(rounds):
    """Program and aond die together; the pool is a file that outlives both."""
    rnd = random.Random(11)
    for i in range(rounds):
        with Place() as place:
            pools, counts = place.path / "pools", place.path / "counts"
            pools.mkdir(mode=0o700)
            with Daemon(place, sets={"pool_dir": pools}) as d:
                p = app(place, "steady", "-r", 100000, "-w", "-c", counts, stdin=subprocess.PIPE)
                wait_joined(d, p.pid)
                time.sleep(rnd.uniform(0.2, 1.6))
                os.kill(d.pid, signal.SIGSTOP)  # so that both die at one moment
                p.kill()
                d.kill()
                p.wait()
                begun, done_ = struct.unpack_from("<QQ", counts.read_bytes())
                left = list(pools.glob("*.pool"))
                ok(len(left) == 1, f"round {i}: the pool is left in its file", left)
                copy = place.path / "copy"
                shutil.copytree(pools, copy)
                r = aon("recover", *copy.glob("*.pool"), "-o", place.path / "saved.db", "--json")
                saved = accounts(place.path / "saved.db")
                ok(r.returncode == 0 and saved and all(map(balanced, saved)) and
                   done_ <= total(saved, "emitted") + elsewhere(r.stdout) <= begun,
                   f"round {i}: aon recover accounts for every record of the pool's life",
                   f"{begun} {done_} {saved} {r.stdout} {r.stderr}")
                d.start()
                d.flush()
                a = accounts(place.store)
                ok(done_ <= total(a, "emitted") <= begun and all(map(balanced, a)),
                   f"round {i}: the next aond accounts for all {done_} records",
                   f"begun {begun} done {done_}: {a}")
                ok(not any(x["in_flight"] for x in a), f"round {i}: nothing is in flight for ever", a)
                ok(not list(pools.glob("*.pool")), f"round {i}: the file is gone when it is read",
                   d.text()[-1000:])


need("strace", "pgrep")
every_call(3600 if LONG else 34)
at_random(40 if LONG else 5)
node_dies(10 if LONG else 2)
done()
