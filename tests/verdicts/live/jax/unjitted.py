# SPDX-License-Identifier: Apache-2.0
# kind: a loop of small operations that nobody jitted: each is dispatched from Python
# family: launch_bound host_code cpu_bound small_kernels small_ops unjitted
# culprit: plant_f
# action: jit|scan|fuse
# needs: jax
# draw: rounds=40..200 width=128..256 batch=32..64
import jax
from plant_mod import grads, plant_f

import planted
from planted import P

width = P["width"]
w = [jax.random.normal(jax.random.key(i), (width, width)) * 0.05 for i in range(4)]
x = jax.random.normal(jax.random.key(9), (P["batch"], width))
if not planted.ON:
    plant_f = jax.jit(plant_f, static_argnums=1)
for _ in planted.steps():
    w = grads(w, x)
    x = plant_f(x, int(P["rounds"]))
    x.block_until_ready()
planted.done(compare="wall")
# file: plant_mod.py
import jax
import jax.numpy as jnp


def loss_of(w, x):
    for k in w:
        x = jnp.tanh(x @ k)
    return (x * x).mean()


@jax.jit
def grads(w, x):
    return [a - 0.01 * g for a, g in zip(w, jax.grad(loss_of)(w, x))]


def plant_f(x, rounds):
    for _ in range(rounds):
        x = x - 0.001 * jnp.tanh(x)
    return x
