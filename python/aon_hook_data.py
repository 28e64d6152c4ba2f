# SPDX-License-Identifier: Apache-2.0
"""Wraps the fetchers of torch.utils.data for src/app/probe/torch/data.c, in the program and in its workers."""
import ctypes
import os
import sys


def listen(fetch):
    """Called when torch.utils.data._utils.fetch has been imported."""
    lib = sys.modules["aon_hook_torch"]._lib
    lib.aon_torch_mark.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    lib.aon_torch_fetch.argtypes = [ctypes.c_uint32, ctypes.py_object, ctypes.py_object]
    lib.aon_torch_fetch.restype = ctypes.py_object

    def who():
        info = sys.modules["torch.utils.data"].get_worker_info()
        if info:
            lib.aon_torch_mark(f"DataLoader worker {info.id} of {info.num_workers} for pid {os.getppid()}".encode(), info.id)

    for which, name in enumerate(("_MapDatasetFetcher", "_IterableDatasetFetcher")):
        fetcher = getattr(fetch, name, None)
        if fetcher:
            fetcher.fetch = lib.aon_torch_fetch(which, fetcher.fetch, who)
