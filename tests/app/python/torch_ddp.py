# SPDX-License-Identifier: Apache-2.0
"""A training over gloo, as torchrun or Slurm starts it. The last rank is slow on purpose where SLOW_MS says so."""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
os.environ.setdefault("RANK", os.environ.get("SLURM_PROCID", ""))
os.environ.setdefault("WORLD_SIZE", os.environ.get("SLURM_NTASKS", ""))
dist.init_process_group("gloo")
m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)))
opt = torch.optim.SGD(m.parameters(), 0.1)
torch.manual_seed(dist.get_rank())
slow = float(os.environ.get("SLOW_MS", 0)) / 1000 * (dist.get_rank() == dist.get_world_size() - 1)
steps = int(sys.argv[1])
for i in range(steps):
    opt.zero_grad()
    time.sleep(slow)
    m(torch.randn(8, 64)).pow(2).mean().backward()
    opt.step()
total = torch.tensor([sum(p.double().sum().item() for p in m.parameters())])
dist.all_reduce(total)
dist.destroy_process_group()
# One write: print() makes two of a line where Python is unbuffered, and the ranks share the pipe.
line = json.dumps({"rank": int(os.environ["RANK"]), "pid": os.getpid(), "sum": total.item()})
os.write(1, (line + "\n").encode())
