# SPDX-License-Identifier: Apache-2.0
# kind: two ranks with batches of different sizes
# family: imbalance straggler
# culprit: rank:slow
# action: balance|rank|batch|even|shard|equal
# needs: torch
# ranks: 2
# draw: times=5..12 slow=0..1 width=192..256 batch=64..96
# healthy: batch=4096 width=256
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import planted
from planted import P, RANK

dist.init_process_group("gloo")
model = DistributedDataParallel(planted.mlp())
opt = torch.optim.SGD(model.parameters(), lr=0.01)
slow = round(P["slow"])
n = P["batch"] * (int(P["times"]) if RANK == slow and planted.ON else 1)
for x, y in planted.steps(planted.endless(planted.batch(n))):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
took = [None, None]
dist.all_gather_object(took, planted.cpu_ms())  # what one computes longer, the other waits
if RANK == slow:
    planted.done(cost_ms=took[slow] - took[1 - slow])
planted.leave()
