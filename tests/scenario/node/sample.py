#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=600 long=yes
"""aon-sample: threads of real programs, looked at many times a second. Stacks that cannot be do not come out, whatever
the Python; states, the holder of the GIL, and the user's line are named; programs that fork, exec or end, PID namespaces and a
thousand threads are no trouble."""
import os
import pathlib
import select
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time

import aonsample
from aonsample import ENOUGH, GC, HOLDER, UNCERTAIN, USER, Program, attach, last, pythons, targets
from aontest import SANITIZED, Place, done, find, ok, skip, wait_for

STATES = """
import json, os, sys, threading, time
lock = threading.Lock()
lock.acquire()
def sleeps():
    while True: time.sleep(0.2)
def locks():
    lock.acquire()
def waits():
    r, w = os.pipe()
    os.read(r, 1)
def writes(path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    while True:
        os.pwrite(fd, b"x" * 65536, 0)
        os.fsync(fd)
def encodes():
    deep = [[i, {"k": [i] * 20}] for i in range(200)]
    while True:
        json.dumps(deep, indent=1)
for f, args in ((sleeps, ()), (locks, ()), (waits, ()), (writes, (sys.argv[1],)), (encodes, ())):
    t = threading.Thread(target=f, args=args, daemon=True)
    t.start()
    print(f.__name__, t.native_id, flush=True)
print("there", flush=True)
time.sleep(1e6)
"""
GIL = """
import threading
def holds():
    x = 0
    while True: x += 1
t = threading.Thread(target=holds, daemon=True)
t.start()
def wants():
    x = 0
    while True: x += 1
print("holds", t.native_id, flush=True)
print("there", flush=True)
wants()
"""
COLLECTS = """
import gc
kept = [[] for _ in range(200000)]
print("there", flush=True)
while True: gc.collect()
"""
SECOND = """
import time
def second():
    while True: time.sleep(0.01)
print("there", flush=True)
second()
"""
# An interpreter of its own, in a thread, with a lock of its own.
INSIDE = """
import sys, threading
import _interpreters as inter
code = "def inside():\\n    x = 0\\n    while True: x += 1\\ninside()"
number = inter.create()
threading.Thread(target=inter.run_string, args=(number, code), daemon=True).start()
def wants():
    x = 0
    while True: x += 1
print("there", flush=True)
wants()
"""
FIRST = """
import os, sys, time
def first():
    sys.stdin.readline()
def child():
    while True: time.sleep(0.01)
pid = os.fork()
if not pid:
    child()
print("child", pid, flush=True)
print("there", flush=True)
first()
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""
ASLEEP = """
import sys, threading, time
def asleep():
    time.sleep(1e6)
threading.stack_size(65536)
for i in range(1000):
    threading.Thread(target=asleep, daemon=True).start()
