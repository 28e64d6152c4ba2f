# SPDX-License-Identifier: Apache-2.0
# kind: two ranks; the first one validates every few steps, and the other waits for it in the next collective
# family: evaluation straggler
# culprit: rank:0 plant_f
# action: rank|less often|every|split|evaluat
# needs: torch
# ranks: 2
# draw: batches=60..160 every=6..10 width=192..256 batch=48..96
# healthy: yes
import plant_mod
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import planted
from planted import ON, P, RANK

dist.init_process_group("gloo")
net = planted.mlp()
model = DistributedDataParallel(net)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
held = [planted.batch() for _ in range(int(P["batches"]))]
every = int(P["every"])
for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    if ON and step % every == every - 1 and RANK == 0:
        with planted.cost():
            plant_mod.plant_f(net, held)
if RANK == 0:
    planted.done()
planted.leave()
# file: plant_mod.py
import torch


@torch.no_grad()
def plant_f(net, batches):
    net.eval()
    right = sum((net(x).argmax(1) == y).sum().item() for x, y in batches)
    net.train()
    return right
