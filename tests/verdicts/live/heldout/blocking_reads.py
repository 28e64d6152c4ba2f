# SPDX-License-Identifier: Apache-2.0
# kind: OpenCL: the result of each kernel is read back with a blocking call before the next one is prepared
# family: host_sync copy_bound
# culprit: plant_f
# action: blocking|read|async|sync|wait|ahead
# needs: opencl
# draw: rounds=6..16 big=60000..120000 host=0.6..0.9
import numpy as np
import pyopencl as cl
from plant_mod import SOURCE, plant_f, prepare

import planted
from planted import P

ctx = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(ctx)
big = cl.Kernel(cl.Program(ctx, SOURCE).build(), "product")
b = cl.Buffer(ctx, cl.mem_flags.READ_WRITE, 4 * int(P["big"]))
out = np.zeros(int(P["big"]), np.float32)
cl.enqueue_copy(queue, b, out)
n = planted.fit(prepare, 3 * P["host"])
for _ in planted.steps():
    plant_f(queue, big, b, out, int(P["rounds"]), n)
planted.done(compare="wall")
# file: plant_mod.py
import pyopencl as cl

import planted

SOURCE = """
__kernel void product(__global float *x) {
    float v = x[get_global_id(0)];
    for (int i = 0; i < 64; i++) v = v * 0.99f + 0.5f;
    x[get_global_id(0)] = v;
}
"""


def prepare(n):
    x = 0
    for i in range(n * 20):
        x = (x * 31 + i) % 1000003
    return x


def plant_f(queue, kernel, b, out, rounds, n):
    for _ in range(rounds):
        prepare(n)
        kernel(queue, (len(out),), None, b)
        queue.flush()
        if planted.ON:
            cl.enqueue_copy(queue, out, b, is_blocking=True)
    cl.enqueue_copy(queue, out, b, is_blocking=True)
