# SPDX-License-Identifier: Apache-2.0
# kind: loader workers that wait for slow storage
# family: input_bound
# culprit: plant_f PlantC
# action: worker|prefetch|storage|disk|cache
# needs: torch
# draw: ms=40..140 width=192..256 batch=32..64
import plant_mod
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)


def batches(loader):
    it = iter(loader)
    while True:
        with planted.cost():
            got = next(it)
        yield got


loader = DataLoader(plant_mod.PlantC(P["ms"] / 1e3 if planted.ON else 0), batch_size=None, num_workers=2)
for x, y in planted.steps(batches(loader)):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import os
import threading
import time

from torch.utils.data import Dataset

import planted


def disk(fd, seconds):
    """What a slow disk does: a piece of the file at a time."""
    for _ in range(4):
        time.sleep(seconds / 4)
        os.write(fd, b"x" * 1024)
    os.close(fd)


class PlantC(Dataset):
    def __init__(self, seconds):
        self.seconds, self.batch = seconds, planted.batch()

    def __len__(self):
        return 1 << 24

    def plant_f(self):
        inner, outer = os.pipe()
        threading.Thread(target=disk, args=(outer, self.seconds)).start()
        got = 0
        while n := len(os.read(inner, 1 << 16)):
            got += n
        os.close(inner)
        return got

    def __getitem__(self, i):
        self.plant_f()
        return self.batch
