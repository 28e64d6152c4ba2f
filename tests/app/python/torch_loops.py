# SPDX-License-Identifier: Apache-2.0
"""Trainings that know nothing of aon. Each runs in a forked child and prints one JSON line: its
name, pid, how many steps it took, and a number that depends on all of them."""
import json
import os
import pickle
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = 30
# What is wrapped is found where its name says that it is.
assert pickle.loads(pickle.dumps(torch.save)) is torch.save


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))


def batches(n=STEPS, **kw):
    torch.manual_seed(1)
    return DataLoader(TensorDataset(torch.randn(4 * n, 16), torch.randn(4 * n, 4)), 4, **kw)


def loss_of(m, x, y):
    return (m(x) - y).pow(2).mean()


def plain():
    m = net()
    opt = torch.optim.SGD(m.parameters(), 0.1)
    for x, y in batches():
        opt.zero_grad()
        loss_of(m, x, y).backward()
        opt.step()
    return STEPS, m


def scheduler():
    m = net()
    opt = torch.optim.AdamW(m.parameters(), 0.01)
    lr = torch.optim.lr_scheduler.StepLR(opt, 5)
    for x, y in batches():
        loss_of(m, x, y).backward()
        opt.step()
        lr.step()
        opt.zero_grad()
    return STEPS, m


def no_loader():
    m = net()
    opt = torch.optim.Adam(m.parameters(), 0.01)
    x, y = torch.randn(4, 16), torch.randn(4, 4)
    for _ in range(STEPS):
        opt.zero_grad()
        loss_of(m, x, y).backward()
        opt.step()
    return STEPS, m


def one_step():
    m = net()
    opt = torch.optim.Adam(m.parameters(), 0.01)
    loss_of(m, torch.randn(4, 16), torch.randn(4, 4)).backward()
    opt.step()
    return 1, m


def accumulate():
    m = net()
    opt = torch.optim.SGD(m.parameters(), 0.1)
    for i, (x, y) in enumerate(batches(4 * STEPS)):
        (loss_of(m, x, y) / 4).backward()
        if i % 4 == 3:
            opt.step()
            opt.zero_grad()
    return STEPS, m


def closure():
    m = net()
    opt = torch.optim.LBFGS(m.parameters(), 0.1, max_iter=5)
    x, y = torch.randn(4, 16), torch.randn(4, 4)

    def again():
        opt.zero_grad()
        loss = loss_of(m, x, y)
        loss.backward()
        return loss

    for _ in range(STEPS):
        opt.step(again)
    return STEPS, m


def custom():
    class Mine(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.01})

        @torch.no_grad()
        def step(self, closure=None):
            for g in self.param_groups:
                for p in g["params"]:
                    p.add_(p.grad, alpha=-g["lr"])

    m = net()
    opt = Mine(m.parameters())
    for x, y in batches():
        opt.zero_grad()
        loss_of(m, x, y).backward()
        opt.step()
    return STEPS, m


def two_classes():
    a, b = net(), net(1)
    oa, ob = torch.optim.SGD(a.parameters(), 0.1), torch.optim.Adam(b.parameters(), 0.01)
    for x, y in batches():
        for m, opt in ((a, oa), (b, ob)):
            opt.zero_grad()
            loss_of(m, x, y).backward()
            opt.step()
    return STEPS, b


def gan():
    """Two optimizers of one class: told apart by torch's hook, which 1.13 does not have."""
    a, b = net(), net(1)
    oa, ob = torch.optim.Adam(a.parameters(), 0.01), torch.optim.Adam(b.parameters(), 0.01)
    for x, y in batches():
        for m, opt in ((a, oa), (b, ob)):
            opt.zero_grad()
            loss_of(m, x, y).backward()
            opt.step()
    told = hasattr(sys.modules["torch.optim.optimizer"], "register_optimizer_step_post_hook")
    return STEPS if told else 2 * STEPS, b


def in_backward():
    """An optimizer for each parameter."""
    m = net()
    opts = [torch.optim.SGD([p], 0.1) for p in m.parameters()]
    for x, y in batches():
        loss_of(m, x, y).backward()
        for o in opts:
            o.step()
            o.zero_grad()
    told = hasattr(sys.modules["torch.optim.optimizer"], "register_optimizer_step_post_hook")
    return STEPS if told else len(opts) * STEPS, m


def skipped():
    """As GradScaler does: no step of the optimizer now and then."""
    m = net()
    opt = torch.optim.SGD(m.parameters(), 0.1)
    for i, (x, y) in enumerate(batches()):
        opt.zero_grad()
        loss_of(m, x, y).backward()
        if i % 7 != 5:
            opt.step()
    return STEPS, m


def evaluated():
    m = net()
    opt = torch.optim.SGD(m.parameters(), 0.1)
    for _ in range(3):
        for x, y in batches(10):
            opt.zero_grad()
            loss_of(m, x, y).backward()
            opt.step()
        with torch.no_grad():
            for x, y in batches(7):
                loss_of(m, x, y)
    return 30, m


def named():
    m = net()
    opt = torch.optim.SGD(m.parameters(), 0.1)
    for x, y in batches():
        with torch.autograd.profiler.record_function("my step"):
            with torch.autograd.profiler.record_function("my loss"):
                loss = loss_of(m, x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return STEPS, m


LOOPS = [plain, scheduler, no_loader, one_step, accumulate, closure, custom, two_classes, gan,
         in_backward, skipped, evaluated, named]


def main(loops):
    torch.set_num_threads(1)
    if hasattr(torch, "compile"):
        __import__("torch._dynamo")  # optimizers do, and it takes seconds: once for all
    for loop in loops:
        if len(sys.argv) > 1 and loop.__name__ not in sys.argv[1:]:
            continue
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            steps, m = loop()
            total = m if isinstance(m, float) else sum(p.double().sum().item() for p in m.parameters())
            print(json.dumps({"loop": loop.__name__, "pid": os.getpid(), "steps": steps, "sum": total}))
            sys.stdout.flush()
            if steps > 1:  # to take Python apart takes a second, and a step alone waits for it
                os._exit(0)
            sys.exit(0)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(LOOPS)
