# SPDX-License-Identifier: Apache-2.0
# kind: worker processes of the program itself compute on the CPU that its loop is bound to
# family: preempted cpu_contention
# culprit: python
# action: cpu|worker|process|fewer
# needs: torch
# draw: hogs=1..3 width=256..448 batch=64..160
# loaded: yes
import multiprocessing
import os

import torch
import torch.nn.functional as F
from plant_mod import plant_g

import planted
from planted import P


def main():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    ctx = multiprocessing.get_context("fork")
    hogs = [ctx.Process(target=plant_g, daemon=True) for _ in range(int(P["hogs"]) if planted.ON else 0)]
    for h in hogs:
        h.start()
    model = planted.mlp()
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for x, y in planted.steps(planted.endless(planted.batch()), of=planted.waited_ns):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    for h in hogs:
        h.kill()
    planted.done()


main()
# file: plant_mod.py
def plant_g():
    n = 0
    while True:
        n = (n * 31 + 7) % 65521
