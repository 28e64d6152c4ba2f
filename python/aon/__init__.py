# SPDX-License-Identifier: Apache-2.0
"""Annotate a Python program for the always-on profiler.

    import aon

    for batch in loader:
        with aon.step():                # or aon.step() at the top of the loop
            with aon.range("forward"):
                ...
        aon.counter("loss", loss.item())
        aon.mark("checkpoint written")

    @aon.range("load")                  # each call is a range
    def load(): ...

    @aon.step                           # each call is a step
    def train_one(batch): ...

These calls are always safe: without an aond on the node a call does nothing. The steps of PyTorch and JAX programs are
found without this; steps that a program marks itself take precedence."""
import functools
import sys

from . import _aon
from ._aon import counter, joined, mark, range, step, version

__all__ = ["counter", "joined", "mark", "range", "step", "version"]


def _wrap(function, name):
    """For the decorators: each call is a range of that name, or a step if there is none."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        with range(name) if name else step():
            return function(*args, **kwargs)

    return wrapper


def _first_step():
    """The probes for PyTorch and JAX need not guess any more."""
    for name in ("aon_hook_torch", "aon_hook_jax"):
        probe = sys.modules.get(name)
        if probe:
            probe.own_steps()


_aon._setup(_wrap, _first_step)
