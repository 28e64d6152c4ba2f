# SPDX-License-Identifier: Apache-2.0
"""A small model of many kinds of modules, trained or used: what of it is called, how many operations torch's own
counter finds in a step, and the result, as JSON.    torch_modules.py train|infer STEPS"""
import json
import os
import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
attend = getattr(nn.functional, "scaled_dot_product_attention",
                 lambda q, k, v: (q @ k.transpose(-1, -2)).softmax(-1) @ v)


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.reshape(b, t, 4, d // 4).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        return self.out(attend(q, k, v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.attn = nn.LayerNorm(d), Attention(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        x = x + self.attn(self.norm(x))
        return x + self.mlp(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 32)
        self.layers = nn.ModuleList(Block(32) for _ in range(2))
        self.narrow, self.wide = nn.Conv1d(32, 16, 3, stride=2), nn.ConvTranspose1d(16, 24, 4, stride=2)
        self.grouped = nn.Conv1d(24, 48, 3, groups=4, padding=1)
        self.head = nn.Linear(48, 10)

    def forward(self, x):
        x = self.emb(x)
        for layer in self.layers:
            x = layer(x)
        x = self.grouped(self.wide(self.narrow(x.transpose(1, 2))).relu())
        return torch.bmm(x.transpose(1, 2), self.head.weight.t().expand(len(x), -1, -1)) + self.head(x.mean(-1))[:, None]


model = Model()
x, y = torch.randint(0, 100, (4, 16)), torch.randint(0, 10, (4,))
calls = {}


def called(path):
    def hook(*_):
        calls[path] = calls.get(path, 0) + 1
    return hook


def loss():
    return nn.functional.cross_entropy(model(x).mean(1), y)


def count_flops():
    """{module: {operator: operations}} of one step; None: this torch has no counter."""
    try:
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError:
        return None
    with FlopCounterMode(display=False) as counter:
        loss().backward()
    model.zero_grad()
    return {m: {str(op).split(".")[-1]: n for op, n in ops.items()} for m, ops in counter.get_flop_counts().items()}


hooks = [m.register_forward_pre_hook(called(p or "Model")) for p, m in model.named_modules()]
loss()
for h in hooks:
    h.remove()
total, steps = 0.0, int(sys.argv[2])
if sys.argv[1] == "train":
    flops = count_flops()
    opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(steps):
        opt.zero_grad()
        loss().backward()
        opt.step()
    total = sum(p.double().sum().item() for p in model.parameters())
else:
    flops = None
    with torch.no_grad():
        for _ in range(steps):
            total += model(x).sum().item()
print(json.dumps({"pid": os.getpid(), "calls": calls, "flops": flops, "sum": total}))
