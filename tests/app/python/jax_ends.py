# SPDX-License-Identifier: Apache-2.0
"""A training with JAX that ends in the way that its argument says, after 12 steps."""
import multiprocessing
import os
import signal
import sys
import time

import jax
import numpy as np


@jax.jit
def step(w, x):
    return w - 0.1 * jax.grad(lambda w: ((x @ w) ** 2).sum())(w)


def train(steps):
    w = np.ones((4,), np.float32)
    for i in range(steps):
        w = step(w, np.full((2, 4), 0.1 * i, np.float32))
    return float(w.sum())


def main(how):
    print(train(12), flush=True)
    if how == "interrupted":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "_exit":
        os._exit(7)
    if how == "spawn":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.map(train, [9]), flush=True)
    if how == "wrong":
        step(np.ones((4,)), np.ones((2, 5)))


if __name__ == "__main__":
    main(sys.argv[1])
