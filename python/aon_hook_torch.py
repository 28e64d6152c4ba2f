# SPDX-License-Identifier: Apache-2.0
"""Connects libaon-torch.so to an imported torch; see aon_hook.py."""
import ctypes
import functools
import gc
import os
import sys
import time

import aon_hook


def _works(torch, lib):
    """One range of torch's own, begun and ended, as the library sees it."""
    before = lib.aon_torch_seen()
    with torch.autograd.profiler.record_function("aon: self-test"):
        pass
    return lib.aon_torch_seen() - before == 2


def _works_in_child(torch, lib):
    """For a torch that aon was not tried with: it may crash, but not here."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            __import__("resource").setrlimit(4, (0, 0))  # RLIMIT_CORE: whose crash is nobody's
            if "faulthandler" in sys.modules:
                sys.modules["faulthandler"].disable()
            if lib.aon_torch_start() == 0 and _works(torch, lib):
                code = 0
        finally:
            os._exit(code)
    return _ends_well(pid, 5)


def _ends_well(pid, seconds):
    """A child may also hang, on a lock that a thread held as it was made: the program must not wait for it."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return status == 0
            time.sleep(0.01)
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    except OSError:  # a program that ignores SIGCHLD is not told how its children end
        pass
    return False


def _trains():
    """Whether an optimizer was made: torch marks the class of each."""
    todo = [sys.modules["torch.optim.optimizer"].Optimizer]
    for c in todo:
        if getattr(getattr(c, "step", None), "hooked", False):
            return True
        todo += type.__subclasses__(c)
    return False


def _name(root):
    """The path of each part of a module, as its parameters have it; the module's own is its class."""
    for path, part in root.named_modules():
        _lib.aon_torch_module(id(part), (path or type(part).__name__).encode("utf-8", "backslashreplace"))


def _version(torch):
    try:
        return tuple(int(n) for n in torch.__version__.split("+")[0].split(".")[:2])
    except ValueError:
        return tuple(int(n) for n in torch.__version__.split(".")[:2])


def _tried(torch):
    """1.13 to 2.15: the versions that aon's layouts were read from and run with."""
    return (1, 13) <= _version(torch) <= (2, 15)


def _observe(torch, lib):
    """None once the library listens, else why it does not."""
    if os.environ.get("AON_TORCH_HOOKS"):
        return b"AON_TORCH_HOOKS is set"
    if not _tried(torch) and not _works_in_child(torch, lib):
        return b"this torch is not known, and its observers do not work as expected"
    if lib.aon_torch_start() != 0:
        return b"this torch has no observers that aon knows"
    if not _works(torch, lib):
        return b"torch's observers do not work as expected"
    return None


def _fall_back(lib, why):
    """Steps from torch's hook of optimizers, waits for data around the loader's __next__()."""
    lib.aon_torch_stop(why)
    lib.aon_torch_hooks(why)
    loader = getattr(sys.modules.get("torch.utils.data.dataloader"), "_BaseDataLoaderIter", None)
    if not loader:
        return
    true = loader.__next__

    @functools.wraps(true)
    def fetch(self):
        lib.aon_torch_push(f"enumerate(DataLoader)#{type(self).__name__}.__next__".encode())
        try:
            return true(self)
        finally:
            lib.aon_torch_pop()

    loader.__next__ = fetch


def _saves(torch, lib):
    """A range around torch.save(): who writes a checkpoint stands still, but does not hang."""
    true = getattr(torch, "save", None)
    if not true:
        return

    @functools.wraps(true)
    def save(*args, **kwargs):
        lib.aon_torch_push(b"torch.save")
        try:
            return true(*args, **kwargs)
        finally:
            lib.aon_torch_pop()

    # Wherever it is known by its name: who pickles the function finds it by that of its module.
    for module in (torch, sys.modules.get("torch.serialization")):
        if getattr(module, "save", None) is true:
            module.save = save


def _backward(torch, lib):
    """A range around the backward pass: torch 2.1 and later enter their engine through one function."""
    true = getattr(torch.autograd, "_engine_run_backward", None)
    if true:
        lib.aon_torch_backward.argtypes, lib.aon_torch_backward.restype = [ctypes.py_object], ctypes.py_object
        torch.autograd._engine_run_backward = lib.aon_torch_backward(true)


