#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 suite=threads parallel=no
"""The CUDA probe on the stand-in GPU: every kernel, copy, memset, synchronisation, allocation and
graph of a program is in the store, with every version of CUPTI; tiers, clocks, reasons."""
import os
import pathlib
import shutil
import subprocess
import time

from aontest import (BUILD, Daemon, Place, SANITIZED, app_env, done, find, ok, skip, wait_for,
                     wait_joined)
from clitest import aon, demangles
from cudatest import (LEVELS, PROBE, clean, count, events, no_python, note, rows, run, said,
                      start, stored)

MIX = 200
SMALL, BIG = (("small(float*, int)", "big(float*, float*, int)") if demangles() else
              ("_Z5smallPfi", "_Z3bigPfS_i"))


def exact(rep, text):
    a = rep.get("accounting", {})
    ok(a.get("emitted") and a["emitted"] == a["stored"] and not a["lost"] and not a["in_flight"],
       f"{text}: nothing is lost", a)


def every_version():
    """What a program says that it did is what the store has, from CUPTI 11.8 to 13.4."""
    for level in LEVELS if not SANITIZED else LEVELS[::4]:
        with Place() as place, Daemon(place) as d:
            r = run(place, f"launches={MIX}", "streams=2", "mix", level=level)
            rep = stored(d)
            got = rows(rep)
            n = {k: count(rep, k) for k in ("kernel", "copy", "memset", "sync", "alloc")}
            ok(clean(r) and n == {"kernel": r["kernels"], "copy": r["copies"],
                                  "memset": r["memsets"], "sync": r["syncs"],
                                  "alloc": r["allocs"] + MIX} and
               got.get(("copy", "Memcpy HtoD (Pinned -> Device)")) == MIX,
               f"CUPTI {level}: all kinds, to the record", f"{r}\n{got}")
            exact(rep, f"CUPTI {level}")
            bytes_ = sum(k["bytes"] for k in rep["kernels"] if k["kind"] == "copy")
            ok(bytes_ == r.get("copied"), f"CUPTI {level}: bytes copied", f"{bytes_} {r}")


def fields():
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=400", "streams=3", "devices=2", "threads=2", "storm",
                SIM_DEVICES=2, SIM_DEVICE_TYPE="a100,h100")
        rep = stored(d)
        ev = events(place.store, "kernel")
        exact(rep, "two devices")
        ok(clean(r) and {e["device"] for e in ev} == {0, 1} and
           len({(e["device"], e["context"], e["stream"]) for e in ev}) == 6,
           "two devices of three streams: six lanes", ev[:3])
        ok(len({e["corr"] for e in ev}) == len(ev) == 800, "each launch has a correlation of its own")
        ok({tuple(e["geo"]) for e in ev} ==
           {(1, 1, 1, 64, 1, 1), (2, 1, 1, 64, 1, 1), (3, 1, 1, 64, 1, 1), (512, 2, 1, 128, 2, 1)},
           "grids and blocks", {tuple(e["geo"]) for e in ev})
        ok({e["dur"] for e in ev if e["name"] == "_Z5smallPfi"} == {2000} and
           {e["dur"] for e in ev if e["name"] == "_Z3bigPfS_i"} == {20000}, "durations, to the ns",
           {(e["name"], e["dur"]) for e in ev})
        marks = " ".join(m["name"] for m in rep["marks"])
        ok("A100" in marks and "H100" in marks and "GPU-" in marks, "what the devices are", marks)
        now = time.monotonic_ns()
        ok(all(now - 60e9 < e["start"] < now for e in ev), "times are of the host's clock",
           (now, ev[0]))


