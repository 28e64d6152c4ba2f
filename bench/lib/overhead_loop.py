# SPDX-License-Identifier: Apache-2.0
"""The programs whose slowdown overhead.py measures: a training that says how long its steps take.

    overhead_loop.py mlp|tf|net SECONDS    runs so long; one line of JSON at its end
    overhead_loop.py mlp|tf|net turns      for each line "STEPS" of its input so many; a line of JSON each

mlp and tf are of torch, net is of tinygrad on OpenCL and says its steps itself. Times in milliseconds a step.
"""
import ctypes
import json
import os
import statistics
import sys
import time

sys.path.pop(0)  # beside this file is a torch.py that is not torch


def training(model):
    import torch
    from torch import nn
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if model == "mlp":
        net = nn.Sequential(*[x for _ in range(6) for x in (nn.Linear(64, 64), nn.ReLU())])
        data = torch.randn(32, 64)
    else:
        net = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True), 2)
        data = torch.randn(8, 64, 128)
    opt = torch.optim.AdamW(net.parameters(), 1e-3)

    def step():
        opt.zero_grad()
        net(data).pow(2).mean().backward()
        opt.step()

    return step


def tiny():
    from tinygrad import Tensor, TinyJit, nn
    lib = ctypes.CDLL(os.environ["LIBAON"])
    lib.aon_step_begin.argtypes = lib.aon_step_end.argtypes = [ctypes.c_uint64]
    one, two = nn.Linear(64, 128), nn.Linear(128, 10)
    opt = nn.optim.SGD(nn.state.get_parameters([one, two]), lr=0.05)
    x, y = Tensor.rand(64, 64).realize(), Tensor([i % 10 for i in range(64)]).realize()
    number = 0

    @TinyJit
    def jitted():
        opt.zero_grad()
        loss = two(one(x).relu()).sparse_categorical_crossentropy(y)
        loss.backward()
        opt.step()
        return loss.realize()

    def step():
        nonlocal number
        lib.aon_step_begin(number)
        jitted().item()
        lib.aon_step_end(number)
        number += 1

    return step


def timed(step, go_on):
    took = []
    cpu = time.process_time()
    while go_on(len(took)):
        t = time.perf_counter()
        step()
        took.append(time.perf_counter() - t)
    cpu = time.process_time() - cpu
    took.sort()
    n = len(took)
    return {"steps": n, "low_ms": 1e3 * took[n // 5], "median_ms": 1e3 * statistics.median(took),
            "mean_ms": 1e3 * sum(took) / n, "cpu_ms": 1e3 * cpu / n}


def main():
    step = tiny() if sys.argv[1] == "net" else training(sys.argv[1])
    for _ in range(30):
        step()
    if sys.argv[2] != "turns":
        end = time.monotonic() + float(sys.argv[2])
        print(json.dumps(timed(step, lambda n: time.monotonic() < end)), flush=True)
        return
    for line in sys.stdin:
        want = int(line)
        print(json.dumps(timed(step, lambda n: n < want)), flush=True)


main()
