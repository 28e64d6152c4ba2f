#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""Names of matrix products do not tell how long their sums are. aond learns it while a capture records operators with their
shapes, and judges the same kernels afterwards; products of several lengths with one geometry it does not judge."""
import json
import subprocess
import time

import cudatest  # noqa: F401  skips without a stand-in
from aontest import BUILD, Daemon, Place, done, find, ok, skip_all
from clitest import aon, env_for
from torchtest import APPS, torches

GEMM, HELP = "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_execute", "splitk_finish"
QUERY = "select name, bound, of_limit, known_by from window where kind = 'kernel' and name in ('{}', '{}') order by ts"


def windows(place):
    r = aon(place, "sql", "--json", QUERY.format(GEMM, HELP), place.store)
    rows = json.loads(r.stdout)["rows"] if r.returncode == 0 else []
    return [x for x in rows if x[0] == GEMM], [x for x in rows if x[0] == HELP]


def until(place, d, what, seconds=60):
    """Windows, as soon as what(windows) holds, or after that time."""
    end = time.monotonic() + seconds
    while True:
        d.flush()
        w = windows(place)
        if what(w) or time.monotonic() > end:
            return w
        time.sleep(0.5)


def seen(w):
    return sum(x[3] == "seen" for x in w[0])


def learn(python, enough, *widths):
    """Windows before a capture and after it, as soon as enough(windows, how many there were at its end)."""
    with Place() as place:
        gpu = place.path / "gpus/0000:00:00.0"
        gpu.mkdir(parents=True)
        (gpu / "information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\n")
        stop = place.path / "stop"
        with Daemon(place, {"gpus_dir": place.path / "gpus"}) as d:
            env = env_for(place, LD_LIBRARY_PATH=BUILD / "tests/sim/129", AON_JOIN_MS=1000)
            with open(place.path / "err", "w+") as err:
                p = subprocess.Popen([find("aon"), "run", "--no-report", "--", python, APPS / "torch_gemm.py", stop, *widths], env=env, cwd=place.path,
                                     stdout=subprocess.PIPE, stderr=err, text=True)
                pid = p.stdout.readline().strip()
                before = until(place, d, lambda w: len(w[0]) > 1)
                r = aon(place, "capture", "--pid", pid, "--duration", "3s", "-o", place.path / "c.pftrace", env={})
                n = len(windows(place)[0])
                after = until(place, d, lambda w: enough(w, n))
                stop.touch()
                p.wait(timeout=60)
                err.seek(0)
                said = err.read()
            d.stop()
        return before, r, n, after, said


found = [python for version, python in torches() if tuple(map(int, version.split(".")[:2])) >= (2, 4)]
if not found:
    skip_all("no torch that says shapes: 2.4 or later")
torch = found[0]
was, capture, at, now, errors = learn(torch, lambda w, n: seen(w) > 3 and len(w[0]) > n, "1024")
ok(capture.returncode == 0 and was[0] and now[0], "a program's products, captured for a moment", (capture, errors, was, now))
ok(all(x[3] != "seen" for x in was[0]), "before, nothing is known of their sums", was[0][:3])
late = now[0][-3:]  # a window that was learnt in has rows of both kinds
ok(late and all(x[3] == "seen" and x[1] for x in late), "afterwards each window judges them by shapes that were seen", now[0])
# 256 x 512 x 1024 in TF32 at 495 TFLOP/s are 0.54 us, 3.7 MB at 3.35 TB/s 1.1 us, of the stand-in's 60.
ok(late and all(x[2] is not None and 0.005 < x[2] < 0.04 for x in late), "at their share of the roof", late[:3])
ok(all(x[3] != "seen" for x in now[1][-1:]), "what helps them has not their work", now[1][-3:])
was, capture, at, now, errors = learn(torch, lambda w, n: len(w[0]) > n + 3, "1024", "4096")
ok(capture.returncode == 0 and len(now[0]) > at + 3 and all(x[3] != "seen" for x in now[0][-2:]),
   "of two lengths with one geometry, neither is taken for the other", (capture, errors, now[0]))
done()
