# SPDX-License-Identifier: Apache-2.0
# kind: the job's cgroup has a CPU quota below what it needs
# family: throttled cpu_quota
# culprit: quota throttle
# action: quota|limit|cpu.max|cpus|request
# needs: torch cgroup
# draw: quota=0.35..0.7 width=256..448 batch=64..160
# loaded: yes
import torch
import torch.nn.functional as F

import planted

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in planted.steps(planted.endless(planted.batch()), of=planted.throttled_ns):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
