# SPDX-License-Identifier: Apache-2.0
"""A training that times its own steps: [begin and end on CLOCK_MONOTONIC, CPU time of its thread, time that it waited for
a core] of each, in ns, as JSON into OUT when its input ends. A line "kineto N" has torch's profiler trace N steps,
"steps N" takes N steps.

    torch_stall.py OUT"""
import json
import os
import sys
import tempfile
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
net = nn.Sequential(*[x for _ in range(8) for x in (nn.Linear(96, 96), nn.ReLU())])
data = torch.randn(64, 96)
opt = torch.optim.SGD(net.parameters(), 1e-3)
steps = []


try:
    stat = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
except OSError:
    stat = -1


def waited():
    """For a core that somebody else had: no fault of whoever looks on."""
    return int(os.pread(stat, 99, 0).split()[1]) if stat >= 0 else 0


def step(before=None, after=None):
    wait, begin, cpu = waited(), time.monotonic_ns(), time.thread_time_ns()
    if before:
        before()
    opt.zero_grad()
    net(data).pow(2).mean().backward()
    opt.step()
    if after:
        after()
    steps.append([begin, time.monotonic_ns(), time.thread_time_ns() - cpu, waited() - wait])


def kineto(n):
    """As torch.profiler.profile begins and ends: in the first step, and in the last; its file is written apart."""
    p = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True)
    step(before=p.start)
    for _ in range(n - 2):
        step()
    step(after=p.stop)
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        p.export_chrome_trace(f.name)


for _ in range(20):
    step()
os.write(1, f"ready {os.getpid()}\n".encode())
os.set_blocking(0, False)
held = b""
while True:
    try:
        got = os.read(0, 4096)
        if not got:
            break
        held += got
    except BlockingIOError:
        pass
    while b"\n" in held:
        line, held = held.split(b"\n", 1)
        word, *n = line.decode().split()
        if word == "kineto":
            kineto(int(n[0]))
        elif word == "steps":
            for _ in range(int(n[0])):
                step()
        os.write(1, f"{word} {steps[-1][1]}\n".encode())
    step()
json.dump(steps, open(sys.argv[1], "w"))
