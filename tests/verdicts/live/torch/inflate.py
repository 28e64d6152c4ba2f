# SPDX-License-Identifier: Apache-2.0
# kind: records are kept compressed (zlib) and decompressed in the dataset; the DataLoader has no workers
# family: input_bound
# culprit: plant_f PlantC
# action: num_workers|workers
# needs: torch
# draw: kb=48..160 width=256..384 batch=64..128
# healthy: yes
import plant_mod
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.AdamW(model.parameters())
loader = DataLoader(plant_mod.PlantC(P["kb"], P["width"]), batch_size=P["batch"], shuffle=False)
for x, y in planted.steps(loader):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
import zlib

import numpy as np
import torch
from torch.utils.data import Dataset

import planted
from planted import ON


class PlantC(Dataset):
    def __init__(self, kb, width):
        r = np.random.default_rng(1)
        raw = [r.integers(0, 24, kb * 1024, np.uint8).tobytes() for _ in range(24)]
        self.records = [zlib.compress(x, 6) if ON else x for x in raw]
        self.width = width

    def __len__(self):
        return 1 << 24

    def plant_f(self, i):
        record = self.records[i % len(self.records)]
        return zlib.decompress(record) if ON else record

    def __getitem__(self, i):
        with planted.cost():
            record = self.plant_f(i)
        pixels = np.frombuffer(record, np.uint8, self.width)
        return torch.from_numpy(pixels.astype(np.float32) / 24), i % 10
