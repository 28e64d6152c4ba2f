#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon-sample with the rights that it has where it is installed: those of its unit are enough for the processes of
other users, and started by root it does not stay root."""
import os
import pathlib
import re
import shutil
import subprocess

import aonsample
from aontest import ROOT, Daemon, Place, app, done, find, ok, skip_all, wait_for, wait_joined

SLEEPS = "import time\ndef sleeps():\n    while True: time.sleep(0.01)\nprint(1, flush=True)\nsleeps()"
OWNER, READER = 65534, 65533  # two users who are not root
PYTHON = "/usr/bin/python3"


def words_of(unit, key):
    return re.search(rf"^{key}=(.*)$", unit, re.M)[1].split()


def as_service():
    """The capabilities are those of the unit, the user is not the one of the process."""
    unit = (ROOT / "deploy/aon-sample.service.in").read_text()
    caps = ",".join("+" + c.removeprefix("CAP_").lower() for c in words_of(unit, "AmbientCapabilities"))
    ok(words_of(unit, "AmbientCapabilities") == words_of(unit, "CapabilityBoundingSet"), "the unit can have no other capability than those that it has")
    p = subprocess.Popen([PYTHON, "-c", SLEEPS], stdout=subprocess.PIPE, user=OWNER, group=OWNER, extra_groups=[], cwd="/")
    p.stdout.readline()
    r = subprocess.run(["setpriv", "--reuid", str(READER), "--regid", str(READER), "--clear-groups", "--inh-caps", f"-all,{caps}",
                        "--ambient-caps", f"-all,{caps}", "--bounding-set", f"-all,{caps}", "--no-new-privs",
                        find("aon-sample"), "--pid", str(p.pid), "--hz", "100", "--seconds", "2", "--stream"], capture_output=True, cwd="/")
    said = aonsample.stream(r.stdout)
    ok(any("sleeps" in said.names(s) for s in said.samples), "with the unit's capabilities another user's process is sampled",
       (r.returncode, r.stderr, said.status[-1:]))
    ok(any(f.kind == 1 for stack in said.stacks.values() for f in stack), "with its native frames")
    p.kill()
    p.wait()
    p.stdout.close()


def status_of(pid):
    return dict(x.split(":\t", 1) for x in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in x)


def as_root():
    with Place() as place, Daemon(place, sets={"sample": "on"}) as d:
        p = app(place, "steady", "-r", 100, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        ok(wait_for(lambda: d.status()["sampler"]["on"] and d.counter("samples") > 10, 30), "aond of root has a sampler", d.status()["sampler"])
        st = status_of(d.status()["sampler"]["pid"])
        ok("0" not in st["Uid"].split() and "0" not in st["Gid"].split() and not st["Groups"].strip(), "which is not root", (st["Uid"], st["Gid"]))
        ok(int(st["CapEff"], 16) == 1 << 19 and int(st["CapPrm"], 16) == 1 << 19 | 1 << 2 and st["NoNewPrivs"] == "1",
           "and has the right to read memory alone, and to open files for a moment", (st["CapEff"], st["CapPrm"]))
        p.kill()
        p.communicate()


if os.geteuid() or not shutil.which("setpriv") or not os.path.exists(PYTHON):
    skip_all("takes root, setpriv and a Python that all may run")
if int(status_of("self")["CapPrm"], 16) & (1 << 19 | 1 << 2) != 1 << 19 | 1 << 2:
    skip_all("root has no CAP_SYS_PTRACE here")
as_service()
as_root()
done()
