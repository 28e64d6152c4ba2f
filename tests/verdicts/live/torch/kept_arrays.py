# SPDX-License-Identifier: Apache-2.0
# kind: each step keeps a copy of its batch in a list: the memory of the process grows
# family: memory_growth
# culprit: none
# action: keep|list|copies|grow|memory
# needs: torch
# draw: kb=1500..6000 width=320..448 batch=512..1024
# cost: no
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
kept = []
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    if planted.ON and len(kept) * P["kb"] < 2 << 20:
        plant_f(kept, int(P["kb"]))
planted.done()
# file: plant_mod.py
def plant_f(kept, kb):
    kept.append(bytearray(b"x") * (kb << 10))
