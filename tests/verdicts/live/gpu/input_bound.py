# SPDX-License-Identifier: Apache-2.0
# kind: a GPU waits for a DataLoader without workers
# family: input_bound
# culprit: plant_f PlantC
# action: num_workers|workers
# needs: sim torch
# draw: ms=8..40 share=0.3..0.7 batch=8..16
# healthy: yes
import gpu

import planted
from planted import P

gpu.begin(int(P["ms"] * 1e6 / P["share"] * (1 - P["share"]) / 4))  # before torch brings a CUPTI that wants a real driver
import plant_mod  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

for x in planted.steps(DataLoader(plant_mod.PlantC(), batch_size=int(P["batch"]))):
    gpu.launch(4)
    gpu.record()
    gpu.wait(0 if planted.ON else 3)
gpu.wait(0)
planted.done()
# file: plant_mod.py
from torch.utils.data import Dataset

import planted
from planted import ON, P


def plant_f(n):
    x = 0
    for i in range(n * 20):
        x = (x * 31 + i) % 1000003
    return x


class PlantC(Dataset):
    def __init__(self):
        self.rounds = planted.fit(plant_f, P["ms"] / int(P["batch"])) if ON else 1

    def __len__(self):
        return 1 << 24

    def __getitem__(self, i):
        with planted.cost():
            return plant_f(self.rounds)
