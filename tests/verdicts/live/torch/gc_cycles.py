# SPDX-License-Identifier: Apache-2.0
# kind: objects in cycles made at every step, over a large heap: Python's collector runs again and again
# family: gc
# culprit: plant_f plant_mod
# action: gc|cycle|freeze
# needs: torch
# draw: objects=60000..200000 made=9000..24000 width=256..448 batch=64..160
import gc
import time

import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

at = [0, 0]


def watch(phase, info):
    if phase == "start":
        at[0] = time.perf_counter_ns()
    else:
        at[1] += time.perf_counter_ns() - at[0]


model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
kept = []
for _k in range(int(P["objects"]) if planted.ON else 0):
    kept.append({"id": [_k], "of": kept})
gc.callbacks.append(watch)
if planted.ON:
    gc.set_threshold(700, 10, 1)
for x, y in planted.steps(planted.endless(planted.batch()), of=lambda: at[1]):
    if planted.ON:
        kept[-1]["last"] = plant_f(int(P["made"]))
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
def plant_f(n):
    nodes = []
    for k in range(n):
        nodes.append({"k": k, "all": nodes})
    return nodes
