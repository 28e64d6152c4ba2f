# SPDX-License-Identifier: Apache-2.0
"""Passes the jitted functions of an imported JAX to libaon-jax.so, which records their calls, and reports annotations
and compilations to it; see aon_hook.py and docs/jax.md."""
import ctypes
import os
import sys

import aon_hook

FUNCTIONS = 1024  # STEP_FUNCTIONS of step.h

_lib = None


def own_steps():
    """The program says its steps itself."""
    if _lib:
        _lib.aon_jax_own_steps()


def _load():
    path = aon_hook.library("jax")
    if not path or not sys.platform.startswith("linux"):
        return None
    lib = ctypes.PyDLL(path)  # keeps Python's lock
    lib.aon_jax_watch.argtypes = [ctypes.py_object, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_uint32]
    lib.aon_jax_function.restype = lib.aon_jax_arguments.restype = ctypes.py_object
    lib.aon_jax_on_capture.argtypes = [ctypes.py_object]
    lib.aon_jax_mark.argtypes = [ctypes.c_char_p]
    lib.aon_jax_note.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    return lib if lib.aon_jax_start() == 0 else None


class _Functions:
    """Numbers for functions: of one source, one number, however often it is jitted."""

    def __init__(self):
        self.number, self.name, self.made = {}, {}, {}

    def find(self, name, fun):
        key = name, getattr(fun, "__code__", None)
        n = self.number.get(key, 0)
        if not n and len(self.number) + 1 < FUNCTIONS:
            n = self.number[key] = len(self.number) + 1
            self.name[n] = name
        self.made[n] = self.made.get(n, 0) + 1
        return n


def _true_function(name, fun):
    """What the program has given: below what JAX has put around it, also for pmap, which is a jit in new versions."""
    while hasattr(fun, "__wrapped__"):
        fun = fun.__wrapped__
    if getattr(fun, "__module__", None) == "jax._src.pmap":
        for cell in fun.__closure__ or ():
            f = getattr(cell.cell_contents, "f", None)
            if callable(f):
                return getattr(f, "__name__", name), f
    return name, fun


def _watching(make, named, functions, lib):
    """`make`, which makes what jit or pmap return; named(args) -> (name, function)."""

    def made(*args, **kw):
        f = make(*args, **kw)
        try:
            name, fun = _true_function(*named(args))
            # JAX's own, such as those of jax.numpy, are parts of what the program does.
            if not (getattr(fun, "__module__", None) or "").startswith("jax."):
                if lib.aon_jax_watch(f, type(f).__basicsize__, f"jit({name})".encode(), functions.find(name, fun)):
                    lib.aon_jax_note(b"off", b"how this jaxlib is called is not known")
        except Exception:  # the program comes first
            pass
        return f

    return made


def _watch_calls(jax, lib, functions):
    from jax._src import lib as jaxlib
    xla = getattr(jaxlib, "_jax", None) or jaxlib.xla_client._xla
    xla.pjit = _watching(xla.pjit, lambda a: (a[0], a[1]), functions, lib)
    pmap = getattr(jaxlib, "pmap_lib", None)
    if pmap and hasattr(pmap, "pmap"):
        pmap.pmap = _watching(pmap.pmap, lambda a: (getattr(a[0], "__name__", "pmap"), a[0]), functions, lib)


def _annotations(jax, lib):
    """TraceAnnotation as a range, StepTraceAnnotation as a step: they stay the classes that they are."""
    push, pop, begin, end = (lib.aon_jax_function(i) for i in range(2, 6))
    cls = jax.profiler.TraceAnnotation
    true_init, true_enter, true_exit = cls.__init__, cls.__enter__, cls.__exit__

    def __init__(self, *args, **kw):
        true_init(self, *args, **kw)
        step = kw.get("step_num") if "_r" in kw else None
        try:
            self._aon = args[0] if args else str(kw.get("name"))
            self._aon_step = None if step is None else int(step)
        except Exception:
            self._aon_step = None

    def __enter__(self):
        n = getattr(self, "_aon_step", None)
        if n is None:
            push(getattr(self, "_aon", "TraceAnnotation"))
        else:
            own_steps()
            begin(n)
        return true_enter(self)

    def __exit__(self, *exc):
        r = true_exit(self, *exc)
        n = getattr(self, "_aon_step", None)
        if n is None:
            pop()
        else:
            end(n)
        return r

    cls.__init__, cls.__enter__, cls.__exit__ = __init__, __enter__, __exit__


