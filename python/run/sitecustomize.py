# SPDX-License-Identifier: Apache-2.0
"""Put first into PYTHONPATH by `aon run`: waits for the frameworks of aon_hook.py as aon.pth of the wheel does, then brings
whatever sitecustomize the program would have had. Leaves sys.path as it would be without it. Short, as it may have to be
compiled at every start."""
import os
import sys

HERE = os.path.dirname(__file__)
LATER = "try:\n sys.path.insert(0, HERE)\n import aon_hook\nexcept Exception:\n pass\nfinally:\n sys.path.remove(HERE)"


class AonWait:
    def find_spec(name, path=None, target=None):
        if name in ("torch", "jax"):
            exec(LATER, {"sys": sys, "HERE": HERE})


if not os.environ.get("AON_OFF"):
    sys.meta_path.insert(0, AonWait)
sys.path[:] = [p for p in sys.path if p != HERE]
ours = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # noqa: F401
except ImportError as e:
    if e.name != "sitecustomize":
        raise
    if ours:
        sys.modules["sitecustomize"] = ours
