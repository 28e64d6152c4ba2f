# SPDX-License-Identifier: Apache-2.0
"""A training that ends in the way that its argument says, after 12 steps of 2 batches each."""
import os
import signal
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Data(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, i):
        torch.manual_seed(i)
        return torch.randn(8), torch.randn(2)


def main(how):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    m = nn.Linear(8, 2)
    opt = torch.optim.SGD(m.parameters(), 0.1)
    workers = {"fork": (2, "fork"), "spawn": (1, "spawn")}.get(how, (0, None))
    for i, (x, y) in enumerate(DataLoader(Data(), 2, num_workers=workers[0], multiprocessing_context=workers[1])):
        (m(x) - y).pow(2).mean().backward()
        if i % 2:
            opt.step()
            opt.zero_grad()
        if how == "slowly":
            time.sleep(0.1)
    print(sum(p.double().sum().item() for p in m.parameters()), flush=True)
    if how == "raises":
        raise ValueError("mine")
    if how == "interrupted":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "_exit":
        os._exit(7)
    if how == "exit":
        sys.exit(3)


if __name__ == "__main__":
    main(sys.argv[1])
