#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 long=yes
"""What other CUPTI tools stumble over, one test each, on the stand-in GPU: one subscriber, state
of the whole process, graphs, buffers that do not come back, names, forks, ends, two libraries."""
import os
import shutil
import subprocess
import time

from aontest import BUILD, Daemon, Place, balanced, done, find, ok, wait_for, wait_joined
from clitest import aon
from cudatest import (PROBE, clean, count, events, lost_by, no_python, note, rows, run, said, sim_env,
                      start, stored)


def cupti(level):
    return {"118": "libcupti.so.11.8"}.get(level, f"libcupti.so.{level[:2]}")


def identity(rep, text):
    a = rep["accounting"]
    ok(balanced(a) and a["emitted"], f"{text}: every record is accounted for", a)


# --- a single subscriber ---

def another_holds_it():
    """Error 39: say whose it is, leave CUPTI alone, mark the interval."""
    for level, name in (("129", ""), ("131", "nsys")):
        with Place() as place, Daemon(place) as d:
            p = start(place, "launches=500", "block=3", "storm", level=level, SIM_HOLDER="nsys")
            ok(wait_for(lambda: f"externally profiled{': ' + name if name else ''}" in note(d, p.pid)),
               f"CUPTI {level}: held by another tool: {note(d, p.pid)}", d.status())
            r = said(p)
            ok(clean(r) and r["kernels"] == 500, f"CUPTI {level}: the program is as it was", r)
            rep = stored(d)
            ranges = [x["name"] for x in rep["ranges"]]
            ok(any(n.startswith("externally profiled") for n in ranges) and not count(rep, "kernel"),
               f"CUPTI {level}: the interval is in the store", ranges)


def another_leaves():
    """Its tool was there first and leaves: aon resumes, and the interval has an end."""
    with Place() as place, Daemon(place) as d:
        out = place.path / "other"
        p = start(place, "rate=1000", "launches=10000000", "storm", AON_CUDA_CHAIN=find("cuda_other.so"),
                  OTHER_CUPTI=cupti("129"), OTHER_HOLD_MS=1000, OTHER_OUT=out)
        ok(wait_for(lambda: "externally" in note(d, p.pid)), "the injection that was set goes first",
           note(d, p.pid))
        ok(wait_for(lambda: note(d, p.pid).startswith("cuda on"), 20), "when it leaves, aon resumes",
           note(d, p.pid))
        ok(wait_for(lambda: count(stored(d), "kernel") > 200, 20), "and records")
        ok(out.read_text().splitlines() == ["called 0", "subscribe 0", "unsubscribe 0"],
           "the other tool met nothing unusual", out.read_text())
        ev = [e for e in events(place.store, "range") if e["name"].startswith("externally")]
        ok(ev and ev[0]["dur"] > 5e8, "the interval has its length", ev)
        p.kill()
        p.communicate()


def several_may():
    """13.3 and a driver that can, if it is asked for: both record, nobody yields."""
    with Place() as place, Daemon(place) as d:
        p = start(place, "rate=1000", "launches=10000000", "storm", level="133", AON_CUDA_MULTI=1)
        ok(wait_for(lambda: "beside other tools" in note(d, p.pid)), "13.3: several subscribers",
           note(d, p.pid))
        ok(wait_for(lambda: count(stored(d), "kernel") > 500), "13.3: with times, by the newer clock")
        p.kill()
        p.communicate()
        r = run(place, "launches=500", "storm", level="133", SIM_DRIVER_VERSION=13020, AON_CUDA_MULTI=1)
        ok(clean(r) and count(stored(d), "kernel") >= 500, "13.3 with an older driver: one subscriber", r)


