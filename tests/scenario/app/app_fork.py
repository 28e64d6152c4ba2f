# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""fork, vfork, spawn, clone, exec, setuid: each process has a session of its own or none."""
import json
import os
import shutil
import subprocess

from aontest import LONG, SANITIZED, Daemon, Place, app, app_env, done, find, ok, report, skip
from apptest import case, exact, quiet, run, same_as_without, told, truth

SMALL = {"pool_kib": 256, "pool_small_kib": 256}


def storm():
    if SANITIZED not in ("", "none"):
        # Another thread may hold a lock of the sanitizer's allocator when this one forks.
        skip("a fork storm of a threaded parent", "a sanitizer's allocator may hang in the child")
        return
    n = 10000 if LONG else 1000
    with Place() as p, Daemon(p, SMALL) as d:
        got = run(p, "app_fork", "storm", n, timeout=300)
        same_as_without(p, f"{n} forks of an emitting parent", got, "app_fork", "storm", n)
        ok(quiet(d) is not None, "every session of the storm has ended", d.status())
        exact(p, d, f"{n} forks", got[1])
        ok(len(truth(got[1])) > n // 3, f"children do get sessions ({len(truth(got[1]))})")


def orphan():
    with Place() as p, Daemon(p, SMALL) as d:
        got = run(p, "app_fork", "orphan")
        same_as_without(p, "a parent that ends first", got, "app_fork", "orphan")
        quiet(d)
        exact(p, d, "a parent that ends first", got[1])
        ok(len(truth(got[1])) == 2, "the orphan has a session of its own", got[1])


def names():
    text = "a child interns where its parent did"
    with Place() as p, Daemon(p, SMALL) as d:
        got = run(p, "app_fork", "names")
        same_as_without(p, text, got, "app_fork", "names")
        exact(p, d, text, got[1])
        seen = json.dumps(report(p.store, "--all"))
        ok("name of the parent" in seen and "name of the child" not in seen,
           "the parent's record has the parent's name", seen)


def descriptors():
    with Place() as p, Daemon(p, SMALL):
        out = app(p, "app_fork", "fds").communicate(timeout=30)[0]
        off = app(p, "app_fork", "fds", env={"AON_OFF": 1}).communicate(timeout=30)[0]
        parent, _, child = out.partition("[exec]")
        ok(child.split() == off.partition("[exec]")[2].split(),
           "an exec'd child has no descriptor of ours", out)
        extra = sorted(set(parent.split("\n")) - set(off.split("\n")))
        ok(len(parent.split("\n")) == len(off.partition("[exec]")[0].split("\n")) + 2,
           "the process itself has two: its socket and its pool", f"{extra}\n{out}\n{off}")


def setuid():
    if os.geteuid() != 0:
        skip("a setuid program is left alone", "needs root")
        return
    with Place() as p, Daemon(p, SMALL) as d:
        copy = str(p.path / "emitter")
        shutil.copy(find("emitter_static"), copy)

        def as_nobody():
            cmd = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "-n", "100",
                   "-j", "1000"]
            return told(subprocess.run(cmd, env=app_env(p), capture_output=True, text=True).stdout)

        os.chmod(copy, 0o755)
        ok(as_nobody().get("joined") == 1, "nobody's program joins")
        before = d.counter("sessions_opened")
        os.chmod(copy, 0o4755)
        ok(as_nobody() == {"emitted": 100, "joined": 0} and d.counter("sessions_opened") == before,
           "the same program, setuid root, runs and does not", d.status())


storm()
orphan()
case("app_fork", "vfork", text="vfork, posix_spawn, raw clone", sets=SMALL)
case("app_fork", "workers", 4, text="4 workers of a data loader", sets=SMALL)
case("app_fork", "exec", text="exec from a thread", sets=SMALL)
names()
descriptors()
setuid()
done()
