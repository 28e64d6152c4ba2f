# SPDX-License-Identifier: Apache-2.0
# test: timeout=600 long=yes
"""libaon-opencl.so as a layer of real OpenCL programs on PoCL: each command is counted, timed and
named, and the program notices nothing. Each trap that a prototype fell into is a case."""
import collections
import json
import os
import pathlib
import re
import subprocess

from aontest import (BUILD, SANITIZED, Daemon, Place, accounts, aon, app_env, balanced, done, find,
                     ok, skip, skip_all)
from apptest import told

LAYER = BUILD / "src/app/probe/opencl/libaon-opencl.so"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
PYTHON = CACHE / "opencl-venv/bin/python"
DEBIAN_LOADER = "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1"
PYOPENCL = r"""
import json, sys, time
import numpy as np, pyopencl as cl
start = time.monotonic_ns()
ctx = cl.Context([cl.get_platforms()[0].get_devices()[0]])
q = cl.CommandQueue(ctx)
prg = cl.Program(ctx, "__kernel void inc(__global float *a) { a[get_global_id(0)] += 1; }").build()
a = np.zeros(256, np.float32)
buf = cl.Buffer(ctx, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=a)
k = prg.inc
k.set_args(buf)
N = 5000
for i in range(N):
    cl.enqueue_nd_range_kernel(q, k, (256,), (64,))
cl.enqueue_copy(q, a, buf)
q.finish()
maps = {l.split()[-1] for l in open("/proc/self/maps") if "libOpenCL" in l}
print(json.dumps({"result": float(a.sum()), "kernels": N, "copies": 1, "memsets": 0, "loader": sorted(maps),
                  "from_ns": start, "to_ns": time.monotonic_ns()}))
"""
TINYGRAD = r"""
import json, sys, time
start = time.monotonic_ns()
from tinygrad import Tensor, nn
class Net:
    def __init__(self):
        self.a, self.b = nn.Linear(16, 32), nn.Linear(32, 4)
    def __call__(self, x):
        return self.b(self.a(x).relu())
Tensor.manual_seed(7)
net = Net()
opt = nn.optim.SGD(nn.state.get_parameters(net), lr=0.05)
x, y = Tensor.rand(64, 16).realize(), Tensor([i % 4 for i in range(64)]).realize()
losses = []
for step in range(int(sys.argv[1])):
    opt.zero_grad()
    loss = net(x).sparse_categorical_crossentropy(y)
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(json.dumps({"result": losses, "from_ns": start, "to_ns": time.monotonic_ns()}))
"""


def events(place):
    r = subprocess.run([find("store_dump"), place.store], capture_output=True, text=True)
    return [json.loads(line) for line in r.stdout.splitlines()]


def run(place, cmd, layer=True, timeout=120, **env):
    e = app_env(place, **env)
    e["ASAN_OPTIONS"] = "detect_leaks=0"  # the driver's own, with or without us
    if layer:
        e["OPENCL_LAYERS"] = str(layer if isinstance(layer, str) else LAYER)
    p = subprocess.run([str(c) for c in cmd], env=e, capture_output=True, text=True, timeout=timeout)
    return p.returncode, told(p.stdout), p.stderr, p.stdout


def plausible(ev, said, text):
    """Started before it ended, and all of it while the program ran."""
    acts = [e for e in ev if e["kind"] in ("kernel", "copy", "memset")]
    slack = 50_000  # what is known of the device's clock, generously
    bad = [e for e in acts if e["start"] < said["from_ns"] - slack or
           e["start"] + e["dur"] > said["to_ns"] + 400_000_000 or e["dur"] > 5_000_000_000]
    ok(acts and not bad, f"{text}: every duration lies within the program's life", bad[:5])


def counted(ev, said, text):
    got = collections.Counter(e["kind"] for e in ev)
    want = {k: said.get(w, 0) for k, w in
            (("kernel", "kernels"), ("copy", "copies"), ("memset", "memsets"))}
    return ok(all(got[k] == v for k, v in want.items()) and sum(want.values()),
              f"{text}: {want['kernel']} kernels, {want['copy']} copies, {want['memset']} memsets, all there",
              f"want {want} got {got}")


def case(text, *args, env=None, look=None, sets=None, layer=True, cmd=None):
    """One program with and without the layer. `look` gets (events, what it told, text)."""
    cmd = cmd or [find("cl_loop"), *args]
    with Place() as p, Daemon(p, sets) as d:
        bare = run(p, cmd, layer=False, **(env or {}))
        got = run(p, cmd, layer=layer, **(env or {}))
        ok(got[0] == bare[0] == 0 and got[1].get("result") == bare[1].get("result") and
           "result" in got[1] and got[2] == bare[2],
           f"{text}: same result, exit code and words as without", f"{got}\n{bare}")
        d.flush()
        ev = events(p)
        if "from_ns" in got[1]:
            plausible(ev, got[1], text)
        acc = accounts(p.store)
        ok(acc and all(map(balanced, acc)) and all(not sum(a["lost_by"].values()) for a in acc),
           f"{text}: nothing lost on the way", acc)
        (look or counted)(ev, got[1], text)
        return ev, got


