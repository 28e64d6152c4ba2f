# SPDX-License-Identifier: Apache-2.0
"""The programs of causekit: a loop that trains on the stand-in GPU, and for each kind of cause the file that keeps it from
going on. Names in them are drawn: $f is called by the loop, $g and $h are others of the same file."""
import collections

# The binding of the stand-in's driver: a library's file, as PyCUDA's would be.
GPU = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
context, image, function, stream = (ctypes.c_void_p() for _ in range(4))
events, number = [], 0
def begin(ns):
    text = b"sim-module\\nkernel train_step ns=%d regs=40\\n" % ns
    err = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
           cuda.cuModuleLoadData(ctypes.byref(image), text), cuda.cuModuleGetFunction(ctypes.byref(function), image, b"train_step"),
           cuda.cuStreamCreate(ctypes.byref(stream), 1)]
    assert not any(err), err
    for _ in range(8):
        events.append(ctypes.c_void_p())
        assert not cuda.cuEventCreate(ctypes.byref(events[-1]), 0)
def launch(n):
    global number
    for _ in range(n):
        assert not cuda.cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, stream, None, None)
def record():
    global number
    number += 1
    assert not cuda.cuEventRecord(events[number % 8], stream)
def wait(behind):
    if number > behind:
        assert not cuda.cuEventSynchronize(events[(number - behind) % 8])
def fit(work, ms, clock=time.process_time):
    '''How often work(1) is to be done for so many milliseconds.'''
    n = 1
    while True:
        t = clock()
        work(n)
        took = clock() - t
        if took > 0.005 or n > 1 << 24:
            return max(1, round(n * ms / 1e3 / took))
        n *= 3
"""

# What trains. It is the program's own code, too: to blame it would be wrong.
TRAIN = """
import json, os, signal, sys, time
import gpu
P = json.loads(sys.argv[1])
gpu.begin(P["kernel_ns"])
import $file as work
over = []
signal.signal(signal.SIGTERM, lambda *a: over.append(1))
def forward():
    gpu.launch(P["kernels"])
    gpu.record()
def wait():
    gpu.wait(P["ahead"])
def main():
    work.setup(P)
    clock = {"cpu": time.process_time, "wall": time.perf_counter}.get(P["fit"])
    n = gpu.fit(work.$f, P["ms"], clock) if clock else P["ms"]
    print("there", flush=True)
    while not over:
        work.$f(n)
        forward()
        wait()
    gpu.wait(0)
if __name__ == "__main__":
    main()
    os._exit(0)
"""

# blame: which functions are right; states: those that are, if that is the point; fit: f(n) does n of something, and n is
# found for the time that was drawn, of the CPU or the "wall"; held: it is named as the holder of the GIL; needs: a module.
Kind = collections.namedtuple("Kind", "code blame states fit held needs", defaults=("f", "", "cpu", False, ""))
LOOP = """
def $f(n):
    x = 0
    for i in range(300 * n):
        x = (x * 31 + i) % 1000003
    return x
"""
NO_SETUP = "\ndef setup(p): pass\n"
KINDS = {
    "parse": Kind("""
LINES = [",".join(str(i * k / 7) for i in range(20)) for k in range(40)]
def $f(n):
    rows = []
    for i in range(n):
        rows.append([float(x) for x in LINES[i % 40].split(",")])
    return rows
""" + NO_SETUP),
    "gil_python": Kind("""
import threading, time
def $g():
    x = 0
    while True:
        x = (x * 31 + 7) % 1000003
def setup(p):
    threading.Thread(target=$g, daemon=True).start()
def $f(ms):
    end = time.monotonic() + ms / 1e3
    while time.monotonic() < end:
        time.sleep(0)
""", "g", "gil", "", True),
    "gil_pickle": Kind("""
import pickle, threading, time
def $g(blob):
    while True:
        pickle.loads(blob)
def setup(p):
    blob = pickle.dumps([{"id": i, "text": str(i) * 3, "box": (i, i + 1)} for i in range(10000 * p["size"])])
    threading.Thread(target=$g, args=(blob,), daemon=True).start()
def $f(ms):
    end = time.monotonic() + ms / 1e3
    while time.monotonic() < end:
        time.sleep(0)
""", "g", "gil", "", True),
    "dataloader": Kind("""
import torch
from torch.utils.data import DataLoader, Dataset
torch.set_num_threads(1)
state = []
def $g(i, rounds):
    x = i
    for k in range(rounds):
        x = (x * 31 + k) % 1000003
    return x
class Rows(Dataset):
    def __init__(self, rounds): self.rounds = rounds
    def __len__(self): return 1 << 20
    def __getitem__(self, i): return $g(i, self.rounds)
def setup(p):
    import gpu
    rounds = gpu.fit(lambda n: $g(1, n), p["ms"])
    state.append(iter(DataLoader(Rows(rounds), batch_size=2, num_workers=1)))
def $f(n):
    return next(state[0])
""", "g", "", "", False, "torch"),
    "sleep": Kind("""
import time
def $f(ms):
    time.sleep(ms / 1e3)
""" + NO_SETUP, "f", "sleep", ""),
    "lock_convoy": Kind("""
import threading, time
lock = threading.Lock()
def $g(seconds):
    while True:
        with lock:
            time.sleep(seconds)
        time.sleep(0.0002)
def setup(p):
    for _ in range(1 + p["size"]):
        threading.Thread(target=$g, args=(p["ms"] / 1e3 / (1 + p["size"]),), daemon=True).start()
def $f(ms):
    with lock:
        pass
""", "f", "lock", ""),
    "slow_read": Kind("""
