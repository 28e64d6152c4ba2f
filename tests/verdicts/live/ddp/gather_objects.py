# SPDX-License-Identifier: Apache-2.0
# kind: at each step the ranks gather all predictions as Python objects (all_gather_object) for a metric
# family: host_code cpu_bound comm_exposed logging
# culprit: plant_f gather
# action: less often|every|cheaper|tensor|overlap|fewer|hide|move|accumul
# needs: torch
# ranks: 2
# draw: values=60000..240000 width=192..256 batch=48..96
import plant_mod
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import planted
from planted import ON, P, RANK

dist.init_process_group("gloo")
model = DistributedDataParallel(planted.mlp())
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = planted.batch()
scores = torch.randn(int(P["values"]) // 10, 10)
for _ in planted.steps():
    opt.zero_grad()
    out = model(x)
    F.cross_entropy(out, y).backward()
    opt.step()
    if ON:
        with planted.cost():
            right = plant_mod.plant_f(scores, y)
if RANK == 0:
    planted.done()
planted.leave()
# file: plant_mod.py
import torch.distributed as dist


def plant_f(scores, y):
    mine = {"labels": y.tolist(), "scores": scores.flatten().tolist()}  # few objects that Python's collector goes over
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, mine)
    return sum(s > 1 for part in parts for s in part["scores"])
