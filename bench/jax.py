#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The additional cost of a call of a jitted function when aon records it, with its range and its step: two functions of
one source alternate in one process, one of which passes for JAX's own and is not recorded. CPU time of the thread, the
minimum over all turns."""
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/scenario/lib"))
os.environ.setdefault("AON_BUILD", os.getcwd())
import aontest  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
LOOP = """
import json, sys, time
import jax, numpy as np
def make(module):
    def f(x):
        return x + 1
    f.__module__ = module
    return jax.jit(f)
x = jax.device_put(np.float32(1))
kinds = {"seen": make("bench"), "not": make("jax.bench")}
least = dict.fromkeys(kinds, 1e9)
for i in range(400):
    for kind in sorted(kinds, reverse=i % 2):
        f = kinds[kind]
        begin = time.thread_time_ns()
        for _ in range(500):
            f(x)
        least[kind] = min(least[kind], (time.thread_time_ns() - begin) / 500)
print(json.dumps(least))
"""


def main():
    found = sorted(f for f in CACHE.glob("jax/*") if (f / ".has").exists())
    if not found:
        print(json.dumps({"id": "jax_step_ns", "value": None, "unit": "", "bar": None, "ok": None,
                          "note": "skipped: no JAX (tools/setup bench)"}))
        return
    with aontest.Place() as p, aontest.Daemon(p, sets={"pool_kib": 32768}):
        env = aontest.app_env(p, AON_JOIN_MS=200, JAX_PLATFORMS="cpu", AON_JAX=aontest.BUILD / "src/app/probe/jax/libaon-jax.so",
                              PYTHONPATH=f"{aontest.BUILD / 'python'}:{found[0]}")
        r = subprocess.run([sys.executable, "-c", LOOP], env=env, capture_output=True, text=True)
    if r.returncode:
        sys.exit(r.stderr)
    got = json.loads(r.stdout.splitlines()[-1])
    print(json.dumps({"id": "jax_step_ns", "value": round(got["seen"] - got["not"], 1), "unit": "ns", "bar": None, "ok": True,
                      "call_ns": round(got["not"]), "jax": found[0].name}))


main()
