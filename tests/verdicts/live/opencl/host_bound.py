# SPDX-License-Identifier: Apache-2.0
# kind: Python code between two kernels; the device waits for it
# family: host_code cpu_bound
# culprit: plant_g
# action: cheaper|move|thread|ahead|vectori|overlap
# needs: opencl
# draw: ms=8..50 big=150000..400000
# healthy: yes
import numpy as np
import pyopencl as cl
from plant_mod import SOURCE, plant_g

import planted
from planted import P

ctx = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(ctx)
big = cl.Kernel(cl.Program(ctx, SOURCE).build(), "product")
b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * int(P["big"]))
cl.enqueue_copy(queue, b, np.zeros(int(P["big"]), np.float32))
n = planted.fit(plant_g, P["ms"]) if planted.ON else 1
for _ in planted.steps():
    with planted.cost():
        plant_g(n)
    for _k in range(2):
        big(queue, (int(P["big"]),), None, b)
    queue.finish()
planted.done()
# file: plant_mod.py
SOURCE = """
__kernel void product(__global float *x) {
    float v = x[get_global_id(0)];
    for (int i = 0; i < 64; i++) v = v * 0.99f + 0.5f;
    x[get_global_id(0)] = v;
}
"""


def plant_g(n):
    rows = []
    for i in range(n):
        rows = [float(x) for x in ("%d.5,%d.25,%d.125" % (i, i + 1, i + 2)).split(",")]
    return rows
