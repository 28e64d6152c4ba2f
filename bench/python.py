#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The additional cost of a start of Python, where no bytecode can be cached: by the wheel's aon.pth, and by the
sitecustomize of `aon run` (beside an empty one, which shows Python's own cost). CPU time of whole starts, interleaved,
the minimum of each."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROUNDS = 150
BAR_US = 1000
SOURCE = pathlib.Path(__file__).resolve().parent.parent / "python"
sys.path.insert(0, str(SOURCE))
import backend  # noqa: E402


def start(python, env):
    pid = os.posix_spawn(python, [python, "-B", "-c", "pass"], env)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{python} -c pass failed")
    return (used.ru_utime + used.ru_stime) * 1e6


def install(place, name, files):
    """A virtual environment whose site-packages has these files, unpacked as from a wheel."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / name], check=True)
    site = next((place / name / "lib").glob("python3*/site-packages"))
    for f, text in files.items():
        (site / f).write_text(text)
    return str(place / name / "bin/python")


def main():
    with tempfile.TemporaryDirectory() as d:
        place = pathlib.Path(d)
        ours = {f.name: f.read_text() for f in SOURCE.glob("aon_hook*.py")}
        env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
        hook = place / "hook"
        hook.mkdir()
        for f in (*SOURCE.glob("aon_*.py"), SOURCE / "run/sitecustomize.py"):
            shutil.copy(f, hook)
        (place / "empty").mkdir()
        (place / "empty/sitecustomize.py").write_text("")
        plain = install(place, "plain", ours)
        kinds = {"plain": (plain, env), "wheel": (install(place, "wheel", ours | {"aon.pth": backend.PTH}), env),
                 "run": (plain, env | {"PYTHONPATH": str(hook)}),
                 "empty": (plain, env | {"PYTHONPATH": str(place / "empty")})}
        least = dict.fromkeys(kinds, float("inf"))
        for i in range(ROUNDS):
            for kind in sorted(kinds, reverse=i % 2):
                least[kind] = min(least[kind], start(*kinds[kind]))
    for kind, beside, name in (("wheel", "plain", "python_start_us"), ("run", "empty", "python_run_start_us")):
        value = least[kind] - least[beside]
        print(json.dumps({"id": name, "value": round(value), "unit": "us", "bar": BAR_US, "ok": value <= BAR_US,
                          "plain_us": round(least["plain"]), "rounds": ROUNDS}))


main()
