# SPDX-License-Identifier: Apache-2.0
# kind: tinygrad meets a new shape every few steps: clBuildProgram again and again
# family: compiling recompiling
# culprit: clBuildProgram plant_f
# action: shape|pad|jit|cache|symbolic|Variable
# needs: opencl
# draw: every=4..10 width=32..64 batch=16..48
import os

os.environ.update(DEV="CL", PARALLEL="0", CACHELEVEL="0", TRAINING="1")
from plant_mod import plant_f  # noqa: E402
from tinygrad import Tensor, nn  # noqa: E402

import planted  # noqa: E402
from planted import P  # noqa: E402

width = P["width"]
net = [nn.Linear(width, width) for _ in range(2)]
opt = nn.optim.SGD(nn.state.get_parameters(net), lr=0.01)
every = max(1, int(P["every"]))
for i in planted.steps():
    n = P["batch"] + (i // every if planted.ON else 0)
    plant_f(net, opt, Tensor.rand(n, width))
planted.done(compare="cpu")
# file: plant_mod.py
def plant_f(net, opt, x):
    for layer in net:
        x = layer(x).relu()
    opt.zero_grad()
    (x * x).mean().backward()
    opt.step()
    return x.sum().item()
