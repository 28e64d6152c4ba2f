#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""A torch whose observers cannot be used: its programs run on as they are, their steps come from Python's hooks,
and `aon ps` says why there is no more. One such torch is made up, as of a version that is still to come."""
import json
import os

from aontest import SANITIZED, Place, balanced, done, find, ok, skip, skip_all
from clitest import aon
from torchtest import APPS, bare, run, steps_of, torches

# What of torch aon uses in Python, and a loop of 12 steps.
TORCH = {
    "__init__.py": """
import ctypes, os
__version__ = os.environ["TORCH_VERSION"]
_lib = ctypes.CDLL(os.environ["TORCH_LIB"])
from . import autograd, nn, optim, version
def save(obj, f):
    return obj
""",
    "version.py": "cuda = None\n",
    "nn.py": "class Module:\n    def __call__(self, *args):\n        return self.forward(*args)\n",
    "autograd/__init__.py": "from . import profiler\n",
    "autograd/profiler.py": "import contextlib\n@contextlib.contextmanager\ndef record_function(name):\n    yield\n",
    "optim/__init__.py": "from . import optimizer\n",
    "optim/optimizer.py": """
_hooks = []
def register_optimizer_step_post_hook(hook):
    _hooks.append(hook)
class Optimizer:
    def step(self):
        for hook in _hooks:
            hook(self, (), {})
""",
}
PROGRAM = """
import os, time, torch
opt = torch.optim.optimizer.Optimizer()
for i in range(12):
    time.sleep(0.001)
    opt.step()
assert torch.save(7, None) == 7
print("done", os.getpid())
"""


def made_up(p):
    for name, text in TORCH.items():
        f = p.path / "odd/torch" / name
        f.parent.mkdir(parents=True, exist_ok=True)
        f.write_text(text)
    (p.path / "odd/program.py").write_text(PROGRAM)
    for version, how, why in (("99.0", "crash", "is not known"), ("99.0", "hang", "is not known"),
                              ("99.0", "silent", "is not known"), ("2.15.0", "gone", "no observers"),
                              ("2.15.0", "silent", "do not work as expected")):
        env = {"TORCH_VERSION": version, "TORCH_ODD": how, "TORCH_LIB": str(find("libtorch_cpu.so")) if how != "gone" else "libc.so.6",
               "PYTHONPATH": str(p.path / "odd")}
        r, rep = run(p, "/usr/bin/python3", "-X", "faulthandler", p.path / "odd/program.py", env=env)
        ok(r.returncode == 0 and r.stdout.startswith("done") and not r.stderr, f"torch {version}, {how}: the program is as it was", r)
        steps = [len(s) for s in steps_of(rep).values() if s]
        ok(steps == [12], f"torch {version}, {how}: steps by hooks", steps)
        saved = [x["count"] for x in rep["ranges"] if x["name"] == "torch.save"]
        ok(saved == [1], f"torch {version}, {how}: torch.save() is a range", saved)
        ps = json.loads(aon(p, "ps", "--all", "--json", "--store", p.path / "run.db").stdout)
        notes = [x["note"] or "" for x in ps["processes"]]
        ok(any("torch" in n and "steps only" in n and why in n for n in notes), f"torch {version}, {how}: and it is said", notes)


def true_one(p, version, python):
    """Of a real torch, with the observers left out."""
    loop = APPS / "torch_memory.py"
    want = json.loads(bare(p, python, loop, "leak", 30, 1000).stdout)
    r, rep = run(p, python, loop, "leak", 30, 1000, env={"AON_TORCH_HOOKS": "1"})
    got = json.loads(r.stdout)
    ok(got["sum"] == want["sum"], f"{version}: the same result", r)
    steps = steps_of(rep).get(got["pid"], [])
    if int(version.split(".")[0]) < 2:
        ok(not steps, f"{version}: has no such hook", len(steps))
        return
    ok([s["step"] for s in steps] == list(range(1, 31)) and all(s["dur_ns"] for s in steps), f"{version}: steps by hooks, to the step", steps)
    r, rep = run(p, python, APPS / "torch_data.py", 2, env={"AON_TORCH_HOOKS": "1"})
    names = {x["name"]: x["count"] for x in rep["ranges"]}
    ok(names.get("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__") == 9, f"{version}: waits for data by its __next__", (names, r))
    ok(all(balanced(x["accounting"]) and not x["accounting"]["lost"] for x in rep["processes"]), f"{version}: nothing is lost", rep["accounting"])


if SANITIZED:
    skip_all("a sanitizer's runtime must come before Python's")
with Place() as place:
    if os.path.exists("/usr/bin/python3"):
        made_up(place)
    for which in torches(lambda why: skip("a real torch", why)):
        true_one(place, *which)
done()
