#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 suite=threads
"""NVTX as programs use it, under `aon run`: every call is in the report, with its name and its
count; another injection sees what it would have seen alone; without a daemon nothing changes."""
import json
import os
import shutil
import subprocess
import sys
import time

from aontest import (SANITIZED, Daemon, Place, accounts, app_env, balanced, done, find, ok, report, skip,
                     skip_all)
from clitest import aon, env_for
from torchtest import torches

PYPI = os.environ.get("AON_PYPI", "")

try:
    APP, OTHER = find("nvtx_app"), find("nvtx_other.so")
except FileNotFoundError:
    skip_all("no NVTX headers: tools/setup check gets them from PyPI")


def record(place, *argv, env=None, want=0):
    """A program under `aon run`: the report, {(kind, name): count}, and what it told."""
    out = place.path / "run.db"
    for f in place.path.glob("run.db*"):
        f.unlink()
    r = aon(place, "run", "--no-report", "-o", out, "--", *argv, env=env or {})
    rep = report(out, "--all") if out.exists() else {}
    rows = {}
    for row in rep.get("ranges", []) + rep.get("marks", []):
        key = ("span" if row.get("span") else row["kind"], row["name"])
        rows[key] = rows.get(key, 0) + row["count"]
    ok(r.returncode == want, f"{' '.join(map(str, argv[-3:]))}: exit status", r)
    return rep, rows, r


def exact(rep, text):
    a = rep.get("accounting", {})
    ok(a.get("emitted") and a["emitted"] == a["stored"] and not a["lost"] and not a["in_flight"],
       f"{text}: nothing is lost", a)


CALLS = {
    ("range", "a"): 1, ("range", "w 世"): 1, ("range", "ex"): 1, ("range", "weit é 😀"): 1,
    ("range", "(no name)"): 1, ("span", "start a"): 1, ("span", "start w"): 1, ("span", "start ex"): 1,
    ("mark", "mark a"): 1, ("mark", "mark w"): 1, ("mark", "ex"): 1,
    ("mark", "category seven"): 1, ("mark", "category eight"): 1,
    ("mark", "thread main one"): 1, ("mark", "thread main two"): 1,
    ("range", "paid"): 6, ("mark", "paid"): 6, ("counter", "paid"): 6,
    ("range", "lib: string"): 1, ("range", "in lib"): 1, ("range", "lib: plain"): 1,
    ("range", "weit: schnur"): 1, ("span", "lib: start"): 1, ("mark", "weit: schnur"): 1,
    ("mark", "lib: category one"): 1, ("mark", "lib: category two"): 1,
    ("range", "left: x"): 1, ("range", "right: x"): 1,
}


def calls(place):
    rep, rows, r = record(place, APP, "calls")
    ok(rows == CALLS, "every call, each form, domain, category and payload, by name and count",
       f"missing {set(CALLS.items()) - set(rows.items())}\nmore {set(rows.items()) - set(CALLS.items())}")
    exact(rep, "every call")
    paid = [m for m in rep["marks"] if m["name"] == "paid" and m["kind"] == "counter"]
    ok(paid and (paid[0]["min_ns"], paid[0]["max_ns"]) != (0, 0), "payloads have their values", paid)
    long = {x["name"]: x["total_ns"] for x in rep["ranges"] if x["name"].endswith(": x")}
    ok(long["right: x"] >= 3e6 > long["left: x"], "overlapping domains: each pop ends its own range",
       long)
    kept(place)


