# SPDX-License-Identifier: Apache-2.0
# kind: gc.collect() at every step, with many live objects
# family: gc
# culprit: plant_f gc.collect
# action: gc|collect
# needs: torch
# draw: objects=120000..800000 width=256..448 batch=64..160
# healthy: yes
import gc

import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
gc.freeze()  # what was imported is not looked at again
index = [{"id": k, "path": str(k)} for k in range(int(P["objects"]))]
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    if planted.ON:
        with planted.cost():
            plant_f()
planted.done()
# file: plant_mod.py
import gc


def plant_f():
    gc.collect()
