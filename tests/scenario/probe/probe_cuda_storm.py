#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""The CUDA probe where programs are at their worst: killed in a storm of launches, forking like a
data loader, loading and unloading it, without rights, with filters, while daemons come and go."""
import os
import random
import signal
import subprocess
import time

from aontest import (SANITIZED, Daemon, Place, balanced, done, ok, skip, wait_for, wait_joined)
from cudatest import (APP, PROBE, clean, count, lost_by, no_python, rows, run, said, sim_env, start,
                      stored)


def total(rep):
    return count(rep, "kernel") + count(rep, "sync") + sum(lost_by(rep).values())


def storm():
    """200,000 launches over 8 devices as fast as they go: each is stored or counted."""
    n = 2000 if SANITIZED else 25000
    with Place() as place, Daemon(place) as d:
        r = run(place, f"launches={n}", "threads=8", "devices=8", "streams=4", "storm", SIM_DEVICES=8)
        rep = stored(d)
        # 8 synchronisations; and of contexts and streams the records that were lost.
        ok(clean(r) and total(rep) - 8 * n in range(8, 64) and balanced(rep["accounting"]),
           f"{8 * n} launches: {lost_by(rep)} lost, all counted", f"{r} {rows(rep)}")


def killed():
    """kill -9 at any moment: what was delivered is stored, the account adds up."""
    with Place() as place, Daemon(place) as d:
        for i in range(8):
            p = start(place, "launches=10000000", "threads=4", "streams=2", "storm")
            wait_joined(d, p.pid)
            time.sleep(random.random())
            p.send_signal(signal.SIGKILL)
            p.communicate()
        ok(wait_for(lambda: not d.status().get("sessions")), "8 sessions end", d.status())
        rep = stored(d)
        ok(count(rep, "kernel") > 0 and all(balanced(x["accounting"]) for x in rep["processes"]) and
           d.alive(), f"killed in a storm: {count(rep, 'kernel')} kernels, every account adds up", rep["accounting"])


def data_loader():
    """Workers are forked all the time, exit, and are killed, while the parent launches."""
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=20000", "forks=100", "forks")
        rep = stored(d)
        ok(clean(r) and count(rep, "kernel") == 20000 and not lost_by(rep),
           "100 workers: the parent's 20,000 kernels, once", f"{r} {rows(rep)} {lost_by(rep)}")
        ok(len(rep["processes"]) == 1, "and no worker joined", rep["processes"])


LOADS = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.dlopen.restype = ctypes.c_void_p
libc.dlopen.argtypes = [ctypes.c_char_p, ctypes.c_int]
libc.dlclose.argtypes = [ctypes.c_void_p]
def turn():
    h = libc.dlopen(sys.argv[1].encode(), 2)
    assert h
    libc.dlclose(h)
for i in range(32):
    turn()
cu = ctypes.CDLL('libcuda.so.1')
ctx = ctypes.c_void_p()
assert cu.cuInit(0) == 0 and cu.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0) == 0
cu.cuCtxSetCurrent(ctx)
for i in range(32):
    turn()
    assert cu.cuCtxSynchronize() == 0
tasks = len(os.listdir('/proc/self/task'))
maps = sum('libaon-cuda' in l for l in open('/proc/self/maps'))
print(tasks, maps, len(os.listdir('/proc/self/fd')))
"""


def loads():
    if no_python("dlopen() and dlclose()"):
        return
    with Place() as place, Daemon(place) as d:
        env = sim_env(place)
        r = subprocess.run(["python3", "-c", LOADS, PROBE], env=env, capture_output=True, text=True)
        once = subprocess.run(["python3", "-c", LOADS.replace("range(32)", "range(1)"), PROBE], env=env,
                              capture_output=True, text=True)
        ok(r.returncode == 0 and r.stdout == once.stdout and not r.stderr,
           f"64 turns of dlopen() and dlclose() leave what one leaves: {r.stdout.strip()}",
           f"{r}\n{once}")
        ok(count(stored(d), "sync") == 33, "and it records", rows(stored(d)))


def nobody():
    """A user without any rights."""
    if os.geteuid():
        skip("another user", "needs root to become one")
        return
    with Place() as place, Daemon(place) as d:
        env = sim_env(place)
        p = subprocess.run([APP, "launches=500", "mix"], env=env, capture_output=True, text=True,
                           user=65534, group=65534, extra_groups=[], cwd="/")
        if "denied" in p.stderr:
            skip("another user", "the build is not readable to others")
            return
        rep = stored(d)
        ok(p.returncode == 0 and not p.stderr and count(rep, "kernel") == 500 and
           rep["processes"][0]["uid"] == 65534, "as nobody", f"{p} {rows(rep)}")


FILTER = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
# Everything but socket, connect, sendmsg and prctl is let through; those fail with EPERM.
def op(code, jt, jf, k): return struct.pack('HBBI', code, jt, jf, k)
deny = [41, 42, 46]
prog = op(0x20, 0, 0, 0)
for i, n in enumerate(deny):
    prog += op(0x15, len(deny) - i, 0, n)
prog += op(0x06, 0, 0, 0x7fff0000) + op(0x06, 0, 0, 0x00050001)
buf = ctypes.create_string_buffer(prog)
fprog = struct.pack('HxxxxxxP', len(prog) // 8, ctypes.addressof(buf))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.create_string_buffer(fprog), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def filtered():
    """Under a filter of system calls that forbids sockets: no daemon, and the program is as it was."""
    with Place() as place, Daemon(place) as d:
        p = subprocess.run(["python3", "-c", FILTER, APP, "launches=500", "mix"], env=sim_env(place),
                           capture_output=True, text=True)
        ok(p.returncode == 0 and not p.stderr and '"kernels":500' in p.stdout, "seccomp: no sockets", p)
        ok(not d.status().get("counters", {}).get("sessions_opened"), "seccomp: no session", d.status())


def daemons():
    """Daemons die and come back under a storm; the program does not notice."""
    with Place() as place, Daemon(place) as d:
        p = start(place, "rate=20000", "launches=200000", "threads=2", "storm")
        for _ in range(3):
            time.sleep(0.7)
            d.kill()
            time.sleep(0.3)
            d.start()
        r = said(p)
        rep = stored(d)
        ok(clean(r) and r["kernels"] == 400000, "three daemons killed: the program is as it was", r)
        ok(all(balanced(x["accounting"]) for x in rep["processes"]) and count(rep, "kernel") > 0,
           "every account adds up", rep["accounting"])


def main():
    for case in (storm, killed, data_loader, loads, nobody, filtered, daemons):
        case()
    done()


if __name__ == "__main__":
    main()
