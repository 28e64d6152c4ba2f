# SPDX-License-Identifier: Apache-2.0
"""Small JAX programs under JAX's own profiler, and what XLA says that each costs:

    jax_costs.py FOLDER         prints {"jit_mlp": {"flops": ..., "bytes": ...}, ...}
"""
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np


def mlp(w1, w2, x):
    return jax.nn.softmax(jnp.tanh(x @ w1) @ w2).sum(0)


def heads(q, k):
    return jnp.einsum("bqhd,bkhd->bhqk", q, k)


def conv(x, k):
    return jax.lax.conv_general_dilated(x, k, (2, 2), "SAME")


def grow(x, k):
    return jax.lax.conv_transpose(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def train(w, x):
    return w - 0.1 * jax.grad(lambda w: (jnp.exp(x @ w) ** 2).mean())(w)


def ones(*shape):
    return np.ones(shape, np.float32)


PROGRAMS = [(mlp, (ones(256, 512), ones(512, 64), ones(128, 256))), (heads, (ones(2, 16, 4, 8), ones(2, 24, 4, 8))),
            (conv, (ones(4, 8, 32, 32), ones(16, 8, 3, 3))), (grow, (ones(1, 8, 8, 4), ones(3, 3, 4, 6))),
            (train, (ones(32, 16) / 100, ones(8, 32)))]
made = [(jax.jit(f).lower(*a).compile(), a) for f, a in PROGRAMS]
for f, a in made:
    jax.block_until_ready(f(*a))
jax.profiler.start_trace(sys.argv[1])
for f, a in made * 2:
    jax.block_until_ready(f(*a))
jax.profiler.stop_trace()
out = {}
for (f, _), (c, _) in zip(PROGRAMS, made):
    cost = c.cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost
    out["jit_" + f.__name__] = {"flops": cost.get("flops", 0) + cost.get("transcendentals", 0), "bytes": cost["bytes accessed"]}
print(json.dumps(out))
