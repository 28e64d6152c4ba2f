# SPDX-License-Identifier: Apache-2.0
# kind: large batches are copied to the GPU from memory that is not pinned
# family: copy_bound slow_copies host_sync
# culprit: plant_f pageable pinned
# action: pin|non_blocking|async
# needs: sim
# draw: mb=16..64 share=0.5..0.7
import ctypes

import gpu
from plant_mod import plant_f

import planted
from planted import P

size = int(P["mb"] * (1 << 20))
gpu.begin(int(P["mb"] * 1e5 * (1 - P["share"]) / P["share"]))
device, host = ctypes.c_void_p(), ctypes.create_string_buffer(size)
assert not gpu.cuda.cuMemAlloc_v2(ctypes.byref(device), ctypes.c_size_t(size))
for _ in planted.steps():
    if planted.ON:
        with planted.cost():
            plant_f(device, host, size)
    gpu.launch(2)
    gpu.record()
    gpu.wait(0)
planted.done()
# file: plant_mod.py
import ctypes

import gpu


def plant_f(device, host, size):
    assert not gpu.cuda.cuMemcpyHtoD_v2(device, host, ctypes.c_size_t(size))
