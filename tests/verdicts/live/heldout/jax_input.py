# SPDX-License-Identifier: Apache-2.0
# kind: JAX: the host prepares each batch in NumPy and Python while the device has nothing to do
# family: input_bound host_code cpu_bound
# culprit: plant_f
# action: ahead|prefetch|thread|worker|cheaper|overlap|move
# needs: jax
# draw: ms=8..50 width=192..320 batch=64..128
import jax
import numpy as np
from plant_mod import plant_f, step

import planted
from planted import P

width = P["width"]
w = [jax.random.normal(jax.random.key(i), (width, width)) * 0.05 for i in range(4)]
rows = np.random.default_rng(1).normal(size=(P["batch"], width)).astype(np.float32)
n = planted.fit(lambda n: plant_f(rows, n), P["ms"]) if planted.ON else 0
for _ in planted.steps():
    with planted.cost():
        x = plant_f(rows, n)
    w, loss = step(w, x)
    loss.block_until_ready()
planted.done()
# file: plant_mod.py
import jax
import jax.numpy as jnp
import numpy as np


def plant_f(rows, n):
    for k in range(n):
        row = rows[k % len(rows)]
        rows[k % len(rows)] = (row - row.mean()) / (row.std() + 1e-5)
    return np.ascontiguousarray(rows)


def loss_of(w, x):
    for k in w:
        x = jnp.tanh(x @ k)
    return (x * x).mean()


@jax.jit
def step(w, x):
    loss, grads = jax.value_and_grad(loss_of)(w, x)
    return [a - 0.01 * g for a, g in zip(w, grads)], loss
