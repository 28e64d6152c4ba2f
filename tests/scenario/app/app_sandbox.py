# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""Programs that close every descriptor, filter system calls or live within tight limits."""
import os
import pathlib
import subprocess

from aontest import SANITIZED, Daemon, Place, done, ok, skip
from apptest import case, exact, rows, run, same_as_without, truth

BARE = SANITIZED in ("", "none")
CGROUP = pathlib.Path("/sys/fs/cgroup/memory")


def closed():
    e, accts = case("app_sandbox", "closefrom", text="descriptors closed and reused")
    ok(e.get("result") == 0, "none of our bytes in its files, no message on its sockets", e)
    ok(sum(a["stored"] for a in accts) > 300000, "and aond goes on reading", accts)


def filters():
    with Place() as p, Daemon(p) as d:
        got = run(p, "app_sandbox", "filter-before")
        same_as_without(p, "a filter before the first emit", got, "app_sandbox", "filter-before")
        ok(not truth(got[1]) and d.counter("sessions_opened") == 0, "it stays without a session", got)
    case("app_sandbox", "filter-after", text="a filter after joining")
    if BARE:
        strict()
    else:
        skip("strict mode", "a sanitizer's runtime makes system calls of its own")


def strict():
    with Place() as p, Daemon(p) as d:
        got = run(p, "app_sandbox", "strict")
        same_as_without(p, "strict mode after joining", got, "app_sandbox", "strict")
        d.flush()
        for t in got[1].get("truth", []):  # it could not ask for its pid
            t[0] = rows(p)[0]["pid"]
        exact(p, d, "strict mode", got[1])


def limits():
    for n in (0, 3, 5, 6, 64, 66, 1024):
        with Place() as p, Daemon(p):
            got = run(p, "app_sandbox", "nofile", n)
            same_as_without(p, f"at most {n} descriptors", got, "app_sandbox", "nofile", n)
            if n in (3, 1024):
                ok(bool(truth(got[1])) == (n > 64), f"{'a' if n > 64 else 'no'} session with {n}")
    if not BARE:
        skip("a tight address space", "a sanitizer takes terabytes of it")
        return
    with Place() as p, Daemon(p):
        got = run(p, "app_sandbox", "as")
        same_as_without(p, "a tight address space", got, "app_sandbox", "as")


def cgroup():
    """The pool is larger than the program's whole limit: it must not be charged for it."""
    text = "32 MiB of memory, 24 used, a pool of 32"
    if os.geteuid() != 0 or not (CGROUP / "memory.limit_in_bytes").exists():
        skip(text, "needs root and the memory controller of cgroup v1")
        return
    if not BARE:
        skip(text, "a sanitizer's runtime alone is larger")
        return
    group = CGROUP / f"aon-test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(32 << 20))
        with Place() as p, Daemon(p, {"pool_kib": 32768}) as d:
            def enter():
                (group / "cgroup.procs").write_text("0")
            got = run(p, "app_sandbox", "hog", 24, preexec_fn=enter)
            same_as_without(p, text, got, "app_sandbox", "hog", 24, preexec_fn=enter)
            exact(p, d, text, got[1])
            ok("oom_kill 0" in (group / "memory.oom_control").read_text(), "nobody was killed")
    finally:
        group.rmdir()


def full_tmpfs():
    text = "a run directory on a full file system"
    if os.geteuid() != 0:
        skip(text, "needs root to mount one")
        return
    with Place() as p:
        m = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", p.run],
                           capture_output=True, text=True)
        if m.returncode:
            skip(text, m.stderr.strip())
            return
        try:
            os.chmod(p.run, 0o755)
            try:
                (p.run / "filler").write_bytes(bytes(1 << 20))
            except OSError:
                pass
            with Daemon(p, start=False) as d:
                d.start(wait=2)
                got = run(p, "app_pace", "-s", 0.3)
                same_as_without(p, text, got, "app_pace", "-s", 0.3)
                ok(d.alive() or "gate" in d.text(), "aond runs or says why not", d.text())
        finally:
            subprocess.run(["umount", "-l", p.run], check=False)


closed()
filters()
limits()
cgroup()
full_tmpfs()
done()
