# SPDX-License-Identifier: Apache-2.0
# kind: a record of every parameter's statistics written as JSON at each step
# family: logging host_code cpu_bound
# culprit: plant_f
# action: log|every|less often|cheaper|thread|move
# needs: torch
# draw: ms=8..50 width=256..448 batch=64..160
# healthy: yes
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.AdamW(model.parameters())
n = planted.fit(lambda n: plant_f(0, 1.0, n), P["ms"])
for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    if planted.ON or step % 200 == 0:
        with planted.cost():
            plant_f(step, loss.item(), n)
planted.done()
# file: plant_mod.py
import json


def plant_f(step, loss, n):
    record = {"step": step, "loss": loss, "values": [k / 7 for k in range(60)], "groups": [{"lr": 0.1, "name": "g%d" % k} for k in range(20)]}
    with open("metrics.jsonl", "w") as f:
        for _ in range(n):
            f.write(json.dumps(record, indent=1, sort_keys=True) + "\n")
