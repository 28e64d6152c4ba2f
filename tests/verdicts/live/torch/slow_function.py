# SPDX-License-Identifier: Apache-2.0
# kind: an operation of the model is written as an autograd Function whose passes compute in Python
# family: host_code cpu_bound slow_layer
# culprit: plant_f PlantC
# action: cheaper|vectori
# needs: torch
# draw: ms=6..40 width=256..448 batch=64..160
import torch
import torch.nn.functional as F
from plant_mod import PlantC, plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
n = planted.fit(plant_f, P["ms"] / 2) if planted.ON else 1
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    out = model(x)
    if planted.ON:
        out = PlantC.apply(out, n)
    F.cross_entropy(out, y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import torch

import planted


def plant_f(n):
    v = 1.0
    for i in range(n * 20):
        v = v * 0.9999 + i % 5
    return v


class PlantC(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.n = n
        with planted.cost():
            plant_f(n)
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        with planted.cost():
            plant_f(ctx.n)
        return g, None
