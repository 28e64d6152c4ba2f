# SPDX-License-Identifier: Apache-2.0
# kind: a report in Python every 20th step, which takes as long as several steps
# family: host_code cpu_bound logging evaluation
# culprit: plant_f
# says: one of
# action: less often|cheaper
# needs: torch
# draw: ms=200..700 width=256..384 batch=64..128
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
n = planted.fit(plant_f, P["ms"]) if planted.ON else 1
i = 0
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    i += 1
    if i % 20 == 0:
        with planted.cost():
            plant_f(n)
planted.done()
# file: plant_mod.py
def plant_f(n):
    words = {}
    for i in range(n * 10):
        key = "bucket-%d" % (i * 7919 % 1000)
        words[key] = words.get(key, 0) + 1
    return sorted(words.items())
