# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenarios of JAX: the installed versions, and programs with and without aon."""
import sys

import torchtest
from aontest import SANITIZED, skip_all
from torchtest import APPS, CACHE, steps_of  # noqa: F401


def jaxes():
    """[(version, folder)]: the current JAX and an older one, which tools/setup got."""
    if SANITIZED:
        skip_all("a sanitizer's runtime must come before Python's")
    found = [(f.name, f) for f in sorted(CACHE.glob("jax/*")) if (f / ".has").exists()]
    if not found:
        skip_all("no JAX: tools/setup check gets it from PyPI into the cache")
    return found


def environment(folder, env=None):
    # One thread each: two programs beside many tests.
    flags = "--xla_force_host_platform_device_count=2 --xla_cpu_multi_thread_eigen=false"
    return {"PYTHONPATH": str(folder), "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, **(env or {})}


def bare(place, folder, *argv, env=None):
    return torchtest.bare(place, sys.executable, *argv, env=environment(folder, env))


def run(place, folder, *argv, env=None, options=()):
    return torchtest.run(place, sys.executable, *argv, env=environment(folder, env), options=options)
