# SPDX-License-Identifier: Apache-2.0
# kind: each batch is read from a file that the page cache does not hold
# family: input_bound io
# culprit: plant_f
# action: worker|ahead|disk|cache|storage|read
# needs: torch
# draw: mb=6..40 width=256..384 batch=64..128
import torch
import torch.nn.functional as F
from plant_mod import PlantC
from torch.utils.data import DataLoader

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for x, y in planted.steps(DataLoader(PlantC("shard.bin", int(P["mb"] * (1 << 20)), P["batch"], P["width"]), batch_size=None)):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import os

import torch
from torch.utils.data import Dataset

import planted


class PlantC(Dataset):
    def __init__(self, path, size, batch, width):
        self.path, self.size, self.batch, self.width = path, size, batch, width
        with open(path, "wb") as f:
            for _ in range(0, size, 1 << 20):
                f.write(os.urandom(1 << 20))
            f.flush()
            os.fsync(f.fileno())

    def __len__(self):
        return 1 << 24

    def plant_f(self):
        fd = os.open(self.path, os.O_RDONLY)
        if planted.ON:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        got, left = 0, self.size if planted.ON else 1 << 16
        while left > 0:
            n = len(os.read(fd, 1 << 16))
            got, left = got + n, left - max(1, n)
        os.close(fd)
        return got

    def __getitem__(self, i):
        with planted.cost():
            got = self.plant_f()
        return torch.randn(self.batch, self.width), torch.full((self.batch,), got % 10)
