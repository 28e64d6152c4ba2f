# SPDX-License-Identifier: Apache-2.0
# kind: block_until_ready() after each of many small jitted calls, so that host and device take turns
# family: host_sync launch_bound
# culprit: plant_f
# action: block_until_ready|wait|sync
# needs: jax
# draw: calls=30..120 width=192..320 batch=32..96 ms=5..25
import jax
from plant_mod import layer, plant_f

import planted
from planted import P

width = P["width"]
w = [jax.random.normal(jax.random.key(i), (width, width)) * 0.05 for i in range(4)]
x = jax.random.normal(jax.random.key(9), (P["batch"], width))
layer(w[0], x).block_until_ready()
for _ in planted.steps():
    plant_f(w, x, int(P["calls"]), P["ms"] / P["calls"])
planted.done(compare="wall")
# file: plant_mod.py
import time

import jax
import jax.numpy as jnp

from planted import ON


@jax.jit
def layer(w, x):
    for _ in range(3):
        x = jnp.tanh(x @ w)
    return x


def plant_f(w, x, calls, ms):
    for k in range(calls):
        x = layer(w[k % 4], x)
        if ON:
            x.block_until_ready()
        end = time.perf_counter() + ms / 1e3  # the host has work of its own, which could overlap
        while time.perf_counter() < end:
            pass
    x.block_until_ready()
