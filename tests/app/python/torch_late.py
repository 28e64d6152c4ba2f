# SPDX-License-Identifier: Apache-2.0
"""torch_late.py DIR SECONDS: a training over gloo whose last rank is late in each step, and after so long does not come
to one until DIR/come appears."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

torch.set_num_threads(1)
dist.init_process_group("gloo")
last = dist.get_rank() == dist.get_world_size() - 1
m = nn.parallel.DistributedDataParallel(nn.Linear(64, 64))
opt = torch.optim.SGD(m.parameters(), 0.1)
come, begin = os.path.join(sys.argv[1], "come"), time.monotonic()


def load_batch(wait):
    while last and wait and not os.path.exists(come):
        time.sleep(0.05)
    time.sleep(0.04 if last else 0.001)
    return torch.randn(8, 64)


over = torch.zeros(1)
while not over:
    wait = time.monotonic() - begin > float(sys.argv[2])
    x = load_batch(wait)
    opt.zero_grad()
    m(x).pow(2).mean().backward()
    opt.step()
    over = torch.tensor([float(last and wait)])
    dist.all_reduce(over)  # all end in the same step
dist.destroy_process_group()
