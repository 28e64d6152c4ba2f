#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=7200 sanitize=no
"""aon with the real CUDA, torch, JAX, NCCL, NVML and DCGM: `make check-gpu`, on a node that has GPUs. What is not there
is skipped, with the reason. Without AON_GPU=1, as in `make check`, it says only what it would run."""
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from aontest import BUILD, Place, done, find, ok, report, skip
from nvmlkit import COLUMNS, number

ASKED = os.environ.get("AON_GPU") == "1"
COLLECT = BUILD / "src/node/collect/aon-collect"
KERNELS, CALLS = 300, 50

TORCH = f"""
import sys, torch
from torch.profiler import profile, ProfilerActivity as A
x = torch.ones(64, device='cuda')
def work():
    for _ in range({KERNELS}): x.add_(1)
    torch.cuda.synchronize()
work()
if sys.argv[1] == 'profile':
    with profile(activities=[A.CPU, A.CUDA]) as p: work()
    print(sum(e.count for e in p.key_averages() if 'elementwise' in e.key))
"""

JAX = f"""
import jax, jax.numpy as np
f = jax.jit(lambda x: np.sin(x) * 2)
x = f(np.ones(4096)).block_until_ready()
for _ in range({KERNELS}): x = f(x)
x.block_until_ready()
"""

NCCL = f"""
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
def rank(r):
    os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='29587')
    torch.cuda.set_device(r)
    dist.init_process_group('nccl', rank=r, world_size=2)
    x = torch.ones(1 << 20, device='cuda')
    for _ in range({CALLS}): dist.all_reduce(x)
    torch.cuda.synchronize()
    dist.destroy_process_group()
if __name__ == '__main__':
    mp.spawn(rank, nprocs=2)
"""


def no_library(*names):
    """Why none of them can be opened."""
    for name in names:
        try:
            ctypes.CDLL(name)
            return None
        except OSError:
            pass
    return f"no {names[0]}"


def gpus():
    """How many the driver shows; or why none."""
    if why := no_library("libcuda.so.1"):
        return 0, why
    code = ("import ctypes; c = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(); e = c.cuInit(0) or c.cuDeviceGetCount(ctypes.byref(n)); "
            "print(e, n.value)")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() or ["-1", "0"]
    return (int(out[1]), "no GPU") if out[0] == "0" else (0, f"cuInit: error {out[0]}")


def no_module(name, test):
    """Why this Python's framework cannot use a GPU."""
    if subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode:
        return f"no {name} in {pathlib.Path(sys.executable).name}"
    r = subprocess.run([sys.executable, "-c", f"import {name}, sys; sys.exit(not ({test}))"], capture_output=True)
    return f"{name} sees no GPU" if r.returncode else None


def aon_run(place, script, *args, probe):
    """A script under aon run: its status, what it printed, the report."""
    path, store = place.path / "script.py", place.path / "run.db"
    path.write_text(script)
    p = subprocess.run([find("aon"), "run", "--no-report", "--probe", probe, "-o", str(store), "--", sys.executable, str(path), *args],
                       capture_output=True, text=True)
    return p, report(store, "--all") if store.exists() else {}


def counted(rep, kind, word=""):
    return sum(r["count"] for key in ("kernels", "calls") for r in rep.get(key, []) if r["kind"] == kind and word in r["name"])


def cuda():
    with Place() as place:
        p = subprocess.run([find("aon"), "doctor", "--gpu", "--long", "--json", "--write", str(place.path / "gpu.conf")],
                           capture_output=True, text=True)
        d = json.loads(p.stdout)
        for c in d["checks"]:
            if c["result"] == "unknown":
                skip(f"aon doctor --gpu: {c['id']}", c["text"])
            else:
                ok(c["result"] == "pass", f"aon doctor --gpu: {c['id']}: {c['text']}", json.dumps(c, indent=1))


