# SPDX-License-Identifier: Apache-2.0
# kind: accuracy and a confusion table computed in Python at every step
# family: host_code cpu_bound logging
# culprit: plant_f plant_g
# action: every|cheaper|less often|vectori|move|metric
# needs: torch
# draw: ms=8..50 width=256..448 batch=64..160
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.AdamW(model.parameters())
n = 1
for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    opt.zero_grad()
    out = model(x)
    F.cross_entropy(out, y).backward()
    opt.step()
    with torch.no_grad():
        if step == 0:
            n = planted.fit(lambda n, out=out, y=y: plant_f(out, y, n), P["ms"])
        if planted.ON or step % 100 == 0:
            with planted.cost():
                plant_f(out, y, n)
planted.done()
# file: plant_mod.py
import collections


def plant_g(pairs):
    table = collections.Counter(pairs)
    return {k: table[k, k] / max(1, sum(v for (a, _), v in table.items() if a == k)) for k in range(10)}


def plant_f(out, y, n):
    for _ in range(n):
        said = out.argmax(1).tolist()
        recall = plant_g(zip(y.tolist(), said))
    return recall
