# SPDX-License-Identifier: Apache-2.0
"""A function that torch.compile must compile again and again, one with a break in the middle, and garbage."""
import gc
import json
import os

import torch

torch.set_num_threads(1)
collected = []
gc.callbacks.append(lambda phase, info: collected.append(phase) if info["generation"] == 2 else None)


def recompiled(x, scale):
    return (x * scale).relu().sum()


def broken(x):
    y = x.cos()
    torch._dynamo.graph_break()
    return y.sin()


total = 0.0
compiles = hasattr(torch, "compile")
if compiles:
    f = torch.compile(recompiled, backend="eager", dynamic=False)
    g = torch.compile(broken, backend="aot_eager")
    for n in range(1, 5):  # each size is compiled for
        for _ in range(3):
            total += f(torch.ones(n + 1), 2.0).item()
    for _ in range(3):
        total += g(torch.ones(4)).sum().item()
gc.collect()
print(json.dumps({"pid": os.getpid(), "total": total, "compiles": compiles, "line": recompiled.__code__.co_firstlineno,
                  "collections": collected.count("stop")}))
