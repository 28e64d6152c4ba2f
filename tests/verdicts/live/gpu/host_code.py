# SPDX-License-Identifier: Apache-2.0
# kind: a GPU waits for a function of the program that parses text
# family: host_code cpu_bound
# culprit: plant_f
# action: cheaper|move|thread|ahead|worker|vectori
# needs: sim
# draw: ms=8..40 share=0.3..0.7
# healthy: yes
import gpu
from plant_mod import plant_f

import planted
from planted import P

gpu.begin(int(P["ms"] * 1e6 / P["share"] * (1 - P["share"]) / 4))
n = planted.fit(plant_f, P["ms"]) if planted.ON else 1
for _ in planted.steps():
    with planted.cost():
        plant_f(n)
    gpu.launch(4)
    gpu.record()
    gpu.wait(0 if planted.ON else 3)
gpu.wait(0)
planted.done()
# file: plant_mod.py
LINES = [",".join(str(i * k / 7) for i in range(20)) for k in range(40)]


def plant_f(n):
    rows = []
    for i in range(n):
        rows = [float(x) for x in LINES[i % 40].split(",")]
    return rows
