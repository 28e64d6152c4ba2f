#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 suite=threads
"""NCCL's side of its profiler interface, versions 1 to 6, played to libaon-nccl.so: every
operation is in the store with its name, bytes, sequence, communicator and times; the mask follows
the tier; handles that are stale, foreign or none hurt nobody; without a daemon nothing changes."""
import json
import os
import struct
import subprocess

from aontest import (SANITIZED, Daemon, Place, accounts, app_env, balanced, done, find, ok, report,
                     wait_for)
from clitest import aon, env_for

APP, DUMP = find("nccl_app"), find("store_dump")
LIB = os.path.realpath(find("libaon-nccl.so"))
VERSIONS = range(1, 7)
GROUP, COLL, P2P, PROXY_OP, PROXY_STEP, KERNEL_CH = (1 << i for i in range(6 + 1) if i != 5)
HASH = 0xabcd000000000001
CALLS, CE = 0xf00, 1 << 12
EXTRA = {"AON_NCCL_EVENTS": "kernel"}


def told(text):
    lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    return lines[:-1], lines[-1] if lines else {}


def dump(store):
    out = subprocess.run([DUMP, store], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def record(place, *argv, env=None):
    """A play under `aon run`: what it told, its end, the store's events, the report."""
    out = place.path / "run.db"
    for f in place.path.glob("run.db*"):
        f.unlink()
    r = aon(place, "run", "--no-report", "--probe", "nccl", "-o", out, "--", APP, *argv,
            env=env or {})
    ops, end = told(r.stdout.decode())
    ok(r.returncode == 0 and end.get("faults") == 0 and not r.stderr.strip(),
       f"{' '.join(map(str, argv))}: every call succeeds, nothing is said", r)
    return ops, end, dump(out) if out.exists() else [], report(out, "--all") if out.exists() else {}


def exact(rep, text):
    a = rep.get("accounting", {})
    ok(a.get("emitted") and a["emitted"] == a["stored"] and not a["lost"], f"{text}: nothing is lost", a)


# A GPU's clock is known from when a thread looked at it: never too early, but late as long as that
# thread was not let run.
LATE_NS = 100_000_000


def same_ops(ops, events, text, times):
    """Field by field: name, bytes, sequence, communicator; times where NCCL told them."""
    key = lambda o: (o["name"], o["bytes"], o["seq"], o["hash"])
    seen = lambda e: (e["name"], e["a"], e["b"], e["stream"])
    got = [e for e in events if e["kind"] == "collective" and e["lane"].startswith("NCCL")]
    want = sorted(map(key, ops))
    ok(want and sorted(map(seen, got)) == want, f"{text}: name, bytes, sequence, communicator",
       f"missing {set(want) - set(map(seen, got))}\nmore {set(map(seen, got)) - set(want)}")
    left = {}
    for e in got:
        left.setdefault(seen(e), []).append(e)
    wrong = []
    for o in ops:
        e = left.get(key(o), [{}]).pop(0)
        if not e or not o["from"] <= e["start"] <= e["start"] + e["dur"] <= o["to"] + LATE_NS:
            wrong.append((o, e))
        elif times and e["dur"] != o["dur"]:
            wrong.append((o, e))
    ok(not wrong, f"{text}: times", wrong[:3])
    return got


def versions(place):
    for v in VERSIONS:
        ops, end, events, rep = record(place, v, "ops", 3)
        want = COLL | P2P | (CE if v >= 6 else 0)
        ok(end.get("mask") == want, f"v{v}: flight asks for collectives and p2p alone", end)
        got = same_ops(ops, events, f"v{v}", True)
        exact(rep, f"v{v}")
        lanes = {e["lane"] for e in got}
        ok(lanes == ({"NCCL"} if v < 4 else {"NCCL c1 1/8"}), f"v{v}: a lane a communicator", lanes)
        ok(len(events) == len(got), f"v{v}: and no other event", [e for e in events if e not in got])


def kernels(place):
    """Asked for, the kernel's channels give the time: the least start to the last end."""
    for v in VERSIONS:
        ops, end, events, rep = record(place, v, "ops", 3, env=EXTRA)
        ok(bool(end.get("mask", 0) & KERNEL_CH) == (v >= 3), f"v{v}: GPU times when asked for", end)
        got = same_ops(ops, events, f"v{v} with kernels", v != 3)
        ce = [e for e in got if " CE " in e["name"]]
        ok(v < 3 or all(e["dur"] > 0 for e in got if e not in ce),
           f"v{v}: every kernel has a duration", [e for e in got if not e["dur"]])
        exact(rep, f"v{v} with kernels")


def many(place):
    n, rounds = (8, 2) if SANITIZED else (32, 5)
    for v in (1, 6):
        ops, end, events, rep = record(place, v, "comms", n, rounds, env=EXTRA)
        got = same_ops(ops, events, f"v{v}, {n} communicators at once", v >= 4)
        exact(rep, f"v{v}, {n} communicators at once")
        ok({e["stream"] for e in got} == {o["hash"] for o in ops} and
           len({e["stream"] for e in got}) == n, f"v{v}: {n} lanes", end)
    ops, end, events, rep = record(place, 6, "cycle", 64)
    ok(end.get("loads") == 64, "64 times from dlopen to dlclose", end)
    same_ops(ops, events, "64 times from dlopen to dlclose", True)
    exact(rep, "64 times from dlopen to dlclose")


def bounds(place):
    ops, end, events, rep = record(place, 6, "exhaust", 6000)
    given = ops[0]["given"] if ops else 0
    got = [e for e in events if e["kind"] == "collective"]
    ok(0 < given < 6000 and len(got) == given + 2, "a full pool gives no handle, and heals",
       f"{given} given, {len(got)} stored")
    a = rep.get("accounting", {})
    ok(a.get("lost") == a.get("lost_by", {}).get("discarded") == 6000 - given,
       "and counts what it did not take", a)
    ops, end, events, rep = record(place, 5, "comms", 1100, 1) if not SANITIZED else ([], {}, [], {})
    if not SANITIZED:
        exact(rep, "1,100 threads with a communicator each, one after another's end")
    for v in VERSIONS:
        _, _, events, rep = record(place, v, "hostile", env=EXTRA)
        a = rep.get("accounting", {})
        ok(a.get("emitted") == a.get("stored") + a.get("lost_by", {}).get("discarded", 0) and
           any(e["name"] == "AllGather f32 TREE SIMPLE" for e in events),
           f"v{v}: stale, foreign and wrong handles; what was under way at the end is kept", events)


def forks(place):
    ops, end, events, rep = record(place, 6, "fork", 3)
    got = [e for e in events if e["kind"] == "collective"]
    ok(len(rep.get("processes", [])) == 2 and len(ops) == 6 * 7 and 8 * 7 <= len(got) <= 9 * 7,
       "a fork has its own account", f"{len(ops)} {len(got)} {rep.get('processes')}")


def heartbeats(pid):
    """(sequence, communicator) of the last collective, in every pool that aond holds."""
    words = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        try:
            if "memfd:aon-pool" in os.readlink(path):
                with open(path, "rb") as f:
                    words.append(struct.unpack_from("<2Q", f.read(448), 384 + 32))
        except FileNotFoundError:  # aond has closed it since the folder was read
            continue
    return words


def tiers(place):
    """The mask is NCCL's own word: it follows the gate at the next operation."""
    with Daemon(place, sets={"tier": "flight"}) as d:
        p = subprocess.Popen([APP, "6", "mask"], env=app_env(place, NCCL_PROFILER_PLUGIN=LIB,
                             AON_JOIN_MS=1000), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)

        def op():
            p.stdin.write("\n")
            p.stdin.flush()
            return json.loads(p.stdout.readline())

        first = op()
        ok(first["mask"] == COLL | P2P | CE, "flight", first)
        d.ask(f"tier {p.pid} full")
        full = GROUP | COLL | P2P | PROXY_OP | PROXY_STEP | KERNEL_CH | CALLS | CE
        ok(wait_for(lambda: op()["mask"] == full), "full: everything, without a restart")
        op()
        d.flush()  # what waits when a tier goes down is counted, not kept
        d.ask(f"tier {p.pid} heartbeat")
        last = wait_for(lambda: (o := op())["mask"] == COLL | P2P | CE and o)
        ok(last, "heartbeat: back to collectives alone")
        last = op()
        words = heartbeats(d.pid)
        ok((last["seq"], HASH) in words, "heartbeat: the last collective's words", (last, words))
        d.ask(f"tier {p.pid} off")
        ok(op()["mask"] == COLL | P2P | CE, "off: the next tier is seen at an operation")
        p.stdin.close()
        p.wait(30)
        d.stop()
    events = dump(place.store)
    names = {(e["kind"], e["name"]) for e in events}
    want = {("api", "NCCL group"), ("api", "ncclGroup"), ("api", "NCCL kernel launch"),
            ("collective", "NCCL proxy send"), ("collective", "NCCL proxy step"),
            ("collective", "AllReduce bf16 RING LL")}
    ok(want <= names and {("api", "ncclAllReduce"), ("api", "ncclAllReduce (captured)")} & names,
       "full: groups, calls, launches, proxies and their steps", names)
    send = [e for e in events if e["name"] == "NCCL proxy send"]
    step = [e for e in events if e["name"] == "NCCL proxy step"]
    ok(send and all(e["a"] == 8192 for e in send) and len(step) == 2 * len(send) and
       all(e["a"] == 512 for e in step), "proxies have their bytes", (send[:1], step[:1]))
    seqs = {e["b"] for e in events if e["name"] == "AllReduce bf16 RING LL"}
    ok({e["b"] for e in send} <= seqs, "and their collective's sequence", (send[:3], seqs))
    ok(all(map(balanced, accounts(place.store))), "accounts add up", accounts(place.store))


def alone(place):
    """No daemon, or turned off: nothing is printed, every call succeeds."""
    for extra in ({}, {"AON_OFF": "1"}):
        for v in VERSIONS:
            r = subprocess.run([APP, str(v), "comms", "4", "20"], capture_output=True, text=True,
                               env=app_env(place, NCCL_PROFILER_PLUGIN=LIB, **extra))
            ok(r.returncode == 0 and not r.stderr, f"no daemon {extra}: v{v}", r)


def kept(place):
    """What the user had set stays, and is said."""
    show = ("run", "--no-report", "--probe", "nccl", "--", "/bin/sh", "-c",
            "echo $NCCL_PROFILER_PLUGIN")
    for had, want, said in ((None, LIB, False), ("none", "none", True), ("inspector", "inspector", True),
                            (LIB, LIB, False)):
        r = aon(place, *show, env={"NCCL_PROFILER_PLUGIN": had} if had else {})
        ok(r.stdout.decode().strip() == want and (b"stays so" in r.stderr) == said and
           r.returncode == 0, f"NCCL_PROFILER_PLUGIN={had}", r)
    for had, want in ((None, "ok"), ("inspector", "off")):
        checks = json.loads(aon(place, "doctor", "--json",
                                env={"NCCL_PROFILER_PLUGIN": had} if had else {}).stdout)["checks"]
        ok([c["status"] for c in checks if c["id"] == "probe_nccl"] == [want],
           f"aon doctor with NCCL_PROFILER_PLUGIN={had}", checks)


with Place() as p:
    versions(p)
    kernels(p)
    many(p)
    bounds(p)
    forks(p)
    alone(p)
    kept(p)
with Place() as p:
    tiers(p)
done()
