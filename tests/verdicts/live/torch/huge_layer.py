# SPDX-License-Identifier: Apache-2.0
# kind: one layer of the model takes most of forward and backward
# family: slow_layer slow_module compute_bound cpu_saturated gpu_saturated slow_kernels hot_module
# culprit: plant_f
# action: layer|module|smaller|plant_f|matmul|product
# needs: torch
# draw: wide=1600..5000 width=192..256 batch=48..96
import torch
import torch.nn.functional as F
from plant_mod import PlantC

import planted
from planted import P

torch.set_num_threads(1)
model = PlantC(P["width"], int(P["wide"]) if planted.ON else P["width"])
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done(compare="cpu")
# file: plant_mod.py
import torch


class PlantC(torch.nn.Module):
    def __init__(self, width, wide):
        super().__init__()
        self.first = torch.nn.Linear(width, width)
        self.plant_f = torch.nn.Sequential(torch.nn.Linear(width, wide), torch.nn.ReLU(), torch.nn.Linear(wide, width))
        self.last = torch.nn.Linear(width, 10)

    def forward(self, x):
        return self.last(torch.relu(self.plant_f(torch.relu(self.first(x)))))
