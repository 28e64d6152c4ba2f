#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What aon says that it costs, against what it does.

slowdown_error_points  a program that spins a known share of a step when it is recorded: what is measured less that
governor_settle_s      ten percent brought below one: from the program's start
hang_s                 from the moment a program stands still to the alarm
slowdown_*_hi          upper end of the 95 % interval for real programs, under the default budget; beside it an outside
                       A/B: processes with and without aon, turn and turn about
AON_LONG=1: thirty minutes for each of the last, else ninety seconds.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/scenario"))
os.environ.setdefault("AON_BUILD", os.getcwd())
import aontest  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
IDS = os.environ.get("BENCH_IDS", "")
SECONDS = 1800 if os.environ.get("AON_LONG") else 90
ON = {"measure": "on", "measure_after_s": 0}
# A training that says how long a step took, for so many seconds.
TORCH = r"""
import json, statistics, sys, time, torch
from torch import nn
torch.set_num_threads(1)
torch.manual_seed(0)
if sys.argv[1] == "mlp":
    net = nn.Sequential(*[x for _ in range(6) for x in (nn.Linear(64, 64), nn.ReLU())]); data = torch.randn(32, 64)
else:
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(128, 4, 512, batch_first=True), 2); data = torch.randn(8, 64, 128)
opt = torch.optim.AdamW(net.parameters(), 1e-3)
took, end = [], time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    t = time.perf_counter()
    opt.zero_grad(); net(data).pow(2).mean().backward(); opt.step()
    took.append(time.perf_counter() - t)
took = sorted(took[len(took) // 5:])
print(json.dumps({"steps": len(took), "low_ms": 1e3 * took[len(took) // 5], "median_ms": 1e3 * statistics.median(took)}))
"""
TINYGRAD = r"""
import ctypes, json, os, statistics, sys, time
lib = ctypes.CDLL(os.environ["LIBAON"])
lib.aon_step_begin.argtypes = lib.aon_step_end.argtypes = [ctypes.c_uint64]
from tinygrad import Tensor, TinyJit, nn
class Net:
    def __init__(self): self.a, self.b = nn.Linear(64, 128), nn.Linear(128, 10)
    def __call__(self, x): return self.b(self.a(x).relu())
net = Net()
opt = nn.optim.SGD(nn.state.get_parameters(net), lr=0.05)
x, y = Tensor.rand(64, 64).realize(), Tensor([i % 10 for i in range(64)]).realize()
@TinyJit
def step():
    opt.zero_grad(); loss = net(x).sparse_categorical_crossentropy(y); loss.backward(); opt.step()
    return loss.realize()
if True:
    for i in range(20): step().item()
    took, n, end = [], 0, time.monotonic() + float(sys.argv[2])
    while time.monotonic() < end:
        t = time.perf_counter()
        lib.aon_step_begin(n); step().item(); lib.aon_step_end(n)
        took.append(time.perf_counter() - t); n += 1
took = sorted(took[len(took) // 5:])
print(json.dumps({"steps": len(took), "low_ms": 1e3 * took[len(took) // 5], "median_ms": 1e3 * statistics.median(took)}))
"""


def row(name, value, bar, ok, note, unit="x", **more):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "note": note, **more}), flush=True)


def wanted(name):
    return not IDS or name in IDS.split()


def overhead(place, pid):
    got = json.loads(aontest.aon("overhead", "--json", place.store).stdout)
    return next((p["overhead"] for p in got["processes"] if p["pid"] == pid), None)


def error():
    """Steps of a millisecond, sixty thousand of them: as many as ten minutes of ten have."""
    seconds = 60
    worst, notes = 0, []
    for slow in (5, 10, 50):
        with aontest.Place() as p, aontest.Daemon(p, {**ON, "slowdown_permille": 0}) as d:
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


def program(place, kind, model, seconds, recorded):
    """Runs it; its own times, and its pid."""
    if kind == "torch":
        python, env = CACHE / "torch-venv/bin/python", {
            "AON_JOIN_MS": 200, "AON_TORCH": aontest.BUILD / "src/probe/torch/libaon-torch.so", "PYTHONPATH": aontest.BUILD / "python"}
    else:
        python, env = CACHE / "opencl-venv/bin/python", {
            "DEV": "CL", "TRAINING": 1, "LIBAON": aontest.BUILD / "src/client/libaon.so",
            "OPENCL_LAYERS": aontest.BUILD / "src/probe/opencl/libaon-opencl.so"}
    if not recorded:
        env = {k: v for k, v in env.items() if k in ("DEV", "TRAINING", "LIBAON")}
        env["AON_OFF"] = 1
    code = TORCH if kind == "torch" else TINYGRAD
    proc = subprocess.Popen([python, "-c", code, model, str(seconds)], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=aontest.app_env(place, **env))
    out, err = proc.communicate(timeout=seconds + 300)
    if proc.returncode:
        sys.exit(err)
    return json.loads(out.splitlines()[-1]), proc.pid


def real(name, kind, model, venv):
    if not (CACHE / venv / "bin/python").exists():
        row(name, None, 1.5, None, f"skipped: no {venv} (tools/setup check)", "%")
        return
    with aontest.Place() as p, aontest.Daemon(p, ON) as d:
        said, pid = program(p, kind, model, SECONDS, True)
        d.flush()
        o = overhead(p, pid)
        rounds, each = (20, 15) if SECONDS > 100 else (5, 6)
        ab = [(program(p, kind, model, each, True)[0]["low_ms"], program(p, kind, model, each, False)[0]["low_ms"])
              for _ in range(rounds)]
    ratio = statistics.median(a / b for a, b in ab) - 1
    if not o or o["slowdown"] is None:
        row(name, None, 1.5, False, f"not measured: {o}", "%")
        return
    hi = 100 * o["slowdown_hi"]
    row(name, round(hi, 2), 1.5, hi < 1.5,
        f"{100 * o['slowdown']:.2f} % ({100 * o['slowdown_lo']:.2f} to {hi:.2f}), {o['pairs']} pairs, {said['median_ms']:.2f} ms a step, "
        f"rung {o['rung']}; outside A/B {100 * ratio:+.2f} %, {SECONDS} s", "%")


def main():
    if wanted("slowdown_error_points"):
        error()
    if wanted("governor_settle_s"):
        settle()
    if wanted("hang_s"):
        hang()
    for name, kind, model, venv in (("slowdown_tf_hi", "torch", "tf", "torch-venv"), ("slowdown_mlp_hi", "torch", "mlp", "torch-venv"),
                                    ("slowdown_opencl_hi", "opencl", "net", "opencl-venv")):
        if wanted(name):
            real(name, kind, model, venv)


main()
