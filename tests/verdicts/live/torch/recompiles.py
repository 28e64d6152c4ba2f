# SPDX-License-Identifier: Apache-2.0
# kind: torch.compile meets a new shape every few steps and compiles again
# family: recompiling compiling
# culprit: plant_f
# action: dynamic|pad|shape|mark_dynamic
# needs: torch
# draw: every=2..6 width=128..224 batch=32..64
import torch
import torch._dynamo
import torch.nn.functional as F
from plant_mod import plant_f
from torch._dynamo import callback

import planted
from planted import P

torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 4096
model = planted.mlp()
params = list(model.parameters())
opt = torch.optim.SGD(params, lr=0.01)
run = torch.compile(plant_f, backend="aot_eager", dynamic=False)
X, Y = planted.batch(4096)
callback.on_compile_start(lambda *a: at.append(planted.cost()) or at[-1].__enter__())
callback.on_compile_end(lambda *a: at and at.pop().__exit__(None, None, None))
at = []
every = max(1, int(P["every"]))
for step, _ in enumerate(planted.steps()):
    n = P["batch"] + (step // every if planted.ON else 0)
    opt.zero_grad()
    F.cross_entropy(run(X[:n], params), Y[:n]).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import torch.nn.functional as F


def plant_f(x, params):
    for w, b in zip(params[:-2:2], params[1:-2:2]):
        x = F.relu(F.linear(x, w, b))
    return F.linear(x, params[-2], params[-1])
