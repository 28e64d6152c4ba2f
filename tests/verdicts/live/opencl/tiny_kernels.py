# SPDX-License-Identifier: Apache-2.0
# kind: hundreds of kernels of a few microseconds in each step, where one would do
# family: launch_bound small_kernels
# culprit: plant_f
# action: fuse|fewer|larger|graph|batch
# needs: opencl
# draw: launches=1500..8000 big=40000..120000
import numpy as np
import pyopencl as cl
from plant_mod import SOURCE

import planted
from planted import P

ctx = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(ctx)
prog = cl.Program(ctx, SOURCE).build()
tiny, big = cl.Kernel(prog, "plant_f"), cl.Kernel(prog, "product")
a = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * 64)
b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * int(P["big"]))
cl.enqueue_copy(queue, a, np.zeros(64, np.float32))
for _ in planted.steps():
    big(queue, (int(P["big"]),), None, b)
    queue.finish()
    with planted.cost():
        for _k in range(int(P["launches"]) if planted.ON else 1):
            tiny(queue, (64,), None, a)
        queue.finish()
planted.done()
# file: plant_mod.py
SOURCE = """
__kernel void plant_f(__global float *x) { x[get_global_id(0)] += 1.0f; }
__kernel void product(__global float *x) {
    float v = x[get_global_id(0)];
    for (int i = 0; i < 64; i++) v = v * 0.99f + 0.5f;
    x[get_global_id(0)] = v;
}
"""
