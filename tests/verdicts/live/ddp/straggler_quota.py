# SPDX-License-Identifier: Apache-2.0
# kind: two ranks, one of which has a CPU quota
# family: straggler throttled cpu_quota imbalance
# culprit: rank:slow quota throttle
# action: rank|quota|limit|cpu
# needs: torch cgroup
# ranks: 2
# draw: quota=0.25..0.45 slow=0..1 width=256..320 batch=128..192
# loaded: yes
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import planted
from planted import P, RANK

slow = round(P["slow"])
if RANK == slow and planted.ON:
    with open(os.environ["PLANTED_CGROUP"], "w") as f:
        f.write(str(os.getpid()))
dist.init_process_group("gloo")
model = DistributedDataParallel(planted.mlp())
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in planted.steps(planted.endless(planted.batch()), of=planted.throttled_ns):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
if RANK == slow:
    planted.done()
planted.leave()
