# SPDX-License-Identifier: Apache-2.0
# kind: a thread that unpickles large records and holds the GIL in C
# family: gil
# culprit: plant_g
# action: process|thread|gil|pickle
# needs: torch
# draw: records=4000..30000 width=64..96 batch=8..16
import pickle
import threading

import torch
import torch.nn.functional as F
from plant_mod import plant_g

import planted
from planted import P

model = planted.mlp(depth=16)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
blob = pickle.dumps([{"id": k, "text": str(k) * 3, "box": (k, k + 1)} for k in range(int(P["records"]))])
if planted.ON:
    threading.Thread(target=plant_g, args=(blob,), daemon=True).start()
for x, y in planted.steps(planted.endless(planted.batch()), of=planted.blocked_ns):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import pickle


def plant_g(blob):
    while True:
        pickle.loads(blob)
