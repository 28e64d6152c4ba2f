# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""No daemon, a late one, one that dies under emission, one that is stopped while it is asked."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time

from aontest import LONG, Daemon, Lateness, Place, app, app_env, balanced, done, find, ok, skip
from apptest import accounts, exact, run, same_as_without, told, truth

WAKES = 8  # processes that run one after the other until a program has joined: each may be late


def moments(out):
    """When it was joined (True) and not (False)."""
    said = [json.loads(line) for line in out.splitlines() if '"at"' in line]
    return [(s["at"], bool(s["joined"])) for s in said]


def nobody():
    with Place() as p:
        got = run(p, "app_pace", "-s", 0.3)
        same_as_without(p, "no daemon", got, "app_pace", "-s", 0.3)
        if not shutil.which("strace"):
            skip("no daemon: no system call for an emit", "strace is not installed")
            return
        for door in (False, True):
            if door:
                with Daemon(p) as d:
                    d.stop()
            log = p.path / "strace"
            subprocess.run(["strace", "-f", "-o", log, find("emitter"), "-n", "100000"],
                           env=app_env(p), capture_output=True, timeout=60)
            n = len(re.findall(r"connect\(|socket\(", log.read_text()))
            ok(n <= (2 if door else 0), f"no daemon, {'a' if door else 'no'} door: "
               f"100,000 emits make {n} calls for a socket", log.read_text()[-2000:])


def late(steps, door):
    """A daemon that starts after the program; without a door only a step looks again."""
    text = f"a daemon that starts later, {'a door' if door else 'no door'}"
    with Place() as p:
        if door:
            with Daemon(p) as d:
                d.stop()
            p.store.unlink(missing_ok=True)
        proc = app(p, "app_pace", "-s", 3.5, *(["-S", 50] if steps else []))
        time.sleep(0.7)
        with Daemon(p) as d, Lateness() as late:
            up = time.monotonic()
            out, err = proc.communicate(timeout=30)
            at = [t for t, joined in moments(out) if joined]
            ok(proc.returncode == 0 and at and at[0] - up < 2.0 + WAKES * late.worst,
               f"{text}: joined {at[0] - up if at else 0:.2f} s after it was there", out + err)
            exact(p, d, text, told(out))


def restarts():
    """Killed and started again under emission: nothing that was committed is lost or doubled."""
    rounds = 20 if LONG else 3
    with Place() as p, Daemon(p) as d, Lateness() as late:
        proc = app(p, "app_pace", "-s", 2 * rounds + 1, "-r", 20000, "-t", 2)
        time.sleep(1.0)
        ups = []
        for _ in range(rounds):
            d.kill()
            time.sleep(0.2)
            d.start()
            ups.append(time.monotonic())
            time.sleep(1.7)
        out, err = proc.communicate(timeout=60)
        back = [t for t, joined in moments(out) if joined][1:]
        waits = [min((b - u for b in back if b > u - 0.3), default=99) for u in ups]
        ok(proc.returncode == 0 and max(waits) < 2.0 + WAKES * late.worst,
           f"re-joined within {max(waits):.2f} s of each of {rounds} starts", out + err)
        exact(p, d, "killed and restarted under emission", told(out))
        accts = accounts(p.store)
        lost = {k: v for a in accts for k, v in a["lost_by"].items() if v and k != "joining"}
        ok(set(lost) <= {"crash", "pool_full"}, f"lost: {lost or 'nothing'}", accts)
        ok(all(map(balanced, accts)), "and it adds up", accts)


def stopped():
    """SIGSTOP while it is asked: the first emit waits a millisecond, the next ones do not."""
    with Place() as p, Daemon(p) as d, Lateness() as late:
        os.kill(d.pid, signal.SIGSTOP)
        proc = app(p, "app_pace", "-s", 3.5)
        time.sleep(1.5)
        os.kill(d.pid, signal.SIGCONT)
        cont = time.monotonic()
        out, err = proc.communicate(timeout=30)
        e, at = told(out), [t for t, joined in moments(out) if joined]
        # It waits a millisecond; what a busy machine adds is far below the 1.5 s of the daemon.
        ok(e.get("first_ns", 1 << 40) < 250e6 + 1e9 * late.worst, f"the first emit took {e.get('first_ns', 0) / 1e6:.2f} ms", e)
        ok(at and 0 <= at[0] - cont < 1.5 + WAKES * late.worst, "it joins when aond goes on", f"{at} {cont} {err}")
        exact(p, d, "a daemon that was stopped", e)


def patient():
    """AON_JOIN_MS beyond its limit is the limit, a second, and not the default."""
    with Place() as p, Daemon(p) as d, Lateness() as late:
        os.kill(d.pid, signal.SIGSTOP)
        e = told(app(p, "app_pace", "-s", 2, env={"AON_JOIN_MS": 5000}).communicate(timeout=30)[0])
        os.kill(d.pid, signal.SIGCONT)
        ok(0.9e9 < e.get("first_ns", 0) < 2e9 + 1e9 * late.worst, "the first emit waits a second for a stopped aond, if it may", e)


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stopped_is_cheap():
    """Unpaced emits to a stopped daemon: each takes a few hundred nanoseconds of CPU, and waits for nothing."""
    with Place() as p, Daemon(p) as d:
        os.kill(d.pid, signal.SIGSTOP)
        before = cpu_of_children()
        got = run(p, "app_pace", "-s", 0.5, "-r", 0)
        took = cpu_of_children() - before
        os.kill(d.pid, signal.SIGCONT)
        n = sum(t[1] for t in got[1].get("truth", []))
        # One that waited for a millisecond each time would come to 500 of them.
        ok(n > 20000 and took / n < 1e-6, f"{n} emits in half a second and {took:.2f} s of CPU while aond is stopped", got)


nobody()
late(steps=False, door=True)
late(steps=True, door=False)
restarts()
stopped()
patient()
stopped_is_cheap()
done()
