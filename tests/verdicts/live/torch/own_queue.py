# SPDX-License-Identifier: Apache-2.0
# kind: a thread of the program makes batches for a queue, more slowly than the loop takes them
# family: input_bound host_code cpu_bound
# culprit: plant_f plant_g
# action: ahead|worker|process|thread|lock
# needs: torch
# draw: ms=15..60 width=256..384 batch=64..128
import queue
import threading

import torch
import torch.nn.functional as F
from plant_mod import plant_f, plant_g

import planted
from planted import P

todo = queue.Queue(4)
threading.Thread(target=plant_g, args=(todo, planted.batch(), P["ms"] / 1e3 if planted.ON else 0), daemon=True).start()
model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in planted.steps():
    with planted.cost():
        x, y = plant_f(todo)
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import time


def plant_f(todo):
    return todo.get()


def plant_g(todo, batch, seconds):
    while True:
        time.sleep(seconds)
        todo.put(batch)
