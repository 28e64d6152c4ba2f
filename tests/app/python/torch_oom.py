# SPDX-License-Identifier: Apache-2.0
"""Programs that run out of memory, or nearly: torch_oom.py KIND [CGROUP]. Each moves itself into the cgroup."""
import os
import sys
import time

kind, group = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
if kind == "cuda":  # the library that makes the calls of torch's caching allocator: before torch is imported
    import ctypes
    import glob
    import importlib.util
    where = importlib.util.find_spec("torch").submodule_search_locations[0] + "/lib/"
    ctypes.CDLL(sorted(glob.glob(where + "libc10.so*"))[0], mode=ctypes.RTLD_GLOBAL)
    standin = ctypes.CDLL(sys.argv[3])

import torch
from torch import nn

if group:  # after torch is loaded: what is read of its libraries does not count, and is not read again and again at the limit
    with open(f"{group}/cgroup.procs", "w") as f:
        f.write(str(os.getpid()))

torch.set_num_threads(1)
torch.manual_seed(0)
WIDTH = 64 if kind == "leak" else 512  # narrow: as much memory for an eighth of the work


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.Linear(WIDTH, WIDTH)
        self.act = nn.Tanh()

    def forward(self, x):
        return x + self.act(self.attn(x))  # the line of the calls


class Net(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(layers))
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def step(batch):
    loss = model(torch.randn(batch, WIDTH)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss


def leak():
    """The graph of every loss is kept."""
    losses = []
    for i in range(10000):
        loss = model(torch.randn(4096, WIDTH)).square().mean()
        if i >= 3:
            losses.append(loss)
        (loss * 1).backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()


def large():
    """Steps of a batch that fits, then one of a batch that does not."""
    for _ in range(6):
        step(512)
    step(65536)


def fits():
    for _ in range(3):
        step(int(sys.argv[3]))


def own():
    """The program itself keeps a tensor in each step."""
    kept = []
    for _ in range(10000):
        kept.append(torch.zeros(4 << 20, dtype=torch.uint8))
        step(64)


def near():
    """Most of the memory is used, and all is well."""
    ballast = torch.zeros(int(sys.argv[3]), dtype=torch.uint8)
    for _ in range(40):
        step(256)
    print("done", ballast[-1].item())


def workers():
    """The data set keeps all that it has ever made, in the loader's worker."""
    class Data(torch.utils.data.Dataset):
        kept = []

        def __len__(self):
            return 100000

        def __getitem__(self, i):
            self.kept.append(bytes(2 << 20))
            time.sleep(0.02)
            return torch.zeros(WIDTH)

    for x in torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=1):
        model(x).square().mean().backward()
        optimizer.step()


def caught():
    """One step asks for more than there is, and training goes on."""
    import resource
    step(64)
    size = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (size + (512 << 20), resource.RLIM_INFINITY))
    for i in range(30):
        try:
            step(1 << 20 if i == 10 else 64)
        except RuntimeError as e:
            print("caught", "allocate memory" in str(e))
            optimizer.zero_grad()
        time.sleep(0.05)


def raised():
    """The same, and nobody catches it."""
    import resource
    step(64)
    size = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (size + (512 << 20), resource.RLIM_INFINITY))
    for _ in range(3):
        step(64)
    step(1 << 20)


def cuda():
    """A GPU of 1 GiB whose caching allocator reports 100 MiB in each step, for good, and then refuses."""
    class Held(nn.Module):
        at = 0

        def forward(self, x):
            self.at += 1
            standin.standin_alloc(ctypes.c_void_p(self.at << 30), ctypes.c_int64(100 << 20))
            return x

    model.layers.append(Held())
    torch.cuda.is_initialized = lambda: True
    torch.cuda.device_count = lambda: 1
    torch.cuda.memory_stats_as_nested_dict = lambda device: {}
    torch.cuda.get_device_properties = lambda device: type("P", (), {"total_memory": 1 << 30})
    torch.version.cuda = torch.version.cuda or "stand-in"
    for i in range(10):
        step(64)
        time.sleep(0.15)
    standin.standin_refuse(ctypes.c_int64(100 << 20))
    raise SystemExit(3)


if __name__ == "__main__":
    globals()[kind]()
