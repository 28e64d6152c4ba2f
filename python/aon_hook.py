# SPDX-License-Identifier: Apache-2.0
"""Waits for `import torch`, then lets libaon-torch.so listen. Imported at every start of Python
(aon.pth, or the sitecustomize of `aon run`): imports nothing, and does nothing else."""
import sys

# What to call when a module has been imported: a module of ours that holds listen().
_WHEN = {"torch": "aon_hook_torch"}


class _Loader:
    """The true loader, and something to do when it is done."""

    def __init__(self, loader, then):
        self.loader, self.then = loader, then

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        here = __file__.rpartition("/")[0]
        sys.path.insert(0, here)  # the sitecustomize of `aon run` has taken it out
        try:
            __import__(self.then).listen(module)
        except Exception:  # the program comes first
            pass
        finally:
            sys.path.remove(here)


class _Finder:
    """First in sys.meta_path; finds nothing itself."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        then = _WHEN.pop(name, None)
        if not then:
            return None
        if not _WHEN:
            sys.meta_path.remove(_Finder)
        for finder in sys.meta_path:
            if finder is _Finder or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, then)
                return spec
        _WHEN[name] = then  # not there: perhaps later
        if _Finder not in sys.meta_path:
            sys.meta_path.insert(0, _Finder)
        return None


sys.meta_path.insert(0, _Finder)
