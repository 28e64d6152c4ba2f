#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120 suite=threads
"""Counters of single kernels by CUPTI's range profiler, on the stand-in GPU: only in a capture that asks
for them, so many and no more, each the kernel's own; with a reason where they are missing."""
import json
import struct

from aontest import Daemon, Place, done, ok, wait_for, wait_joined
from clitest import aon
from cudatest import events, note, start, stored

# What cuda_app's mode "phases" takes of an H100: SMs, compute, tensor cores, DRAM.
TAKES = {"gemm": (100, 70, 70, 20), "copy": (50, 2, 0, 80)}
PM = ("sm_active", "sm", "tensor", "dram")
NS = 1000000


def values(store):
    """{(kernel, word): [values]} of the lanes of ranges."""
    got = {}
    for e in events(store, "counter"):
        if e.get("lane", "").startswith("[range] "):
            got.setdefault((e["name"], e["lane"][8:]), []).append(struct.unpack("<d", struct.pack("<Q", e["a"]))[0])
    return got


def program(place, d, asked, *args, level="134", **extra):
    p = start(place, *(args or ("launches=100000", f"ns={NS}", "phases")), level=level, SIM_DEVICE_TYPE="h100",
              AON_COUNTERS=asked, **extra)
    wait_joined(d, p.pid)
    return p


def end(p):
    p.kill()
    p.communicate()


def captured():
    with Place() as place, Daemon(place) as d:
        p = program(place, d, "ranges:30")
        ok(wait_for(lambda: "counters waiting: for a capture" in note(d, p.pid), 30) and not values(place.store),
           "no capture: nothing is asked of the hardware", note(d, p.pid))
        d.ask(f"tier {p.pid} full")
        ok(wait_for(lambda: "counters on: ranges" in note(d, p.pid), 30), "a capture: kernels are read", note(d, p.pid))
        stored(d)
        got = values(place.store)
        ok(sum(len(v) for (_, word), v in got.items() if word == "sm") == 30, "as many as were asked for", got.keys())
        off = [(k, word, v) for (k, word), all_ in got.items() if word in PM for v in all_
               if abs(v - TAKES[k][PM.index(word)]) > 0.5]
        ok(len({k for k, _ in got}) == 2 and not off, "each value is that of its own kernel", off[:3])
        dram = {k: got[k, "dram_bytes"] for k in TAKES}
        ok(all(abs(v / (TAKES[k][3] / 100 * 3352e9 * NS / 1e9) - 1) < 0.02 for k, all_ in dram.items() for v in all_),
           "with the bytes of DRAM", dram)
        d.ask(f"tier {p.pid} flight")
        wait_for(lambda: "counters waiting: for a capture" in note(d, p.pid), 30)
        d.ask(f"tier {p.pid} full")
        again = wait_for(lambda: (stored(d), sum(len(v) for (_, w), v in values(place.store).items() if w == "sm"))[1] == 60, 30)
        ok(again, "the next capture reads as many again")
        end(p)
        stored(d)
        ok(sum(len(v) for (_, w), v in values(place.store).items() if w == "sm") == 60, "and no more of each")
        verdicts(place)


def verdicts(place):
    k = {k["name"]: k for k in json.loads(aon(place, "roofline", "--json", place.store).stdout)["roofline"]["kernels"]}
    ok(k["gemm"]["how"] == k["copy"]["how"] == "counter" and k["gemm"]["limit"] == "compute" and k["copy"]["limit"] == "memory",
       "what limits a kernel is judged by its counters", {n: (x["how"], x["limit"]) for n, x in k.items()})
    ok(abs(k["copy"]["bytes"] / (0.8 * 3352e9 * NS / 1e9) - 1) < 0.02 and abs(k["copy"]["fraction"] - 0.8) < 0.02,
       "its bytes are what DRAM moved", k["copy"])
    m = {k["name"]: k["measured"] for k in json.loads(aon(place, "report", "--by", "kernel", "--json", place.store).stdout)["kernels"]}
    ok(m["gemm"]["ranges"] + m["copy"]["ranges"] == 60 and m["gemm"]["alone"] == 1, "the report says of how many calls", m)


def refused():
    for text, level, asked, want, extra in (
            ("no permission", "134", "ranges", "counters off: no permission", {"SIM_PM_ERROR": 35}),
            ("an older CUPTI", "124", "ranges", "counters off: this libcupti has no range profiler", {}),
            ("no callbacks", "134", "ranges", "counters off: ranges need callbacks", {"AON_CUDA_PULSE": 0}),
            ("ranges that nobody launched", "134", "ranges:8", "counters off: ranges and launches differ", {"SIM_RANGE_TWICE": 1})):
        with Place() as place, Daemon(place) as d:
            p = program(place, d, asked, level=level, **extra)
            d.ask(f"tier {p.pid} full")
            ok(wait_for(lambda: want in note(d, p.pid), 30), f"{text}: the reason is told", note(d, p.pid))
            kernels = sum(k["count"] for k in stored(d)["kernels"])
            more = wait_for(lambda: sum(k["count"] for k in stored(d)["kernels"]) > kernels + 100, 30)
            ok(more and not values(place.store), f"{text}: kernels are recorded as ever, and no values", kernels)
            end(p)


def shared():
    """Two threads launch on one context."""
    with Place() as place, Daemon(place) as d:
        p = program(place, d, "ranges:512", "threads=2", "launches=20000", "rate=100", "storm")
        d.ask(f"tier {p.pid} full")
        ok(wait_for(lambda: "counters off: several threads" in note(d, p.pid), 30), "several threads: nothing is said", note(d, p.pid))
        end(p)
        stored(d)
        ok(not values(place.store), "and no value stored", values(place.store).keys())


def held():
    """Another tool has the counters, and lets them go."""
    with Place() as place, Daemon(place) as d:
        lock = place.path / "held"
        lock.touch()
        p = program(place, d, "ranges:5", SIM_PM_HELD=lock)
        d.ask(f"tier {p.pid} full")
        ok(wait_for(lambda: "counters waiting: another tool" in note(d, p.pid), 30), "held: it waits", note(d, p.pid))
        lock.unlink()
        ok(wait_for(lambda: "counters on" in note(d, p.pid), 30), "free again: kernels are read", note(d, p.pid))
        end(p)


captured()
refused()
shared()
held()
done()
