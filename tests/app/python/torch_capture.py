# SPDX-License-Identifier: Apache-2.0
"""A training that goes on until a file appears, or for as many steps as STEPS says. Each bears its number. Under
torchrun: over gloo."""
import os
import pathlib
import sys
import time

import torch
from torch import nn

ranks = int(os.environ.get("WORLD_SIZE", 1))
stop = pathlib.Path(sys.argv[1])
torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
if ranks > 1:
    torch.distributed.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(model)
opt = torch.optim.SGD(model.parameters(), 0.1)
ended = torch.zeros(1)
begin = time.monotonic()
for i in range(int(os.environ.get("STEPS", 10**9))):
    with torch.profiler.record_function(f"iteration {i}"):
        opt.zero_grad()
        loss = model(torch.ones(4, 16)).pow(2).mean()
        loss.backward()
        opt.step()
    if i == 3:
        os.write(1, f"ready {os.getpid()} {loss.item():.6f}\n".encode())
    time.sleep(0.05)
    ended[0] = stop.exists() or time.monotonic() > begin + 600
    if ranks > 1:  # all at the same step
        torch.distributed.all_reduce(ended)
    if ended[0] > 0:
        break
if ranks > 1:
    torch.distributed.destroy_process_group()
sys.exit(7)
