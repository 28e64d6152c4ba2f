# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 suite=threads
"""libaon-opencl.so in programs and below drivers that make it hard: races, callbacks, threads that are
stopped, filters, kills. With a scripted driver (cl_fake), and on PoCL."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from aontest import (BUILD, SANITIZED, Daemon, Place, accounts, app_env, balanced, done, find, ok, skip,
                     skip_all, wait_for, wait_joined)
from apptest import told

LAYER = BUILD / "src/app/probe/opencl/libaon-opencl.so"
LOADER = "libOpenCL.so.1"
RELOAD = r"""
import _ctypes, ctypes
for _ in range(64):
    lib, n = ctypes.CDLL("libOpenCL.so.1"), ctypes.c_uint()
    r = lib.clGetPlatformIDs(0, None, ctypes.byref(n))
    _ctypes.dlclose(lib._handle)
code = sum("libaon-opencl" in l and " r-xp " in l for l in open("/proc/self/maps"))
print('{"result":%d,"platforms":%d,"code":%d}' % (r, n.value, code))
"""


def events(place):
    r = subprocess.run([find("store_dump"), place.store], capture_output=True, text=True)
    return [json.loads(line) for line in r.stdout.splitlines()]


def env_of(place, **more):
    e = app_env(place, AON_JOIN_MS=1000, **more)
    e["ASAN_OPTIONS"] = "detect_leaks=0"  # the driver's own, with or without us
    return e


def not_timed(ev):
    """What was told last: events come thread by thread, and any thread may tell."""
    return max([(0, 0)] + [(e["start"], e["a"]) for e in ev if e["name"] == "opencl not timed"])[1]


def fake(how, text, look, away=False):
    """away: aond does nothing until the program has ended, as on a node that has no time for it."""
    with Place() as p, Daemon(p) as d:
        r = subprocess.Popen([find("cl_fake"), LAYER, how], env=env_of(p), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        if away:
            wait_joined(d, r.pid)
            os.kill(d.pid, signal.SIGSTOP)
        r.stdout, r.stderr = r.communicate(timeout=120)
        if away:
            os.kill(d.pid, signal.SIGCONT)
        said = told(r.stdout)
        ok(r.returncode == 0 and "kernels" in said and not r.stderr, f"{how}: the program runs", r)
        d.flush()
        ev, acc = events(p), accounts(p.store)
        ok(acc and all(map(balanced, acc)), f"{how}: every record is accounted for", acc)
        timed = [e for e in ev if e["kind"] == "kernel"]
        ok(look(timed, not_timed(ev), said), text,
           f"{len(timed)} timed, {not_timed(ev)} not, {said} {timed[:2]}")


def all_timed(timed, bad, said):
    return len(timed) == said["kernels"] and not bad


def on_time(timed, bad, said):
    return all_timed(timed, bad, said) and all(said["from_ns"] - 50_000 <= e["start"] <= said["to_ns"] + 50_000
                                               for e in timed)


def drivers():
    fake("race", "a command that ends between two questions is asked for again", on_time)
    fake("timer", "a device with a timer of its own is read in the host's time", on_time)
    fake("refuses", "a driver without profiling: the program has its queue, and what is not timed is counted",
         lambda timed, bad, said: not timed and bad == said["kernels"])
    fake("reenters", "a driver that calls the program back while an event is released: no deadlock",
         lambda timed, bad, said: all_timed(timed, bad, said) and said["kernels"] > 1000)
    fake("stuck", "a thread that is held up while it reads: others go on, and what does not fit is counted",
         lambda timed, bad, said: len(timed) + bad == said["kernels"] == 40001 and bad > 0)
    fake("twice", "what does not fit is told by two threads, the last word is the sum",
         lambda timed, bad, said: len(timed) + bad == said["kernels"] == 80002 and bad > 0, away=True)
    fake("storm", "8 threads on one queue, as fast as they can: timed and not timed are all of them",
         lambda timed, bad, said: len(timed) + bad == said["kernels"] == 40000)
    fake("cycles", "the layer is loaded and let go 64 times",
         lambda timed, bad, said: all_timed(timed, bad, said) and said["kernels"] == 63 * 10 + 1000)


def on_pocl(place, *args, wrap=(), **env):
    cmd = [*wrap, find("cl_loop"), *map(str, args)]
    r = subprocess.run(cmd, env=env_of(place, OPENCL_LAYERS=LAYER, **env), capture_output=True, text=True,
                       timeout=120)
    return r, told(r.stdout)


def storms():
    """Killed at any moment: what was emitted is accounted for, and aond goes on."""
    with Place() as p, Daemon(p) as d:
        for i in range(10):
            app = subprocess.Popen([find("cl_loop"), "storm"], env=env_of(p, OPENCL_LAYERS=LAYER),
                                   stdout=subprocess.PIPE, text=True)
            app.stdout.readline()
            time.sleep(0.02 + 0.013 * i)
            if i == 9:  # on a busy machine none may have come so far
                wait_for(lambda: (d.session(app.pid) or {}).get("emitted", 0) > 100)
            app.kill()
            app.communicate()
        r, said = on_pocl(p, "plain", 500)
        d.flush()
        acc = accounts(p.store)
        ok(len(acc) > 5 and all(map(balanced, acc)), "10 programs killed in a storm of launches", acc)
        got = collections.Counter(e["kind"] for e in events(p))
        ok(r.returncode == 0 and said.get("kernels") == 500 and got["kernel"] > 500,
           f"{got['kernel']} kernels of theirs are kept, and the next program's", f"{r} {got}")


def filtered():
    if SANITIZED:
        skip("a filter of system calls", "a sanitizer's runtime makes some of its own")
        return
    with Place() as p, Daemon(p) as d:
        r, said = on_pocl(p, "filtered", 3000)
        d.flush()
        got = collections.Counter(e["kind"] for e in events(p))
        ok(r.returncode == 0 and got["kernel"] == said["kernels"] == 3001 and got["copy"] == 2,
           "a program that forbids system calls lives, and every command is timed", f"{r} {got}")


def nobody():
    who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if os.geteuid() or subprocess.run([*who, "test", "-r", LAYER]).returncode:
        skip("nobody's program", "needs root, and a build directory that others can read")
        return
    with Place() as p, Daemon(p) as d:
        cache = p.path / "pocl"
        cache.mkdir()
        cache.chmod(0o777)
        r, said = on_pocl(p, "plain", 500, wrap=who, POCL_CACHE_DIR=cache, HOME=cache)
        d.flush()
        got = collections.Counter(e["kind"] for e in events(p))
        ok(r.returncode == 0 and got["kernel"] == said["kernels"] == 500, "nobody's program is recorded",
           f"{r} {got}")


def reloaded():
    if SANITIZED:
        skip("a loader that comes and goes", "a sanitizer's runtime must come before Python's")
        return
    with Place() as p, Daemon(p):
        r = subprocess.run([sys.executable, "-c", RELOAD], env=env_of(p, OPENCL_LAYERS=LAYER),
                           capture_output=True, text=True, timeout=120)
        ok(r.returncode == 0 and told(r.stdout) == {"result": 0, "platforms": 1, "code": 1},
           "OpenCL's loader is loaded and unloaded 64 times: the layer is there once", r)


def main():
    if not LAYER.exists():
        skip_all("built without OpenCL headers")
    drivers()
    try:
        find("cl_loop")
        driver = list(pathlib.Path("/etc/OpenCL/vendors").glob("*.icd"))
    except FileNotFoundError:
        driver = []
    if driver:
        storms()
        filtered()
        nobody()
        reloaded()
    else:
        skip("programs on PoCL", "no OpenCL loader or driver: ocl-icd-opencl-dev, pocl-opencl-icd")
    done()


main()
