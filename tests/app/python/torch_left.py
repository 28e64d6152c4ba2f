# SPDX-License-Identifier: Apache-2.0
"""A training that counts, for each of its steps, how many begins and ends of ranges aon hears of: until it has left out 150 steps,
or so many seconds are over. Prints {"steps":, "heard": {COUNT: steps}, "pid":, "s":}. With "group" and a file it has a process
group, and a backward pass of 300 nodes and some, for so many seconds."""
import collections
import json
import os
import sys
import time

import torch
from torch.autograd.profiler import record_function

import aon_hook_torch

torch.set_num_threads(1)
group = sys.argv[2:3] == ["group"]
if group:
    torch.distributed.init_process_group("gloo", init_method=f"file://{sys.argv[3]}", rank=0, world_size=1)
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), 1e-3)
data = torch.randn(4, 8)
seen = aon_hook_torch._lib.aon_torch_seen
heard, steps, end = collections.Counter(), 0, time.monotonic() + float(sys.argv[1])
begin = time.monotonic()
while (group or heard[0] < 150) and time.monotonic() < end:
    before = seen()
    opt.zero_grad()
    with record_function("mine"):
        loss = net(data).pow(2).mean()
        for _ in range(300 if group else 0):
            loss = loss * 1.0
    loss.backward()
    opt.step()
    heard[seen() - before] += 1
    steps += 1
print(json.dumps({"steps": steps, "heard": heard, "pid": os.getpid(), "s": time.monotonic() - begin}))
