# SPDX-License-Identifier: Apache-2.0
# kind: threads that hold a lock which the loop needs at each step
# family: lock host_code cpu_bound
# culprit: plant_f plant_g
# says: lock
# action: lock
# needs: torch
# draw: ms=10..50 threads=1..3 width=192..320 batch=32..96
import threading

import torch
import torch.nn.functional as F
from plant_mod import plant_f, plant_g

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for _k in range(int(P["threads"]) if planted.ON else 0):
    threading.Thread(target=plant_g, args=(P["ms"] / 1e3,), daemon=True).start()
for x, y in planted.steps(planted.endless(planted.batch())):
    with planted.cost():
        plant_f()
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import threading
import time

lock = threading.Lock()
count = [0]


def plant_g(seconds):
    while True:
        with lock:
            time.sleep(seconds)
            count[0] += 1
        time.sleep(0.0002)


def plant_f():
    with lock:
        count[0] += 1