def graphs():
    """By template: looked at by node a few times, then whole; the report has every kernel."""
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=200", "nodes=100", "graph", AON_CUDA_GRAPHS="template", SIM_STRICT=0)
        rep = stored(d)
        a = rep["accounting"]
        k = rows(rep, "kernels")
        ok(clean(r) and k == {("kernel", SMALL): 17600, ("kernel", BIG): 2400},
           "a graph of 100 nodes, 200 times: 20,000 kernels in the report", k)
        ok(a["emitted"] < 1000 and not a["lost"], "from less than 1,000 records", a)
        whole = {x["name"]: x["total_ns"] for x in rep["kernels"]}
        ok(whole == {SMALL: 17600 * 2000, BIG: 2400 * 20000}, "their time, too", whole)
    with Place() as place, Daemon(place) as d:
        run(place, "launches=50", "nodes=100", "graph")
        rep = stored(d)
        ok(count(rep, "kernel") == 5000 and count(rep, "graph") == 0, "node by node, unless it is asked for",
           rows(rep))
        ev = events(place.store, "kernel")
        ok(len({e["b"] for e in ev}) == 100 and len({e["b"] >> 32 for e in ev}) == 1 and
           len({e["corr"] for e in ev}) == 50, "each node by its number, each launch by its correlation",
           ev[:2])


def runtime():
    """Launches by libcudart: the driver's call is inside of the runtime's. Each counts once."""
    with Place() as place, Daemon(place) as d:
        r = run(place, "launches=1000", "runtime=1", "storm")
        ok(clean(r) and count(stored(d), "kernel") == 1000, "by the runtime: every kernel",
           rows(stored(d)))
        r = run(place, "launches=64", "nodes=10", "runtime=1", "graph", AON_CUDA_GRAPHS="template",
                SIM_STRICT=0)
        ok(clean(r) and count(stored(d), "kernel") == 1640 and
           sum(e["kind"] == "kernel" for e in events(place.store)) == 1000 + 4 * 10,
           "graphs by template: launches 0, 1, 4 and 16 by node", rows(stored(d)))


def tiers():
    with Place() as place, Daemon(place, {"tier": "flight"}) as d:
        p = start(place, "rate=2000", "launches=10000000", "storm")
        wait_joined(d, p.pid)
        ok(wait_for(lambda: count(stored(d), "kernel") > 500), "flight: kernels", note(d, p.pid))
        ok(note(d, p.pid).startswith("cuda on"), "aon ps says that it is on", note(d, p.pid))
        ok(count(stored(d), "api") == 0, "no calls below the tier full")
        d.ask(f"tier {p.pid} full")
        ok(wait_for(lambda: count(stored(d), "api") > 500), "full: calls, too", rows(stored(d)))
        api = events(place.store, "api")
        ok({"cuLaunchKernel"} <= {e["name"] for e in api} and
           {e["corr"] for e in api} & {e["corr"] for e in events(place.store, "kernel")},
           "calls by name, and with the correlation of their kernels", api[:2])
        d.ask(f"tier {p.pid} heartbeat")
        ok(wait_for(lambda: "not wanted" in note(d, p.pid)), "heartbeat: it lets CUPTI go", note(d, p.pid))
        d.flush()
        before = count(stored(d), "kernel")
        time.sleep(1.5)
        ok(count(stored(d), "kernel") == before, "and nothing more comes")
        d.ask(f"tier {p.pid} flight")
        ok(wait_for(lambda: count(stored(d), "kernel") > before + 500), "flight again: kernels again")
        p.kill()
        p.communicate()


def in_time():
    """A few launches, then silence: they are in the store while the program still sleeps."""
    with Place() as place, Daemon(place) as d:
        p = start(place, "launches=10", "block=60", "threads=3", "storm")
        ok(wait_for(lambda: count(stored(d), "kernel") == 30, 20),
           "what idle threads launched is stored without their help", rows(stored(d)))
        p.kill()
        p.communicate()


def late_daemon():
    with Place() as place:
        p = start(place, "rate=2000", "launches=10000000", "storm")
        time.sleep(1)
        with Daemon(place) as d:
            ok(wait_for(lambda: count(stored(d), "kernel") > 500, 20), "a daemon that comes later",
               note(d, p.pid))
            d.kill()
            d.start()
            ok(wait_for(lambda: note(d, p.pid).startswith("cuda on"), 20),
               "another daemon is told how the probe is", d.status().get("sessions"))
            before = count(stored(d), "kernel")
            ok(wait_for(lambda: count(stored(d), "kernel") > before + 500, 20), "and gets records")
        p.kill()
        p.communicate()


