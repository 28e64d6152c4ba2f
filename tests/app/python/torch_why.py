# SPDX-License-Identifier: Apache-2.0
"""Trains a small network for so many seconds, with one problem: torch_why.py loader|code|gc|none SECONDS"""
import gc
import sys
import time

import torch

torch.set_num_threads(1)


def spin(ms):
    end, x = time.perf_counter() + ms / 1e3, 0
    while time.perf_counter() < end:
        x = (x * 31 + 7) % 1000003
    return x


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        spin(5 if sys.argv[1] == "loader" else 0)
        return torch.zeros(64), i % 10


def reweigh():
    total = 0
    for i in range(400000):
        total = (total * 31 + i) % 1000003
    return total


def main():
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=0.01), torch.nn.CrossEntropyLoss()
    kept = [[i, {}] for i in range(200000)] if sys.argv[1] == "gc" else []
    end = time.monotonic() + float(sys.argv[2])
    for x, y in torch.utils.data.DataLoader(Slow(), batch_size=8):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
        if sys.argv[1] == "code":
            reweigh()
        elif sys.argv[1] == "gc":
            gc.collect()
        if time.monotonic() > end:
            break
    return kept


main()
