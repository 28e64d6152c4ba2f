# SPDX-License-Identifier: Apache-2.0
# kind: a recurrent model whose forward pass loops over time in Python, with small operators
# family: host_code cpu_bound launch_bound small_ops small_kernels slow_layer
# culprit: PlantC plant_f
# action: vectori|cheaper|fuse|compile|larger|batch
# needs: torch
# draw: length=100..400 width=24..48
# cost: no
import torch
import torch.nn.functional as F
from plant_mod import PlantC

import planted
from planted import P

torch.set_num_threads(1)
width = int(P["width"])
model = torch.nn.Sequential(PlantC(width), torch.nn.Linear(width, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(int(P["length"]), 4, width), torch.randint(10, (4,))
for _ in planted.steps():
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import torch


class PlantC(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(width, width) * 0.05)

    def forward(self, x):
        h = x[0] * 0
        for t in x:
            h = torch.tanh(h @ self.w + t)
            h = h * 0.9 + t * 0.1
        return h
