# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""The same program recorded whole and at a lower fidelity level: totals are the same, within what they say of their error."""
import json
import time
from concurrent.futures import ThreadPoolExecutor

from aontest import Daemon, Place, aon, app, balanced, done, emitted, ok, report, skip, wait_for

ARGS = ("-s", 1, "-N", 3000, "-x", 0, "-n", 0, "-b", 1500, "-p", 1600, "-e", 3, "-k")
SOME = {"measure": "on", "measure_after_s": 0, "max_slowdown": 0}


def record(sets):
    """What the store says of one run: rows by name, the process, the report's text."""
    with Place() as p, Daemon(p, sets) as d:
        begin = time.monotonic()
        proc = app(p, "app_cost", *ARGS)
        said = emitted(proc)
        said["took_s"] = time.monotonic() - begin
        wait_for(lambda: not d.session(proc.pid))
        d.flush()
        got = report(p.store)
        rows = {r["name"]: r for r in got["kernels"] + got["marks"]}
        texts = [aon("report", p.store, *by).stdout for by in ((), ("--by", "class"), ("--by", "stream"))]
        why = [aon("why", p.store).stdout, json.loads(aon("why", p.store, "--json").stdout), aon("report", p.store, "--by", "step").stdout]
        return said, rows, {**got["processes"][0], "why": why}, *texts


def span_s(text):
    """Of the one stream: how long it was looked at."""
    unit = text.splitlines()[1].split()[0]
    row = next(x for x in text.splitlines() if "stream 7" in x).split("stream 7")[1].split()
    return float(row[0]) * {"s": 1, "ms": 1e-3}[unit]


def record_slots():
    """A program without steps: slots of time are left out."""
    try:
        from cudatest import clean, run
    except SystemExit:
        return None
    with Place() as p, Daemon(p, {**SOME, "fidelity": "half"}) as d:
        r = run(p, "launches=9000", "rate=900", "storm")
        wait_for(lambda: not d.status().get("sessions"))
        d.flush()
        return r, clean(r), report(p.store), aon("report", p.store).stdout


def record_cuda():
    try:
        from cudatest import clean, events, run
    except SystemExit:
        return None
    with Place() as p, Daemon(p, {**SOME, "fidelity": "half"}) as d:
        r = run(p, "launches=6000", "rate=700", "steps")
        wait_for(lambda: not d.status().get("sessions"))
        d.flush()
        return r, clean(r), report(p.store), len(events(p.store, "kernel"))


def whole(said, rows, proc, text, classes, streams):
    ok(rows["gemm"]["count"] == said["steps"] and "total_error_ns" not in rows["gemm"] and "+-" not in text,
       "recorded whole, every kernel is counted and nothing is estimated", rows)
    j = proc["why"][1]
    ok(j["recorded_steps"] == j["of_steps"] > 0 and "that were recorded" not in proc["why"][0], "and aon why is of all steps", proc["why"][0][:300])


