# SPDX-License-Identifier: Apache-2.0
"""Small JAX programs that know nothing of aon: each is a loop, and prints what it computed and how many steps it took.

    jax_loops.py NAME...        one process each
"""
import json
import os
import sys
import threading
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
Y = X.sum(1)
W = {"w": np.full((4,), 0.5, np.float32), "b": np.zeros((), np.float32)}


def loss(p, x, y):
    return ((x @ p["w"] + p["b"] - y) ** 2).mean()


def update(p, g):
    return jax.tree_util.tree_map(lambda a, b: a - 0.1 * b, p, g)


@jax.jit
def train(p, x, y):
    value, g = jax.value_and_grad(loss)(p, x, y)
    return update(p, g), value


@jax.jit
def evaluate(p, x, y):
    return loss(p, x, y)


def plain():
    """One function; it is given a batch of another size at the end."""
    p = W
    for i in range(20):
        n = 8 if i < 15 else 4
        p, _ = train(p, X[:n], Y[:n])
    return p, 20


def two():
    """Gradients by one function, the update by another."""
    grads, apply, p = jax.jit(jax.grad(loss)), jax.jit(update), W
    for _ in range(15):
        p = apply(p, grads(p, X, Y))
    return p, 15


def evals():
    p, total = W, 0.0
    for _ in range(3):
        for _ in range(10):
            p, _ = train(p, X, Y)
        for _ in range(5):
            total += float(evaluate(p, X, Y))
    return (p, total), 30


def annotated():
    p = W
    for i in range(100, 112):
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            with jax.profiler.TraceAnnotation("my part"):
                p, _ = train(p, X, Y)
                train(p, X, Y)
    return p, 12


def inside():
    """A jitted function that calls jitted functions."""
    @jax.jit
    def both(p, x, y):
        q, value = train(p, x, y)
        return q, value + evaluate(q, x, y)

    p = W
    for _ in range(10):
        p, _ = both(p, X, Y)
    return p, 10


def transformed():
    """grad and vmap of a jitted function, not jitted themselves."""
    p, total = W, 0.0
    for _ in range(8):
        p = update(p, jax.grad(evaluate)(p, X, Y))
    for _ in range(9):
        total += float(jax.vmap(evaluate, (None, 0, 0))(p, X[:, None], Y[:, None]).sum())
    return (p, total), 9 + 8


def method():
    """A method, a keyword, a static argument; a function with an attribute of its own."""
    class Model:
        @partial(jax.jit, static_argnums=0, static_argnames="power")
        def step(self, p, *, power):
            return jax.tree_util.tree_map(lambda a: a * 0.9 ** power, p)

    m, p = Model(), W
    for _ in range(11):
        p = m.step(p, power=2)
    assert Model.step.lower(m, p, power=2).compile() is not None
    assert Model.step.__name__ == "step" and callable(Model.step.clear_cache)
    return p, 11


def ahead():
    """Compiled ahead of time."""
    step, p = train.lower(W, X, Y).compile(), {k: jnp.asarray(v) for k, v in W.items()}
    for _ in range(7):
        p, _ = step(p, X, Y)
    return p, 7


def anew():
    """Jitted again in each step."""
    p = W
    for _ in range(6):
        p = jax.jit(lambda p: update(p, jax.grad(loss)(p, X, Y)))(p)
    return p, 6


def sharded():
    """On two devices, by a sharding, then by pmap."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    p, x, y = W, jax.device_put(X, rows), jax.device_put(Y, rows)
    for _ in range(10):
        p, _ = train(p, x, y)
    each = jax.pmap(lambda a: jax.lax.psum(a, "i"), axis_name="i")
    total = 0.0
    for i in range(12):
        total += float(each(np.full((2, 3), i, np.float32)).sum())
    return (p, total), 10 + 12


def thread():
    """Another thread calls a function of its own meanwhile."""
    stop, other = threading.Event(), jax.jit(lambda a: a + 1)

    def work():
        a = np.zeros(4, np.float32)
        while not stop.is_set():
            other(a).block_until_ready()

    t, p = threading.Thread(target=work), W
    for _ in range(5):
        p, _ = train(p, X, Y)
    t.start()
    for _ in range(200):
        p, _ = train(p, X, Y)
    stop.set()
    t.join()
    return p, 205


def fails():
    """A step that cannot be traced, between those that can."""
    @jax.jit
    def bad(p):
        raise KeyError("mine")

    p = W
    for _ in range(10):
        p, _ = train(p, X, Y)
    for _ in range(2):
        try:
            bad(p)
        except KeyError:
            continue
        raise SystemExit("no error")
    for _ in range(5):
        p, _ = train(p, X, Y)
    return p, 15


def once():
    """No loop."""
    return train(W, X, Y)[0], 0


LOOPS = [plain, two, evals, annotated, inside, transformed, method, ahead, anew, sharded, thread, fails, once]


def main(names):
    for f in LOOPS:
        if names and f.__name__ not in names:
            continue
        pid = os.fork() if not names else 0
        if pid:
            os.waitpid(pid, 0)
            continue
        result, steps = f()
        leaves = [np.asarray(x) for x in jax.tree_util.tree_leaves(result)]
        print(json.dumps({"loop": f.__name__, "steps": steps, "pid": os.getpid(),
                          "result": [x.tolist() for x in leaves]}), flush=True)
        if not names:
            os._exit(0)


main(sys.argv[1:])
