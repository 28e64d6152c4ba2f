# SPDX-License-Identifier: Apache-2.0
# kind: a generator's beams are kept in Python lists: every candidate of every beam is scored and sorted there
# family: host_code cpu_bound
# culprit: plant_f plant_g
# action: cheaper|vectori|move|thread|ahead|overlap
# needs: torch
# draw: beams=4..16 width=320..512 batch=96..160 vocabulary=1500..3000
# healthy: yes
import plant_mod
import torch

import planted
from planted import ON, P

torch.set_grad_enabled(False)
beams, vocabulary = int(P["beams"]), int(P["vocabulary"])
model = planted.mlp(depth=6, classes=vocabulary)
x = torch.randn(int(P["batch"]), int(P["width"]))
for _ in planted.steps():
    scores = torch.log_softmax(model(x), 1)[:beams]
    with planted.cost():
        best = plant_mod.plant_f(scores, [((), 0.0)] * beams) if ON else scores.flatten().topk(beams)
planted.done()
# file: plant_mod.py
def plant_g(beams, rows):
    for (tokens, score), row in zip(beams, rows):
        for token, s in enumerate(row):
            yield (*tokens, token), score + s


def plant_f(scores, beams):
    found = sorted(plant_g(beams, scores.tolist()), key=lambda c: -c[1])
    return found[: len(beams)]
