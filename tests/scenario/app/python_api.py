#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""Package aon as users get it: `pip install ./python` without a network, its calls, and the hook that
it puts into every start of Python."""
import json
import os
import re
import subprocess
import sys

from aontest import ROOT, BUILD, SANITIZED, Daemon, Place, app_env, done, ok, report, skip_all, total

SOURCE = ROOT / "python"
CALLS = """
import threading
import aon

@aon.range("decorated")
def f(x, *, y=2):
    "doc"
    return x + y

@aon.step
def one():
    return 7

def work():
    for i in range(100):
        with aon.range("outer"):
            with aon.range("inner"):
                aon.mark("here")
assert f(1) == 3 and f(1, y=0) == 1 and f.__name__ == "f" and f.__doc__ == "doc"
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
for i in range(10):
    with aon.step():
        aon.counter("whole", i)
        aon.counter("part", i / 2)
    assert one() == 7
for i in range(5):
    aon.step(100 + i)
try:
    with aon.range("raises"):
        raise ValueError("mine")
except ValueError as e:
    assert str(e) == "mine"
with aon.range("\\ud800 \\u4e16"):
    pass
for bad in (lambda: aon.range(3), lambda: aon.mark(None), lambda: aon.counter("x"), lambda: aon.step(-1),
            lambda: aon.counter("x", "y"), lambda: aon.step("x")):
    try:
        bad()
    except (TypeError, ValueError, OverflowError):
        continue
    raise SystemExit(f"not refused: {bad}")
for i in range(5000):
    with aon.range(f"name {i % 50}"):
        pass
"""


def python(v, *args, env=None):
    return subprocess.run([v / "bin/python", *args], env=env, capture_output=True, text=True, timeout=120)


def install(p):
    v = p.path / "venv"
    subprocess.run([sys.executable, "-m", "venv", v], check=True)
    env = {**os.environ, "AON_BUILD": str(BUILD), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    r = subprocess.run([v / "bin/pip", "install", "--no-cache-dir", SOURCE], env=env, capture_output=True, text=True)
    ok(r.returncode == 0, "pip install ./python, without a network", r.stdout + r.stderr)
    site = next((v / "lib").glob("python3*/site-packages"))
    r = python(v, "-c", "import sys, aon; print(aon.version(), sorted(sys.modules))")
    ok(r.returncode == 0 and "torch" not in r.stdout and "jax" not in r.stdout and "ctypes" not in r.stdout,
       "the package imports no framework", r)
    return v, site


def calls(p, v):
    env = app_env(p, AON_JOIN_MS=1000)
    with Daemon(p) as d:
        r = python(v, "-c", CALLS, env=env)
        ok(r.returncode == 0 and not r.stderr, "every call, and what is no call, with a daemon", r)
        d.flush()
        rep = report(p.store, "--all")
    got = {}
    for row in rep["ranges"] + rep["marks"]:
        got[row["name"]] = got.get(row["name"], 0) + row["count"]
    ok({k: got.get(k) for k in ("decorated", "outer", "inner", "here", "whole", "part", "raises")} ==
       {"decorated": 2, "outer": 400, "inner": 400, "here": 400, "whole": 10, "part": 10, "raises": 1},
       "ranges, marks and counters, to the call", got)
    ok([got.get(f"name {i}") for i in range(50)] == [100] * 50, "names made at run time", got)
    ok(got.get("\\ud800 世") == 1, "half of a character in a name", [n for n in got if "世" in n])
    steps = [(s["step"], s["open"]) for s in rep["steps"]]
    ok(steps == [(i, False) for i in range(1, 21)] + [(i, i == 104) for i in range(100, 105)],
       "steps: each way to say them; the last of a loop has no end", steps)
    a = [x["accounting"] for x in rep["processes"]]
    ok(total(a, "lost") == 0, "nothing is lost", a)
    r = python(v, "-c", CALLS, env=app_env(p, AON_RUN_DIR=p.path / "nobody"))
    ok(r.returncode == 0 and not r.stderr, "and without one: the same program", r)


def hook(p, v, site):
    """What the .pth file does to a start of Python."""
    say = "import sys; print(any(getattr(f, '__name__', '') == 'AonWait' for f in sys.meta_path))"
    plain = python(v, "-S", "-c", say)
    ok(plain.stdout.startswith("False"), "python -S: no hook", plain)
    for args in ([], ["-I"], ["-E"], ["-s"]):
        r = python(v, *args, "-c", say)
        ok(r.stdout.startswith("True") and not r.stderr, f"python {' '.join(args)}: the hook is there", r)
    r = python(v, "-X", "importtime", "-c", "pass")
    new = [x.rsplit("|", 1)[1].strip() for x in r.stderr.splitlines() if "aon" in x]
    ok(new == [], "and it imports nothing", new)
    sys.path.insert(0, str(SOURCE))
    names = {n for text in ((site / "aon.pth").read_text(), (SOURCE / "run/sitecustomize.py").read_text())
             for n in [re.search(r'in (\(".*?"\))', text)[1]]}
    ok([set(eval(n)) for n in names] == [set(__import__("aon_hook")._WHEN)], "and what it waits for is what there is a probe for", names)
    fake = p.path / "fake"
    (fake / "torch").mkdir(parents=True)
    (fake / "torch/__init__.py").write_text("x = 1\n")
    code = "import json, torch; print(json.dumps([torch.x, type(torch.__loader__).__name__, torch.__spec__.loader is torch.__loader__]))"
    r = python(v, "-c", code, env={**os.environ, "PYTHONPATH": str(fake)})
    ok(r.returncode == 0 and json.loads(r.stdout) == [1, "SourceFileLoader", True] and not r.stderr,
       "a module called torch that is none: nothing happens to it", r)
    find = "import importlib.util as u; u.find_spec('torch'); import aon_hook as a; n = len(a._WHEN); import torch; print(n - len(a._WHEN))"
    r = python(v, "-c", find, env={**os.environ, "PYTHONPATH": str(fake)})
    ok(r.stdout == "1\n" and not r.stderr, "one that is only looked for is waited for", r)
    (fake / "torch/__init__.py").write_text("raise RuntimeError('mine')\n")
    r = python(v, "-c", "import torch", env={**os.environ, "PYTHONPATH": str(fake)})
    ok(r.returncode == 1 and "RuntimeError: mine" in r.stderr and "aon_hook" not in r.stderr,
       "one that cannot be imported: its own error", r)
    got = [python(v, "-c", say, env={**os.environ, "AON_OFF": off}).stdout for off in ("", "1")]
    ok(got == ["True\n", "False\n"], "AON_OFF: nothing is waited for", got)
    r = python(v, "-c", "import torch")
    ok("No module named 'torch'" in r.stderr, "no torch: Python's own error", r)
    r = python(v, "-c", "import importlib.util as u; print(u.find_spec('torch')); import torch")
    ok(r.stdout == "None\n" and "No module named 'torch'" in r.stderr, "asking for it first is no import", r)
    (site / "aon_hook.py").write_text("raise SystemError\n")
    (fake / "torch/__init__.py").write_text("x = 1\n")
    r = python(v, "-c", "import torch; print(torch.x)", env={**os.environ, "PYTHONPATH": str(fake)})
    ok(r.stdout == "1\n" and not r.stderr, "a broken hook breaks nothing", r)


if SANITIZED:
    skip_all("a sanitizer's runtime must come before Python's")
if not (BUILD / "python/_aon.abi3.so").exists():
    skip_all("built without Python's headers")
with Place() as place:
    venv, packages = install(place)
    calls(place, venv)
    hook(place, venv, packages)
done()
