# SPDX-License-Identifier: Apache-2.0
"""torch.compile: a range for each compilation, a mark for each recompilation and graph break with its cause.

It uses torch._dynamo's own callbacks, which run around a compilation, and the counts that torch keeps anyway.
Structured logging (TORCH_TRACE) would give more detail, but torch then writes every graph as text."""
import ctypes
import sys
import threading

_TEXT = 240  # of a cause


def _line(text):
    """The first line that says something."""
    for line in str(text).splitlines():
        if line.strip():
            return line.strip()[:_TEXT]
    return "no reason given"


def _place(code):
    return f"{code.co_name} ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})" if code else "?"


def _compiling():
    """The code under compilation, and why it is compiled again: locals of torch._dynamo.convert_frame._compile()."""
    frame, code, why = sys._getframe(1), None, None
    for _ in range(40):
        frame = frame.f_back
        if frame is None:
            break
        if frame.f_code.co_name in ("compile_inner", "_compile") and frame.f_code.co_filename.endswith("convert_frame.py"):
            code = code or frame.f_locals.get("code")
            why = why or frame.f_locals.get("recompile_reason")
            if frame.f_code.co_name == "_compile":
                break
    return code, why


class _Compilations:
    def __init__(self, lib, dynamo):
        self.lib = lib
        self.counts = dynamo.utils.counters
        self.known = dict(self.counts.get("graph_break", {}))
        self.recorded = {}  # compile id: how often its CUDA graph was
        self.where = "?"
        self.thread = None  # that runs the compilation

    def mark(self, text, count=1):
        self.lib.aon_torch_mark(text.encode("utf-8", "backslashreplace"), count)

    def begin(self, told):
        if self.thread == threading.get_ident():
            self.end()  # the one before ended on another thread
        trigger = getattr(getattr(told, "callback_trigger", None), "name", "DYNAMO")
        number = str(getattr(told, "compile_id", ""))
        code, why = _compiling()
        if code:
            self.where = _place(code)
        what = f"torch.compile {self.where}"
        if trigger == "CUDAGRAPH_RECORDING":
            what = f"torch.compile CUDA graph {number}"
            self.recorded[number] = self.recorded.get(number, 0) + 1
            if self.recorded[number] > 1:
                self.mark(f"torch.compile: CUDA graph {number} recorded again", self.recorded[number])
        elif trigger == "LAZY_BACKWARD":
            what = f"torch.compile backward {number}"
        elif why or number.rpartition("/")[2].isdigit() and int(number.rpartition("/")[2]) > 0:
            self.mark(f"torch.compile: recompiled {self.where}: {_line(why or 'no reason given')}")
        if self.thread is None:
            self.thread = threading.get_ident()
            self.lib.aon_torch_push(what.encode("utf-8", "backslashreplace"))

    def end(self):
        if self.thread == threading.get_ident():
            self.thread = None
            self.lib.aon_torch_pop()
        for reason, n in list(self.counts.get("graph_break", {}).items()):
            if n > self.known.get(reason, 0):
                self.mark(f"torch.compile: graph break in {self.where}: {_line(reason)}", n - self.known.get(reason, 0))
            self.known[reason] = n


def listen(dynamo):
    lib = sys.modules["aon_hook_torch"]._lib
    handler = getattr(sys.modules.get("torch._dynamo.callback"), "callback_handler", None)
    if not lib or not hasattr(handler, "register_start_callback"):
        return
    lib.aon_torch_push.argtypes = [ctypes.c_char_p]
    lib.aon_torch_mark.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    seen = _Compilations(lib, dynamo)

    def guarded(call):
        def callback(*args):  # without arguments before torch 2.7
            try:
                call(*args)
            except Exception:  # the program comes first
                pass
        return callback

    handler.register_start_callback(guarded(lambda told=None: seen.begin(told)))
    handler.register_end_callback(guarded(lambda told=None: seen.end()))
