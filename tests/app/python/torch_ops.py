# SPDX-License-Identifier: Apache-2.0
"""A training that counts its own operators with torch's profiler: {step: {name: count}} as JSON."""
import collections
import json
import os
import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)
x, y = torch.randn(8, 16), torch.randn(8, 4)
counts = {}
for step in range(1, int(sys.argv[1]) + 1):
    with torch.autograd.profiler.profile() as prof:
        opt.zero_grad()
        loss = (m(x) - y).pow(2).mean()
        loss.backward()
        opt.step()
    # What torch's profiler does at its ends may call operators, too: not of a step.
    counts[step] = collections.Counter(e.name for e in prof.function_events if not e.name.startswith("Optimizer."))
pid = os.fork()
if pid == 0:
    (m(x) - y).pow(2).mean().backward()
    os._exit(0)
os.waitpid(pid, 0)
print(json.dumps({"pid": os.getpid(), "counts": counts, "sum": sum(p.double().sum().item() for p in m.parameters())}))
