#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A classifier of texts whose input is the problem: what `make demo` finds, fixes and measures.

    aon run -- python examples/train_input.py [cached]

Each text is cut into words and hashed in Python, in every epoch again, and the step waits for that. `cached` does it
once for each text.
"""
import functools
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORDS, BUCKETS, BATCH, BATCHES, EPOCHS = 400, 512, 16, 40, 10


class Texts(Dataset):
    """Texts of made-up words, and whether one word is among them."""

    def __init__(self, rows, cached):
        self.rows = rows
        if cached:
            self.row = functools.lru_cache(rows)(self.row)

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        return self.row(i)

    def row(self, i):
        text = " ".join(f"word{(i * 7919 + k * 104729) % 5003}" for k in range(WORDS))
        return bag_of_words(text), float("word42 " in text)


def bag_of_words(text):
    counts = [0.0] * BUCKETS
    for word in text.split():
        key = 0
        for letter in word:
            key = (key * 31 + ord(letter)) % 1000003
        counts[key % BUCKETS] += 1.0
    return torch.tensor(counts)


def main(cached):
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(BUCKETS, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = DataLoader(Texts(BATCH * BATCHES, cached), BATCH)
    for _ in range(EPOCHS):
        for x, y in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main(sys.argv[1:] == ["cached"])
