# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenarios of PyTorch: the installed torch, and programs with and without aon."""
import os
import pathlib
import subprocess

from aontest import ROOT, SANITIZED, report, skip_all
from clitest import aon, env_for

APPS = ROOT / "tests/app/python"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"


def installed():
    """[(version, python)]: Debian's torch, and the current one of PyPI that tools/setup got."""
    found = []
    for python in (CACHE / "torch-venv/bin/python", pathlib.Path("/usr/bin/python3")):
        if not python.exists():
            continue
        # Not imported: that takes seconds.
        r = subprocess.run([python, "-c", "from importlib.metadata import version; print(version('torch'))"],
                           capture_output=True, text=True)
        if r.returncode == 0:
            found.append((r.stdout.strip(), str(python)))
    return found


def torches(otherwise=skip_all):
    """What is installed. With none of them, otherwise(why)."""
    if SANITIZED:
        otherwise("a sanitizer's runtime must come before Python's: see torch_asan.py")
        return []
    found = installed()
    if not found:
        otherwise("no torch: tools/setup check installs python3-torch, and PyPI's into the cache")
    return found


def bare(place, *argv, env=None, **kw):
    return subprocess.run([str(a) for a in argv], env=env_for(place, **(env or {})), cwd=place.path,
                          capture_output=True, text=True, timeout=120, **kw)


def run(place, *argv, env=None, options=()):
    """Under `aon run`: what it did, and the report of its store."""
    for f in place.path.glob("run.db*"):
        f.unlink()
    r = aon(place, "run", "--no-report", *options, "-o", place.path / "run.db", "--", *argv, env=env or {},
            timeout=200)
    r.stdout, r.stderr = r.stdout.decode(), r.stderr.decode()
    return r, report(place.path / "run.db", "--all")


def steps_of(rep):
    """{pid: numbers of its steps in order}"""
    pid = {p["process"]: p["pid"] for p in rep.get("processes", [])}
    got = {p: [] for p in pid.values()}
    for s in rep.get("steps", []):
        got[pid[s["process"]]].append(s)
    return got
