# SPDX-License-Identifier: Apache-2.0
"""A training whose operators launch kernels on the (stand-in) driver, forward and backward: what it launched, as JSON
{"module/op/kernel": count}.    torch_cuda.py STEPS"""
import collections
import ctypes
import json
import os
import sys

cuda = ctypes.CDLL("libcuda.so.1")
# Before torch, which brings a libcupti of its own.
context, image, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
text = b"sim-module\n" + b"".join(b"kernel %s ns=2000 regs=40\n" % k for k in (b"scale", b"scale_grad", b"shift", b"update"))
calls = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
         cuda.cuModuleLoadData(ctypes.byref(image), text), cuda.cuStreamCreate(ctypes.byref(stream), 1)]
assert not any(calls), calls

import torch  # noqa: E402
from torch import nn  # noqa: E402

torch.set_num_threads(1)
torch.manual_seed(0)
launched = collections.Counter()


def launch(kernel):
    f = ctypes.c_void_p()
    err = cuda.cuModuleGetFunction(ctypes.byref(f), image, kernel.encode()) or \
        cuda.cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, stream, None, None)
    assert not err, err
    launched[kernel] += 1


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        launch("scale")
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, grad):
        launch("scale_grad")
        x, w = ctx.saved_tensors
        return grad * w, (grad * x).sum()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(()))

    def forward(self, x):
        x = Scale.apply(x, self.w)
        launch("shift")  # in a module, and in no operator
        return x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


model = Model()
opt = torch.optim.SGD(model.parameters(), 0.1)
x = torch.randn(8)
for _ in range(int(sys.argv[1])):
    opt.zero_grad()
    model(x).pow(2).mean().backward()
    opt.step()
    launch("update")  # in a step, and in nothing else
cuda.cuCtxSynchronize()
print(json.dumps({"pid": os.getpid(), "launched": launched,
                  "sum": sum(p.double().sum().item() for p in model.parameters())}), flush=True)