def kept(place):
    """What the report does not show, but the store keeps."""
    dump = subprocess.run([find("store_dump"), place.path / "run.db"], capture_output=True, text=True)
    ev = [json.loads(line) for line in dump.stdout.splitlines()]
    by = {(e["kind"], e["name"], e["b"]) for e in ev if e["kind"] == "range"}
    ok(("range", "paid", 7) in by and ("range", "a", 0) in by, "a range keeps its category", by)
    names = {e["name"]: e["corr"] for e in ev if e["kind"] == "mark" and "category" in e["name"]}
    ok(names == {"category seven": 7, "category eight": 8, "lib: category one": 1, "lib: category two": 2},
       "and marks tell what categories are called", names)
    lanes = {e["lane"] for e in ev if e["device"] < 0}
    ok(lanes == {"main two"}, "the thread's lane has the name that it was given last", lanes)
    text = aon(place, "report", place.path / "run.db", "--by", "track").stdout.decode()
    ok("main two" in text, "and the report shows it", text)


def load(place):
    rep, rows, _ = record(place, APP, "threads", 8, 2000)
    ok(rows == {("range", "outer"): 16000, ("range", "inner"): 16000}, "8 threads: exact", rows)
    exact(rep, "8 threads")
    rep, rows, _ = record(place, APP, "fork", 5, 100)
    rows.pop(("mark", "first of a child"), None)  # lost by a child that has not joined yet
    ok(rows == {("range", "outer"): 600, ("range", "inner"): 600} and len(rep["processes"]) == 6,
       "a parent and 5 forks: each has its own account", rows)
    a = rep["accounting"]
    ok(a["emitted"] - a["samples"] == 2405 and a["lost"] == a["lost_by"]["joining"] <= 5,
       "forks: nothing is lost but what joined", a)
    rep, rows, _ = record(place, APP, "dynamic", 1000)
    ok(rows == {("range", f"text {i}"): 100 for i in range(10)},
       "one buffer with changing texts: named by the text", rows)
    rep, rows, _ = record(place, APP, "ids", 1000)
    ok(rows == {("span", "started"): 1000}, "ranges by id, ended in another order", rows)


def texts(place):
    rep, rows, _ = record(place, APP, "texts")
    want = {}
    for n in range(2, 120):
        for name, count in (("a" * n, 2), ("a" * (n - 1) + "b", 1), ("a" * (n - 1), 1), ("a" * (n + 1), 1)):
            want["range", name] = want.get(("range", name), 0) + count
    want.update({("range", "e" * n): 2 for n in range(1, 40)})
    ok(rows == want, "texts of 1 to 120 characters, changed in place, and at the end of memory: by name",
       f"missing {sorted(set(want.items()) - set(rows.items()))[:5]}\n"
       f"more {sorted(set(rows.items()) - set(want.items()))[:5]}")
    exact(rep, "texts")


def mixed(place):
    rep, rows, _ = record(place, APP, "mixed")
    want = {("range", "x"): 4, ("range", "lib: r"): 4, **{("range", f"d{i}: x"): 1 for i in range(24)}}
    ok(rows == want, "25 domains on one thread: levels by domain, each range closed", rows)
    exact(rep, "25 domains")


def signals(place):
    pairs = 100000  # more than the pool holds: what it has no room for is counted, too
    rep, rows, r = record(place, APP, "signals", pairs)
    handled = int(r.stderr.decode().split(" handled")[0].split()[-1])
    a = rep["accounting"]
    ok(handled and a["emitted"] - a["samples"] == 4 * (pairs + 1) + handled + 1 and a["emitted"] == a["stored"] + a["lost"] and
       not a["lost_by"]["invalid"] and not a["lost_by"]["unknown"],
       f"{handled} signals in the middle of pushes: every record is whole, and stored or counted", a)


