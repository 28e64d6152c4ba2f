# SPDX-License-Identifier: Apache-2.0
# kind: JAX: the norm of each gradient is computed and fetched by itself (float()) at each step, to log it
# family: host_sync host_code cpu_bound launch_bound logging
# culprit: plant_f
# action: jit|wait|sync|less often|every|cheaper|fetch|once
# needs: jax
# draw: layers=40..120 width=96..160 batch=32..64
import jax
import jax.numpy as jnp
import plant_mod

import planted
from planted import ON, P

width = int(P["width"])
params = {f"layer{i}": jax.random.normal(jax.random.key(i), (width, width)) * 0.05 for i in range(int(P["layers"]))}
x = jax.random.normal(jax.random.key(999), (int(P["batch"]), width))
history = []
for step in planted.steps():
    params, loss, grads = plant_mod.update(params, x)
    history.append(float(loss))
    jax.block_until_ready(grads)
    with planted.cost():
        if ON:
            history.append(plant_mod.plant_f(grads))
        elif step % 100 == 0:
            history.append(float(jnp.linalg.norm(grads["layer0"])))
planted.done()
# file: plant_mod.py
import jax
import jax.numpy as jnp


def loss_of(params, x):
    for w in params.values():
        x = jnp.tanh(x @ w)
    return (x * x).mean()


@jax.jit
def update(params, x):
    loss, grads = jax.value_and_grad(loss_of)(params, x)
    return {k: w - 0.01 * grads[k] for k, w in params.items()}, loss, grads


def plant_f(grads):
    return {k: float(jnp.linalg.norm(g)) for k, g in grads.items()}
