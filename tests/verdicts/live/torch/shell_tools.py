# SPDX-License-Identifier: Apache-2.0
# kind: each step runs a command of the system to log memory and load
# family: host_code cpu_bound logging
# culprit: plant_f
# action: cheaper|less often|every|thread|move|process|overlap|ahead
# needs: torch
# draw: commands=5..14 width=256..384 batch=64..128
import plant_mod
import torch
import torch.nn.functional as F

import planted
from planted import ON, P

model = planted.mlp()
opt = torch.optim.AdamW(model.parameters())
history = []
for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    if ON or step % 200 == 0:
        with planted.cost():
            history.append(plant_mod.plant_f(int(P["commands"])))
planted.done()
# file: plant_mod.py
import subprocess


def plant_f(n):
    script = "; ".join(["cat /proc/meminfo /proc/loadavg"] * n)
    out = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    return {k: v for k, _, v in (line.partition(":") for line in out.splitlines()) if k in ("MemFree", "Cached")}