def chained(place):
    out = place.path / "other.json"
    env = {"NVTX_INJECTION64_PATH": OTHER, "NVTX_OTHER_OUT": out}
    want = {("span", "started"): 500, ("range", "pushed"): 500, ("range", "shared: told"): 500,
            ("mark", "marked"): 500}
    subprocess.run([APP, "both", "500"], env=env_for(place, **env), check=True, capture_output=True)
    alone = json.loads(out.read_text())
    out.unlink()
    rep, rows, _ = record(place, APP, "both", 500, env=env)
    both = json.loads(out.read_text()) if out.exists() else {}
    ok(alone == both == {"calls": 3503, "wrong": 0},
       "the other injection sees every call, with its own handles and ids", f"{alone} {both}")
    ok(rows == want, "and so does aon", rows)
    exact(rep, "chained")
    for text, bad in (("fails", {**env, "NVTX_OTHER_FAILS": "1"}),
                      ("is not there", {"NVTX_INJECTION64_PATH": "/nonexistent.so"}),
                      ("is aon's own", {"NVTX_INJECTION64_PATH": os.path.realpath(find("libaon-nvtx.so"))})):
        _, rows, _ = record(place, APP, "both", 500, env=bad)
        ok(rows == want, f"another injection that {text}: aon records", rows)
    _, rows, _ = record(place, APP, "both", 500,
                        env={"NVTX_INJECTION64_PATH": os.path.realpath(find("libaon-nvtx.so")),
                             "AON_NVTX_CHAIN": os.path.realpath(find("libaon-nvtx.so"))})
    ok(rows == want, "an injection chained to itself is called once", rows)


def alone(place):
    """No daemon, or turned off: the program's own answers, and nothing else."""
    for extra in ({}, {"AON_OFF": "1"}):
        env = app_env(place, NVTX_INJECTION64_PATH=os.path.realpath(find("libaon-nvtx.so")), **extra)
        r = subprocess.run([APP, "threads", "4", "50000"], env=env, capture_output=True, text=True)
        ok(r.returncode == 0 and r.stderr == "" and json.loads(r.stdout)["faults"] == 0,
           f"no daemon {extra}: levels are right, nothing is printed", r)


def guest(place):
    """Programs that come and go, lock themselves in, are killed, or are nobody's."""
    rep, rows, _ = record(place, APP, "cycles", 64, find("nvtx_plug.so"))
    ok(rows == {("range", "plug: in"): 640, ("range", "between"): 64},
       "a library with NVTX is loaded and unloaded 64 times: exact", rows)
    exact(rep, "64 times loaded")
    if SANITIZED:
        skip("a filter of system calls", "a sanitizer's runtime makes some of its own")
    else:
        rep, rows, _ = record(place, APP, "filtered", 1000)
        ok(rows == {("range", "outer"): 1001, ("range", "inner"): 1001, ("mark", "thread locked in"): 1},
           "a program that forbids system calls lives, and nothing is lost", rows)
    with Place() as p, Daemon(p) as d:
        probe = os.path.realpath(find("libaon-nvtx.so"))
        for i in range(20):
            app = subprocess.Popen([APP, "storm"], env=app_env(p, NVTX_INJECTION64_PATH=probe), text=True,
                                   stdout=subprocess.PIPE)
            app.stdout.readline()
            time.sleep(0.003 * i)
            app.kill()
            app.communicate()
        d.flush()
        acc = accounts(p.store)
        ok(len(acc) > 10 and all(map(balanced, acc)) and sum(a["stored"] for a in acc) > 20000,
           "20 programs killed in a storm of calls: every record is accounted for", acc)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        readable = os.geteuid() == 0 and not subprocess.run([*nobody, "test", "-r", probe]).returncode
        if not readable:
            skip("nobody's program", "needs root, and a build directory that others can read")
            return
        r = subprocess.run([*nobody, APP, "threads", "2", "500"], capture_output=True, text=True,
                           env=app_env(p, NVTX_INJECTION64_PATH=probe, AON_JOIN_MS=1000))
        d.flush()
        acc = [x["accounting"] for x in report(p.store)["processes"] if x["uid"] == 65534]
        ok(r.returncode == 0 and len(acc) == 1 and acc[0]["emitted"] - acc[0]["samples"] == 4000 and balanced(acc[0]),
           "nobody's program is recorded", f"{r}\n{acc}")