print("there", flush=True)
asleep()
"""


def until(fn, pid, *args, tries=20, **kw):
    """Samples again and again until fn(said) is true: a busy machine gives a program little time."""
    for _ in range(tries):
        said = attach(pid, *args, **kw)
        if fn(said):
            break
    return said


def families(minor, exe):
    n, impossible, whole, uncertain, places = aonsample.families(exe)
    ok(n >= ENOUGH and len(impossible) <= n / 100, f"Python 3.{minor}: {len(impossible)} of {n} stacks cannot be ({uncertain} are said to be uncertain)",
       impossible[:5])
    ok(whole >= 0.99 * n, f"Python 3.{minor}: {whole} of {n} reach the outermost frame")
    ok(len(places) >= 6, f"Python 3.{minor}: and they are from all over the program", sorted(places))


def states(place):
    want = {"sleeps": "sleep", "locks": "lock", "waits": "wait", "encodes": "running"}
    with Program(STATES, str(place.path / "written")) as p:
        def seen(said, name):
            return {said.state(s) for s in said.samples if s.tid == p.said[name]}
        said = until(lambda x: all(w in seen(x, n) for n, w in want.items()), p.pid, hz=100, seconds=2)
        for name, state in want.items():
            mine = [s for s in said.samples if s.tid == p.said[name] and said.state(s) == state]
            # Of an uncertain stack inner frames are left out.
            blamed = {(said.blame(s).name, said.blame(s).flags & USER) for s in mine if s.stack and not s.flags & UNCERTAIN}
            ok(mine and blamed == {(name, USER)}, f"a thread that {name}: {state}, and the program's own line is to blame", (seen(said, name), blamed))
        lib = [s for s in said.samples if s.tid == p.said["encodes"] and len(said.names(s)) > 5]
        ok(lib and all("json" in said.stacks[s.stack][0].file for s in lib if said.stacks[s.stack][0].kind == 0),
           "also where it is in a library", [said.names(s) for s in lib[:3]])
        said = until(lambda x: "io" in seen(x, "writes"), p.pid, "--tid", p.said["writes"], hz=500, seconds=2)
        if "io" not in seen(said, "writes") and seen(said, "writes") <= {"running", "runnable"}:
            skip("a thread that waits for a disk", "this file system does not wait for one")
        else:
            ok("io" in seen(said, "writes"), "a thread that waits for a disk", seen(said, "writes"))
        ok(any(f.kind == 1 for stack in said.stacks.values() for f in stack),
           "native frames of a thread that sleeps are there")
        tracer = [x for x in pathlib.Path(f"/proc/{p.pid}/status").read_text().splitlines() if x.startswith("TracerPid")]
        ok(p.p.poll() is None and tracer == ["TracerPid:\t0"], "nobody was stopped", tracer)


def gil(exe=sys.executable):
    with Program(GIL, exe=exe) as p:
        def waiting(said):
            return [s for s in said.samples if said.state(s) == "gil" and s.tid == p.pid]
        said = until(lambda x: len([s for s in waiting(x) if s.detail]) >= 5, p.pid, "--tid", p.pid, hz=200, seconds=2)
        named = [s for s in waiting(said) if s.detail]
        ok(len(named) >= 5 and {s.detail for s in named} == {p.said["holds"]}, "a wait for the GIL names the thread that has it", waiting(said)[:3])
        held = [s for s in said.samples if s.flags & HOLDER]
        ok(held and {s.tid for s in held} == {p.said["holds"]} and {last(said.blame(s).name) for s in held if s.stack and not s.flags & UNCERTAIN} == {"holds"},
           "which is sampled, too: the line that has it", held[:3])


def collects(minor, exe):
    with Program(COLLECTS, exe=exe) as p:
        def share(said):
            return sum(bool(s.flags & GC) for s in said.samples) / max(1, len(said.samples))
        said = until(lambda x: share(x) > 0.5, p.pid, hz=200, seconds=1)
        ok(share(said) > 0.5, f"Python 3.{minor}: while the garbage collector runs, samples say it", share(said))


def jitter():
    with Program(SECOND) as p:
        said = until(lambda x: len(x.samples) > 100, p.pid, hz=50, seconds=4)
        t = [s.t_ns for s in said.samples]
        gaps = [(b - a) / 2e7 for a, b in zip(t, t[1:])]
        ok(len(gaps) > 50 and statistics.pstdev(gaps) > 0.2, "moments are random in each period: no program is in step with them",
           (len(gaps), statistics.pstdev(gaps) if gaps else 0))


def heard(watch, word, seconds=60):
    """What a sampler says until it names a function."""
    data, end = b"", time.monotonic() + seconds
    while word not in data and time.monotonic() < end:
        if select.select([watch.stdout], [], [], 1)[0]:
            data += os.read(watch.stdout.fileno(), 65536)
    return data


def comes_and_goes():
    with Program(FIRST, SECOND) as p:
        said = until(lambda x: any("first" in x.names(s) for s in x.samples), p.pid, hz=100, seconds=1)
        ok(any("first" in said.names(s) for s in said.samples), "a program before it execs")
        kid = until(lambda x: any("child" in x.names(s) for s in x.samples), p.said["child"], hz=100, seconds=1)
        ok(any("child" in kid.names(s) for s in kid.samples), "a child of its fork", [kid.names(s) for s in kid.samples[:3]])
        watch = subprocess.Popen([find("aon-sample"), "--pid", str(p.pid), "--hz", "100", "--stream"], stdout=subprocess.PIPE)
        seen = heard(watch, b"first")
        p.p.stdin.write("go\n")
        p.p.stdin.flush()
        ok(wait_for(lambda: b"first" not in pathlib.Path(f"/proc/{p.pid}/cmdline").read_bytes(), 60), "it execs while it is sampled")
        said = until(lambda x: any("second" in x.names(s) for s in x.samples), p.pid, hz=100, seconds=1)
        ok(any("second" in said.names(s) for s in said.samples), "what it is now is seen by who begins anew")
        seen += heard(watch, b"second")
        os.kill(p.said["child"], signal.SIGKILL)
        p.p.kill()
        data = seen + watch.stdout.read()
        ok(watch.wait(60) == 0, "the sampler ends when the program does")
        watch.stdout.close()
        said = aonsample.stream(data)
        names = {n for s in said.samples for n in said.names(s)}
        ok({"first", "second"} <= names, "and by who watched it all along", sorted(names))


def inside(minor, exe):
    with Program(INSIDE, exe=exe) as p:
        def names(said):
            return {last(n) for s in said.samples for n in said.names(s)}
        said = until(lambda x: {"inside", "wants"} <= names(x), p.pid, hz=100, seconds=2)
        ok({"inside", "wants"} <= names(said), f"Python 3.{minor}: a thread of another interpreter", names(said))


def namespace():
    wrap = ["unshare", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*wrap, "true"], capture_output=True).returncode:
        return skip("a PID namespace", "unshare may not make one")
    with Program(SECOND, wrap=wrap) as p:
        kids = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text().split()
        said = until(lambda x: any("second" in x.names(s) for s in x.samples), int(kids[0]), hz=100, seconds=1)
        ok(any("second" in said.names(s) for s in said.samples), "a thread that has another number in its own PID namespace", said.samples[:3])
        os.kill(int(kids[0]), signal.SIGKILL)
        return None


def thousand():
    with Program(ASLEEP) as p:
        wait_for(lambda: len(os.listdir(f"/proc/{p.pid}/task")) >= 1000, 60)
        said = until(lambda x: len({s.tid for s in x.samples if "asleep" in x.names(s)}) >= 1000, p.pid, "--all-threads", hz=1, seconds=8, tries=5)
        tids = {s.tid for s in said.samples if "asleep" in said.names(s)}
        ok(len(tids) >= 1000, f"a thousand threads: {len(tids)} are seen where they are", said.status[-1])
        ok(SANITIZED or said.rss_kib < 64 * 1024, f"in {said.rss_kib >> 10} MiB, with those of the program that started it")
        ok(len(said.stacks) < 20, "by few stacks", len(said.stacks))


def service(place):
    """As aond does it: targets in, samples out, and an end when the socket is closed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener, Program(GIL) as p:
        listener.bind(str(place.run / "sample.sock"))
        listener.listen(1)
        listener.settimeout(60)

        def begin():
            proc = subprocess.Popen([find("aon-sample"), "--run-dir", str(place.run), "--cpu-percent", "50"], stderr=subprocess.PIPE, text=True)
            sock = listener.accept()[0]
            sock.settimeout(60)
            return proc, sock
        proc, sock = begin()
        said = aonsample.Said()
        sock.send(targets([(p.pid, p.pid, 100)]))
        end = time.monotonic() + 60
        while time.monotonic() < end and not (len(said.samples) > 50 and len(said.status) > 1 and any(s.flags & HOLDER for s in said.samples)):
            said.take(sock.recv(65536))
        ok(len(said.samples) > 50 and {s.tid for s in said.samples if not s.flags & HOLDER} == {p.pid}, "samples of the thread that was asked for",
           (len(said.samples), said.status[-1:]))
        ok(all(s.stack in said.stacks for s in said.samples if s.stack), "each stack was sent before its first sample")
        ok(all(0 < s.centihertz <= 10000 and s.pid == p.pid for s in said.samples), "with its rate")
        ok(len(said.status) > 1 and said.status[-1].samples >= 50 and 0 < said.status[-1].cpu_ns and said.status[-1].reason == "", "and a status", said.status[-1:])
        sock.send(aonsample.budget(1))
        while time.monotonic() < end and min(s.centihertz for s in said.samples[-5:]) == 10000:
            said.take(sock.recv(65536))
        ok(min(s.centihertz for s in said.samples[-5:]) < 10000, "told to use little CPU it looks less often", said.samples[-1])
        sock.send(targets([]))
        for _ in range(3):
            sock.recv(65536)
        sock.close()
        ok(proc.wait(60) == 0, "it ends when aond does", proc.stderr.read())
        proc.stderr.close()
        proc, sock = begin()
        sock.send(b"what?")
        ok(proc.wait(60) == 1, "and when aond talks nonsense")
        proc.stderr.close()
        sock.close()


