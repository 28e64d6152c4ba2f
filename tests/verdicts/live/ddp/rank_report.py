# SPDX-License-Identifier: Apache-2.0
# kind: the first rank formats and writes a report at each step, and the others wait for it
# family: straggler logging host_code imbalance
# culprit: rank:0 plant_f
# action: rank|report|log|less often
# needs: torch
# ranks: 2
# draw: ms=20..80 width=96..160 batch=32..64
import torch
import torch.distributed as dist
import torch.nn.functional as F
from plant_mod import plant_f
from torch.nn.parallel import DistributedDataParallel

import planted
from planted import P, RANK

dist.init_process_group("gloo")
model = DistributedDataParallel(planted.mlp())
opt = torch.optim.SGD(model.parameters(), lr=0.01)
n = planted.fit(plant_f, P["ms"])
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    if RANK == 0 and planted.ON:
        with planted.cost():
            plant_f(n)
if RANK == 0:
    planted.done()
planted.leave()
# file: plant_mod.py
def plant_f(n):
    rows = []
    for i in range(n):
        rows.append("%8.3f %8.3f" % (i / 3, i / 7))
    return "\n".join(rows)
