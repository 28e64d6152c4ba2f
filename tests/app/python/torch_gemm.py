# SPDX-License-Identifier: Apache-2.0
"""A program whose matrix products launch on the (stand-in) driver: a large kernel and one that helps it, with one
geometry, until a file appears. With a second width, products of another length with the geometry of the first.

    torch_gemm.py STOP WIDTH [WIDTH]"""
import ctypes
import os
import pathlib
import sys
import time

GEMM, HELP = b"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_execute", b"splitk_finish"
cuda = ctypes.CDLL("libcuda.so.1")
context, image, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
text = b"sim-module\n" + b"kernel %s ns=60000 regs=40\n" % GEMM + b"kernel %s ns=4000 regs=40\n" % HELP
calls = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
         cuda.cuModuleLoadData(ctypes.byref(image), text), cuda.cuStreamCreate(ctypes.byref(stream), 1)]
assert not any(calls), calls

import torch  # noqa: E402

torch.set_num_threads(1)


def launch(kernel):
    f = ctypes.c_void_p()
    err = cuda.cuModuleGetFunction(ctypes.byref(f), image, kernel) or cuda.cuLaunchKernel(f, 16, 8, 1, 128, 1, 1, 0, stream, None, None)
    assert not err, err


def mm(a, b):
    launch(GEMM)
    launch(HELP)
    return a.new_zeros(a.shape[0], b.shape[1])


lib = torch.library.Library("aten", "IMPL")
lib.impl("mm", mm, "CPU")
stop, begin = pathlib.Path(sys.argv[1]), time.monotonic()
pairs = [(torch.ones(256, int(k)), torch.ones(int(k), 512)) for k in sys.argv[2:]]
os.write(1, f"{os.getpid()}\n".encode())

# A training beside them: from its gradients the probe learns where torch keeps what it reads.
w, x = torch.nn.Parameter(torch.ones(8)), torch.ones(8)
opt = torch.optim.SGD([w], 0.001)
while not stop.exists() and time.monotonic() < begin + 100:
    opt.zero_grad()
    (w * x).pow(2).mean().backward()
    with torch.no_grad():
        for a, b in pairs:
            torch.mm(a, b)
    opt.step()
    time.sleep(0.002)
cuda.cuCtxSynchronize()
