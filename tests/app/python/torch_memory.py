# SPDX-License-Identifier: Apache-2.0
"""A training that says what it allocates. `cpu STEPS`: each step under torch's profiler, which counts the bytes.
`leak STEPS BYTES`: keeps a tensor of BYTES of each step. `cuda STEPS [thread]`: a torch.cuda that answers as one with two
GPUs in use of three would, and prints what it answered; on a thread, while the main one only waits."""
import json
import os
import sys
import threading
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
what, steps = sys.argv[1], int(sys.argv[2])
m = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8))
opt = torch.optim.SGD(m.parameters(), 0.01, momentum=0.9)
told, kept = {}, []


def one():
    opt.zero_grad()
    m(torch.ones(32, 64)).pow(2).mean().backward()
    opt.step()


def profiled(step):
    """[bytes that the step kept, most that it had above its begin]"""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as prof:
        one()
    now = high = 0
    for e in sorted((e for e in prof.profiler.kineto_results.events() if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        now += e.nbytes()
        high = max(high, now)
    told[step] = [now, high]


class Stats:
    """What CUDACachingAllocator would say: GPU 0 grows, GPU 1 does not, GPU 2 is not in use."""

    def __init__(self):
        self.asked, self.seen = 0, []
        torch.cuda.is_initialized = lambda: self.asked >= 0
        torch.cuda.device_count = lambda: 3
        torch.cuda.memory_stats_as_nested_dict = self.stats

    def stats(self, device):
        n = self.asked = self.asked + (device == 0)
        if device == 2:
            now = reserved = split = retries = 0
        else:
            now, reserved, split = 10 ** 9 + (n << 20 if device == 0 else 0), 4 << 30, 512 << 20
            retries = n // 10
        self.seen.append([device, now, reserved, retries])
        of = lambda v: {"all": {"current": v, "peak": v + (v and 1 << 20)}}  # noqa: E731
        return {"allocated_bytes": of(now), "reserved_bytes": of(reserved), "inactive_split_bytes": of(split),
                "num_alloc_retries": retries, "num_ooms": 0}


fake = Stats() if what == "cuda" else None


def train():
    for step in range(1, steps + 1):
        if what == "cpu":
            profiled(step)
        else:
            one()
        if what == "leak":
            kept.append(torch.empty(int(sys.argv[3]), dtype=torch.uint8))
        if what == "cuda":
            time.sleep(0.003)


if sys.argv[3:] == ["thread"]:
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
else:
    train()
print(json.dumps({"pid": os.getpid(), "told": told, "seen": fake.seen if fake else None,
                  "sum": sum(p.double().sum().item() for p in m.parameters())}))
