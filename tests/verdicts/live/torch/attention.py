# SPDX-License-Identifier: Apache-2.0
# kind: attention written out as two products and a softmax, instead of the fused operator
# family: unfused_attention
# culprit: plant_f PlantC softmax
# action: scaled_dot_product_attention|SDPA|flash|fused
# needs: torch
# draw: length=256..448 heads=2..4
# healthy: yes
import torch
import torch.nn.functional as F
from plant_mod import PlantC

import planted
from planted import P

torch.set_num_threads(1)
width = 32 * int(P["heads"])
model = torch.nn.Sequential(*(PlantC(width, int(P["heads"])) for _ in range(3)), torch.nn.Linear(width, 10))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(2, int(P["length"]), width), torch.randint(10, (2,))
for _ in planted.steps():
    opt.zero_grad()
    F.cross_entropy(model(x).mean(1), y).backward()
    opt.step()
planted.done(compare="cpu")
# file: plant_mod.py
import torch
import torch.nn.functional as F

from planted import ON


class PlantC(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)

    def plant_f(self, q, k, v):
        if not ON:
            return F.scaled_dot_product_attention(q, k, v)
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        return torch.matmul(torch.softmax(scores, -1), v)

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = (t.reshape(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.out(self.plant_f(q, k, v).transpose(1, 2).reshape(b, n, w))
