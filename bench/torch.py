#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost for PyTorch programs: a transformer and a small MLP on the CPU, one thread, the current torch of PyPI.

All kinds of listening take turns in one process, which is pinned to a core; its CPU time counts. A ratio is the median
over rounds of time without aon by time with it, with its interval of 95 %; turns are short, so that what disturbs one
round disturbs all of its turns. `prof` is torch.profiler, beside us in the same run.
"""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/scenario/lib"))
os.environ.setdefault("AON_BUILD", os.getcwd())
import aontest  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
PYTHON = CACHE / "torch-venv/bin/python"
EMPTY = sys.argv[1]
IDS = os.environ.get("BENCH_IDS", "")


def row(name, value, bar, ok, note, unit="x", **more):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "note": note, **more}), flush=True)


def turns(model, rounds, steps, *modes):
    """{mode: seconds a step, a round}, and the store's counts of the process."""
    with aontest.Place() as p, aontest.Daemon(p, sets={"pool_kib": 32768}) as d:
        env = aontest.app_env(p, AON_JOIN_MS=200, AON_TORCH=aontest.BUILD / "src/app/probe/torch/libaon-torch.so",
                              PYTHONPATH=aontest.BUILD / "python")
        r = subprocess.run([PYTHON, "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); "
                            "exec(compile(open(sys.argv[1]).read(), sys.argv.pop(1), 'exec'))",
                            aontest.BUILD / "python", HERE / "lib/torch_loop.py",
                            model, str(rounds), str(steps), EMPTY, *modes],
                           env=env, capture_output=True, text=True)
        if r.returncode:
            sys.exit(r.stderr)
        d.stop()
        stat = json.loads(aontest.aon("store", "stat", "--json", p.store).stdout)
        acct = aontest.accounts(p.store)
    return json.loads(r.stdout.splitlines()[-1]), stat, acct


def ratio(got, mode):
    """Median over rounds, and an interval of 95 % for it by order."""
    r = sorted(a / b for a, b in zip(got["none"], got[mode]))
    k = max(0, int(len(r) / 2 - 0.98 * math.sqrt(len(r))))
    return statistics.median(r), r[k], r[-1 - k]


def speed(name, got, mode, bar, extra=""):
    value, lo, hi = ratio(got, mode)
    aa = ratio(got, "again") if "again" in got else None
    note = f"rounds {lo:.3f} to {hi:.3f}, {statistics.median(got['none']) * 1e3:.2f} ms a step" + extra
    if aa:
        note += f"; none against none {aa[0]:.3f}, {aa[1]:.3f} to {aa[2]:.3f}"
    row(name, round(value, 4), bar, None if bar is None else value >= bar, note, least=True)


def main():
    if not PYTHON.exists():
        for i in IDS.split() or ["torch_default_tf"]:
            row(i, None, None, None, f"skipped: no {PYTHON} (tools/setup check)", "")
        return
    if not IDS or "_tf" in IDS:
        # What is near nothing takes longer turns to see than what is not.
        got, _, _ = turns("tf", 31, 20, "none", "again", "steps", "default")
        speed("torch_default_tf", got, "default", 0.99)
        speed("torch_steps_tf", got, "steps", None)
        got, _, _ = turns("tf", 31, 5, "none", "again", "ops", "prof")
        speed("torch_ops_tf", got, "ops", 0.96)
        speed("torch_profiler_tf", got, "prof", None)
    if not IDS or "mlp" in IDS or "torch_op_ratio" in IDS:
        got, _, _ = turns("mlp", 31, 100, "none", "again", "steps", "default", "ops", "empty")
        speed("torch_default_mlp", got, "default", 0.97)
        # What operators add to steps, against callbacks that do nothing.
        cost = {m: statistics.median(a - b for a, b in zip(got[m], got[base])) * 1e6
                for m, base in (("ops", "steps"), ("empty", "none"), ("steps", "none"))}
        value = cost["ops"] / cost["empty"]
        row("torch_op_ratio", round(value, 3), 1.3, value <= 1.3,
            f"mlp: +{cost['ops']:.0f} us a step for its operators, torch's own with empty callbacks "
            f"+{cost['empty']:.0f}; steps alone +{cost['steps']:.0f}")
    if not IDS or "torch_op_bytes" in IDS:
        _, stat, acct = turns("tf", 1, 400, "ops")
        value = stat["bytes"] / stat["events"]
        row("torch_op_bytes", round(value, 2), 8, value <= 8 and not sum(map(aontest.lost, acct)),
            f"{stat['events']} events in {stat['bytes']} bytes, {sum(map(aontest.lost, acct))} lost", "B")


main()
