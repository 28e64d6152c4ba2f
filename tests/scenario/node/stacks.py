#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 long=yes
"""Where processes stand, from outside: native and Python frames, those at the same place together; and why not.
When a job hangs, aond asks the same of its ranks."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import aonschema
from aonsample import pythons
from aontest import ROOT, BUILD, SANITIZED, Daemon, Place, aon, app, app_env, done, find, ok, skip, wait_for

SOURCE = ROOT / "python"
# Says when it is there, and stays until its input ends.
STAYS = """
import sys
def all_reduce(t):
    sys.stdin.read()
def load_batch(n):
    sys.stdin.read()
class Trainer:
    def step(self, here):
        return (load_batch if here else all_reduce)(1)
print("there", flush=True)
Trainer().step(len(sys.argv) > 1)
"""
# A rank: steps, then it comes to a collective, or does not.
RANK = """
import sys, time
import aon
def all_reduce():
    sys.stdin.read()
def load_batch():
    sys.stdin.read()
for i in range(50):
    with aon.step():
        time.sleep(0.01)
with aon.step():
    load_batch() if sys.argv[1] == "2" else all_reduce()
"""
# Computes and sleeps in turn, each in a function of its own.
TURNS = """
import time
def computes():
    for i in range(30000):
        pass
def waits():
    time.sleep(0.002)
print("there", flush=True)
while True:
    computes()
    waits()
"""
# Python calls C, which calls Python.
BETWEEN = """
import sys
def inner(x):
    sys.stdin.read()
def sorts():
    sorted([1], key=inner)
