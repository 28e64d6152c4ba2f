#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""Counters of devices by PM sampling, on the stand-in GPU: what they say of each kernel is what the
kernel takes of the device; they are off unless asked for, and say why when they are missing."""
import json
import struct

from aontest import Daemon, Place, done, ok, wait_for, wait_joined
from clitest import aon
from cudatest import clean, events, note, run, said, start, stored

# What cuda_app's mode "phases" takes of an H100: SMs, compute, tensor cores, DRAM.
TAKES = {"gemm": (100, 70, 70, 20), "copy": (50, 2, 0, 80)}
NAMES = ("[pm] SMs active", "[pm] SM throughput", "[pm] tensor active", "[pm] DRAM throughput")


def samples(store):
    """{time: {name: percent}} of device 0."""
    at = {}
    for e in events(store, "counter"):
        if e["name"] in NAMES and e["device"] == 0:
            at.setdefault(e["start"], {})[e["name"]] = struct.unpack("<d", struct.pack("<Q", e["a"]))[0]
    return at


def inside(store, us):
    """Of each kernel's name, the samples that were wholly within runs of it."""
    kernels = sorted((e["start"], e["start"] + e["dur"], e["name"]) for e in events(store, "kernel"))
    found = {name: [] for name in TAKES}
    for t, v in sorted(samples(store).items()):
        for begin, end, name in kernels:
            if begin <= t and t + us * 1000 <= end:
                found[name].append(tuple(v.get(n) for n in NAMES))
                break
    return found


def values(level, device, us, text, sure=0.98, also=None, **extra):
    # Not all: the stand-in does not know of what was launched before it sampled.
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=400", "ns=5000000", "phases", level=level, SIM_DEVICE_TYPE=device,
                AON_COUNTERS=f"pm:{us}", **extra)
        lost = stored(d)["accounting"]["lost"]
        for name, got in inside(place.store, us).items():
            # The kernels are made for an H100; of another device they take something else.
            near = [v for v in got if None not in v and (device != "h100" or all(
                abs(a - b) < 0.5 for a, b in zip(v, TAKES[name])))]
            ok(clean(r) and not lost and len(got) > 20 and len(near) >= sure * len(got),
               f"{text}: samples within {name} are what it takes of the device",
               f"{r} {len(near)} of {len(got)} {got[:3]}")
        if also:
            also(place)


def verdicts(place):
    """The report lays samples over kernels, and judges by them what nothing else tells the work of."""
    r = aon(place, "report", place.store, "--by", "kernel", "--json")
    by = {k["name"]: k["measured"] for k in json.loads(r.stdout)["kernels"]}
    ok(all(abs(by[name][word] - want) < 3 for name, takes in TAKES.items()
           for word, want in zip(("sm_active", "sm", "tensor", "dram"), takes)) and
       all(m["how"] == "counter" and m["alone"] > 0.9 for m in by.values()),
       "the report: of each kernel the mean of what it took", by)
    text = aon(place, "report", place.store, "--by", "kernel").stdout.decode()
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    ok("compute" in rows["gemm"] and "memory" in rows["copy"] and "counter" in rows["gemm"],
       "and what limits it", text)


def few():
    """A device that can read two at a time."""
    with Place() as place, Daemon(place) as d:
        run(place, "launches=250", "ns=5000000", "phases", level="134", AON_COUNTERS="pm", SIM_PM_PER_PASS=2)
        stored(d)
        names = {n for v in samples(place.store).values() for n in v}
        ok(names == set(NAMES[:2]), "as many counters as the hardware reads at once", names)


def off():
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=100", "ns=5000000", "phases", level="134")
        stored(d)
        ok(clean(r) and not samples(place.store), "not asked for: no counters", r)
    for text, level, want, extra in (
            ("no permission", "134", "counters off: no permission", {"SIM_PM_ERROR": 35}),
            ("an older CUPTI", "124", "counters off: this libcupti has no PM sampling", {})):
        with Place() as place, Daemon(place) as d:
            p = start(place, "launches=100", "ns=5000000", "block=2", "phases", level=level,
                      AON_COUNTERS="pm", **extra)
            wait_joined(d, p.pid)
            ok(wait_for(lambda: want in note(d, p.pid), 20) and "cuda on" in note(d, p.pid),
               f"{text}: the reason is told", note(d, p.pid))
            r = said(p)
            kernels = sum(k["count"] for k in stored(d)["kernels"])
            ok(clean(r) and kernels == r["kernels"] and not samples(place.store),
               f"{text}: kernels are recorded as ever", f"{r} {kernels}")


def held():
    """Another tool has the counters, and lets them go."""
    with Place() as place, Daemon(place) as d:
        lock = place.path / "held"
        lock.touch()
        p = start(place, "launches=100000", "ns=5000000", "phases", level="134", AON_COUNTERS="pm",
                  SIM_PM_HELD=lock)
        wait_joined(d, p.pid)
        ok(wait_for(lambda: "counters waiting: another tool" in note(d, p.pid), 30), "held: it waits",
           note(d, p.pid))
        lock.unlink()
        ok(wait_for(lambda: "counters on" in note(d, p.pid), seconds=30), "free again: it samples",
           note(d, p.pid))
        p.kill()
        p.communicate()


values("134", "h100", 1000, "1 ms", also=verdicts)
values("126", "h100", 500, "CUPTI 12.6, 0.5 ms, another clock", sure=0.7, SIM_PM_CLOCK=1)
values("134", "a100", 1000, "no trigger by time, another metric")
few()
off()
held()
done()
