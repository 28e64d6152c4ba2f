# SPDX-License-Identifier: Apache-2.0
# kind: another process of the program makes batches for a queue, more slowly than the loop takes them
# family: input_bound host_code cpu_bound
# culprit: plant_f plant_g plant_h
# action: ahead|worker|process|thread|cheaper
# needs: torch
# draw: ms=15..60 width=256..384 batch=64..128
import multiprocessing

import torch
import torch.nn.functional as F
from plant_mod import plant_f, plant_g, plant_h

import planted
from planted import P


def main():
    ctx = multiprocessing.get_context("fork")
    todo = ctx.Queue(2)
    n = planted.fit(plant_h, P["ms"]) if planted.ON else 1
    maker = ctx.Process(target=plant_g, args=(todo, n), daemon=True)
    maker.start()
    x, y = planted.batch()
    model = planted.mlp()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in planted.steps():
        with planted.cost():
            scale = plant_f(todo)
        opt.zero_grad()
        F.cross_entropy(model(x * scale), y).backward()
        opt.step()
    maker.kill()
    planted.done()


main()
# file: plant_mod.py
def plant_f(todo):
    return todo.get()


def plant_h(n):
    v = 1.0
    for i in range(n * 20):
        v = v * 1.0000001 + i % 3 * 1e-9
    return v


def plant_g(todo, n):
    while True:
        plant_h(n)
        todo.put(1.0)
