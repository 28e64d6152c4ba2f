# SPDX-License-Identifier: Apache-2.0
# kind: a jitted step calls back into Python (pure_callback), which takes most of the step
# family: host_code cpu_bound
# culprit: plant_f
# action: callback|cheaper|jax|vectori
# needs: jax
# draw: ms=10..50 width=192..320 batch=96..256
import jax
import jax.numpy as jnp
import numpy as np
import plant_mod

import planted
from planted import P

width = int(P["width"])
w = jax.random.normal(jax.random.key(0), (width, width)) * 0.05
x = np.random.rand(int(P["batch"]), width).astype("float32")
plant_mod.n = planted.fit(plant_mod.work, P["ms"]) if planted.ON else 1


@jax.jit
def train(w, x):
    h = jnp.tanh(x @ w)
    s = jax.pure_callback(plant_mod.plant_f, jax.ShapeDtypeStruct((), jnp.float32), h[0, 0]) if planted.ON else 1.0
    return w * 0.999 + 0.001 * s * (h.T @ x)


for _ in planted.steps():
    w = train(w, x)
    w.block_until_ready()
planted.done()
# file: plant_mod.py
import numpy as np

import planted

n = 1


def work(n):
    v = 1.0
    for i in range(n * 20):
        v = v * 0.9999 + i % 5
    return v


def plant_f(h):
    with planted.cost():
        work(n)
    return np.float32(1.0)
