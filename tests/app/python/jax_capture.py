# SPDX-License-Identifier: Apache-2.0
"""A training with JAX that goes on until a file appears. With the word `profiles` it has a profiler of its own running."""
import os
import pathlib
import sys
import time

import jax
import numpy as np


@jax.jit
def train_step(w, x):
    return w - 0.1 * jax.grad(lambda w: (jax.numpy.tanh(x @ w) ** 2).mean())(w)


stop, own = pathlib.Path(sys.argv[1]), sys.argv[2:] == ["profiles"]
w, x, begin = np.ones((32, 16), np.float32), np.ones((8, 32), np.float32), time.monotonic()
if own:
    jax.profiler.start_trace(str(stop) + ".own")
for i in range(10**9):
    w = train_step(w, x)
    if i == 3:
        os.write(1, f"ready {os.getpid()}\n".encode())
    time.sleep(0.005)
    if stop.exists() or time.monotonic() > begin + 100:
        break
if own:
    jax.profiler.stop_trace()
    print(len(list(pathlib.Path(str(stop) + ".own").rglob("*.xplane.pb"))), "of its own")
print("ended", np.isfinite(w).all())
sys.exit(7)
