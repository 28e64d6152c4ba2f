#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of the OpenCL layer for a program on PoCL: an enqueue in a tight loop, and a real training.

Programs with and without the layer run turn and turn about, pinned to one core, beside a private
aond that stores every kernel. A round is a process; what disturbs it only makes it longer, so the
smallest batch counts: of 800 and more, since with fewer a process may never show an undisturbed one.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/scenario/lib"))
os.environ.setdefault("AON_BUILD", os.getcwd())
import aontest  # noqa: E402

LAYER = aontest.BUILD / "src/app/probe/opencl/libaon-opencl.so"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
PYTHON = CACHE / "opencl-venv/bin/python"
CORE = str(max(os.sched_getaffinity(0)))
BATCHES, ROUNDS = 1000, 9
STEPS, BLOCK, TRAININGS = 400, 20, 6
TRAIN = r"""
import json, sys, time
from tinygrad import Tensor, TinyJit, nn
class Net:
    def __init__(self):
        self.a, self.b = nn.Linear(64, 128), nn.Linear(128, 10)
    def __call__(self, x):
        return self.b(self.a(x).relu())
net = Net()
opt = nn.optim.SGD(nn.state.get_parameters(net), lr=0.05)
x, y = Tensor.rand(64, 64).realize(), Tensor([i % 10 for i in range(64)]).realize()
@TinyJit
def step():
    opt.zero_grad()
    loss = net(x).sparse_categorical_crossentropy(y)
    loss.backward()
    opt.step()
    return loss.realize()
for i in range(20):
    step().item()
best = 1e9
for i in range(int(sys.argv[1]) // int(sys.argv[2])):
    t = time.process_time()
    for k in range(int(sys.argv[2])):
        loss = step()
    loss.item()
    best = min(best, time.process_time() - t)
print(json.dumps({"cpu_ms": best * 1e3 / int(sys.argv[2]), "loss": loss.item()}))
"""


def row(name, value, bar, ok, note, unit="x", **more):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "note": note, **more}),
          flush=True)


def run(place, layer, *cmd, **env):
    e = aontest.app_env(place, **env)
    if layer:
        e["OPENCL_LAYERS"] = str(LAYER)
    r = subprocess.run(["taskset", "-c", CORE, *map(str, cmd)], env=e, capture_output=True, text=True)
    return json.loads(r.stdout.splitlines()[0])


def turns(rounds, *cmd, **env):
    """{with the layer?: what each round told}, and the kernels that the layer had stored."""
    got = {False: [], True: []}
    with aontest.Place() as p, aontest.Daemon(p) as d:
        for i in range(rounds):
            for layer in (False, True) if i % 2 else (True, False):
                got[layer].append(run(p, layer, *cmd, **{k: str(v).replace("@", str(p.path)) for k, v in env.items()}))
        d.stop()
        accts = aontest.accounts(p.store)
    return got, sum(a["emitted"] for a in accts), sum(sum(a["lost_by"].values()) for a in accts)


def enqueue():
    got, emitted, lost = turns(ROUNDS, aontest.find("cl_loop"), "bench", BATCHES)
    mid = {(w, k): statistics.median(r[w] for r in got[k]) for w in ("enqueue_ns", "finish_ns") for k in got}
    value = mid["enqueue_ns", True] / mid["enqueue_ns", False]
    seen = emitted - lost >= ROUNDS * BATCHES * 200
    row("opencl_ratio", round(value, 4), 1.25, value <= 1.25 and emitted >= ROUNDS * BATCHES * 200,
        f"enqueue {mid['enqueue_ns', False]:.0f} -> {mid['enqueue_ns', True]:.0f} ns, with finish "
        f"{mid['finish_ns', False]:.0f} -> {mid['finish_ns', True]:.0f}; {emitted} records"
        + ("" if seen else f", {lost} lost"))


def training():
    if not PYTHON.exists():
        row("tinygrad_cpu_ratio", None, None, None, f"skipped: no {PYTHON} (tools/setup check)", "")
        return
    got, emitted, _ = turns(TRAININGS, PYTHON, "-c", TRAIN, STEPS, BLOCK, DEV="CL", TRAINING=1, PARALLEL=0, CACHEDB="@/tg.db")
    least = {k: min(r["cpu_ms"] for r in v) for k, v in got.items()}
    value = least[False] / least[True]
    row("tinygrad_cpu_ratio", round(value, 4), 0.97, value >= 0.97 and emitted >= TRAININGS * STEPS,
        f"{least[False]:.3f} -> {least[True]:.3f} ms of CPU a step; {emitted} records", least=True)


def main():
    ids = os.environ.get("BENCH_IDS", "")
    for name, measure in (("opencl_ratio", enqueue), ("tinygrad_cpu_ratio", training)):
        if not ids or name in ids:
            measure()


main()
