#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small transformer learns to sort digits, on several ranks: what `make demo` watches.

    aon run -- torchrun --nproc-per-node 2 examples/train_torch.py [steps]

Plain PyTorch on the CPU, data parallel over gloo. Nothing here knows of aon: it finds the steps, the
ranks, the wait for data, the collectives and the operators by itself.
"""
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

LENGTH, BATCH, WIDTH = 12, 32, 64


class Digits(Dataset):
    """Rows of digits, and the same in order."""

    def __init__(self, rows, seed):
        self.rows = torch.randint(10, (rows, LENGTH), generator=torch.Generator().manual_seed(seed))
        self.sorted = self.rows.sort().values

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], self.sorted[i]


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.digit, self.place = nn.Embedding(10, WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0, batch_first=True)
        self.layers, self.out = nn.TransformerEncoder(layer, 2), nn.Linear(WIDTH, 10)

    def forward(self, x):
        return self.out(self.layers(self.digit(x) + self.place.weight))


def main(steps):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = DistributedDataParallel(Sorter())
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for n, (x, y) in enumerate(DataLoader(Digits(BATCH * steps, rank), BATCH), 1):
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and n % (steps // 5 or 1) == 0:
            print(f"step {n:4}  loss {loss.item():.3f}", flush=True)
    if rank == 0:
        x, y = next(iter(DataLoader(Digits(256, 99), 256)))
        with torch.no_grad():
            right = (model.module(x).argmax(-1) == y).float().mean().item()
        print(f"{100 * right:.0f} % of the digits of rows that it has not seen are in their place", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 110)
