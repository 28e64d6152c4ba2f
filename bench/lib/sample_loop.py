# SPDX-License-Identifier: Apache-2.0
"""The programs that sample.py looks at.

    sample_loop.py turns THREADS    torch beside so many other threads: for each line "STEPS" of its input so many steps, and a
                                    line of JSON: CPU of the process, in milliseconds a step; for a line "log SECONDS" steps for
                                    so long, and of each when it ended and the CPU of the process, in ns
    sample_loop.py blocked          threads that wait below native code which was called from Python and calls Python
    sample_loop.py steps            functions of all kinds, and now and then a step of aon (LIBAON)
"""
import ctypes
import json
import os
import re
import sys
import threading
import time

sys.path.pop(0)  # beside this file is a torch.py that is not torch


def turns(threads):
    import torch
    from torch import nn
    torch.set_num_threads(1)
    torch.manual_seed(0)
    never = threading.Event()

    def idle():
        torch.ones(8).sum()
        never.wait()

    for _ in range(threads):
        threading.Thread(target=idle, daemon=True).start()
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True), 2)
    opt, data = torch.optim.AdamW(net.parameters(), 1e-3), torch.randn(8, 64, 128)

    def step(of=data):
        opt.zero_grad()
        net(of).pow(2).mean().backward()
        opt.step()

    for _ in range(20):
        step()
    def log(seconds):
        little, rows = data[:1, :16], []  # many steps in a tenth of a second
        end, last = time.monotonic() + seconds, time.process_time_ns()
        while time.monotonic() < end:
            step(little)
            now = time.process_time_ns()
            rows.append((time.monotonic_ns(), now - last))
            last = now
        return rows

    print("there", flush=True)
    for line in sys.stdin:
        if line.startswith("log"):
            print(json.dumps(log(float(line.split()[1]))), flush=True)
            continue
        cpu, n = time.process_time(), int(line)
        for _ in range(n):
            step()
        print(json.dumps({"cpu_ms": 1e3 * (time.process_time() - cpu) / n}), flush=True)


def inner():
    time.sleep(0.05)
    return 0


def by_libc():
    """qsort() of libc calls Python, which sleeps."""
    libc = ctypes.CDLL(None)
    less = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: inner())
    values = (ctypes.c_int * 2)(2, 1)
    while True:
        libc.qsort(values, 2, 4, less)


def by_torch():
    """The engine of autograd calls Python, which sleeps."""
    import torch

    class Wait(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            inner()
            return grad * 2

    x = torch.ones(4, requires_grad=True)
    while True:
        Wait.apply(x).sum().backward()


def blocked():
    for f in (by_libc, by_torch):
        t = threading.Thread(target=f, daemon=True)
        t.start()
        print(f.__name__, t.native_id, flush=True)
    time.sleep(5)  # of which torch needs some to begin
    print("there", flush=True)
    threading.Event().wait()


def parse(n):
    return [[float(x) for x in f"{i},{i + 1},{i * 3}".split(",")] for i in range(n)]


def encode(n):
    return json.dumps([{"id": i, "text": str(i)} for i in range(n)], indent=1)


def find(n):
    return [re.sub(r"(\d+)-(\w+)", r"\2", f"{i}-word") for i in range(n)]


def order(n):
    return sorted(range(n), key=lambda v: -v % 17)


def steps():
    lib, number = ctypes.CDLL(os.environ["LIBAON"]), 0
    lib.aon_step_begin.argtypes = lib.aon_step_end.argtypes = [ctypes.c_uint64]
    while True:
        lib.aon_step_begin(number)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            for f in (parse, encode, find, order):
                f(300)
            time.sleep(0.005)
        lib.aon_step_end(number)
        number += 1


{"turns": lambda: turns(int(sys.argv[2])), "blocked": blocked, "steps": steps}[sys.argv[1]]()
