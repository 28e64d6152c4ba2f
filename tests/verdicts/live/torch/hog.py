# SPDX-License-Identifier: Apache-2.0
# kind: other processes compute on the CPU that the training is bound to
# family: preempted cpu_contention
# culprit: none
# action: cpu|pin|other|share|affinity
# needs: torch
# draw: hogs=1..3 width=256..448 batch=64..160
# loaded: yes
import os
import subprocess
import sys

import torch
import torch.nn.functional as F

import planted
from planted import P

os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
hogs = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"], env={"AON_OFF": "1"}) for _ in range(int(P["hogs"]) if planted.ON else 0)]
model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in planted.steps(planted.endless(planted.batch()), of=planted.waited_ns):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
for h in hogs:
    h.kill()
    h.wait()
planted.done()
