#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 long=yes
"""PyTorch programs, and the calls of package aon, with AddressSanitizer in the process: what of aon lies in a
stranger's Python reads and writes nothing that is not its own. For builds with it alone."""
import ast
import re
import shutil
import socket
import subprocess

from aontest import BUILD, ROOT, SANITIZED, Daemon, Place, app_env, done, ok, report, skip, skip_all
from clitest import aon
from torchtest import APPS, installed, steps_of


def preload():
    """The sanitizer's runtime, which must come first, and what it wants to find from the start."""
    out = subprocess.run(["ldd", BUILD / "src/app/probe/torch/libaon-torch.so"], capture_output=True, text=True).stdout
    lib = re.search(r"=> (\S*libasan\.so\S*)", out)
    return {"LD_PRELOAD": f"{lib[1]} libstdc++.so.6", "ASAN_OPTIONS": "detect_leaks=0"} if lib else None


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def clean(r):
    err = r.stderr if isinstance(r.stderr, str) else r.stderr.decode(errors="replace")
    return r.returncode == 0 and "AddressSanitizer" not in err and "runtime error" not in err


def program(p, what, steps, python, *args, env=None):
    for f in p.path.glob("store.db*"):
        f.unlink()
    with Daemon(p, sets={"tier": "full"}) as d:
        r = aon(p, "run", "--no-report", "--", python, *args, env={**PRELOAD, **(env or {})}, timeout=250)
        d.flush()
        d.stop()
    ok(clean(r), f"{what}: nothing is found", r)
    got = [len(s) for s in steps_of(report(p.store, "--all")).values() if s]
    ok(got == steps, f"{what}: its steps are", got)


def calls(p):
    """Every call of package aon."""
    module = BUILD / "python/_aon.abi3.so"
    if not module.exists():
        skip("the calls of package aon", "built without Python's headers")
        return
    (p.path / "py/aon").mkdir(parents=True)
    shutil.copy(ROOT / "python/aon/__init__.py", p.path / "py/aon")
    (p.path / "py/aon/_aon.abi3.so").symlink_to(module)
    source = re.search(r'^CALLS = (""".*?""")', (ROOT / "tests/scenario/app/python_api.py").read_text(), re.S | re.M)[1]
    with Daemon(p):
        r = subprocess.run(["/usr/bin/python3", "-c", ast.literal_eval(source)], capture_output=True, text=True, timeout=120,
                           env=app_env(p, PYTHONPATH=p.path / "py", AON_JOIN_MS=1000, LD_LIBRARY_PATH=BUILD / "src/app/client", **PRELOAD))
    ok(clean(r), "the calls of package aon: nothing is found", r)


if "address" not in SANITIZED:
    skip_all("of builds with AddressSanitizer")
PRELOAD = preload()
if not PRELOAD:
    skip_all("its runtime is no library of its own")
with Place() as place:
    calls(place)
    for version, python in installed():
        old = version.startswith("1.")  # has no CUDA, and starts sooner
        program(place, f"{version}, memory", [20], python, APPS / "torch_memory.py", "leak" if old else "cuda", 20, 1000,
                env={"AON_TORCH_MEMORY": "cpu"})
        program(place, f"{version}, modules", [6], python, APPS / "torch_modules.py", "infer" if old else "train", 6)
        if old:
            program(place, f"{version}, workers", [8], python, APPS / "torch_data.py", 2)
            program(place, f"{version}, collectives", [10], python, APPS / "torch_ddp.py", 10,
                    env={"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port()})
            program(place, f"{version}, operators under torch's profiler", [12], python, APPS / "torch_ops.py", 12)
done()
