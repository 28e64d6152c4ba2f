# SPDX-License-Identifier: Apache-2.0
# kind: a sleep in the loop (a poll for new data, a rate limit)
# family: host_code cpu_bound sleep
# culprit: plant_f
# says: sleep
# action: sleep|wait|poll|remove
# needs: torch
# draw: ms=8..50 width=256..448 batch=64..160
# healthy: yes
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in planted.steps(planted.endless(planted.batch())):
    if planted.ON:
        with planted.cost():
            plant_f(P["ms"] / 1e3)
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import time


def plant_f(seconds):
    time.sleep(seconds)