def _tensors(torch, lib):
    """Two tensors, of no memory to speak of: the library looks where their sizes and types lie."""
    lib.aon_torch_tensor.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32]
    for shape, dtype, number in (((7919, 3), torch.float16, 5), ((131, 7), torch.int64, 4)):
        t = torch.empty((1, 1), dtype=dtype, device="cpu").expand(*shape)
        lib.aon_torch_tensor(t._cdata, shape[0] * shape[1], number)


def _tasks():
    return {int(t) for t in os.listdir("/proc/self/task")}


_server = None


def _serve_flight():
    """Once, and only if `aon run --flight-recorder` asks for it: torch's own worker server, in a thread of torch,
    answers for a rank that hangs."""
    global _server
    where = os.environ.get("AON_TORCH_FLIGHT")
    native = sys.modules.get("torch._C._distributed_c10d")
    if where and not _server and hasattr(native, "_dump_fr_trace_json"):
        import atexit
        _server = native._WorkerServer(os.path.join(where, f"{os.getpid()}.sock"))
        atexit.register(_server.shutdown)


def _groups(lib):
    """Tells the library of every process group and the threads that came with it: gloo runs a group's
    collectives on them."""
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    make = getattr(c10d, "_new_process_group_helper", None)
    if not make:
        return
    lib.aon_torch_group.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p,
                                    ctypes.c_uint32]

    def tell(pg, before):
        names = c10d._world.pg_names if hasattr(c10d, "_world") else c10d._pg_names
        new = sorted(_tasks() - before)
        if pg in names:  # else this process is no member
            lib.aon_torch_group(str(names[pg]).encode(), pg.rank(), pg.size(),
                                (ctypes.c_uint32 * len(new))(*new), len(new))

    def helper(*args, **kwargs):
        before = _tasks()
        made = make(*args, **kwargs)
        try:
            tell(made[0] if isinstance(made, tuple) else made, before)
            _serve_flight()
        except Exception:  # the program comes first
            pass
        return made

    c10d._new_process_group_helper = helper


_lib = None


def own_steps():
    """The program says its steps itself."""
    if _lib:
        _lib.aon_torch_own_steps()


def listen(torch):
    global _lib
    path = aon_hook.library("torch")
    if not path or not sys.platform.startswith("linux"):
        return
    lib = ctypes.PyDLL(path)  # keeps Python's lock: steps and windows begin where they should
    lib.aon_torch_seen.restype = ctypes.c_uint32
    lib.aon_torch_hook.restype = ctypes.py_object
    lib.aon_torch_stop.argtypes = [ctypes.c_char_p]
    lib.aon_torch_hooks.argtypes = [ctypes.c_char_p]
    lib.aon_torch_push.argtypes = [ctypes.c_char_p]
    why = _observe(torch, lib)
    _lib = lib
    if why:
        _fall_back(lib, why)
    else:
        try:
            _tensors(torch, lib)
            _groups(lib)
        except Exception:  # collectives have neither group nor size then
            pass
    os.register_at_fork(before=lib.aon_torch_fork)
    _saves(torch, lib)
    _backward(torch, lib)
    hook = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None)
    if hook:  # torch 2
        hook(lib.aon_torch_hook())
    __import__("aon_hook_memory").listen(torch, lib)
    aon_hook.wait("torch._dynamo", "aon_hook_compile")
    aon_hook.wait("torch.utils.data._utils.fetch", "aon_hook_data")
    lib.aon_torch_gc.restype = ctypes.py_object
    gc.callbacks.append(lib.aon_torch_gc())
    aon_hook.framework(lib, torch)
    if _tried(torch):
        major, minor = _version(torch)
        lib.aon_torch_version(100 * major + minor)
    lib.aon_torch_calls.argtypes = [ctypes.py_object] * 3
    lib.aon_torch_module.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    if "__init_subclass__" not in vars(torch.nn.Module):
        lib.aon_torch_calls(torch.nn.Module, _trains, _name)