_PHASES = {
    "/jax/core/compile/jaxpr_trace_duration": "jax trace: ",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "jax lower: ",
    "/jax/core/compile/backend_compile_duration": "jax compile: ",
}
_CACHE = {
    "/jax/compilation_cache/cache_hits": b"jax: found in the compilation cache",
    "/jax/compilation_cache/cache_misses": b"jax: not in the compilation cache",
}


def _plain(fun_name):
    """jit(f) -> f"""
    return fun_name[4:-1] if fun_name.startswith("jit(") and fun_name.endswith(")") else fun_name


class _Causes:
    """Why a function is compiled again: what its arguments were, and are."""

    def __init__(self, jax, lib, functions):
        self.jax, self.lib, self.functions, self.last = jax, lib, functions, {}

    def signature(self, args):
        """{where: "float32[32,128]"} of the leaves; of what is no array its type, never its value."""
        leaves = self.jax.tree_util.tree_flatten_with_path(args)[0]
        return {self.jax.tree_util.keystr(path): f"{x.dtype}{list(x.shape)}" if hasattr(x, "dtype") else
                type(x).__name__ for path, x in leaves}

    @staticmethod
    def why(was, now, anew):
        for where in now:
            if was.get(where) != now[where]:
                return f"argument {where} was {was.get(where, 'not there')}, is {now[where]}"
        if was.keys() != now.keys():
            return "it has fewer arguments"
        return "it was jitted anew" if anew else "the same shapes; a static argument, a device or the context differs"

    def compiles(self, fun_name):
        number = self.lib.aon_jax_current()
        if not number or self.functions.name.get(number) != fun_name:
            return  # a part of something else
        now, made = self.signature(self.lib.aon_jax_arguments()), self.functions.made[number]
        was, before = self.last.get(number, (None, made))
        self.last[number] = now, made
        if was is not None:
            self.lib.aon_jax_mark(f"jax compiles again: {fun_name}: {self.why(was, now, made != before)}"[:240].encode())


def _compilations(jax, lib, functions):
    push, pop = lib.aon_jax_function(0), lib.aon_jax_function(1)
    causes = _Causes(jax, lib, functions)
    local = __import__("threading").local()

    def begin(event, value=None, fun_name="", **kw):
        phase = _PHASES.get(event)
        if not phase:
            return
        try:
            name = _plain(str(fun_name))
            if phase == "jax compile: ":
                causes.compiles(name)
        except Exception:  # the program comes first
            name = "?"
        local.open = getattr(local, "open", 0) + 1
        push(phase + name)

    def end(event, *args, **kw):
        if event in _PHASES and getattr(local, "open", 0):
            local.open -= 1
            pop()

    def moment(event, **kw):
        if event in _CACHE:
            lib.aon_jax_mark(_CACHE[event])

    from jax import monitoring
    monitoring.register_event_listener(moment)
    if hasattr(monitoring, "register_scalar_listener"):  # tells the begin
        monitoring.register_scalar_listener(begin)
        monitoring.register_event_duration_secs_listener(end)
    else:
        _old_compilations(begin, end)


def _old_compilations(begin, end):
    """Versions that tell of a compilation when it is over, and not of one that fails: what they time it with."""
    from jax._src import dispatch
    true = dispatch.log_elapsed_time

    class Timed:
        def __init__(self, fmt, fun_name, event=None):
            self.true, self.name, self.event = true(fmt, fun_name=fun_name, event=event), fun_name, event

        def __enter__(self):
            begin(self.event, fun_name=self.name)
            return self.true.__enter__()

        def __exit__(self, *exc):
            end(self.event)
            return self.true.__exit__(*exc)

    dispatch.log_elapsed_time = Timed


