#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon-sample with the rights that it has where it is installed: those of its unit are enough for the processes of
other users, and started by root it does not stay root. A user whose program is dear to look at pays for it alone."""
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import time

import aonsample
from aontest import ROOT, Daemon, Place, app, done, find, ok, skip, skip_all, wait_for, wait_joined

SLEEPS = "import time\ndef sleeps():\n    while True: time.sleep(0.01)\nprint(1, flush=True)\nsleeps()"
OWNER, READER = 65534, 65533  # two users who are not root
PYTHON = "/usr/bin/python3"


def words_of(unit, key):
    return re.search(rf"^{key}=(.*)$", unit, re.M)[1].split()


def end(*processes):
    for p in processes:
        p.kill()
        p.wait()
        if p.stdout:
            p.stdout.close()


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
    end(p)


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


DEEP = """
import sys
sys.setrecursionlimit(10000)
def deep(n):
    if n: return deep(n - 1)
    print(1, flush=True)
    while True: pass
deep(900)
"""


def fair():
    with Place() as place, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        dear = subprocess.Popen([PYTHON, "-c", DEEP], stdout=subprocess.PIPE, user=OWNER, group=OWNER, extra_groups=[], cwd="/")
        cheap = subprocess.Popen([PYTHON, "-c", SLEEPS], stdout=subprocess.PIPE, user=READER, group=READER, extra_groups=[], cwd="/")
        dear.stdout.readline()
        cheap.stdout.readline()
        listener.bind(str(place.run / "sample.sock"))
        listener.listen(1)
        proc = subprocess.Popen([find("aon-sample"), "--run-dir", str(place.run), "--cpu-percent", "2"])
        sock = listener.accept()[0]
        said = aonsample.Said()
        sock.send(aonsample.targets([(dear.pid, dear.pid, 500), (cheap.pid, cheap.pid, 5)]))
        until = time.monotonic() + 12
        while time.monotonic() < until:
            said.take(sock.recv(65536))
        rates = {p.pid: [s.centihertz for s in said.samples if s.pid == p.pid and s.t_ns > said.samples[0].t_ns + 4e9] for p in (dear, cheap)}
        ok(max(rates[dear.pid][-20:], default=0) < 40000, "a program that costs more than the budget is sampled less", rates[dear.pid][-5:])
        # On a busy machine the sampler alone may be at its limit: then both pay, and the cheap one less.
        share = max(rates[dear.pid][-20:], default=0) / 50000
        ok(rates[cheap.pid] and statistics.median(rates[cheap.pid]) / 500 > share, "another user's less so", (rates[cheap.pid], share))
        end(proc, dear, cheap)
        sock.close()


def again_as(pid):
    """Another process with that number; None: the kernel does not give it."""
    for _ in range(50):
        try:
            pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        except OSError:
            return None
        p = subprocess.Popen([PYTHON, "-c", SLEEPS.replace("sleeps", "second")], stdout=subprocess.PIPE, cwd="/")
        if p.pid == pid:
            p.stdout.readline()
            return p
        end(p)
    return None


def reused():
    with Place() as place, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        p = subprocess.Popen([PYTHON, "-c", SLEEPS], stdout=subprocess.PIPE, cwd="/")
        p.stdout.readline()
        listener.bind(str(place.run / "sample.sock"))
        listener.listen(1)
        proc = subprocess.Popen([find("aon-sample"), "--run-dir", str(place.run), "--cpu-percent", "50"])
        sock = listener.accept()[0]
        said = aonsample.Said()

        def seen(name):
            said.take(sock.recv(65536))
            return any(name in said.names(s) for s in said.samples)
        sock.send(aonsample.targets([(p.pid, p.pid, 100)]))
        ok(wait_for(lambda: seen("sleeps"), 20), "a process is sampled")
        end(p)
        second = again_as(p.pid)
        if second:
            wait_for(lambda: seen("nobody"), 2)
            ok(not seen("second"), "another one that gets its number is not, as nobody asked")
            sock.send(aonsample.targets([(p.pid, p.pid, 100)]))
            ok(wait_for(lambda: seen("second"), 20), "until somebody asks for it")
            end(second)
        else:
            skip("a number that is used again", "the kernel gives another one")
        end(proc)
        sock.close()


if os.geteuid() or not shutil.which("setpriv") or not os.path.exists(PYTHON):
    skip_all("takes root, setpriv and a Python that all may run")
if int(status_of("self")["CapPrm"], 16) & (1 << 19 | 1 << 2) != 1 << 19 | 1 << 2:
    skip_all("root has no CAP_SYS_PTRACE here")
as_service()
as_root()
fair()
reused()
done()
