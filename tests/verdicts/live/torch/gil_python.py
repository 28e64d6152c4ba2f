# SPDX-License-Identifier: Apache-2.0
# kind: a thread of the program that computes in Python and holds the GIL
# family: gil
# culprit: plant_g
# action: process|thread|gil
# needs: torch
# draw: small=96..224 width=64..96 batch=8..16
# healthy: width=256 batch=96 small=32
import threading

import torch
import torch.nn.functional as F
from plant_mod import plant_g

import planted
from planted import P

model = planted.mlp(depth=int(P["small"]) // 8)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
if planted.ON:
    threading.Thread(target=plant_g, daemon=True).start()
for x, y in planted.steps(planted.endless(planted.batch()), of=planted.blocked_ns):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
def plant_g():
    x = 0
    while True:
        x = (x * 31 + 7) % 1000003
