# SPDX-License-Identifier: Apache-2.0
# kind: an evaluation over many batches every few steps
# family: evaluation host_code cpu_bound
# culprit: plant_f
# action: less often|every|rarely|evaluat|smaller
# needs: torch
# draw: batches=20..60 every=8..14 width=256..384 batch=64..128
# healthy: yes
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
held = [planted.batch() for _ in range(int(P["batches"]))]
every = int(P["every"]) if planted.ON else 1 << 30
for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    model.train()
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    if step % every == every - 1:
        with planted.cost():
            plant_f(model, held)
planted.done()
# file: plant_mod.py
import torch


def plant_f(model, batches):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in batches:
            right += (model(x).argmax(1) == y).sum().item()
    return right
