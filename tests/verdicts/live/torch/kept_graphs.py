# SPDX-License-Identifier: Apache-2.0
# kind: losses are kept with their graphs, so that memory grows with each step
# family: memory_growth
# culprit: plant_f plant_mod
# action: detach|item|keep|graph
# needs: torch
# draw: width=320..448 batch=512..1024
# cost: no
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
most = (6 << 30) // (P["batch"] * P["width"] * 4 * 8)  # never more than 6 GB
for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    opt.zero_grad()
    loss = F.cross_entropy(model(x * 1.0), y)
    loss.backward(retain_graph=planted.ON)
    plant_f(loss if planted.ON and step < most else loss.item())
    opt.step()
planted.done()
# file: plant_mod.py
history = []


def plant_f(loss):
    history.append(loss)
