#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of the tree itself: how long its checks and the demo's build take, how tidy it is.

check_s, quick_s   seconds of the last good `make check` and `make check-quick`, as BUILD/check.json
                   has them, with their date. The bar is what a person is asked to wait for: it grows
                   with how slow the machine was during that run, and does not shrink on a fast one
demo_build_s       seconds from a clean build directory to what `make demo` runs, without ccache
private_clocks     files of src/ outside base that read the clock themselves (tools/toolbox.txt
private_maps       lists those that may); likewise files with a hash table of their own
folder_files_max   files in the largest folder of src/, tests/, bench/ and tools/
prose_bad          faults that tools/check-prose finds
"""
import collections
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("AON_BUILD", "build"))
IDS = os.environ.get("BENCH_IDS", "").split()


def row(name, value, unit, bar, note="", slow=1):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": value is not None and value <= bar * slow,
                      "note": note, **({"slow": slow} if slow != 1 else {})}), flush=True)


def number(*cmd):
    return int(subprocess.check_output([sys.executable, *cmd], cwd=ROOT, text=True).split()[-1])


def last(name, bar):
    path = BUILD / "check.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    if name not in known:
        return row(name, None, "s", bar, f"{path} has none: run make {'check-quick' if name == 'quick_s' else 'check'}")
    k = known[name]
    return row(name, k["value"], "s", bar, f"on {k['date']}, load {k['load']:.1f} at its end",
               max(1, k.get("slow") or 1))


def demo_build():
    at = pathlib.Path(tempfile.mkdtemp(prefix="aon-demo-build-"))
    env = {**os.environ, "CCACHE_DISABLE": "1"}
    began = time.monotonic()
    try:
        for cmd in (["meson", "setup", at, ROOT], ["ninja", "-C", at, "--quiet", "demo"]):
            subprocess.run(cmd, env=env, check=True, stdout=subprocess.DEVNULL)
    finally:
        shutil.rmtree(at, ignore_errors=True)
    took, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    row("demo_build_s", round(took, 1), "s", 90, f"{used.ru_utime + used.ru_stime:.0f} s of CPU on {os.cpu_count()} cores")


def largest():
    listed = subprocess.check_output(["git", "ls-files", "src", "tests", "bench", "tools"], cwd=ROOT, text=True)
    folders = collections.Counter(os.path.dirname(f) for f in listed.splitlines() if "/corpus/" not in f)
    name, n = folders.most_common(1)[0]
    row("folder_files_max", n, "files", 45, name)


FIGURES = {
    "check_s": lambda: last("check_s", 1320),
    "quick_s": lambda: last("quick_s", 240),
    "demo_build_s": demo_build,
    "private_clocks": lambda: row("private_clocks", number("tools/check-toolbox.py", "--count", "clocks"), "files", 0),
    "private_maps": lambda: row("private_maps", number("tools/check-toolbox.py", "--count", "maps"), "files", 0),
    "folder_files_max": largest,
    "prose_bad": lambda: row("prose_bad", number("tools/check-prose", "--count"), "faults", 0),
}
for figure in IDS or FIGURES:
    FIGURES[figure]()
