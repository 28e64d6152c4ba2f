# SPDX-License-Identifier: Apache-2.0
# kind: print(flush=True) of long lines into a pipe whose reader is slow
# family: logging host_code cpu_bound
# culprit: plant_f
# action: print|log|flush|less often|pipe|output
# needs: torch
# draw: ms=10..50 width=192..320 batch=32..96
import subprocess
import sys

import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
code = "import os, sys, time\nwhile os.read(0, 65536):\n    time.sleep(float(sys.argv[1]))"
reader = subprocess.Popen([sys.executable, "-S", "-c", code, str(P["ms"] / 1e3 if planted.ON else 0)], stdin=subprocess.PIPE, text=True,
                          env={"AON_OFF": "1"})
for step, (x, y) in enumerate(planted.steps(planted.endless(planted.batch()))):
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
    with planted.cost():
        plant_f(reader.stdin, step, loss.item())
reader.kill()
reader.wait()
planted.done()
# file: plant_mod.py
def plant_f(out, step, loss):
    print(f"step {step} loss {loss:.4f} " + "." * 65000, file=out, flush=True)
