# SPDX-License-Identifier: Apache-2.0
"""A training that reads its 8 batches with a number of workers; `fails`: whose dataset has an error."""
import json
import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)


class Numbers(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        if i == 20 and sys.argv[2:] == ["fails"]:
            raise ValueError("of the program's own")
        return torch.full((4,), float(i)), os.getpid()


def main():
    workers = int(sys.argv[1])
    m = torch.nn.Linear(4, 1)
    torch.nn.init.constant_(m.weight, 0.1)
    opt = torch.optim.SGD(m.parameters(), 0.001)
    pids = set()
    for x, who in DataLoader(Numbers(), batch_size=4, num_workers=workers):
        opt.zero_grad()
        m(x).mean().backward()
        opt.step()
        pids |= set(who.tolist())
    print(json.dumps({"pid": os.getpid(), "workers": sorted(pids), "weight": m.weight.double().sum().item()}))


if __name__ == "__main__":
    main()
