# SPDX-License-Identifier: Apache-2.0
# kind: many kernels of a few microseconds, launched one by one from Python
# family: launch_bound small_kernels
# culprit: plant_f train_step
# action: graph|fuse|batch|compile|launch
# needs: sim
# draw: kernels=400..1500 ns=700..2000
import gpu
from plant_mod import plant_f

import planted
from planted import P

kernels = int(P["kernels"])
gpu.begin(int(P["ns"]) if planted.ON else int(P["ns"]) * kernels)
for _ in planted.steps():
    plant_f(kernels if planted.ON else 1)
    gpu.record()
    gpu.wait(2)
gpu.wait(0)
planted.done(gpu_ms=kernels * P["ns"] / 1e6)
# file: plant_mod.py
import gpu


def plant_f(n):
    for k in range(n):
        shape = [k % 7 + i for i in range(40)]  # what a framework does for each operator
        gpu.launch(1 if shape else 0)
