# SPDX-License-Identifier: Apache-2.0
# kind: a slow transform in Python; the DataLoader has no workers
# family: input_bound
# culprit: plant_f
# action: num_workers|workers
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
loader = DataLoader(plant_mod.PlantC(P["width"]), batch_size=P["batch"])
for x, y in planted.steps(loader):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import torch
from torch.utils.data import Dataset

import planted
from planted import ON, P


def plant_f(n):
    x = 0
    for i in range(n * 20):
        x = (x * 31 + i) % 1000003
    return x


class PlantC(Dataset):
    def __init__(self, width):
        self.rows = torch.randn(1024, width)
        self.rounds = planted.fit(plant_f, P["ms"] / P["batch"]) if ON else 0

    def __len__(self):
        return 1 << 24

    def __getitem__(self, i):
        with planted.cost():
            plant_f(self.rounds)
        return self.rows[i % 1024], i % 10
