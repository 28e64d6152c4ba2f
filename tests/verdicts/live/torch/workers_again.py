# SPDX-License-Identifier: Apache-2.0
# kind: short epochs: loader workers are started anew for each of them
# family: input_bound
# culprit: plant_mod DataLoader plant_f
# action: persistent_workers|persistent|worker
# needs: torch
# draw: steps=6..14 width=256..320 batch=32..64
import torch
import torch.nn.functional as F
from plant_mod import plant_f
from torch.utils.data import DataLoader, TensorDataset

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
n = int(P["steps"]) * P["batch"]
data = TensorDataset(torch.randn(n, P["width"]), torch.randint(10, (n,)))
loader = DataLoader(data, batch_size=P["batch"], num_workers=2, persistent_workers=not planted.ON)
for x, y in planted.steps(plant_f(loader)):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import planted


def plant_f(loader):
    while True:
        it = None
        for _ in range(len(loader)):
            with planted.cost():
                it = it or iter(loader)
                got = next(it)
            yield got
        with planted.cost():
            for _ in it:
                pass