def torch():
    with Place() as place:
        p, rep = aon_run(place, TORCH, "plain", probe="cuda,torch")
        n = counted(rep, "kernel", "elementwise")
        ok(p.returncode == 0 and KERNELS <= n <= KERNELS + 1, f"torch: {n} kernels of {KERNELS}", p.stderr)
    with Place() as place:
        p, rep = aon_run(place, TORCH, "profile", probe="cuda,torch")
        ok(p.stdout.split()[-1:] == [str(KERNELS)], f"torch.profiler beside aon sees {p.stdout.strip()} kernels of {KERNELS}", p.stderr)


def jax():
    with Place() as place:
        p, rep = aon_run(place, JAX, probe="cuda,jax")
        n = counted(rep, "kernel")
        ok(p.returncode == 0 and n >= KERNELS, f"JAX: {n} kernels, at least {KERNELS}", p.stderr)


def nccl():
    with Place() as place:
        p, rep = aon_run(place, NCCL, probe="cuda,nccl")
        n = counted(rep, "collective", "AllReduce")
        ok(p.returncode == 0 and n == 2 * CALLS, f"NCCL: {n} all-reduces of {2 * CALLS} on two ranks", p.stderr)


def nvml():
    """What a poll says, and what nvidia-smi says: of what does not change from one moment to the next."""
    still = {"memory.total [MiB]": "FB_TOTAL", "power.default_limit [W]": "POWER_MGMT_LIMIT_DEF", "clocks.max.sm [MHz]": "MAX_SM_CLOCK",
             "pcie.link.gen.max": "PCIE_MAX_LINK_GEN", "pcie.link.width.max": "PCIE_MAX_LINK_WIDTH"}
    assert set(still) <= set(COLUMNS)
    out = subprocess.run([COLLECT, "--print", "--all", "--polls", "1", "nvml"], capture_output=True, text=True).stdout
    ask = ",".join(c.split()[0] for c in still)
    rows = subprocess.run(["nvidia-smi", f"--query-gpu={ask}", "--format=csv,noheader"], capture_output=True, text=True).stdout
    for i, line in enumerate(rows.splitlines()):
        for name, text in zip(still.values(), line.split(", ")):
            m = re.search(rf'^DCGM_FI_DEV_{name}\{{device="nvidia{i}"[^\n]*\}} (\S+)$', out, re.M)
            want = number(text)
            if want is not None:
                ok(m and abs(float(m[1]) - want) < 1, f"NVML: GPU {i}, {name}: {m[1] if m else 'none'}, nvidia-smi {want}", out)


def dcgm():
    out = subprocess.run([COLLECT, "--print", "--all", "--polls", "2", "dcgm"], capture_output=True, text=True)
    ok("DCGM_FI_PROF_" in out.stdout, "DCGM: activity of the GPU's parts", out.stdout + out.stderr)


def main():
    n, none = gpus()
    parts = [
        ("CUDA", cuda, none if not n else None),
        ("torch", torch, none if not n else no_module("torch", "torch.cuda.is_available()")),
        ("JAX", jax, none if not n else no_module("jax", "any(d.platform == 'gpu' for d in jax.devices())")),
        ("NCCL", nccl, none if not n else "one GPU: two are needed" if n < 2 else
         no_module("torch", "torch.cuda.is_available() and torch.distributed.is_nccl_available()")),
        ("NVML", nvml, no_library("libnvidia-ml.so.1") or (None if shutil.which("nvidia-smi") else "no nvidia-smi to compare with")),
        ("DCGM", dcgm, no_library("libdcgm.so.4", "libdcgm.so.3") or (None if shutil.which("nv-hostengine") else "no nv-hostengine")),
    ]
    for name, run, why in parts:
        if why:
            skip(f"{name} on real libraries", why)
        elif not ASKED:
            skip(f"{name} on real libraries", "run it with make check-gpu")
        else:
            run()
    done()


if __name__ == "__main__":
    main()
