# SPDX-License-Identifier: Apache-2.0
# kind: a Python loop over the batch's rows in the step, before the forward pass
# family: host_code cpu_bound
# culprit: plant_f
# action: vectori|cheaper|batch|loop|python|move
# needs: torch
# draw: rows=40..200 width=256..448 batch=96..160
import plant_mod
import torch
import torch.nn.functional as F

import planted

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in planted.steps(planted.endless(planted.batch())):
    with planted.cost():
        x = plant_mod.plant_f(x)
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import torch

from planted import ON, P


def plant_f(x):
    if not ON:
        return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)
    rows = []
    for k in range(int(P["rows"]) * 10):
        row = x[k % len(x)]
        rows.append((row - row.mean()) / (row.std() + 1e-5))
    return torch.stack(rows[:len(x)]) if len(rows) >= len(x) else x
