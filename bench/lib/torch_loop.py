# SPDX-License-Identifier: Apache-2.0
"""A training, in turns with and without listeners: CPU time of each turn as JSON. Run by torch.py with the hook
in PYTHONPATH.    torch_loop.py MODEL ROUNDS STEPS EMPTY_LIBRARY MODE..."""
import ctypes
import json
import os
import sys
import tempfile
import time

import torch
from torch import nn

import aon_hook_torch as hook

torch.set_num_threads(1)
torch.manual_seed(0)
model, rounds, steps, empty, modes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:]
if model == "mlp":
    net = nn.Sequential(*[x for _ in range(6) for x in (nn.Linear(64, 64), nn.ReLU())])
    data = torch.randn(32, 64)
else:
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True), 2)
    data = torch.randn(8, 64, 128)
opt = torch.optim.AdamW(net.parameters(), 1e-3)
lib, off = hook._lib, ctypes.PyDLL(empty)
off.empty_on.restype = ctypes.c_uint64
off.empty_off.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
cpu = ctypes.CDLL(next(x.split()[-1] for x in open("/proc/self/maps") if "libtorch_cpu.so" in x))
add = ctypes.cast(cpu._ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE, ctypes.c_void_p)
remove = ctypes.cast(cpu._ZN2at14removeCallbackEm, ctypes.c_void_p)


def train(n):
    for _ in range(n):
        opt.zero_grad()
        net(data).pow(2).mean().backward()
        opt.step()


def profiled(n):
    """torch.profiler with a file for every ten steps."""
    for i in range(0, n, 10):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as p:
            train(min(10, n - i))
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            p.export_chrome_trace(f.name)


def turn(mode):
    # (listen to the user's scope, operators of every so many steps)
    listen, ops = {"default": (1, 100), "steps": (1, 0), "ops": (1, 1)}.get(mode, (0, 0))
    lib.aon_torch_mode(listen, ops)
    handle = off.empty_on(add) if mode == "empty" else 0
    train(2)
    t = time.process_time()
    (profiled if mode == "prof" else train)(steps)
    t = time.process_time() - t
    if handle:
        off.empty_off(remove, handle)
    lib.aon_torch_mode(0, 0)
    return t / steps


os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
train(20)
got = {m: [] for m in modes}
for r in range(rounds):
    for m in modes if r % 2 else modes[::-1]:
        got[m].append(turn(m))
print(json.dumps(got))
