# SPDX-License-Identifier: Apache-2.0
"""Reads the memory held by torch's caching allocators for src/app/probe/torch/memory.c, which calls ask() once a
step."""
import ctypes
import os

_SCAN = 100  # questions, after which devices that were not in use are looked at again


def listen(torch, lib):
    if os.environ.get("AON_TORCH_MEMORY") == "cpu":
        lib.aon_torch_cpu_memory()
    cuda = getattr(torch, "cuda", None)
    if not hasattr(cuda, "memory_stats_as_nested_dict") or not (torch.version.cuda or getattr(torch.version, "hip", None)):
        return
    put = lib.aon_torch_memory
    put.argtypes = [ctypes.c_uint32] + [ctypes.c_int64] * 6
    put.restype = None
    used, asked = (), 0

    def one(device):
        s = cuda.memory_stats_as_nested_dict(device)
        if not s:
            return False
        nothing = {"all": {"current": 0, "peak": 0}}
        allocated = s.get("allocated_bytes", nothing)["all"]
        reserved = s.get("reserved_bytes", nothing)["all"]
        if not reserved["peak"] and not allocated["peak"]:
            return False
        put(device, allocated["current"], reserved["current"], allocated["peak"],
            s.get("inactive_split_bytes", nothing)["all"]["current"],
            s.get("num_alloc_retries", 0), s.get("num_ooms", 0))
        return True

    def ask():
        nonlocal used, asked
        if not cuda.is_initialized():
            return False
        if asked % _SCAN == 0:
            used = range(cuda.device_count())
        asked += 1
        used = [d for d in used if one(d)]
        return True

    lib.aon_torch_memory_ask.argtypes = [ctypes.py_object]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(ask))
    lib.aon_torch_memory_ask(ask)