def look_names(ev, said, text):
    got = collections.Counter(e["name"] for e in ev if e["kind"] == "kernel")
    n = said["kernels"]
    ok(got == {"twice": (n + 2) // 3, "add": n - (n + 2) // 3},
       f"{text}: each has its own name, though handles come again", got)


def look_copies(ev, said, text):
    counted(ev, said, text)
    by = collections.Counter((e["dir"], e["a"]) for e in ev if e["kind"] == "copy")
    ok(by == {(1, 256): 100, (2, 256): 201, (3, 256): 100, (3, 64): 100},
       f"{text}: bytes and directions are right", by)
    ok(all(e["a"] == 16 for e in ev if e["kind"] == "memset"), f"{text}: a fill is a memset")


def look_failed(ev, said, text):
    counted(ev, said, text)
    lost = [e["a"] for e in ev if e["kind"] == "counter" and e["name"] == "opencl not timed"]
    ok(lost and lost[-1] == 1, f"{text}: the one that failed is counted as not timed", lost)


def look_left(ev, said, text):
    got = sum(e["kind"] == "kernel" for e in ev)
    lost = [e["a"] for e in ev if e["kind"] == "counter" and e["name"] == "opencl not timed"]
    ok(got + (lost[-1] if lost else 0) == said["kernels"] and got > 0,
       f"{text}: {got} timed and {lost[-1] if lost else 0} still running are all of {said['kernels']}",
       f"{got} {lost}")


def look_shape(ev, said, text):
    counted(ev, said, text)
    kernels = [e for e in ev if e["kind"] == "kernel"]
    ok({tuple(e.get("geo", ())) for e in kernels} == {(4, 1, 1, 16, 1, 1)},
       f"{text}: the NDRange is the geometry", kernels[:3])
    ok(len({e["corr"] for e in kernels}) == len(kernels) and
       {(e["device"], e["stream"]) for e in kernels} == {(0, 0)},
       f"{text}: one correlation each, one lane", kernels[:3])
    order = sorted(kernels, key=lambda e: e["corr"])
    back = [a["start"] - b["start"] for a, b in zip(order, order[1:]) if a["start"] > b["start"]]
    ok(len(back) < 5 and max(back, default=0) < 20_000,
       f"{text}: in the order of their launch, but for what the clock is corrected by", back)
    ok([e["name"] for e in ev if e["kind"] == "range"] == ["clBuildProgram"],
       f"{text}: the building of the program is a range", [e for e in ev if e["kind"] == "range"])


def look_lanes(n):
    def look(ev, said, text):
        counted(ev, said, text)
        lanes = {(e["device"], e["context"], e["stream"]) for e in ev if e["kind"] == "kernel"}
        ok(1 <= len(lanes) <= n, f"{text}: on {len(lanes)} lanes, which are used again", lanes)
    return look


def look_full(ev, said, text):
    counted(ev, said, text)
    by = collections.Counter(e["name"] for e in ev if e["kind"] == "api")
    n = said["kernels"]
    ok(by["clEnqueueNDRangeKernel"] == n and by["opencl queued"] == by["opencl submitted"] == n + 1,
       f"{text}: QUEUED, SUBMIT, START and END of each, and its call", by)
    at = {(e["name"], e["corr"]): e for e in ev if e["kind"] in ("api", "kernel")}
    wrong = []
    for c in {e["corr"] for e in ev if e["kind"] == "kernel"}:
        call, k = at[("clEnqueueNDRangeKernel", c)], at[("add", c)]
        queued, sub = at[("opencl queued", c)], at[("opencl submitted", c)]
        in_call = call["start"] - 20_000 <= queued["start"] <= call["start"] + call["dur"] + 20_000
        chain = queued["start"] + queued["dur"] == sub["start"]
        if not in_call or not chain or abs(sub["start"] + sub["dur"] - k["start"]) > 20_000:
            wrong.append((call, queued, sub, k))
    ok(not wrong, f"{text}: QUEUED lies in the call, to 20 us: the clocks agree", wrong[:2])


def programs():
    case("no event, no profiling", "plain", 3000, look=look_shape)
    case("a queue that profiles", "profiled", 3000)
    case("20,000 ahead of the device", "plain", 20000)
    case("tier full", "plain", 2000, sets={"tier": "full"}, look=look_full)
    case("properties by list", "properties")
    case("the program's own events", "events", 3000)
    case("copies and fills", "copy", look=look_copies)
    case("out of order, one held back by a user event", "disorder", 2000)
    case("all held back by a user event", "blocked", 5000)
    case("a command that fails", "failing", 1200, look=look_failed)
    case("kernels made and released", "names", 999, look=look_names)
    case("8 threads, a queue each", "threads", 2000, look=look_lanes(8))
    case("8 threads on one queue", "shared", 2000, look=look_lanes(1))
    case("1,000 queues released while they work", "queues", look=look_lanes(512))
    case("exit without finish", "leaves", 20000, look=look_left)
    case("children of fork()", "forks")
    case("the layer named twice", "plain", 500, layer=f"{LAYER}:{LAYER}")


def no_daemon():
    with Place() as p:
        for text, env in (("no daemon", {}), ("AON_OFF", {"AON_OFF": 1})):
            got = run(p, [find("cl_loop"), "events", 500], **env)
            bare = run(p, [find("cl_loop"), "events", 500], layer=False, **env)
            ok(got[0] == 0 and got[1]["result"] == bare[1]["result"] and not got[2],
               f"{text}: the program is as without the layer", got)
    with Place() as p, Daemon(p, {"tier": "heartbeat"}) as d:
        got = run(p, [find("cl_loop"), "plain", 500])
        d.flush()
        ok(got[0] == 0 and not [e for e in events(p) if e["kind"] == "kernel"],
           "a daemon that wants no activities gets none", got)


def guest():
    """What a library in a stranger's process must be."""
    def readelf(*args):
        return subprocess.run(["readelf", "-W", *args, LAYER], capture_output=True, text=True).stdout
    syms = [f.split() for f in readelf("--dyn-syms").splitlines() if "GLOBAL" in f]
    exports = sorted(f[7].split("@")[0] for f in syms if f[6] != "UND")
    imports = {f[7].split("@")[0] for f in syms if f[6] == "UND"}
    tls = re.search(r"^\s+TLS(?:\s+0x\w+){4}\s+(0x\w+)", readelf("-l"), re.M)
    ok(exports == ["clGetLayerInfo", "clInitLayer"], "the layer exports its two calls alone", exports)
    ok("NODELETE" in readelf("-d"), "the layer stays when its loader goes")
    ok(tls and int(tls[1], 16) <= 8, "the layer has at most 8 bytes of TLS: more and it is not loaded", tls)
    never = {"exit", "_exit", "abort", "printf", "puts", "fprintf", "malloc", "pthread_create", "sigaction"}
    ok(not imports & never, "the layer can neither print, exit, allocate from the heap nor start a thread",
       imports & never)


def python_programs():
    if SANITIZED or not PYTHON.exists():
        why = "a sanitizer's runtime must come before Python's" if SANITIZED else \
            f"no {PYTHON}: tools/setup check"
        for t in ("pyopencl, its own loader", "pyopencl, Debian's loader", "tinygrad"):
            skip(t, why)
        return
    cmd = [PYTHON, "-c", PYOPENCL]
    # The wheel's loader looks for drivers in its own place.
    icd = {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors"}
    _, got = case("pyopencl, its own loader", cmd=cmd, env=icd)
    ok(any("pyopencl" in l for l in got[1].get("loader", [])), "it was the wheel's loader", got[1])
    if os.path.exists(DEBIAN_LOADER):
        _, got = case("pyopencl, Debian's loader", cmd=cmd, env={**icd, "LD_PRELOAD": DEBIAN_LOADER})
        ok(os.path.realpath(DEBIAN_LOADER) in got[1].get("loader", []), "it was Debian's loader", got[1])
    tinygrad()


def tinygrad():
    with Place() as p, Daemon(p) as d:
        env = {"DEV": "CL", "TRAINING": 1, "CACHEDB": p.path / "tg.db", "CACHELEVEL": 0}
        bare = run(p, [PYTHON, "-c", TINYGRAD, 20], layer=False, timeout=300, **env)
        got = run(p, [PYTHON, "-c", TINYGRAD, 20], timeout=300, **env)
        ok(got[0] == bare[0] == 0 and got[1].get("result") == bare[1].get("result") and
           len(got[1].get("result", [])) == 20, "tinygrad trains: the same 20 losses", f"{got}\n{bare}")
        d.flush()
        ev = events(p)
        names = collections.Counter(e["name"] for e in ev if e["kind"] == "kernel")
        ok(sum(names.values()) >= 100 and all(names) and len(names) >= 5,
           f"tinygrad: {sum(names.values())} kernels of {len(names)} names", names)
        if "from_ns" in got[1]:
            plausible(ev, got[1], "tinygrad")
        ok(any(e["kind"] == "range" and e["name"] == "clBuildProgram" for e in ev),
           "tinygrad: programs are built in ranges")
        text = aon("report", p.store, "--all").stdout
        ok(any(n and n in text for n in names), "tinygrad: its kernels are in the report",
           text[:2000])


def main():
    if not LAYER.exists():
        skip_all("built without OpenCL headers")
    try:
        find("cl_loop")
    except FileNotFoundError:
        skip_all("built without an OpenCL loader")
    if not list(pathlib.Path("/etc/OpenCL/vendors").glob("*.icd")):
        skip_all("no OpenCL driver: pocl-opencl-icd")
    if SANITIZED:
        skip("the layer as a guest", "a sanitizer adds symbols of its own")
    else:
        guest()
    programs()
    no_daemon()
    python_programs()
    done()


main()
