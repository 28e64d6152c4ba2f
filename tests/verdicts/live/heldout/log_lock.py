# SPDX-License-Identifier: Apache-2.0
# kind: a logging handler behind a lock that another thread keeps while it ships lines
# family: logging lock host_code cpu_bound
# culprit: plant_f plant_g emit
# action: log|lock|queue|async|less often
# needs: torch
# draw: ms=10..50 width=192..320 batch=32..96
import logging
import threading

import torch
import torch.nn.functional as F
from plant_mod import PlantC, plant_g

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
handler = PlantC()
log = logging.getLogger("train")
log.setLevel(logging.INFO)
log.propagate = False
log.addHandler(handler)
if planted.ON:
    threading.Thread(target=plant_g, args=(handler, P["ms"] / 1e3), daemon=True).start()


def plant_f(step, loss):
    log.info("step %d loss %.3f", step, loss)


for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    with planted.cost():
        plant_f(step, loss.item())
planted.done()
# file: plant_mod.py
import logging
import time


class PlantC(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(self.format(record))


def plant_g(handler, seconds):
    while True:
        with handler.lock:
            handler.lines.clear()
            time.sleep(seconds)
        time.sleep(0.0002)
