# SPDX-License-Identifier: Apache-2.0
# kind: a hook of the backward pass that computes in Python for each gradient
# family: host_code cpu_bound
# culprit: plant_f plant_g
# action: hook|cheaper|vectori|less often|move
# needs: torch
# draw: ms=8..50 width=256..448 batch=64..160
import torch
import torch.nn.functional as F
from plant_mod import plant_f, plant_g

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
params = [p for p in model.parameters() if p.ndim == 2]
n = planted.fit(plant_g, P["ms"] / len(params))
for p in params if planted.ON else ():
    p.register_hook(lambda grad: plant_f(grad, n))
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import planted


def plant_g(n):
    high = 0.0
    for i in range(n * 10):
        high = max(high, (i * 7 % 101) / 3)
    return high


def plant_f(grad, n):
    with planted.cost():
        plant_g(n)
    return grad
