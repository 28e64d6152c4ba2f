#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""The work of OpenCL kernels from their text, on real ones: those that tinygrad makes, on PoCL, against what tinygrad itself says
of them; and what aond knows of a kernel while it runs."""
import json
import pathlib
import subprocess
import sys

from aontest import SANITIZED, Place, done, find, ok, skip_all
from clitest import aon, env_for
from torchtest import APPS, CACHE

FLOPS, BYTES, WINDOW = 0.10, 0.15, 4  # how far tinygrad's figures may be; of windows that overlap, how often a byte counts


def run(place):
    """What tinygrad says of each kernel: {name: [figures]}."""
    home = place.path / "home"
    home.mkdir()
    env = env_for(place, PYTHONPATH=str(CACHE / "demo"), HOME=str(home), XDG_CACHE_HOME=str(home), POCL_CACHE_DIR=str(home))
    r = subprocess.run([find("aon"), "run", "--no-report", "-o", place.path / "run.db", "--", sys.executable, APPS / "tinygrad_estimates.py"],
                       env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
    said = {}
    for line in r.stdout.splitlines():
        x = json.loads(line)
        said.setdefault(x["name"], []).append((x["flops"], x["bytes"]))
    return r, said


def near(a, b, off):
    return abs((a or 0) - b) <= off * b + 16


if SANITIZED:
    skip_all("a sanitizer's runtime must come before Python's")
if not (CACHE / "demo/tinygrad").is_dir() or not list(pathlib.Path("/etc/OpenCL/vendors").glob("*.icd")):
    skip_all("no tinygrad, or no OpenCL driver: tools/setup demo")
with Place() as p:
    done_by, want = run(p)
    ok(done_by.returncode == 0 and len(want) > 10, "tinygrad computes on OpenCL under aon run", done_by)
    r = aon(p, "roofline", "--json", "--all", p.path / "run.db")
    got = {k["name"]: k for k in json.loads(r.stdout)["roofline"]["kernels"]}
    once = {n: w[0] for n, w in want.items() if len(set(w)) == 1}
    ok(set(once) <= set(got) and all(got[n]["how"] == "source" for n in once), "every kernel of one text is known by it",
       {n: (got.get(n) or {}).get("how") for n in once})
    conv = {n for n in once if n.endswith("_8_3_3")}
    off = {n: (got[n]["flops"], w[0]) for n, w in once.items() if n in got and not near(got[n]["flops"], w[0], FLOPS)}
    ok(not off, f"operations are those of tinygrad within {FLOPS:.0%}", off)
    off = {n: (got[n]["bytes"], w[1]) for n, w in once.items() if n in got and n not in conv and not near(got[n]["bytes"], w[1], BYTES)}
    ok(not off, f"and bytes within {BYTES:.0%}", off)
    ok(conv and all(w[1] <= got[n]["bytes"] <= WINDOW * w[1] for n, w in once.items() if n in conv),
       "of a convolution, whose windows overlap, they are at most so much", {n: (got[n]["bytes"], once[n]) for n in conv})
    several = {n for n, w in want.items() if len(set(w)) > 1}
    ok(all(got[n]["how"] != "source" or max(f for f, _ in want[n]) <= 1.3 * min(f for f, _ in want[n]) for n in several),
       "kernels of one name whose texts do not agree are not known by them", {n: (want[n], got[n]["how"]) for n in several})
done()
