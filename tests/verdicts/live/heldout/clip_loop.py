# SPDX-License-Identifier: Apache-2.0
# kind: gradient norms of each row, computed one by one in Python before the optimizer
# family: host_code cpu_bound host_sync
# culprit: plant_f
# action: clip|vectori|foreach|cheaper|loop|batch
# needs: torch
# draw: rows=200..1200 width=256..384 batch=64..128
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    with planted.cost():
        plant_f(list(model.parameters()), int(P["rows"]) if planted.ON else 1)
    opt.step()
planted.done()
# file: plant_mod.py
def plant_f(params, rows):
    total = 0.0
    for k in range(rows):
        grad = params[2 * (k % 4)].grad
        total += grad[k % len(grad)].norm().item() ** 2
    return total
