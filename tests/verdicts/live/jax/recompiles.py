# SPDX-License-Identifier: Apache-2.0
# kind: a jitted step gets batches of a new length every few steps and is compiled again
# family: recompiling compiling
# culprit: plant_f
# action: pad|shape|bucket|static
# needs: jax
# draw: every=3..9 width=128..256 batch=32..64
# healthy: batch=512
import jax
import jax.monitoring
import jax.numpy as jnp
from plant_mod import plant_f

import planted
from planted import P

spent = [0]
WORDS = ("jaxpr_trace_duration", "jaxpr_to_mlir_module_duration", "backend_compile_duration")
jax.monitoring.register_event_duration_secs_listener(lambda e, s, **kw: spent.__setitem__(0, spent[0] + int(s * 1e9) * e.endswith(WORDS)))
step = jax.jit(plant_f)
width, every = P["width"], max(1, int(P["every"]))
w = [jax.random.normal(jax.random.key(i), (width, width)) * 0.05 for i in range(4)]
X = jax.random.normal(jax.random.key(9), (4096, width))
host = jax.device_get(X)
for i in planted.steps(of=lambda: spent[0]):
    n = P["batch"] + (i // every if planted.ON else 0)
    w, loss = step(w, jnp.asarray(host[:n]))
    loss.block_until_ready()
planted.done()
# file: plant_mod.py
import jax
import jax.numpy as jnp


def loss_of(w, x):
    for k in w:
        x = jnp.tanh(x @ k)
    return (x * x).mean()


def plant_f(w, x):
    loss, grads = jax.value_and_grad(loss_of)(w, x)
    return [a - 0.01 * g for a, g in zip(w, grads)], loss
