#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""The user's own profiler beside the CUDA probe, on the strict stand-in: it sees what it would see
without aon, twice, with graphs; aon comes back by itself and says which interval it did not see."""
import json
import os
import subprocess
import sys
import time

import jaxtest
import torchtest
from aontest import ROOT, Daemon, Place, balanced, done, find, ok, skip
from cudatest import clean, count, events, lost_by, no_python, run, sim_env, stored

LAUNCHES, NODES = 300, 40
IN_TRACE = LAUNCHES + 20 * NODES  # kernels of the stretch with the profiler
KINDS = ("old", "new", "xla")


def traces(place):
    return (place.path / "seen").read_text().split()


def profiled(place, kind, **extra):
    options = extra.pop("options", ())
    return run(place, f"launches={LAUNCHES}", f"nodes={NODES}", *options, "profiled",
               APP_PROFILER=find("cuda_kineto.so"), PROFILER=kind, PROFILER_OUT=place.path / "seen",
               **extra)


def without_aon():
    """What the tool sees when nobody is beside it: the truth of the other cases."""
    with Place() as place:
        r = profiled(place, "new", CUDA_INJECTION64_PATH="")
        ok(clean(r) and traces(place) == [str(IN_TRACE)] * 2, "without aon", f"{r} {traces(place)}")


def neighbours():
    for kind in KINDS:
        with Place() as place, Daemon(place) as d:
            r = profiled(place, kind)
            rep = stored(d)
            ok(clean(r) and traces(place) == [str(IN_TRACE)] * 2,
               f"{kind}: the profiler sees every kernel, twice, and no buffer of aon's",
               f"{r} {traces(place)}")
            n = count(rep, "kernel")
            most = r["kernels"] - 2 * IN_TRACE
            ok(most - 120 <= n <= most,
               f"{kind}: aon has the others: {n} of {most}, it may miss those before it came back",
               lost_by(rep))
            ok(balanced(rep["accounting"]), f"{kind}: every record is accounted for",
               rep["accounting"])
            ext = [e for e in events(place.store, "range") if e["name"].startswith("externally")]
            ok(len(ext) == 2 and all("cuda_kineto.so" in e["name"] for e in ext),
               f"{kind}: two intervals that aon did not see, with whose they are", ext)
            ok(all(e["dur"] < 5e9 for e in ext), f"{kind}: it came back within five seconds",
               [e["dur"] / 1e9 for e in ext])


def late():
    """A library that is loaded after cuInit()."""
    with Place() as place, Daemon(place) as d:
        r = profiled(place, "old", options=("late=1",))
        ok(clean(r) and traces(place) == [str(IN_TRACE)] * 2, "a profiler that is loaded late",
           f"{r} {traces(place)}")
        ok(count(stored(d), "kernel") > LAUNCHES, "aon records beside it")


def at_the_end():
    """A call when the probe's thread has ended already waits for nobody."""
    with Place() as place, Daemon(place):
        begin = time.monotonic()
        r = run(place, "launches=100", "storm", APP_PROFILER=find("cuda_kineto.so"), PROFILER="new", PROFILER_END=1)
        ok(clean(r) and time.monotonic() - begin < 25, f"a call at the program's end: {time.monotonic() - begin:.1f} s", r)


JAX_PROGRAM = """
import ctypes, json, os, sys, time
import jax
cuda = ctypes.CDLL('libcuda.so.1')
context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
cupti = ctypes.CDLL('libcupti.so.12')
Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)
callback = Callback(lambda *a: None)

def xla():
    sub = ctypes.c_void_p()
    err = cupti.cuptiSubscribe(ctypes.byref(sub), callback, None)
    if not err:
        cupti.cuptiUnsubscribe(sub)
    return err

time.sleep(1)
before = xla()
during = []
for i in range(2):
    jax.profiler.start_trace(sys.argv[1])
    during.append(xla())
    time.sleep(0.5)
    jax.profiler.stop_trace()
    time.sleep(3)
print(json.dumps({'before': before, 'during': during, 'after': xla()}), flush=True)
time.sleep(60)
"""


def jax_profiler():
    """XLA finds libcupti by itself: the hook of jax.profiler makes room before it."""
    if no_python("jax.profiler"):
        return
    found = sorted(f for f in torchtest.CACHE.glob("jax/*") if (f / ".has").exists())
    if not found:
        skip("jax.profiler", "no JAX: tools/setup check gets it from PyPI into the cache")
        return
    with Place() as place, Daemon(place) as d:
        env = sim_env(place, AON_JAX=os.path.realpath(find("libaon-jax.so")), **jaxtest.environment(found[-1]))
        env["PYTHONPATH"] += f":{ROOT / 'python'}"
        code = "import aon_hook; aon_hook.wait('jax', 'aon_hook_jax')" + JAX_PROGRAM
        p = subprocess.Popen([sys.executable, "-c", code, str(place.path / "trace")], env=env,
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = p.stdout.readline()
        ok(line.strip() and json.loads(line) == {"before": 39, "during": [0, 0], "after": 39},
           f"jax.profiler: CUPTI is free while it traces, and aon's before and after: {line.strip()}",
           p.stderr.read() if not line else "")
        d.flush()
        ext = [e for e in events(place.store, "range") if e["name"] == "externally profiled: jax.profiler"]
        ok(len(ext) == 2, "two intervals that aon did not see", ext)
        p.kill()
        p.communicate()


def main():
    for case in (without_aon, neighbours, late, at_the_end, jax_profiler):
        case()
    done()


if __name__ == "__main__":
    main()
