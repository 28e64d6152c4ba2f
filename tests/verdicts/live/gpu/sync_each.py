# SPDX-License-Identifier: Apache-2.0
# kind: the host waits for the GPU after every kernel, and then prepares the next one
# family: host_sync
# culprit: plant_f
# action: sync|wait|item|ahead
# needs: sim
# draw: kernels=6..20 us=900..2400 host=0.5..0.8
import gpu
from plant_mod import plant_f, prepare

import planted
from planted import P

gpu.begin(int(P["us"] * 1000))
n = planted.fit(prepare, P["us"] / 1e3 * P["host"])
for _ in planted.steps():
    plant_f(int(P["kernels"]), n)
gpu.wait(0)
planted.done(gpu_ms=int(P["kernels"]) * P["us"] / 1e3)
# file: plant_mod.py
import gpu
import planted


def prepare(n):
    x = 0
    for i in range(n * 20):
        x = (x * 31 + i) % 1000003
    return x


def plant_f(kernels, n):
    for _ in range(kernels):
        prepare(n)
        gpu.launch(1)
        gpu.record()
        gpu.wait(0 if planted.ON else 6)
