#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon capture --jax of real JAX programs, unmodified: a trace by XLA's own profiler, in files and a store."""
import json
import pathlib
import subprocess
import sys

from aontest import Place, done, find, ok
from clitest import aon, env_for
from jaxtest import APPS, environment, jaxes


class Program:
    """Under `aon run` until it is told to end."""

    def __init__(self, p, name, folder, *words):
        self.stop, self.err = p.path / f"{name}.stop", open(p.path / f"{name}.err", "w+")
        self.proc = subprocess.Popen([find("aon"), "run", "--no-report", "-o", p.path / f"{name}.run.db", "--", sys.executable,
                                      APPS / "jax_capture.py", self.stop, *words], env=env_for(p, **environment(folder)),
                                     cwd=p.path, stdout=subprocess.PIPE, stderr=self.err, text=True)
        self.pid = self.proc.stdout.readline().split()[-1]

    def end(self):
        self.stop.touch()
        out = self.proc.communicate(timeout=90)[0]
        return self.proc.returncode, out


def capture(p, *args):
    r = aon(p, "capture", "--jax", "--json", *args, cwd=p.path)
    r.stdout, r.stderr = r.stdout.decode(), r.stderr.decode()
    return r, json.loads(r.stdout) if r.stdout else {}


def one(p, version, folder):
    a = Program(p, version, folder)
    for i in ("first", "second"):
        r, got = capture(p, "--pid", a.pid, "--duration", "300ms", "-o", p.path / f"{version}.{i}.db")
        x = got.get("processes", [{}])[0]
        ok(r.returncode == 0 and x.get("captured") and x["events"] > 0 and pathlib.Path(x["trace"]).exists(),
           f"{version}: the {i} capture: a trace", (r, got))
    r, got = capture(p, "--pid", a.pid, "-o", p.path / f"{version}.first.db")
    ok(r.returncode == 1 and "exists already" in r.stderr, f"{version}: no file is written over", r)
    r = aon(p, "sql", "select name, count(*) from kernel group by name", p.path / f"{version}.first.db")
    ok(r.returncode == 0 and b"fusion" in r.stdout, f"{version}: the HLO operations that ran are its kernels", r)
    r = aon(p, "report", p.path / f"{version}.first.db", "--by", "op")
    ok(r.returncode == 0 and b"  jit_train_step/" in r.stdout, f"{version}: and are of a module", r)
    rc, out = a.end()
    ok(rc == 7 and out == "ended True\n", f"{version}: the program goes on, and ends as ever", (rc, out))


def in_the_way(p, version, folder):
    a = Program(p, "own", folder, "profiles")
    r, got = capture(p, "--pid", a.pid, "--duration", "50ms")
    why = got.get("processes", [{}])[0].get("why") or ""
    ok(r.returncode == 1 and "session active" in why, f"{version}: a program that profiles itself comes first", (r, got))
    rc, out = a.end()
    ok(rc == 7 and out == "1 of its own\nended True\n", f"{version}: and has its trace", (rc, out))


def refused(p):
    r, _ = capture(p, "--pid", "1", "--duration", "50ms", "--timeout", "1")
    ok(r.returncode == 1 and r.stderr, "a process that aond does not know", r)
    for args, why in (((), "needs --pid"), (("--pid", "x"), "takes a number"), (("--pid", "1", "--steps", "3"), "only"),
                      (("--kineto", "--pid", "1"), "one of --kineto, --jax")):
        r, _ = capture(p, *args)
        ok(r.returncode == 2 and why in r.stderr, f"{' '.join(args) or 'nothing'}: a misuse", r)


with Place() as place:
    for which in jaxes():
        one(place, *which)
    in_the_way(place, *jaxes()[0])
    refused(place)
done()
