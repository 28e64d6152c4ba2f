# SPDX-License-Identifier: Apache-2.0
# kind: a byte-pair tokenizer in Python, called for each batch in the loop
# family: input_bound host_code cpu_bound
# culprit: plant_f plant_g plant_h
# action: token|worker|ahead|cache|thread|preprocess
# needs: torch
# draw: ms=10..60 width=256..448 batch=64..160
import torch
import torch.nn.functional as F
from plant_mod import plant_f

import planted
from planted import P

model = planted.mlp()
embed = torch.nn.Embedding(1024, P["width"])
opt = torch.optim.SGD([*model.parameters(), *embed.parameters()], lr=0.01)
words = planted.fit(plant_f, P["ms"]) if planted.ON else 1
y = torch.randint(10, (P["batch"],))
for _ in planted.steps():
    with planted.cost():
        ids = plant_f(words)
    tokens = torch.tensor((ids * P["batch"])[:P["batch"]]) % 1024
    opt.zero_grad()
    F.cross_entropy(model(embed(tokens)), y).backward()
    opt.step()
planted.done()
# file: plant_mod.py
VOCAB = {a + b: i for i, (a, b) in enumerate((a, b) for a in "abcdefghij" for b in "klmnopqrst")}
TEXT = "aktbl cmdnf ogphq risjt akbl cmdn ekfl gmhn iojp".split() * 4


def plant_g(parts):
    return {(a, b) for a, b in zip(parts, parts[1:])}


def plant_h(word):
    parts = list(word)
    while len(parts) > 1:
        best = min(sorted(plant_g(parts)), key=lambda p: VOCAB.get(p[0] + p[1], 1 << 30))
        if best[0] + best[1] not in VOCAB:
            break
        i = next(i for i in range(len(parts) - 1) if (parts[i], parts[i + 1]) == best)
        parts[i:i + 2] = [parts[i] + parts[i + 1]]
    return parts


def plant_f(n):
    return [sum(map(len, plant_h(TEXT[i % len(TEXT)]))) for i in range(n)]
