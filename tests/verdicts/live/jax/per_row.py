# SPDX-License-Identifier: Apache-2.0
# kind: JAX: a jitted function is called for each row of the batch by itself, where vmap would do
# family: launch_bound host_code cpu_bound small_kernels small_ops unjitted host_sync
# culprit: plant_f
# action: vmap|batch|jit|scan|fuse|vectori|launch
# needs: jax
# draw: rows=60..240 width=128..192 batch=64..128
# healthy: yes
import jax
import jax.numpy as jnp
import plant_mod

import planted
from planted import P

width = int(P["width"])
w = [jax.random.normal(jax.random.key(i), (width, width)) * 0.05 for i in range(6)]
x = jax.random.normal(jax.random.key(9), (int(P["batch"]), width))
rows = jax.random.normal(jax.random.key(10), (int(P["rows"]), width))
plant_f = plant_mod.plant_f if planted.ON else jax.jit(jax.vmap(plant_mod.score.__wrapped__, (None, 0)))
for _ in planted.steps():
    w, loss = plant_mod.update(w, x)
    scores = jnp.asarray(plant_f(w, rows))
    jax.block_until_ready((w, scores))
planted.done(compare="wall")
# file: plant_mod.py
import jax
import jax.numpy as jnp


def loss_of(w, x):
    for k in w:
        x = jnp.tanh(x @ k)
    return (x * x).mean()


@jax.jit
def update(w, x):
    loss, grads = jax.value_and_grad(loss_of)(w, x)
    return [a - 0.01 * g for a, g in zip(w, grads)], loss


@jax.jit
def score(w, row):
    return jnp.tanh(row @ w[0]).sum()


def plant_f(w, rows):
    return jnp.stack([score(w, row) for row in rows])