class _Session:
    """XLA's profiler session, with room for it: XLA needs CUPTI's subscriber, which aon's CUDA probe may hold. The
    probe has left when XLA begins, and returns after the end."""
    room = None  # libaon's functions

    def __init__(self, true, args, kw):
        self._over = False
        self.room.aon_room_begin(b"jax.profiler")
        try:
            self._session = true(*args, **kw)
        except BaseException:
            self._end()
            raise

    def _end(self):
        if not self._over:
            self._over = True
            self.room.aon_room_end()

    def __getattr__(self, name):
        attr = getattr(self._session, name)
        if name not in ("stop", "stop_and_export"):
            return attr

        def stop(*args, **kw):
            try:
                return attr(*args, **kw)
            finally:
                self._end()
        return stop

    def __del__(self):
        self._end()


def _room(profiler):
    """Every session is a _Session from now on: the program's, and that of `aon capture --jax`."""
    true = profiler.ProfilerSession
    _Session.room = ctypes.CDLL(aon_hook.library("jax"))  # without Python's lock: it waits
    profiler.ProfilerSession = lambda *args, **kw: _Session(true, args, kw)


def _callbacks(lib):
    """A range around Python functions that compiled code calls, on the thread that runs them: the program waits for
    them, and its own thread does not show it."""
    push, pop = lib.aon_jax_function(0), lib.aon_jax_function(1)
    from jax._src import callback
    cls = callback._FlatCallback
    true = cls.__call__

    def __call__(self, *args):
        code = getattr(self.callback_func, "__code__", None)
        where = f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else ""
        push(f"jax callback: {getattr(self.callback_func, '__name__', '?')}{where}")
        try:
            return true(self, *args)
        finally:
            pop()

    cls.__call__ = __call__


class _Capture:
    """A trace by XLA's own profiler, when aond asks for one: `aon capture --jax`. The file has the number of the
    order, so that nobody else can know its name before."""

    def __init__(self, profiler, path="/tmp/aon-jax-{:08x}.xplane.pb"):
        self.profiler, self.name, self.session = profiler, path, None

    def __call__(self, number):
        try:
            if number:
                self.path = self.name.format(number)
                self.start()
            else:
                self.stop()
        except Exception as e:  # the program comes first
            try:
                self.write(".failed", str(e).encode())
            except OSError:
                pass

    def start(self):
        o = self.profiler.ProfileOptions()
        o.python_tracer_level = 0  # slow, and in old versions it writes to standard error
        if hasattr(o, "raise_error_on_start_failure"):
            o.raise_error_on_start_failure = True
        true = self.true = self.profiler.ProfilerSession
        self.session = true(o)

        def session(*args, **kw):  # there can be one only: the program's own comes first
            self(0)
            return true(*args, **kw)

        self.profiler.ProfilerSession = session

    def stop(self):
        session, self.session = self.session, None
        if session:
            self.profiler.ProfilerSession = self.true
            self.write("", session.stop())

    def write(self, end, data):
        """Whole, or not at all."""
        part = self.path + ".part"
        f = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with open(f, "wb") as out:
                out.write(data)
            os.rename(part, self.path + end)
        except OSError:
            os.unlink(part)
            raise

    def forked(self):
        self.session = None


def _captures(lib):
    from jax._src import profiler
    module = getattr(profiler, "_profiler", None) or profiler.xla_client.profiler
    _room(module)
    capture = _Capture(module)
    lib.aon_jax_on_capture(capture)
    os.register_at_fork(after_in_child=capture.forked)
    __import__("atexit").register(capture, 0)


def listen(jax):
    global _lib
    lib = _load()
    if not lib:
        return
    functions = _Functions()
    _watch_calls(jax, lib, functions)
    _annotations(jax, lib)
    _compilations(jax, lib, functions)
    try:
        _callbacks(lib)
    except Exception:  # a version that calls them in another way
        pass
    _captures(lib)
    os.register_at_fork(after_in_child=lib.aon_jax_forked)
    _lib = lib
    lib.aon_jax_note(b"on", b"")
    aon_hook.framework(lib, jax)
