# SPDX-License-Identifier: Apache-2.0
# kind: a function is jitted anew in each step, and so traced and compiled each time
# family: recompiling compiling
# culprit: plant_f plant_g
# action: jit|once|outside|compile
# needs: jax
# draw: width=192..320 batch=96..256
import jax
import jax.numpy as jnp
import numpy as np
from plant_mod import plant_f

import planted
from planted import P


@jax.jit
def train(w, x):
    def loss(w):
        h = x
        for v in w:
            h = jnp.tanh(h @ v)
        return (h * h).mean()

    value, g = jax.value_and_grad(loss)(w)
    return [a - 0.01 * b for a, b in zip(w, g)], value


width = int(P["width"])
w = [jax.random.normal(jax.random.key(i), (width, width)) * 0.05 for i in range(4)]
x = np.random.rand(int(P["batch"]), width).astype("float32")
for _ in planted.steps():
    w, value = train(w, x)
    with planted.cost():
        plant_f(value) if planted.ON else value.block_until_ready()
planted.done()
# file: plant_mod.py
import jax
import jax.numpy as jnp


def plant_f(value):
    @jax.jit
    def plant_g(v):
        for i in range(30):
            v = jnp.sin(v) + i
        return v

    return plant_g(value).block_until_ready()
