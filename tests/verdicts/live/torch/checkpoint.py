# SPDX-License-Identifier: Apache-2.0
# kind: a checkpoint of a large model written every few steps, in the loop
# family: checkpoint
# culprit: plant_f torch.save
# action: async|less often|every|rarely|thread
# needs: torch
# draw: mb=30..120 every=4..9 width=256..384 batch=64..128
# healthy: yes
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
table = torch.nn.Embedding(int(P["mb"]) * 256, 1024)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
every = int(P["every"]) if planted.ON else 1 << 30
for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    if step % every == every - 1:
        with planted.cost():
            plant_f(model, table, step)
planted.done()
# file: plant_mod.py
import os

import torch


def plant_f(model, table, step):
    torch.save({"model": model.state_dict(), "table": table.state_dict(), "step": step}, "last.pt.part")
    with open("last.pt.part", "rb") as f:
        os.fsync(f.fileno())
    os.replace("last.pt.part", "last.pt")
