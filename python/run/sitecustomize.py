# SPDX-License-Identifier: Apache-2.0
"""Put first into PYTHONPATH by `aon run`: brings aon's hook, then whatever sitecustomize the
program would have had. Leaves sys.path as it would be without it."""


def _aon():
    import os
    import sys

    here = os.path.dirname(__file__)
    try:
        import aon_hook  # noqa: F401
    except Exception:  # the program comes first
        pass
    sys.path[:] = [p for p in sys.path if p != here]
    ours = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as e:
        if e.name != "sitecustomize":
            raise
        if ours:
            sys.modules["sitecustomize"] = ours


_aon()
