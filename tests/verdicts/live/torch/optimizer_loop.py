# SPDX-License-Identifier: Apache-2.0
# kind: an optimizer that visits hundreds of small parameters one by one (foreach=False)
# family: optimizer_bound optimizer small_ops small_kernels launch_bound host_code cpu_bound
# culprit: optimizer adamw
# action: foreach|fused
# needs: torch
# draw: layers=60..220 width=32..48 batch=8..16
import torch
import torch.nn.functional as F

import planted
from planted import P

torch.set_num_threads(1)
# Most of the parameters belong to heads of other tasks, which this batch does not use: they have decay only.
model = planted.mlp(depth=3)
heads = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(int(P["layers"])))
for p in heads.parameters():
    p.grad = torch.full_like(p, 1e-4)
opt = torch.optim.AdamW([*model.parameters(), *heads.parameters()], foreach=not planted.ON)
for x, y in planted.steps(planted.endless(planted.batch())):
    model.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done(compare="cpu")