# Of 32 bits; it does nothing but pause.
NARROW = b"\x7fELF\1\1\1" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0) + \
    struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 94, 94, 5, 4096) + b"\xb8\x1d\x00\x00\x00\xcd\x80\xeb\xf7"


def narrow(place):
    """Its system calls have other numbers, its stack other words: that is said, and no nonsense is."""
    exe = place.path / "narrow"
    exe.write_bytes(NARROW)
    exe.chmod(0o755)
    try:
        p = subprocess.Popen([exe])
    except OSError as e:
        return skip("a program of 32 bits", f"this kernel runs none: {e.strerror}")
    said = until(lambda x: x.status and x.status[-1].reason, p.pid, hz=50, seconds=2, tries=5)
    ok(not said.samples and "32 bits" in said.status[-1].reason, "a program of 32 bits is not sampled, and the reason is said", said.status[-1:])
    p.kill()
    p.wait()
    return None


def refused():
    for args in (["--pid", "0", "--stream"], ["--pid", "1"], [], ["--pid", "1", "--run-dir", "/x", "--stream"], ["--hz", "0", "--pid", "1", "--stream"]):
        r = subprocess.run([find("aon-sample"), *args], capture_output=True, text=True)
        ok(r.returncode == 2 and "usage" in r.stderr, f"misuse: {' '.join(args) or 'nothing'}", r)
    p = subprocess.Popen(["true"])
    p.wait()
    r = subprocess.run([find("aon-sample"), "--pid", str(p.pid), "--stream"], capture_output=True, timeout=60)
    ok(r.returncode == 0 and not aonsample.stream(r.stdout).samples, "a process that is gone", r)


known = list(pythons())
for minor, exe in known:
    families(minor, exe)
    if minor >= 13:  # before, a state is run by other threads than the one that it names
        inside(minor, exe)
    if minor >= 14:  # their lock and their collector are elsewhere
        gil(exe)
        collects(minor, exe)
for minor in {14, 15} - {minor for minor, _ in known}:
    skip(f"stacks of Python 3.{minor}", "it is not here (tools/setup bench)")
if not known:
    skip("stacks of Python", "no Python 3.10 to 3.15 here")
with Place() as place:
    states(place)
    gil()
    jitter()
    comes_and_goes()
    namespace()
    thousand()
    service(place)
    narrow(place)
refused()
done()