import os, subprocess, sys
state = []
def setup(p):
    os.mkfifo("shard.bin")
    code = "import time\\nf = open('shard.bin', 'wb', 0)\\nwhile True:\\n    time.sleep(%r)\\n    f.write(b'x' * 4096)" % (p["ms"] / 1e3)
    subprocess.Popen([sys.executable, "-c", code])
    state.append(open("shard.bin", "rb", 0))
def $f(ms):
    return state[0].read(4096)
""", "f", "wait", ""),
    "tokenizer": Kind("""
VOCAB = {a + b: i for i, (a, b) in enumerate((a, b) for a in "abcdefghij" for b in "klmnopqrst")}
TEXT = "aktbl cmdnf ogphq risjt akbl cmdn ekfl gmhn iojp".split() * 4
def $g(parts):
    return {(a, b) for a, b in zip(parts, parts[1:])}
def $h(word):
    parts = list(word)
    while len(parts) > 1:
        best = min($g(parts), key=lambda p: VOCAB.get(p[0] + p[1], 1 << 30))
        if best[0] + best[1] not in VOCAB:
            break
        out, i = [], 0
        while i < len(parts):
            if i + 1 < len(parts) and (parts[i], parts[i + 1]) == best:
                out.append(parts[i] + parts[i + 1])
                i += 2
            else:
                out.append(parts[i])
                i += 1
        parts = out
    return parts
def $f(n):
    return [$h(TEXT[i % len(TEXT)]) for i in range(n)]
""" + NO_SETUP, "fgh"),
    "transform": Kind("""
import numpy as np
image = np.zeros((480, 640, 3), np.uint8)
def $f(n):
    for _ in range(n):
        x = image[::2, ::2].astype(np.float32)
        x = (x - x.mean((0, 1))) / (x.std((0, 1)) + 1)
        x = np.ascontiguousarray(x[:, ::-1].transpose(2, 0, 1))
""" + NO_SETUP, needs="numpy"),
    "flush_log": Kind("""
import logging, os
class Handler(logging.Handler):
    def __init__(self):
        super().__init__()
        self.file = open("train.log", "w")
    def emit(self, record):
        self.$g(self.format(record))
    def $g(self, line):
        self.file.write(line + "\\n")
        self.file.flush()
        os.fsync(self.file.fileno())
log = logging.getLogger("train")
log.setLevel(logging.INFO)
log.propagate = False
log.addHandler(Handler())
def $f(n):
    for i in range(n):
        log.info("step %d loss %.3f", i, i / 3)
""" + NO_SETUP, "g", fit="wall"),
    "gc": Kind("""
import gc
keep = []
def setup(p):
    for i in range(20000 * p["size"]):
        a = {"id": i}
        a["self"] = a
        keep.append(a)
def $f(n):
    for _ in range(n):
        gc.collect()
"""),
    "hog": Kind("""
import os, subprocess, sys
def setup(p):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for _ in range(2 + p["size"] % 2):
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
""" + LOOP, "f", "runnable"),
    "quota": Kind(LOOP + NO_SETUP, "f", "throttled", needs="cgroup"),
    "native": Kind("""
import torch
torch.set_num_threads(1)
a = torch.randn(192, 192)
def $f(n):
    for _ in range(n):
        torch.linalg.svdvals(a)
""" + NO_SETUP, needs="torch"),
    "socket": Kind("""
import os, socket, time
state = []
def setup(p):
    mine, other = socket.socketpair()
    if not os.fork():
        mine.close()
        while other.recv(8):
            time.sleep(p["ms"] / 1e3)
            other.send(b"reduced!")
        os._exit(0)
    other.close()
    state.append(mine)
def $f(ms):
    state[0].send(b"gradient")
    return state[0].recv(8)
""", "f", "wait", ""),
    "regex": Kind("""
import re
pattern = re.compile(r"(\\w+\\s?)+$$")
def $f(n):
    for _ in range(n):
        pattern.match("words of a line that ends;")
""" + NO_SETUP),
    "json_log": Kind("""
import json
record = {"step": 1, "losses": [i / 7 for i in range(60)], "groups": [{"lr": 0.1, "name": "g%d" % i} for i in range(20)]}
def $f(n):
    with open("metrics.jsonl", "w") as f:
        for i in range(n):
            f.write(json.dumps(record, indent=1, sort_keys=True) + "\\n")
""" + NO_SETUP),
    "asyncio": Kind("""
import asyncio
loop = asyncio.new_event_loop()
def $h(n):
    x = 0
    for i in range(300 * n):
        x = (x * 31 + i) % 1000003
    return x
async def $g(n):
    await asyncio.sleep(0)
    return $h(n)
async def both(n):
    return await asyncio.gather($g(n), asyncio.sleep(0.0001))
def $f(n):
    loop.run_until_complete(both(n))
""" + NO_SETUP, "h"),
    "page_fault": Kind("""
import mmap
pages = 2048
area = mmap.mmap(-1, pages * 4096)
zeros = bytes(pages)
def $f(n):
    for _ in range(n):
        area.madvise(mmap.MADV_DONTNEED)
        area[::4096] = zeros
""" + NO_SETUP),
    "spin": Kind("""
import mmap, os, time
flag = mmap.mmap(-1, 4096)
def setup(p):
    if os.fork():
        return
    parent = os.getppid()
    while os.getppid() == parent:
        if flag[0]:
            time.sleep(p["ms"] / 1e3)
            flag[0] = 0
        else:
            time.sleep(0.0002)
    os._exit(0)
def $f(ms):
    flag[0] = 1
    while flag[0]:
        pass
""", "f", "running runnable", ""),
}
HELD_OUT = ("regex", "json_log", "asyncio", "page_fault", "spin")
HEALTHY = ("parse", "sleep", "tokenizer", "socket", "transform", "json_log")
