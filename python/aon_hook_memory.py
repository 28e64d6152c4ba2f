# SPDX-License-Identifier: Apache-2.0
"""Reads the memory held by torch's caching allocators for src/app/probe/torch/memory.c, which calls ask() once a
step, and tells site.c which line of the program is under way."""
import ctypes
import os
import sys

_SCAN = 100  # questions, after which devices that were not in use are looked at again


def _placer(torch):
    """-> place(): "model.py:88", the innermost line that is neither torch's nor of Python's own library."""
    own, python = os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.__file__) + os.sep

    def passed(name):
        return name.startswith((own, "<")) or (name.startswith(python) and "-packages" not in name)

    def place():
        f = sys._getframe(1)
        while f and passed(f.f_code.co_filename):
            f = f.f_back
        return f"{os.path.basename(f.f_code.co_filename)}:{f.f_lineno}" if f else ""

    return place


def listen(torch, lib):
    mode = os.environ.get("AON_TORCH_MEMORY")
    if mode in ("sites", "cpu") and lib.aon_torch_cpu_memory(mode == "cpu") == 0:
        lib.aon_torch_place.argtypes = [ctypes.py_object]
        lib.aon_torch_place(_placer(torch))
        lib.aon_torch_gpu_memory()
    cuda = getattr(torch, "cuda", None)
    if not hasattr(cuda, "memory_stats_as_nested_dict") or not (torch.version.cuda or getattr(torch.version, "hip", None)):
        return
    put = lib.aon_torch_memory
    put.argtypes = [ctypes.c_uint32] + [ctypes.c_int64] * 6
    put.restype = None
    limit = lib.aon_torch_gpu_limit
    limit.argtypes = [ctypes.c_uint32, ctypes.c_uint64]
    limit.restype = None
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
            try:
                for d in used:
                    limit(d, cuda.get_device_properties(d).total_memory)
            except Exception:  # the limit is not known then
                pass
        asked += 1
        used = [d for d in used if one(d)]
        return True

    lib.aon_torch_memory_ask.argtypes = [ctypes.py_object]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(ask))
    lib.aon_torch_memory_ask(ask)
