# SPDX-License-Identifier: Apache-2.0
# kind: an inference server that looks for requests every so often and sleeps in between, although some are waiting
# family: host_code cpu_bound sleep
# culprit: plant_f
# says: sleep
# action: sleep|wait
# needs: torch
# draw: ms=5..40 width=256..448 batch=64..160
import torch
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
model.eval()
x, _ = planted.batch()
with torch.no_grad():
    for _ in planted.steps():
        if planted.ON:
            with planted.cost():
                plant_f(P["ms"] / 1e3)
        model(x)
planted.done()
# file: plant_mod.py
import time


def plant_f(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.001)
