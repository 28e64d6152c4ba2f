# SPDX-License-Identifier: Apache-2.0
# kind: two ranks; the first writes a checkpoint every few steps while the other waits in a collective
# family: checkpoint straggler
# culprit: rank:0 plant_f torch.save
# action: checkpoint|async|less often|rank|save
# needs: torch
# ranks: 2
# draw: mb=40..120 every=4..8 width=128..192 batch=32..64
import torch
import torch.distributed as dist
import torch.nn.functional as F
from plant_mod import plant_f
from torch.nn.parallel import DistributedDataParallel

import planted
from planted import P, RANK

dist.init_process_group("gloo")
model = DistributedDataParallel(planted.mlp())
table = torch.nn.Embedding(int(P["mb"]) * 256, 1024) if RANK == 0 else None
opt = torch.optim.SGD(model.parameters(), lr=0.01)
every = int(P["every"]) if planted.ON else 1 << 30
for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    if RANK == 0 and step % every == every - 1:
        with planted.cost():
            plant_f({"model": model.state_dict(), "table": table.state_dict(), "step": step})
if RANK == 0:
    planted.done()
planted.leave()
# file: plant_mod.py
import os

import torch


def plant_f(state):
    torch.save(state, "last.pt.part")
    os.replace("last.pt.part", "last.pt")