print("there", flush=True)
sorts()
"""
# Counts the signals that reach it: each writes a byte, before Python runs.
COUNTS = """
import os, signal, sys, threading
r, w = os.pipe()
os.set_blocking(w, False)
signal.signal(signal.SIGRTMIN, lambda *_: None)
signal.set_wakeup_fd(w)
print("there", flush=True)
sys.stdin.read()
print(len(os.read(r, 65536)), flush=True)
"""


def start(exe, code, *args, env=None):
    return subprocess.Popen([exe, "-c", code, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, env=env)


def stays(exe, *args):
    p = start(exe, STAYS, *args)
    p.stdout.readline()
    # It has said so before it reads: wait until it is in read(0, ...).
    wait_for(lambda: pathlib.Path(f"/proc/{p.pid}/syscall").read_text().startswith("0 0x0 "), 20)
    return p


def end(*procs):
    for p in procs:
        p.kill()
        p.wait()
        p.stdin.close()
        p.stdout.close()


def is_python(f):
    return f["file"] == "<string>"


def frames(exe, minor):
    procs = [stays(exe), stays(exe), stays(exe, "elsewhere")]
    try:
        r = aon("stacks", "--json", *(p.pid for p in procs))
        said = json.loads(r.stdout)
        got = [(g["numbers"], [f["name"].rsplit(".", 1)[-1] for f in g["frames"] if is_python(f)],
                [f["line"] for f in g["frames"] if is_python(f)]) for g in said["groups"]]
        ok(r.returncode == 0 and not aonschema.check(said), f"Python 3.{minor}: as docs/json.md has it",
           (r, aonschema.check(said)[:3]))
        ok(got == [(sorted(p.pid for p in procs[:2]), ["all_reduce", "step", "<module>"], [4, 9, 11]),
                   ([procs[2].pid], ["load_batch", "step", "<module>"], [6, 9, 11])],
           f"Python 3.{minor}: two stand in all_reduce, one in load_batch, to the line", said)
        natives = [f["name"] for f in said["groups"][0]["frames"] if not is_python(f)]
        ok(any("read" in n for n in natives) and not any("EvalFrame" in n for n in natives),
           "above them what is not Python, without the interpreter's own calls", natives)
        text = aon("stacks", *(p.pid for p in procs)).stdout.splitlines()
        heads = [x for x in text if not x.startswith("    ")]
        ok(len(heads) == 2 and heads[0].startswith("pids ") and "    all_reduce (<string>:4)" in text, "as text: a frame a line", text)
        ok(all(p.poll() is None for p in procs), "and they stay as they were")
    finally:
        end(*procs)


def one_instant(exe, minor):
    """Native and Python frames are of the same stop: who sleeps does not compute."""
    p = start(exe, TURNS)
    p.stdout.readline()
    said = [json.loads(aon("stacks", "--json", p.pid).stdout)["groups"][0]["frames"] for _ in range(40)]
    end(p)
    stacks = [([f["name"] for f in s if not is_python(f)], [f["name"] for f in s if is_python(f)]) for s in said]
    wrong = [s for s in stacks if any("sleep" in n or "select" in n for n in s[0]) and s[1][0] != "waits"]
    ok(not wrong and any(s[1][0] == "waits" for s in stacks), f"Python 3.{minor}: of 40 stacks none mixes two moments", wrong)


def between(exe, minor):
    """C that a Python function called, and that calls Python, stands between the two."""
    p = start(exe, BETWEEN)
    p.stdout.readline()
    wait_for(lambda: pathlib.Path(f"/proc/{p.pid}/syscall").read_text().startswith("0 0x0 "), 20)
    got = [f["name"].rsplit(".", 1)[-1] for f in json.loads(aon("stacks", "--json", p.pid).stdout)["groups"][0]["frames"]]
    end(p)
    if not any("sort" in n and n != "sorts" for n in got):
        skip(f"Python 3.{minor}: C between lines", f"its functions have no names: {got}")
        return
    at = [got.index("inner"), next(i for i, n in enumerate(got) if "sort" in n and n != "sorts"), got.index("sorts"), got.index("<module>")]
    ok(at == sorted(at) and at[0] > 0, f"Python 3.{minor}: C between lines of Python stands there", got)


def signals():
    """Who is looked at while signals come gets all of them."""
    p = start(sys.executable, COUNTS)
    p.stdout.readline()
    looks = [subprocess.Popen([find("aon-stacks"), str(p.pid)], stdout=subprocess.DEVNULL) for _ in range(3)]
    sent = 0
    while sent < 3000 and (sent < 1000 or any(x.poll() is None for x in looks)):
        os.kill(p.pid, signal.SIGRTMIN)
        sent += 1
        if sent % 100 == 0:
            looks.append(subprocess.Popen([find("aon-stacks"), str(p.pid)], stdout=subprocess.DEVNULL))
    for x in looks:
        x.wait(30)
    p.stdin.close()
    got = p.stdout.readline().strip()
    ok(p.wait(30) == 0 and got == str(sent), f"{sent} signals, {len(looks)} looks: none is lost", got)
    p.stdout.close()


def stopped():
    p = stays(sys.executable)
    os.kill(p.pid, signal.SIGSTOP)

    def state():
        return pathlib.Path(f"/proc/{p.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    wait_for(lambda: state() == "T", 20)
    r = aon("stacks", p.pid)
    ok("    [stopped by a signal]\n" in r.stdout, "a process that is stopped is said to be", r)
    ok(wait_for(lambda: state() == "T", 20), "and stays stopped", state())
    os.kill(p.pid, signal.SIGCONT)
    p.stdin.close()
    ok(p.wait(30) == 0, "until it is let go: then it ends as it would have")
    p.stdout.close()


def attached():
    """What can be seen of a process: one that nobody records, and one that aond does."""
    p = stays(sys.executable)
    r = aon("attach", p.pid, "--seconds", 2)
    ok(r.returncode == 0 and "probes    none" in r.stdout and "<string>:4 all_reduce" in r.stdout and "next  aon run -- " in r.stdout,
       "aon attach: not recorded, but its stack is readable; aon run is next", r)
    said = json.loads(aon("attach", "--json", p.pid, "--seconds", 2).stdout)
    ok(not aonschema.check(said) and said["recorded"] is not True and not said["probes"] and said["capture"] is None
       and "all_reduce (<string>:4)" in said["stack"], "and as JSON", (said, aonschema.check(said)[:3]))
    end(p)
    r = aon("attach", 999999999)
    ok(r.returncode == 1 and "no such process" in r.stderr, "nobody there: exit 1", r)
    for args in ((), ("x",), (1, 2)):
        ok(aon("attach", *args).returncode == 2, f"misuse: attach {args}")


def refused():
    r = aon("stacks", 999999999)
    ok(r.returncode == 1 and "no stack: it is gone" in r.stdout, "nobody there: exit 1, and why", r)
    if os.geteuid() != 0:
        skip("another user's process", "only root can become somebody else")
        return
    p = stays(sys.executable)
    r = subprocess.run([find("aon-stacks"), "--as", "65534:65534", str(p.pid)], capture_output=True, text=True)
    ok(r.returncode == 1 and "belongs to user 0, and user 65534 may not" in r.stdout and "frames" not in r.stdout,
       "rights are given up before anything is read: a user's look at root's process is refused, and says why", r)
    end(p)
    sleep = subprocess.Popen([shutil.which("sleep"), "600"], user=65534, group=65534, extra_groups=[],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_for(lambda: "nanosleep" in pathlib.Path(f"/proc/{sleep.pid}/wchan").read_text(), 5)
    r = subprocess.run([find("aon-stacks"), "--as", "65534:65534", f"{sleep.pid}:7"], capture_output=True, text=True)
    ok(r.returncode == 0 and r.stdout.startswith("rank 7: ") and "sleep" in r.stdout,
       "and at a process of its own is enough", r)
    end(sleep)


# Helpers that do what one of ours must never: say too much, nonsense and colours; say nothing, for ever.
BAD = {"chatters": """#!/bin/sh
i=0
while [ $i -lt 400 ]; do printf 'rank %d: \\033[31m\\001 <- %0200d\\n' $i $i; i=$((i+1)); done
kill -SEGV $$
""", "hangs": """#!/bin/sh
exec sleep 600
""", "fails": """#!/bin/sh
exit 1
"""}


class Bad:
    """An aond with such a helper beside it, and a program that hangs."""

    def __init__(self, name):
        self.name, self.place = name, Place()
        p = self.place.__enter__()
        aond = p.path / "aond-copy"
        aond.mkdir()
        shutil.copy(find("aond"), aond / "aond")
        (aond / "aon-stacks").write_text(BAD[name])
        (aond / "aon-stacks").chmod(0o755)
        self.daemon = Daemon(p, {"escalate_s": 0}, start=False)
        self.daemon.exe = str(aond / "aond")
        self.daemon.start()
        self.app = app(p, "app_cost", "-s", 6, "-H", 200, stdin=subprocess.PIPE)

    def said(self):
        r = aon("alarms", "--json", self.place.store)
        return [a for a in json.loads(r.stdout)["alarms"] if a["kind"] == "hang_stacks"] if r.returncode == 0 else []

    def end(self):
        self.app.kill()
        self.app.communicate()
        self.daemon.kill()
        self.place.__exit__(None, None, None)


def bad(bads):
    want = {"chatters": 17, "hangs": 1, "fails": 1}
    for b in bads:
        got = wait_for(lambda: len(b.said()) >= want[b.name] and b.said(), 60) or b.said()
        clean = all(c.isprintable() for a in got for c in a["text"])
        ok(len(got) == want[b.name] and clean and b.daemon.ping(), f"a helper that {b.name}: bounded, printable, and aond goes on",
           (got[:3], b.daemon.text()[-1500:]))
        b.end()


def hang():
    """Three ranks of a job, of which one does not come: aond says where each stands."""
    if SANITIZED:
        skip("ranks that hang", "Python cannot load a sanitized libaon; alarms.py has C programs")
        return
    with Place() as p, Daemon(p, {"escalate_s": 0}) as d:
        path = p.path / "site" / "aon"
        path.mkdir(parents=True)
        for f in (SOURCE / "aon/__init__.py", BUILD / "python/_aon.abi3.so"):
            shutil.copy(f, path)
        env = {"TORCHELASTIC_RUN_ID": "j3", "WORLD_SIZE": 3, "PYTHONPATH": p.path / "site", "AON_JOIN_MS": 1000,
               "LD_LIBRARY_PATH": BUILD}
        procs = [start(sys.executable, RANK, str(r), env=app_env(p, **env, RANK=r)) for r in range(3)]

        def told():
            said = json.loads(aon("alarms", "--json", p.store).stdout or '{"alarms":[]}')["alarms"]
            got = [a for a in said if a["kind"] == "hang_stacks"]
            return got if len(got) >= 2 else None
        got = wait_for(told, 60) or []
        by = {tuple(a.get("ranks") or ()): [f.split(" (")[0] for f in a.get("frames") or ()] for a in got}
        ok({(0, 1), (2,)} == set(by) and "all_reduce" in by[0, 1] and "load_batch" in by[2,],
           "a hang: ranks 0 and 1 stand in all_reduce, rank 2 in load_batch", (got, d.text()[-2000:]))
        text = aon("alarms", p.store).stdout
        ok("ranks 0,1 of job j3: " in text and "rank 2 of job j3: " in text, "and in words", text)
        for cmd in ("why", "report"):
            r = aon(cmd, p.store)
            ok("Told while it ran" in r.stdout and "rank 2 of job j3: " in r.stdout, f"aon {cmd} says it, too", r)
            said = json.loads(aon(cmd, "--json", p.store).stdout)
            ok([a["ranks"] for a in said["alarms"] if a["kind"] == "hang_stacks"] == [[0, 1], [2]] and not aonschema.check(said),
               f"aon {cmd} --json as well", (said["alarms"], aonschema.check(said)[:3]))
        r = aon("attach", "--json", "--seconds", 1, procs[2].pid, env={**os.environ, "AON_RUN_DIR": str(p.run)})
        said = json.loads(r.stdout)
        ok(said["recorded"] and said["detail"] == "normal" and "libaon" in said["probes"] and said["capture"] == f"aon capture --pid {procs[2].pid}",
           "aon attach: a process that is recorded can be captured", r)
        r = aon("stacks", "--job", "j3", "--store", p.store)
        ok(r.returncode == 0 and "ranks 0,1:\n" in r.stdout and "rank 2:\n" in r.stdout, "aon stacks --job says the same", r)
        ok(all(x.poll() is None for x in procs), "while they still hang")
        for x in procs:
            x.stdin.close()
        ok([x.wait(30) for x in procs] == [0, 0, 0], "when they are let go they end as they would have")
        for x in procs:
            x.stdout.close()

bads = [Bad(name) for name in BAD]
known = list(pythons())
for minor, exe in known:
    frames(exe, minor)
    one_instant(exe, minor)
    between(exe, minor)
if not known:
    skip("frames of Python", "no Python 3.10 to 3.15 here")
signals()
stopped()
attached()
refused()
hang()
bad(bads)
done()
