# SPDX-License-Identifier: Apache-2.0
# kind: a table of features is a NumPy array of Python objects (dtype=object), as Pandas makes it; each batch is normalised in it
# family: host_code cpu_bound input_bound
# culprit: plant_f
# action: cheaper|vectori|move|thread|ahead|worker|overlap
# needs: torch
# draw: columns=500..1600 width=256..384 batch=64..112
# healthy: yes
import numpy as np
import plant_mod
import torch
import torch.nn.functional as F

import planted
from planted import P

r = np.random.default_rng(1)
table = r.random((2048, int(P["columns"])), np.float32)
mean, std = table.mean(0), table.std(0)
if planted.ON:
    table, mean, std = table.astype(object), mean.astype(object), std.astype(object)
labels = torch.from_numpy(r.integers(0, 10, 2048))
model = planted.mlp()
opt = torch.optim.AdamW(model.parameters())
for _ in planted.steps():
    rows = r.integers(0, 2048, int(P["batch"]))
    with planted.cost():
        x = plant_mod.plant_f(table[rows], mean, std)
    opt.zero_grad()
    F.cross_entropy(model(x[:, : int(P["width"])]), labels[rows]).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import numpy as np
import torch


def plant_f(rows, mean, std):
    scaled = (rows - mean) / std
    return torch.from_numpy(scaled.astype(np.float32))
