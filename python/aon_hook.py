# SPDX-License-Identifier: Apache-2.0
"""Loads the probe's library once torch or jax has been imported.

A start of Python only installs a small finder called AonWait (from aon.pth of the wheel, or the sitecustomize of
`aon run`), which imports this module when one of them is imported. Python then asks the next finder, which is the one
defined here."""
import os
import sys

# What to call when a module has been imported: a module of ours that holds listen(). AonWait knows the names of the first ones.
_WHEN = {"torch": "aon_hook_torch", "jax": "aon_hook_jax"}


def library(probe):
    """Where a probe's library is: `aon run` says so, a wheel has it inside; None when it is not there."""
    lib = os.environ.get("AON_" + probe.upper()) or f"{__file__.rpartition('/')[0]}/aon/lib/libaon-{probe}.so"
    return lib if os.path.isfile(lib) else None


def framework(lib, module):
    """Tells what the program is written with, through a library of ours that is linked with libaon."""
    try:
        lib.aon_note(b"framework", b"is", f"{module.__name__} {module.__version__}".encode())
    except Exception:  # one without a version, or an older libaon
        pass


def wait(name, ours):
    """To call listen() of our module `ours` when `name` has been imported, or now if it has."""
    _WHEN[name] = ours
    if name in sys.modules:
        _listen(name, ours)
    elif _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)


def _listen(name, ours):
    if not _WHEN.pop(name, None):
        return
    if not _WHEN and _Finder in sys.meta_path:
        sys.meta_path.remove(_Finder)
    here = __file__.rpartition("/")[0]
    sys.path.insert(0, here)  # the sitecustomize of `aon run` has taken it out
    try:
        __import__(ours).listen(sys.modules[name])
    except Exception:  # the program comes first
        pass
    finally:
        sys.path.remove(here)


def _when_done(spec, ours):
    """The import's last act on a spec is to say that it is no longer being initialized. A loader of
    our own around the true one would stand in the tracebacks of an import that fails."""
    true = type(spec)

    class Spec(true):
        def __setattr__(self, name, value):
            true.__setattr__(self, name, value)
            if name == "_initializing" and not value:
                self.__class__ = true
                if self.name in sys.modules:
                    _listen(self.name, ours)

    spec.__class__ = Spec


def _waits(finder):
    return getattr(finder, "__name__", "") == "AonWait"


class _Finder:
    """Behind AonWait in sys.meta_path, first once that is gone; finds nothing itself."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        then = _WHEN.get(name)
        if not then:
            return None
        for finder in sys.meta_path:
            if finder is _Finder or _waits(finder) or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                sys.meta_path[:] = [f for f in sys.meta_path if not _waits(f)]
                _when_done(spec, then)
                return spec
        return None


sys.meta_path.insert(1 + next((i for i, f in enumerate(sys.meta_path) if _waits(f)), -1), _Finder)
