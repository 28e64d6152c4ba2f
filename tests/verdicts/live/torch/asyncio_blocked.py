# SPDX-License-Identifier: Apache-2.0
# kind: an asyncio loop that feeds the training is blocked by a coroutine that computes
# family: input_bound host_code cpu_bound
# culprit: plant_h plant_g
# action: cheaper|process|thread|worker|move|ahead
# needs: torch
# draw: ms=8..50 width=256..448 batch=64..160
import asyncio

import torch
import torch.nn.functional as F
from plant_mod import plant_f, plant_h

import planted
from planted import P

model = planted.mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = planted.batch()
rounds = planted.fit(plant_h, P["ms"]) if planted.ON else 1


async def main():
    for _ in planted.steps():
        with planted.cost():
            await plant_f(rounds)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()


asyncio.run(main())
planted.done()
# file: plant_mod.py
import asyncio


def plant_h(n):
    x = 0
    for i in range(300 * n):
        x = (x * 31 + i) % 1000003
    return x


async def plant_g(n):
    await asyncio.sleep(0)
    return plant_h(n)


async def plant_f(n):
    return await asyncio.gather(plant_g(n), asyncio.sleep(0.0001))
