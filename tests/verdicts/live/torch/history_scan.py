# SPDX-License-Identifier: Apache-2.0
# kind: each step goes over all that was kept of the steps before: it gets slower and slower
# family: host_code cpu_bound
# culprit: plant_f
# says: grow|longer|slower|rises
# action: cheaper|less often|incremental
# needs: torch
# draw: each=3..9 width=256..384 batch=64..128
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
seen = []
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    with planted.cost():
        if planted.ON:
            plant_f(seen, int(P["each"]))
planted.done()
# file: plant_mod.py
def plant_f(seen, each):
    seen.extend(range(each * 100))
    total = 0
    for v in seen:
        total += v * v % 7
    return total