def asked_for_room():
    """cuProfilerStart() says that a tool of the program's own comes: aon makes room until Stop."""
    code = ("import ctypes,time; c = ctypes.CDLL('libcuda.so.1'); x = ctypes.c_void_p();"
            "c.cuInit(0); c.cuDevicePrimaryCtxRetain(ctypes.byref(x), 0); c.cuCtxSetCurrent(x);"
            "time.sleep(1); print(c.cuProfilerStart(), flush=True); time.sleep(3);"
            "print(c.cuProfilerStop(), flush=True); time.sleep(60)")
    if no_python("cuProfilerStart()"):
        return
    with Place() as place, Daemon(place) as d:
        p = subprocess.Popen(["python3", "-c", code], env=sim_env(place), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        ok(p.stdout.readline().strip() == "0", "cuProfilerStart()")
        ok(wait_for(lambda: "asked for room" in note(d, p.pid), 20), "cuProfilerStart(): room is made",
           note(d, p.pid))
        p.stdout.readline()
        # Unsubscribed, aon cannot hear of the stop; it looks again after a while.
        ok(wait_for(lambda: note(d, p.pid).startswith("cuda on"), 30), "later it resumes",
           note(d, p.pid))
        p.kill()
        p.communicate()


def yields():
    """aon yield: another tool gets room for a while, then aon takes CUPTI again."""
    with Place() as place, Daemon(place) as d:
        p = start(place, "rate=2000", "launches=10000000", "storm")
        ok(wait_for(lambda: note(d, p.pid).startswith("cuda on"), 20), "before aon yield it records")
        r = aon(place, "yield", p.pid, 2)
        ok(r.returncode == 0 and str(p.pid) in r.stdout.decode(), "aon yield PID 2", r)
        ok(wait_for(lambda: "externally profiled: aon yield" in note(d, p.pid), 20), "room is made",
           note(d, p.pid))
        ok(wait_for(lambda: note(d, p.pid).startswith("cuda on"), 30), "and later it records again",
           note(d, p.pid))
        for args, rc in ((("yield",), 2), (("yield", "x"), 2), (("yield", p.pid, 0), 2),
                         (("yield", 99999999), 1)):
            r = aon(place, *args)
            ok(r.returncode == rc and r.stderr, f"aon {' '.join(map(str, args[:1] + args[2:]))}: exit {rc}", r)
        p.kill()
        p.communicate()
        names = {x["name"] for x in stored(d)["ranges"]}
        ok("externally profiled: aon yield" in names, "the interval is in the store", names)


# --- state of the whole process ---

def robbed():
    """A tool that never subscribes takes the buffers: noticed, marked, and no buffer of ours is its."""
    with Place() as place, Daemon(place) as d:
        out = place.path / "other"
        p = start(place, "rate=20000", "launches=10000000", "storm", AON_CUDA_CHAIN=find("cuda_other.so"),
                  OTHER_CUPTI=cupti("129"), OTHER_ROB_MS=1500, OTHER_OUT=out)
        ok(wait_for(lambda: "took the buffers" in note(d, p.pid), 30),
           "buffers taken by a tool that does not subscribe", note(d, p.pid))
        ok(p.poll() is None, "the program goes on")
        p.kill()
        p.communicate()


# --- kernels that wait for each other, graphs ---

def concurrent():
    """Never KIND_KERNEL: kernels of several streams still overlap."""
    with Place() as place, Daemon(place) as d:
        run(place, "launches=400", "streams=4", "ns=200000", "storm")
        ev = sorted(events((stored(d), place.store)[1], "kernel"), key=lambda e: e["start"])
        over = sum(a["start"] + a["dur"] > b["start"] for a, b in zip(ev, ev[1:]))
        ok(over > 50, f"kernels of four streams overlap: {over} of {len(ev)}", ev[:4])


def graph_levels():
    for policy in ("node", "graph", "template"):
        with Place() as place, Daemon(place) as d:
            r = run(place, "launches=64", "nodes=50", "graph", AON_CUDA_GRAPHS=policy)
            rep = stored(d)
            ok(clean(r) and count(rep, "kernel") + 50 * count(rep, "graph") == 64 * 50,
               f"{policy}: a level that is fixed when the graph is made loses no launch", rows(rep))
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=20", "nodes=50", "graph", AON_CUDA_GRAPHS="graph")
        rep = stored(d)
        ok(clean(r) and count(rep, "graph") == 20 and count(rep, "kernel") == 0,
           "graphs whole from the first launch, if it is asked for", rows(rep))
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=64", "nodes=50", "graph", level="133", AON_CUDA_MULTI=1)
        ok(clean(r) and count(stored(d), "kernel") == 64 * 50 and count(stored(d), "graph") == 0,
           "beside other tools the level of graphs is left alone: node by node", rows(stored(d)))


def graph_locks():
    """CUPTI holds a lock when it enables a kind, and when it tells that a graph is destroyed."""
    with Place() as place, Daemon(place) as d:
        p = start(place, "launches=60", "nodes=4", "threads=8", "regraph", AON_CUDA_GRAPHS="template")
        try:
            r = said(p, 60)
        except subprocess.TimeoutExpired:
            p.kill()
            r = {"rc": "hangs", "stderr": ""}
        ok(clean(r) and r["graphs"] == 2400, "8 threads make, launch and destroy graphs", r)
        identity(stored(d), "graphs of 8 threads")


# --- flushing ---

def unfinished():
    """A kernel that does not end holds back its own buffer, and no more than that."""
    with Place() as place, Daemon(place) as d:
        p = start(place, "launches=3000", "block=30", "hang")
        ok(wait_for(lambda: count(stored(d), "kernel") > 2700, 20),
           "beside a kernel that does not end nearly all others come", rows(stored(d)))
        p.terminate()
        p.communicate()


def idle_threads():
    """CUPTI's buffers by thread are turned off: a thread that sleeps holds nothing back."""
    with Place() as place, Daemon(place) as d:
        p = start(place, "launches=5", "threads=16", "block=30", "storm", level="123")
        ok(wait_for(lambda: count(stored(d), "kernel") == 80, 20), "16 threads that sleep", rows(stored(d)))
        p.kill()
        p.communicate()


def untimed():
    """No times (0) is 'seen, untimed', not an instant."""
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=100", "hang")
        rep = stored(d)
        ok(clean(r) and lost_by(rep) == {"untimed": 1} and count(rep, "kernel") == 100,
           "what was running at the end is counted as seen", lost_by(rep))
        identity(rep, "untimed")


def dropped():
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=3000", "storm", SIM_DROP=10)
        rep = stored(d)
        n = lost_by(rep).get("source", 0)
        ok(clean(r) and 250 < n < 350 and count(rep, "kernel") + n in range(3000, 3010),
           f"what CUPTI dropped is counted: {n}", f"{lost_by(rep)} {rows(rep)}")
        identity(rep, "dropped by CUPTI")


def shuffled():
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=5000", "streams=3", "storm", SIM_SHUFFLE=1)
        rep = stored(d)
        ok(clean(r) and count(rep, "kernel") == 5000 and not lost_by(rep), "buffers in any order", rows(rep))


# --- memory ---

def few_buffers():
    """When every buffer is lent, the small ones that nobody reads take the rest, and are counted."""
    for level in ("126", "129"):
        with Place() as place, Daemon(place) as d:
            r = run(place, "launches=20000", "ns=100000", "storm", level=level, AON_CUDA_KIB=64)
            rep = stored(d)
            by = lost_by(rep)
            total = count(rep, "kernel") + sum(by.values())
            ok(clean(r) and by.get("discarded", 0) > 1000 and total in range(20000, 20010),
               f"CUPTI {level}: 4 buffers, 20,000 launches ahead of the GPU: {by}", f"{r} {rows(rep)}")
            identity(rep, f"CUPTI {level}: discarded")


def device_buffers():
    """The device's buffers for times run out: kernels without times are an alarm, and CUPTI is opened anew."""
    with Place() as place, Daemon(place) as d:
        p = start(place, "launches=60000", "rate=10000", "block=30", "storm", SIM_DEVICE_RECORDS=20000)
        ok(wait_for(lambda: "without times" in note(d, p.pid), 30), "kernels without times are said", note(d, p.pid))
        ok(wait_for(lambda: count(stored(d), "kernel") > 35000, 30), "and end, because CUPTI is opened anew",
           f"{rows(stored(d))} {lost_by(stored(d))}")
        p.kill()
        p.communicate()
        identity(stored(d), "without times")


# --- names ---

def names():
    """Modules that come and go, and names at addresses that had others."""
    for extra in ({}, {"SIM_NAME_REUSE": 1}):
        with Place() as place, Daemon(place) as d:
            r = run(place, "launches=500", "reload", **extra)
            got = rows(stored(d), "kernels")
            ok(clean(r) and got == {("kernel", f"generation{i}"): 1 for i in range(500)},
               f"500 modules, one after the other {extra}", f"{len(got)} {list(got.items())[:5]}")


# --- clocks ---

def clocks():
    """CUPTI's clock is the wall's: a step of it moves nothing."""
    with Place() as place, Daemon(place) as d:
        before = time.monotonic_ns()
        run(place, "launches=8000", "rate=2000", "storm", SIM_STEP="3600000000000@1500")
        d.flush()
        ev = events(place.store, "kernel")
        ok(len(ev) == 8000 and all(before - 2e9 < e["start"] < time.monotonic_ns() + 2e9 for e in ev),
           "the wall clock steps by an hour: all kernels stay where they were",
           [e for e in ev if not before - 2e9 < e["start"] < time.monotonic_ns() + 2e9][:3])


def drift():
    """A device whose clock runs half as fast again, or half as fast: in order, and not in the future
    by more than the probe lets two clocks be apart (RUNAWAY_NS)."""
    apart = 1e8
    for ppm in (500000, -300000):
        with Place() as place, Daemon(place) as d:
            before = time.monotonic_ns()
            run(place, "launches=6000", "rate=2000", "storm", SIM_DRIFT_PPM=ppm)
            d.flush()
            ev = sorted(events(place.store, "kernel"), key=lambda e: e["corr"])
            ok(len(ev) == 6000 and all(before - 1e9 < e["start"] < time.monotonic_ns() + apart for e in ev) and
               {e["dur"] for e in ev} == {2000, 20000},
               f"a device's clock drifts by {ppm} ppm: kernels stay within the program's life",
               [e for e in ev if not before - 1e9 < e["start"] < time.monotonic_ns() + apart][:3])


def latency():
    with Place() as place, Daemon(place) as d:
        run(place, "launches=300", "storm", AON_CUDA_LATENCY=1)
        got = rows(stored(d), "calls")
        ok(got.get(("api", "cuda queued"), 0) == got.get(("api", "cuda submitted"), 1) == 300,
           "how long kernels waited, if it is asked for", got)


def hardware_events():
    """Only Blackwell has them, from 12.8 on: where they are refused, kernels are recorded as ever."""
    for level, gpu in (("118", "h100"), ("129", "h100"), ("129", "b200"), ("134", "b200")):
        with Place() as place, Daemon(place) as d:
            r = run(place, "launches=300", "storm", level=level, SIM_DEVICE_TYPE=gpu, AON_CUDA_HES=1)
            rep = stored(d)
            ok(clean(r) and count(rep, "kernel") == 300 and not lost_by(rep),
               f"hardware events asked of {gpu} with CUPTI {level}: every kernel is recorded", f"{r} {rows(rep)}")


# --- fork, exec, exit ---

def forks():
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=4000", "forks=8", "forks")
        rep = stored(d)
        ok(clean(r) and count(rep, "kernel") == 4000 and not lost_by(rep),
           "8 forks that exit(): the parent's records, once; no child hangs", f"{r} {rows(rep)}")


def again():
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=400", "exec")
        rep = stored(d)
        mine = [x["accounting"]["stored"] for x in rep["processes"]]
        ok(clean(r) and len(mine) == 2 and mine[-1] >= 400, "after exec() it starts anew",
           rep["processes"])


def leaving():
    with Place() as place, Daemon(place) as d:
        for _ in range(5):
            r = run(place, "launches=3000", "exit")
            ok(r["rc"] == 0 and not r["stderr"], "exit() with work under way", r)
        rep = stored(d)
        total = count(rep, "kernel") + lost_by(rep).get("untimed", 0) + lost_by(rep).get("discarded", 0)
        ok(total == 15000, "every launch is stored, or counted as untimed", f"{total} {lost_by(rep)}")
        identity(rep, "exit")


# --- launches by the driver's API, errors, ids ---

def driver_launches():
    """Programs that know no runtime, cuGraphLaunch() among them, leave their last-launch words."""
    with Place() as place, Daemon(place) as d:
        for mode in ("storm", "graph"):
            p = start(place, "launches=50", "nodes=10", "block=20", mode)
            wait_joined(d, p.pid)
            wait_for(lambda: count(stored(d), "kernel") > 0)
            maps = [m for m in (d.session(p.pid) or {}).items()]
            ok(p.poll() is None and maps, f"{mode}: by the driver's API", maps)
            p.kill()
            p.communicate()


def device_lost():
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=3000", "storm", SIM_LOST="0@1000")
        rep = stored(d)
        n = count(rep, "kernel") + lost_by(rep).get("untimed", 0)
        ok(r["rc"] == 0 and not r["stderr"] and r["error"] == 719 and n in (1000, 1001),
           "a device that is lost: what it did is there, the rest is counted",
           f"{r} {rows(rep)} {lost_by(rep)}")
        identity(rep, "device lost")


def one_library():
    """The libcupti that the process has is the one that is used: never a second one."""
    code = ("import ctypes,os,time; ctypes.CDLL(os.environ['FIRST']); c = ctypes.CDLL('libcuda.so.1');"
            "c.cuInit(0);"
            "print(sorted({l.split()[-1] for l in open('/proc/self/maps') if 'cupti' in l}))")
    with Place() as place, Daemon(place):
        first = BUILD / "tests" / "sim" / "118" / "libcupti.so.11.8"
        if not no_python("the one that the program had loaded"):
            r = subprocess.run(["python3", "-c", code], env=sim_env(place, "129", FIRST=first),
                               capture_output=True, text=True)
            ok(r.stdout.count("cupti") == 1 and ("-118" in r.stdout or "11.8" in r.stdout),
               "the one that the program had loaded", r)
        bare = place.path / "bare"
        bare.mkdir()
        shutil.copy(BUILD / "tests" / "sim" / "129" / "libcuda.so.1", bare)
        named = BUILD / "tests" / "sim" / "131" / "libcupti.so.13"
        r = run(place, "launches=200", "storm", LD_LIBRARY_PATH=bare, AON_CUPTI=named)
        ok(clean(r), "or the one that a setting names", r)


def the_right_library():
    """Of several, the one of the CUDA runtime's major version, where wheels put it."""
    sim = BUILD / "tests" / "sim"
    with Place() as place, Daemon(place) as d:
        def put(folder, *files):
            (place.path / folder).mkdir(parents=True, exist_ok=True)
            for f in files:
                shutil.copy(f, place.path / folder)
            return str(place.path / folder)
        bare = put("bare", sim / "129" / "libcuda.so.1")
        site = "py/lib/site-packages"
        runtime = put(f"{site}/nvidia/cuda_runtime/lib", sim / "129" / "libcudart.so.12")
        put(f"{site}/nvidia/cuda_cupti/lib", sim / "129" / "libcupti.so.12")
        newer = put("newer", sim / "134" / "libcupti.so.13")
        plugin = put(f"{site}/jax_plugins/xla_cuda12", find("cuda_other.so")) + "/cuda_other.so"

        def which(path, *args, **extra):
            p = start(place, "launches=200", "block=20", *args, "storm", LD_LIBRARY_PATH=path, **extra)
            text = wait_for(lambda: note(d, p.pid), 20) or ""
            p.kill()
            p.communicate()
            return text

        text = which(f"{bare}:{newer}:{runtime}", "runtime=1")
        ok(text.startswith("cuda on: CUPTI API 2"), f"a runtime of CUDA 12 beside a libcupti.so.13: {text}")
        text = which(f"{bare}", APP_PROFILER=plugin)
        ok(text.startswith("cuda on: CUPTI API 2"), f"no runtime, but a plugin among Python's packages: {text}")
        text = which(f"{bare}:{newer}:{runtime}", "runtime=1",
                     APP_PROFILER=f"{newer}/libcupti.so.13")
        ok("another major version" in text, f"the process has loaded a wrong one: {text}")


def two_probes():
    """Two copies of the probe in one process: everything is recorded once."""
    with Place() as place, Daemon(place) as d:
        for level in ("129", "133"):
            copy = place.path / "libaon-cuda.so"
            shutil.copy(PROBE, copy)
            lib = os.path.dirname(os.path.realpath(find("libaon.so")))
            before = count(stored(d), "kernel")
            r = run(place, "launches=1000", "storm", level=level, AON_CUDA_CHAIN=copy,
                    LD_LIBRARY_PATH=f"{BUILD}/tests/sim/{level}:{lib}")
            ok(clean(r) and count(stored(d), "kernel") == before + 1000,
               f"CUPTI {level}: two copies record once", rows(stored(d)))


def chain():
    with Place() as place, Daemon(place) as d:
        out = place.path / "other"
        r = run(place, "launches=300", "storm", AON_CUDA_CHAIN=find("cuda_other.so"), OTHER_OUT=out)
        ok(clean(r) and out.read_text() == "called 0\n" and count(stored(d), "kernel") == 300,
           "the injection that was set is called, too", r)
        for bad in ("/nonexistent.so", PROBE):
            r = run(place, "launches=300", "storm", AON_CUDA_CHAIN=bad)
            ok(clean(r), f"one that is no injection, or aon's own: {os.path.basename(bad)}", r)


def main():
    for case in (another_holds_it, another_leaves, several_may, asked_for_room, yields, robbed, concurrent,
                 graph_levels, graph_locks, unfinished, idle_threads, untimed, dropped, shuffled, few_buffers, device_buffers,
                 names, clocks, drift, latency, hardware_events, forks, again, leaving, driver_launches, device_lost, one_library, the_right_library,
                 two_probes, chain):
        case()
    done()


if __name__ == "__main__":
    main()
