#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Trainings that end in every way, with and without aon: the same output and status; all steps are stored, or the
report says what is missing. Workers of a DataLoader, and an aond that dies in between."""
import subprocess

from aontest import Daemon, Place, balanced, done, ok, report, wait_for
from clitest import env_for
from torchtest import APPS, bare, run, steps_of, torches

ENDS = APPS / "torch_ends.py"
STEPS = 12


def ends(p, python, how):
    want = bare(p, python, ENDS, how)
    r, rep = run(p, python, ENDS, how)
    rc = want.returncode if want.returncode >= 0 else r.returncode  # aon dies of the same signal
    ok((r.returncode, r.stdout, r.stderr) == (rc, want.stdout, want.stderr) and
       (want.returncode >= 0 or r.returncode == want.returncode), f"{how}: the same output and status", (want, r))
    steps = [s for s in steps_of(rep).values() if s]
    ok(len(steps) == 1 and len(steps[0]) == STEPS, f"{how}: {STEPS} steps, of one process",
       [len(s) for s in steps_of(rep).values()])
    ok(all(balanced(x["accounting"]) for x in rep["processes"]) and not rep["accounting"]["lost"],
       f"{how}: nothing is lost", rep["accounting"])


def daemon_dies(p, python):
    want = bare(p, python, ENDS, "slowly")
    with Daemon(p) as d:
        a = subprocess.Popen([python, ENDS, "slowly"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             cwd=p.path, env=env_for(p, **hooked(p, python)))
        joined = wait_for(lambda: any(s.get("pid") == a.pid for s in d.status().get("sessions", [])), 60)
        d.kill()
        out, err = a.communicate(timeout=120)
        ok(joined and (a.returncode, out, err) == (0, want.stdout, want.stderr),
           "aond is killed while it trains: it goes on to the same result", (a.returncode, out, err))
        d.start()
        d.stop()
    rep = report(p.store, "--all")
    ok("processes" in rep and all(balanced(x["accounting"]) for x in rep["processes"]),
       "and the store accounts for what it has", rep)


def hooked(p, python):
    """The environment that aon run gives a program."""
    r, _ = run(p, python, "-c", "import os; print(os.environ['AON_TORCH'], os.environ['PYTHONPATH'])")
    lib, path = r.stdout.split()
    return {"AON_TORCH": lib, "PYTHONPATH": path, "AON_JOIN_MS": "1000"}


with Place() as place:
    python = torches()[-1][1]  # the quickest to start
    for how in ("returns", "raises", "interrupted", "killed", "_exit", "exit", "fork", "spawn"):
        ends(place, python, how)
    daemon_dies(place, python)
done()
