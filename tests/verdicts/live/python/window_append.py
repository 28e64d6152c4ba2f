# SPDX-License-Identifier: Apache-2.0
# kind: no framework: a simulation in NumPy appends its rows to a window by np.append, which copies all of it at each step
# family: host_code cpu_bound
# culprit: plant_f
# action: cheaper|vectori|move|overlap|ahead|copy
# needs: torch
# draw: rows=30000..120000 width=96..192
import numpy as np
import plant_mod

import planted
from planted import ON, P

r = np.random.default_rng(1)
n = int(P["width"])
field, mix = r.random((n, n)), r.random((n, n)) / n
window = np.zeros((int(P["rows"]) if ON else 512, 16))
for _ in planted.steps():
    for _k in range(12):
        field = np.tanh(np.roll(field, 1, 0) * 0.5 + np.roll(field, -1, 1) * 0.4 + mix)
    with planted.cost():
        window = plant_mod.plant_f(window, field[:32, :16])
    drift = float(window[-512:].mean())
planted.done()
# file: plant_mod.py
import numpy as np


def plant_f(window, rows):
    return np.append(window, rows, axis=0)[len(rows):]
