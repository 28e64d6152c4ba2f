# SPDX-License-Identifier: Apache-2.0
# kind: ranks draw sequences of different lengths, so that another one is late at each step
# family: imbalance
# culprit: none
# action: length|bucket|pad|same
# needs: torch
# ranks: 2
# draw: width=96..160 batch=64..160
# cost: no
import random

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import planted
from planted import P, RANK

dist.init_process_group("gloo")
model = DistributedDataParallel(planted.mlp(depth=3))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
r = random.Random(RANK)
for _ in planted.steps():
    n = r.choice((4, 24)) if planted.ON else 14
    x, y = torch.randn(n * int(P["batch"]), int(P["width"])), torch.randint(10, (n * int(P["batch"]),))
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
if RANK == 0:
    planted.done()
planted.leave()
