#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""Native stacks of torch's threads, from outside: blocked ones from two registers, running ones from all of them, MKL
and its kernels without unwind tables among them. Nearly all are whole, known places take little time, and the
symbols of the largest library little memory."""
import json
import subprocess

from aontest import done, find, ok
from torchtest import APPS, torches


def look(pid, rounds, *how):
    r = subprocess.run([find("native_look"), str(pid), str(rounds), *how], capture_output=True, text=True, timeout=120)
    return json.loads(r.stdout), r.stderr[-3000:]


for version, python in torches():
    p = subprocess.Popen([python, APPS / "torch_blocked.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        p.stdout.readline()
        got, why = look(p.pid, 300)
        print("#", version, "blocked", json.dumps(got))
        ok(got["stacks"] > 1000 and got["whole"] >= 0.99 * got["stacks"], f"torch {version}: stacks of blocked threads are whole",
           (got, why))
        ok(got["scanned"] <= 0.25 * got["stacks"], "few of them by a scan", got)
        ok(got["later_us"] < 20 and got["rss_named_mib"] < 40, "a known place is quick, and the memory bounded", got)
        got, why = look(p.pid, 100, "stop")
        print("#", version, "stopped", json.dumps(got))
        ok(got["stacks"] > 300 and got["whole"] >= 0.98 * got["stacks"], f"torch {version}: and those of all that are stopped",
           (got, why))
        ok(got["compared"] > 200 and got["same"] >= 0.95 * got["compared"], "two registers say the same as all of them", got)
        ok(p.poll() is None, "and it goes on")
    finally:
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()
done()