def lower(level, full, said, some, proc, text, classes, streams):
    all_of_it = full[1]
    o = proc["overhead"]
    left = o["left_out"] / o["steps"]
    # From the moment on at which aond sees to it, which on a busy machine may be late.
    ok(o["left_out"] > 20 and o["fidelity"] == level, f"at {level} steps are unsampled: {100 * left:.0f} %", o)
    ok(balanced(proc["accounting"]), "every record is accounted for", proc["accounting"])
    ok(f"  {o['left_out']:,} of {o['steps']:,} steps were skipped" in text, "sums know all unsampled steps, also if the first "
       "measured ones are", f"{o}\n{text}")
    for name, slack in (("gemm", 0.1), ("rare", 0.35)):
        a, b, sure = all_of_it[name]["total_ns"], some[name]["total_ns"], some[name]["total_error_ns"]
        # More than the 95 % interval: which steps are left out is chance, and a test has no luck. Without
        # weights it would be off by what was left out; unit `sampled` says how often intervals hold.
        ok(abs(b - a) <= 3 * sure + slack * a,
           f"{name}: {b / a:.3f} of the total, said to be +-{sure / a:.3f}", (all_of_it[name], some[name]))
        ok(0 < sure, f"{name}: the error is told", some[name])
    ok(abs(some["gemm"]["count"] / said["steps"] - 1) < 0.15, "counts are of all steps, too",
       (some["gemm"], said["steps"]))
    ok(abs(some["mark"]["count"] / (3 * said["steps"]) - 1) < 0.15, "and so are those of marks", some["mark"])
    ok("+-" in classes and "skipped at random" in classes, "classes have theirs, too", classes)
    # Steps of a loaded machine differ in length: most of the time that was left out is enough.
    ok(span_s(streams) < said["took_s"] * (1 - 0.4 * left), "and what was not seen is not idle", (streams, said["took_s"]))
    why, said_json, steps = proc["why"]
    n, of = said_json["recorded_steps"], said_json["of_steps"]
    ok(of == o["steps"] and abs(of - n - o["left_out"]) <= 1 and f"of the {n:,} of {of:,} steps that were recorded" in why,
       f"aon why is of the {n} of {of} steps that were recorded, and says so", (why[:300], o))
    ok("steps that were recorded" in steps, "and so does a table of steps", steps[-300:])
    ok("+-" in text and "skipped at random" in text, "the report says what was left out, and how sure it is", text)


def cuda(got):
    """CUPTI tells of every kernel; those of steps that are left out go no further."""
    if not got:
        skip("kernels of CUDA", "no stand-in GPU in this build")
        return
    r, clean, rep, held = got
    o = rep["processes"][0]["overhead"]
    on = r["kernels"] * (1 - o["left_out"] / o["steps"])
    ok(clean and o["left_out"] > 20, "a CUDA program runs at a lower fidelity level", (r, o))
    ok(abs(held - on) < 0.05 * r["kernels"], f"{held} of {r['kernels']} kernels are recorded, those of {on:.0f}", o)
    kernels = [k for k in rep["kernels"] if k["kind"] == "kernel"]
    n, sure = sum(k["count"] for k in kernels), max(k.get("total_error_ns", 0) / k["total_ns"] for k in kernels)
    # In proportion to the time of steps, which a loaded machine stretches as it likes.
    ok(abs(n / r["kernels"] - 1) < 0.1 + 3 * sure, f"the report has {n}, +-{100 * sure:.0f} %", rep["kernels"])


def slots(got):
    if not got:
        skip("a program without steps", "no stand-in GPU in this build")
        return
    r, clean, rep, text = got
    o, kernels = rep["processes"][0]["overhead"], [k for k in rep["kernels"] if k["kind"] == "kernel"]
    ok(clean and o["measured_by"] == "launches" and o["left_out"] > 5, "of a program without steps slots are left out", (r, o))
    ok(kernels and all(k.get("total_error_ns") for k in kernels) and "slots of 50 ms were skipped at random" in text and "+-" in text,
       "its totals say how sure they are, too", (kernels, text))
    n, sure = sum(k["count"] for k in kernels), max(k.get("total_error_ns", 0) / k["total_ns"] for k in kernels)
    ok(abs(n / r["kernels"] - 1) < 0.1 + 1.5 * sure, f"{n} of {r['kernels']} kernels, +-{100 * sure:.0f} %", kernels)


with ThreadPoolExecutor() as pool:
    runs = [pool.submit(record, s) for s in ({"measure": "off"}, {**SOME, "fidelity": "half"}, {**SOME, "fidelity": "tenth"})]
    on_gpu, stepless = pool.submit(record_cuda), pool.submit(record_slots)
whole(*runs[0].result())
lower("half", runs[0].result(), *runs[1].result())
lower("tenth", runs[0].result(), *runs[2].result())
cuda(on_gpu.result())
slots(stepless.result())
done()