def alone():
    """No daemon, or turned off: the program's own answers, and nothing else."""
    with Place() as place:
        for extra in ({}, {"AON_OFF": "1"}):
            r = run(place, "launches=3000", "mix", **extra)
            ok(clean(r) and r["kernels"] == 3000, f"no daemon {extra}: the program is as it was", r)


REASONS = (({"SIM_SUBSCRIBE_ERROR": 35}, "no permission"), ({"SIM_SUBSCRIBE_ERROR": 33}, "virtual GPU"),
           ({"SIM_SUBSCRIBE_ERROR": 41}, "confidential"), ({"SIM_SUBSCRIBE_ERROR": 43}, "MIG"),
           ({"SIM_SUBSCRIBE_ERROR": 15}, "newer than the driver"),
           ({"SIM_SUBSCRIBE_ERROR": 999}, "no usable driver"), ({"SIM_ENABLE_ERROR": "10:27"}, "kernels"))


def reasons():
    """Whatever CUPTI says no to, the program runs, and aon ps and the store say why."""
    with Place() as place, Daemon(place) as d:
        for extra, word in REASONS:
            p = start(place, "launches=300", "block=60", "storm", **extra)
            text = wait_for(lambda: note(d, p.pid), 30)
            ok(text.startswith("cuda off: ") and word in text, f"{extra}: {text}", d.status())
            d.flush()
            ps = aon(place, "ps", "--all", "--wide", "--store", place.store).stdout.decode()
            ok("cuda off: " in ps, f"{extra}: aon ps says so", ps)
            p.kill()
            p.communicate()
            r = run(place, "launches=300", "storm", **extra)
            ok(clean(r) and r["kernels"] == 300, f"{extra}: the program is as it was", r)
        bare = place.path / "bare"
        bare.mkdir()
        shutil.copy(BUILD / "tests" / "sim" / "129" / "libcuda.so.1", bare)
        p = start(place, "launches=300", "block=2", "storm", LD_LIBRARY_PATH=bare)
        ok(wait_for(lambda: "no libcupti" in note(d, p.pid)), "no libcupti", d.status())
        r = said(p)
        ok(clean(r), "no libcupti: the program is as it was", r)
        r = run(place, "launches=300", "storm", SIM_DEVICES=0)
        ok(r["rc"] == 0 and not r["stderr"] and r["error"] == 100, "no GPU: the driver's own answer", r)


def real_cupti():
    """NVIDIA's own libcupti, without a driver: not a call of it, and a reason."""
    pypi = pathlib.Path(os.environ.get("AON_PYPI", ""))
    found = sorted(pypi.parent.glob("cuda/*/lib/libcupti.so.*")) if pypi.name else []
    if no_python("NVIDIA's own libcupti"):
        return
    if not found:
        skip("NVIDIA's own libcupti", "tools/setup check could not get it")
        return
    code = ("import ctypes, sys, time; ctypes.CDLL(sys.argv[1]); p = ctypes.CDLL(sys.argv[2]);"
            "print(p.InitializeInjection(), flush=True); time.sleep(30)")
    with Place() as place, Daemon(place) as d:
        for lib in found:
            p = subprocess.Popen(["python3", "-c", code, str(lib), PROBE], text=True,
                                 env=app_env(place, AON_JOIN_MS=1000), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            answer = p.stdout.readline().strip()
            ok(answer == "1" and wait_for(lambda: "no CUDA driver" in note(d, p.pid)),
               f"CUPTI {lib.parts[-3]}: {note(d, p.pid)}", d.status())
            p.kill()
            p.communicate()


def doctor():
    with Place() as place:
        r = aon(place, "doctor").stdout.decode()
        ok("libaon-cuda.so" in r, "aon doctor names the probe", r)


def main():
    for case in (every_version, fields, graphs, runtime, tiers, in_time, late_daemon, alone, reasons,
                 real_cupti, doctor):
        case()
    done()


if __name__ == "__main__":
    main()
