# SPDX-License-Identifier: Apache-2.0
# kind: four ranks, one of which waits for its storage at each step
# family: straggler input_bound imbalance
# culprit: rank:slow plant_f
# action: rank|input|worker|storage|data
# needs: torch
# ranks: 4
# draw: ms=20..80 slow=1..3 width=64..128 batch=16..32
import plant_mod
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import planted
from planted import P, RANK

dist.init_process_group("gloo")
model = DistributedDataParallel(planted.mlp())
opt = torch.optim.SGD(model.parameters(), lr=0.01)
slow = round(P["slow"])
data = plant_mod.PlantC(P["ms"] / 1e3 if RANK == slow and planted.ON else 0)
for x, y in planted.steps(DataLoader(data, batch_size=None)):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
if RANK == slow:
    planted.done()
planted.leave()
# file: plant_mod.py
import time

from torch.utils.data import Dataset

import planted


class PlantC(Dataset):
    def __init__(self, seconds):
        self.seconds, self.batch = seconds, planted.batch()

    def __len__(self):
        return 1 << 24

    def plant_f(self, i):
        if self.seconds:
            time.sleep(self.seconds)
        return i

    def __getitem__(self, i):
        with planted.cost():
            self.plant_f(i)
        return self.batch
