# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 needs=strace,pgrep long=yes
"""aond is killed at each system call of its work, again and again, while a program emits. Nothing
is lost in silence and nothing comes twice: what the program emitted is what the store says."""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time

from aontest import *

# What aond calls while it starts and takes a program's pool over, and in its loop: drain, hand
# over, commit, answer.
START = ("pwrite64", "recvmsg", "sendmsg", "openat", "mmap", "ftruncate", "fallocate",
         "memfd_create", "epoll_ctl", "accept4", "getsockopt", "madvise", "pread64", "fcntl", "read",
         "close", "timerfd_settime", "munmap", "futex", "write", "unlink")
LOOP = ("pwrite64", "epoll_wait", "futex", "write", "fdatasync", "read", "recvmsg", "recvfrom",
        "accept4", "sendto", "pread64", "ftruncate", "fcntl", "clock_nanosleep", "munmap", "mmap",
        "close", "epoll_ctl")


def inject(call, n):
    return ("strace", "-f", "-o", "/dev/null", "-e", f"inject={call}:signal=SIGKILL:when={n}")


def gone(d, seconds):
    """Did it die of itself?"""
    hit = wait_for(lambda: not d.alive(), seconds)
    d.kill_all()
    return hit


def die_starting(place, _, call, n):
    d = Daemon(place, wrap=inject(call, n), start=False)
    d.start(wait=0.0)
    return gone(d, 1.3)


def die_working(place, pid, call, n):
    """An aond that has its program again, and is asked for all it has: the n-th call kills it."""
    d = Daemon(place)
    wait_joined(d, pid, 3)
    s = subprocess.Popen([*inject(call, n), "-p", str(d.pid)], stderr=subprocess.PIPE, text=True)
    s.stderr.readline()
    d.ask("flush", 2.0)
    hit = gone(d, 0.05)
    s.wait(10)
    s.stderr.close()
    return hit


def sweep(place, pid, how, calls, seconds):
    """For each call its first, second, ... until none is made any more; {call: how many}."""
    hits, live = {}, list(calls)
    end = time.monotonic() + seconds
    for n in range(1, 400) if LONG else (1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 63):
        for call in list(live):
            if time.monotonic() > end:
                return hits
            if how(place, pid, call, n):
                hits[call] = hits.get(call, 0) + 1
            else:
                live.remove(call)
    return hits


def every_call(seconds):
    with Place() as place, Daemon(place) as d:
        p = app(place, "steady", "-r", 20000, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        time.sleep(0.3)
        d.kill()
        start = sweep(place, p.pid, die_starting, START, seconds / 3)
        loop = sweep(place, p.pid, die_working, LOOP, seconds * 2 / 3)
        d.start()
        ok(wait_joined(d, p.pid), "the program is back with the last aond", d.text()[-2000:])
        e = finish(p)
        d.flush()
        a = accounts(place.store)
        same(a, e, f"killed at {sum(start.values())} calls of {len(start)} kinds while it started, "
                   f"at {sum(loop.values())} of {len(loop)} kinds in its loop: emitted is exact")
        ok(len(start) > 5 and len(loop) > 5, "it did die at calls of many kinds", f"{start} {loop}")
        ok(len(a) == 1, "it stayed one process in the store", a)
        crash = lost(a[0], "crash") if a else 0
        ok(0 < crash < e["emitted"], "what a dead aond had taken is counted as crash",
           f"crash {crash} of {e['emitted']}")
        ok(check(place.store), "the store is whole", check_text(place.store))
        print(f"# start {start}; loop {loop}; crash {crash} of {e['emitted']}")
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
                ok(not any(x["in_flight"] for x in a), f"round {i}: nothing stays in flight", a)
                ok(not list(pools.glob("*.pool")), f"round {i}: the file is gone when it is read",
                   d.text()[-1000:])


every_call(3600 if LONG else 36)
at_random(40 if LONG else 5)
node_dies(10 if LONG else 2)
done()
