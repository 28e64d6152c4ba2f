# SPDX-License-Identifier: Apache-2.0
# kind: an average of the weights (EMA) kept by a Python loop over state_dict() after each step
# family: host_code cpu_bound small_kernels small_ops launch_bound optimizer_bound
# culprit: plant_f PlantC
# action: foreach|cheaper|fuse|vectori|less often|batch|larger|compile
# needs: torch
# draw: layers=60..160 width=48..96 batch=8..24
import plant_mod
import torch
import torch.nn.functional as F

import planted
from planted import P

model = planted.mlp(depth=int(P["layers"]))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
ema = plant_mod.PlantC(model)
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    with planted.cost():
        ema.plant_f(model)
planted.done()
# file: plant_mod.py
import torch

from planted import ON


class PlantC:
    def __init__(self, model, decays=(0.99, 0.999, 0.9999)):
        self.decays = decays
        self.shadows = [{k: v.clone() for k, v in model.state_dict().items()} for _ in decays]

    @torch.no_grad()
    def plant_f(self, model):
        for decay, shadow in zip(self.decays, self.shadows):
            if ON:
                for k, v in model.state_dict().items():
                    shadow[k] = decay * shadow[k] + (1 - decay) * v
            else:
                torch._foreach_lerp_(list(shadow.values()), list(model.parameters()), 1 - decay)
                break
