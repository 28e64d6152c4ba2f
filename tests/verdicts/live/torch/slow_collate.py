# SPDX-License-Identifier: Apache-2.0
# kind: a collate function that pads and copies row by row in Python
# family: input_bound
# culprit: plant_f plant_g
# action: num_workers|workers|collate
# needs: torch
# draw: ms=8..50 width=256..448 batch=64..160
# healthy: width=768 batch=96
import plant_mod
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
rows = [(torch.randn(P["width"]), k % 10) for k in range(512)] * 4000
plant_mod.rounds = planted.fit(plant_mod.plant_g, P["ms"]) if planted.ON else 0
for x, y in planted.steps(DataLoader(rows, batch_size=P["batch"], collate_fn=plant_mod.plant_f)):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import torch

import planted

rounds = 0


def plant_g(n):
    text = ""
    for i in range(n * 10):
        text = (text + str(i % 10) + ",0")[-64:]  # no containers: Python's collector is another kind
    return text


def plant_f(items):
    with planted.cost():
        plant_g(rounds)
    return torch.stack([x for x, _ in items]), torch.tensor([y for _, y in items])