def library(place):
    """A probe that others may write to is refused, and the program runs."""
    d = place.path / "copy"
    d.mkdir(mode=0o755)
    for name in ("aon", "aond", "libaon-nvtx.so"):
        shutil.copy(find(name), d / name)
    lib = d / "libaon-nvtx.so"
    for mode, dir_mode, want in ((0o755, 0o755, str(lib)), (0o757, 0o755, ""), (0o755, 0o757, "")):
        lib.chmod(mode)
        d.chmod(dir_mode)
        r = subprocess.run([d / "aon", "run", "--no-report", "--", "/bin/sh", "-c",
                            "echo $NVTX_INJECTION64_PATH"], capture_output=True, text=True,
                           env=env_for(place), cwd=place.path)
        ok(r.stdout.strip() == want and r.returncode == 0 and
           ("others may write to it" in r.stderr) == (not want),
           f"a library of mode {mode:o} in a directory of {dir_mode:o}", r)
    d.chmod(0o755)
    checks = json.loads(aon(place, "doctor", "--json").stdout)["checks"]
    ok([c["status"] for c in checks if c["id"] == "probe_nvtx"] == ["ok"], "aon doctor tells of it",
       checks)
    for words, rc in (("nvtx", 0), ("none", 0), ("cuda9", 2), ("nvtx,", 2), ("", 2)):
        r = aon(place, "run", "--no-report", "--probe", words, "--", "true")
        ok(r.returncode == rc, f"--probe '{words}'", r)


PROGRAM = """
import nvtx
with nvtx.annotate('outer'):
    for i in range(300):
        with nvtx.annotate('inner', domain='lib', category='cat', payload=i):
            pass
@nvtx.annotate('decorated', domain='lib')
def f(): pass
for i in range(50): f()
for i in range(20):
    nvtx.push_range('pushed', payload=0.5)
    nvtx.pop_range()
    nvtx.end_range(nvtx.start_range('started', domain='lib'))
nvtx.mark('point', payload=3)
"""


def python(place):
    if SANITIZED:
        skip("the Python package", "a sanitized library needs its runtime first in the process")
        return
    r = subprocess.run([sys.executable, "-c", "import nvtx"], capture_output=True,
                       env={**os.environ, "PYTHONPATH": PYPI})
    if r.returncode:
        skip("the Python package", "nvtx is not here: tools/setup check gets it from PyPI")
        return
    rep, rows, _ = record(place, sys.executable, "-c", PROGRAM, env={"PYTHONPATH": PYPI})
    ok(rows == {("range", "outer"): 1, ("range", "lib: inner"): 300, ("counter", "lib: inner"): 300,
                ("range", "lib: decorated"): 50, ("range", "pushed"): 20, ("counter", "pushed"): 20,
                ("span", "lib: started"): 20, ("mark", "point"): 1, ("mark", "lib: category cat"): 1},
       "the Python package nvtx: exact", rows)
    exact(rep, "Python")
    inner = [m for m in rep["marks"] if m["name"] == "lib: inner"]
    ok(inner and inner[0]["max_ns"] == 299, "its payloads have their values", inner)


TORCH = """
import torch
for i in range(50):
    with torch.cuda.nvtx.range('block'):
        torch.cuda.nvtx.mark('tick')
torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start('long'))
"""


def torch(place):
    """torch.cuda.nvtx is in the builds for CUDA only, and needs no driver."""
    found = torches(lambda why: skip("torch.cuda.nvtx", why))
    pypi = [python for _, python in found if "torch-venv" in python]
    if found and not pypi:
        skip("torch.cuda.nvtx", "no torch of PyPI: tools/setup check gets it")
    if not pypi:
        return
    rep, rows, _ = record(place, pypi[0], "-c", TORCH)
    ok(rows.get(("range", "block")) == 50 and rows.get(("mark", "tick")) == 50 and
       rows.get(("span", "long")) == 1, "torch.cuda.nvtx: every range and mark", rows)
    exact(rep, "torch")


with Place() as p:
    calls(p)
    load(p)
    texts(p)
    mixed(p)
    signals(p)
    chained(p)
    alone(p)
    guest(p)
    library(p)
    python(p)
    torch(p)
done()
