# SPDX-License-Identifier: Apache-2.0
# kind: OpenCL: a large table that never changes is copied to the device for each kernel
# family: copy_bound slow_copies host_code cpu_bound host_sync
# culprit: plant_f enqueue_copy clEnqueueWriteBuffer
# action: once|copy|copies|overlap|ahead|keep|pinned|move
# needs: opencl
# draw: mb=24..96 big=60000..160000
import numpy as np
import plant_mod
import pyopencl as cl

import planted
from planted import P

ctx = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(ctx)
gather = cl.Kernel(cl.Program(ctx, plant_mod.SOURCE).build(), "gather")
table = np.random.default_rng(1).random((int(P["mb"]), 1 << 18), np.float32)
on_device = cl.Buffer(ctx, cl.mem_flags.READ_ONLY, table.nbytes)
out = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * int(P["big"]))
cl.enqueue_copy(queue, on_device, table)
for _ in planted.steps():
    with planted.cost():
        if planted.ON:
            plant_mod.plant_f(queue, on_device, table)
    gather(queue, (int(P["big"]),), None, on_device, out, np.uint32(table.size))
    queue.finish()
planted.done()
# file: plant_mod.py
import pyopencl as cl

SOURCE = """
__kernel void gather(__global const float *t, __global float *out, uint n) {
    uint at = get_global_id(0);
    float v = 0;
    for (int i = 0; i < 4; i++) {
        at = (at * 1664525u + 1013904223u) % n;
        v = v * 0.99f + t[at];
    }
    out[get_global_id(0)] = v;
}
"""


def plant_f(queue, on_device, table):
    cl.enqueue_copy(queue, on_device, table)
