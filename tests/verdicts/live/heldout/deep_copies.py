# SPDX-License-Identifier: Apache-2.0
# kind: a deep copy of model and optimizer state at each step ("the last good one")
# family: host_code cpu_bound checkpoint
# culprit: plant_f deepcopy
# action: copy|less often|every|in place|cheaper
# needs: torch
# draw: copies=1..4 tables=40..160 width=256..448 batch=64..160
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.AdamW(model.parameters())
state = {"epoch": 0, "tables": [{"id": k, "rows": list(range(20))} for k in range(int(P["tables"]))]}
last = None
for x, y in planted.steps(planted.endless(planted.batch())):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
    if planted.ON:
        with planted.cost():
            last = plant_f(model, opt, state, int(P["copies"]))
planted.done()
# file: plant_mod.py
import copy


def plant_f(model, opt, state, copies):
    for _ in range(copies):
        kept = copy.deepcopy((model.state_dict(), opt.state_dict(), state))
    return kept
