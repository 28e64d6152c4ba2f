#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost that aon reports, against its real cost.

slowdown_error_points  a program that spins a known share of a step when it is recorded: what is measured less that
governor_settle_s      ten percent brought below one: from the program's start
hang_s                 from the moment a program hangs to the alarm
slowdown_*_hi          upper end of the 95 % interval for real programs, under the default budget. Beside it an outside
                       A/B (ab.py) with its own interval, of wall and of CPU time, and whether the two agree: both are
                       of a step that is recorded.
AON_LONG=1: thirty minutes for each of the last, else ninety seconds; AON_LONG_S=N: N seconds. AON_CORES=0,1: two of them
at once, each pinned to one of these cores; without it one after the other, on the last core.
"""
import concurrent.futures
import json
import os
import pathlib
import queue
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "lib"), str(HERE.parent / "tests/scenario/lib")]
os.environ.setdefault("AON_BUILD", os.getcwd())
import ab  # noqa: E402
import aontest  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
IDS = os.environ.get("BENCH_IDS", "")
SECONDS = int(os.environ.get("AON_LONG_S") or (1800 if os.environ.get("AON_LONG") else 90))
CORES = [int(c) for c in os.environ.get("AON_CORES", str(max(os.sched_getaffinity(0)))).split(",")]
LOOP = HERE / "lib/overhead_loop.py"
BAR = 1.5
AGREE = {True: "they agree", False: "they do NOT agree", None: "too wide to tell whether they agree"}
# With sampling, as by default: it is a part of what aon costs.
ON = {"measure": "on", "measure_after_s": 0, "sample": "on"}
# What the outside sees is a program all of whose steps are recorded: nothing may change that meanwhile.
STEADY = {"measure": "off", "max_slowdown": 0, "escalate_s": 0, "sample": "on"}
REAL = {"slowdown_tf_hi": ("tf", "torch-venv"), "slowdown_mlp_hi": ("mlp", "torch-venv"), "slowdown_opencl_hi": ("net", "opencl-venv")}


def row(name, value, bar, ok, note, unit="x", **more):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "note": note, **more}), flush=True)


def wanted(name):
    return not IDS or name in IDS.split()


def overhead(place, pid):
    got = aontest.aon("overhead", "--json", place.store)
    if got.returncode:  # nothing that was measured yet
        return None
    got = json.loads(got.stdout)
    return next((p["overhead"] for p in got["processes"] if p["pid"] == pid), None)


def error():
    """Steps of a millisecond, sixty thousand of them: as many as ten minutes of ten have."""
    seconds = 60
    worst, notes = 0, []
    for slow in (5, 10, 50):
        with aontest.Place() as p, aontest.Daemon(p, {**ON, "max_slowdown": 0}) as d:
            proc = aontest.app(p, "app_cost", "-r", "-s", seconds, "-b", 1000, "-p", 0, "-x", slow)
            aontest.emitted(proc, seconds + 60)
            d.flush()
            o = overhead(p, proc.pid)
        off = abs(100 * o["slowdown"] - slow / 10)
        worst = max(worst, off)
        notes.append(f"{slow / 10} %: {100 * o['slowdown']:.2f} ({100 * o['slowdown_lo']:.2f} to {100 * o['slowdown_hi']:.2f})")
    row("slowdown_error_points", round(worst, 3), 0.3, worst <= 0.3, "; ".join(notes), "points")


def settle():
    with aontest.Place() as p, aontest.Daemon(p, ON) as d:
        began = time.time()
        proc = aontest.app(p, "app_cost", "-r", "-s", 15, "-p", 0, "-x", 100)
        said = aontest.emitted(proc)
        d.flush()
        moves = [x for x in json.loads(aontest.aon("store", "journal", "--json", p.store).stdout)["lines"]
                 if x["what"] == "budget"]
        last = moves[-1]["wall_ns"] / 1e9 - began if moves else None
    row("governor_settle_s", round(last, 2) if last else None, 10, bool(last) and last <= 10 and said["cost"] < 0.01,
        f"{len(moves)} moves; in the last third recording cost {100 * said['cost']:.2f} %", "s")


def hang():
    with aontest.Place() as p, aontest.Daemon(p, {"escalate_s": 0}) as d:
        proc = aontest.app(p, "app_cost", "-s", 3, "-H", 1000, stdin=subprocess.PIPE)
        aontest.wait_for(lambda: d.session(proc.pid), 10)
        alarm = aontest.wait_for(lambda: [a for a in json.loads(
            aontest.aon("alarms", "--json", p.store).stdout)["alarms"] if a["kind"] == "hang"], 30)
        since = float(alarm[0]["text"].split("moved for ")[1].split(" s")[0]) if alarm else None
        proc.kill()
        proc.communicate()
    row("hang_s", since, 10, bool(alarm) and since <= 10, "the alarm says since when; it is in the store a second later", "s")


def command(place, model, recorded, core, *args):
    """The program and its environment, with everything that records it, or without."""
    if model == "net":
        env = {"DEV": "CL", "TRAINING": 1, "LIBAON": aontest.BUILD / "src/app/client/libaon.so"}
        more = {"OPENCL_LAYERS": aontest.BUILD / "src/app/probe/opencl/libaon-opencl.so"}
    else:
        env, more = {}, {"AON_TORCH": aontest.BUILD / "src/app/probe/torch/libaon-torch.so", "PYTHONPATH": aontest.BUILD / "python"}
    env.update({"AON_JOIN_MS": 200, **more} if recorded else {"AON_OFF": 1})
    python = CACHE / ("opencl-venv" if model == "net" else "torch-venv") / "bin/python"
    return (["taskset", "-c", str(core), python, LOOP, model, *map(str, args)],
            aontest.app_env(place, PYTHONHASHSEED=0, **env))


def inside(name, model, core):
    """What aon says by itself after SECONDS; prints its latest answer every minute."""
    with aontest.Place() as p, aontest.Daemon(p, ON) as d:
        argv, env = command(p, model, True, core, SECONDS)
        proc = subprocess.Popen(argv, env=env, text=True, stdout=subprocess.PIPE)
        while True:
            try:
                out = proc.communicate(timeout=60)[0]
                break
            except subprocess.TimeoutExpired:
                o = overhead(p, proc.pid)
                ab.progress(f"{name}: " + (f"{100 * o['slowdown']:.2f} % ({100 * o['slowdown_lo']:.2f} to {100 * o['slowdown_hi']:.2f}), "
                                           f"{o['pairs']} pairs, fidelity {o['fidelity']}" if o and o["slowdown"] is not None else "nothing yet"))
        if proc.returncode:
            raise RuntimeError(f"the program has ended with {proc.returncode}")
        d.flush()
        return overhead(p, proc.pid), json.loads(out.splitlines()[-1])


def outside(name, model, core, level):
    sets = {**STEADY, **({} if level == "all" else {"ops_every": 0})}
    pairs = max(8, min(24, SECONDS // 75))
    with aontest.Place() as p, aontest.Daemon(p, sets):
        arm = [lambda r=r: ab.Arm(*command(p, model, r, core, "turns")) for r in (True, False)]
        return ab.compare(*arm, pairs, max(5, SECONDS / 3 / pairs - 5), say=lambda t: ab.progress(f"{name}: {t}"))


def real(name, model, venv, core):
    """A row: what aon measured of itself, what was seen from outside, and whether these agree."""
    if not (CACHE / venv / "bin/python").exists():
        return name, None, BAR, None, f"skipped: no {venv} (tools/setup check)", "%", {}
    o, said = inside(name, model, core)
    if not o or o["slowdown"] is None:
        return name, None, BAR, False, f"not measured: {o}", "%", {}
    seen = outside(name, model, core, o["fidelity"])
    lo, mid, hi = (100 * o[k] for k in ("slowdown_lo", "slowdown", "slowdown_hi"))
    stays = 100 * o["stays_on"]
    step = [(v - stays) / o["recorded"] + stays for v in (lo, mid, hi)]  # of one that is recorded
    agree = seen["wall"].agrees(*step)
    note = (f"{mid:.2f} % ({lo:.2f} to {hi:.2f}), of these {stays:.2f} stay on; fidelity {o['fidelity']}, {o['pairs']} pairs of {said['median_ms']:.2f} ms steps, {SECONDS} s; "
            f"a recorded step {step[1]:.2f} % ({step[0]:.2f} to {step[2]:.2f}), outside A/B wall {seen['wall']}, CPU {seen['cpu']}, "
            f"{seen['pairs']} pairs of processes, {seen['rounds']} rounds: {AGREE[agree]}")
    return name, round(hi, 2), BAR, hi < BAR and agree is True, note, "%", {
        "agree": agree, "slowdown": [lo, mid, hi], "recorded_step": step,
        "outside_wall": seen["wall"].ends(), "outside_cpu": seen["cpu"].ends()}


def all_real(names):
    """As many at a time as there are cores, each on its own."""
    free = queue.Queue()
    for core in CORES:
        free.put(core)

    def one(name):
        core = free.get()
        try:
            return real(name, *REAL[name], core)
        except Exception as e:  # the others' hours are not to be lost
            return name, None, BAR, False, f"failed: {e!r}", "%", {}
        finally:
            free.put(core)

    with concurrent.futures.ThreadPoolExecutor(len(CORES)) as pool:
        for *cells, more in pool.map(one, names):
            row(*cells, **more)


def main():
    if wanted("slowdown_error_points"):
        error()
    if wanted("governor_settle_s"):
        settle()
    if wanted("hang_s"):
        hang()
    all_real([name for name in REAL if wanted(name)])


main()
