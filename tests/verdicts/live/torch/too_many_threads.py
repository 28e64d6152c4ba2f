# SPDX-License-Identifier: Apache-2.0
# kind: torch with many more threads than CPUs
# family: oversubscribed preempted cpu_contention threads
# culprit: none
# action: OMP_NUM_THREADS|set_num_threads|threads
# needs: torch
# draw: threads=8..24 width=256..448 batch=128..256
# loaded: yes
import torch
import torch.nn.functional as F

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
torch.set_num_threads(int(P["threads"]) if planted.ON else 1)
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done(compare="wall")
