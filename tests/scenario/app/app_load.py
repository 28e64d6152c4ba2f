# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""libaon comes late, by dlopen(), into C and Python; and as a stranger compiles its headers."""
import subprocess
import sys

from aontest import BUILD, SANITIZED, Daemon, Place, accounts, app, app_env, done, find, ok, skip
from apptest import exact, run, same_as_without, told

PY = r"""
import ctypes, json, os, sys, threading, time
go, sums = threading.Event(), [0] * 4
def work(i):
    go.wait()
    gate = ctypes.POINTER(ctypes.c_uint32).in_dll(lib, "aon_gate_")
    name = lib.aon_name(b"from python")
    for k in range(1000):
        if gate.contents.value & 2:
            lib.aon_emit_(5 | 1 << 16, name, ctypes.c_uint32(i), ctypes.c_uint64(k), ctypes.c_uint64(0))
            sums[i] += 1
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads]
time.sleep(0.05)
for _ in range(64):
    lib = ctypes.CDLL(sys.argv[1])
    if _ < 63:
        import _ctypes
        _ctypes.dlclose(lib._handle)
lib.aon_join(2000)
go.set()
[t.join() for t in threads]
maps = sum("libaon" in l and " r-xp " in l for l in open("/proc/self/maps"))
print(json.dumps({"result": maps, "truth": [[os.getpid(), sum(sums), lib.aon_joined()]]}))
"""


def library():
    return str(next((BUILD / "src/app/client").glob("libaon.so.*.*")))


def dlopen():
    with Place() as p, Daemon(p) as d:
        got = run(p, "app_load", library(), 64)
        same_as_without(p, "64 times dlopen and dlclose", got, "app_load", library(), 64)
        ok(got[1].get("result") == 0, "its code is mapped once, before and after", got)
        exact(p, d, "64 times dlopen and dlclose", got[1])


def many_keys():
    """Where pthread_setspecific() would allocate, in a handler that interrupted malloc()."""
    text = "loaded after 40 thread-specific keys"
    with Place() as p, Daemon(p, {"pool_kib": 256, "pool_small_kib": 256}) as d:
        got = run(p, "app_load", library(), 1, 40, timeout=60)
        same_as_without(p, text, got, "app_load", library(), 1, 40)
        exact(p, d, text, got[1])
        kept = sum(a["stored"] for a in accounts(p.store))
        ok(kept >= 6000, f"2,000 threads in 64 chunks: their chunks come back ({kept} stored)",
           accounts(p.store))


def python():
    if SANITIZED not in ("", "none"):
        skip("a threaded Python loads it late", "a sanitizer's runtime must come before Python's")
        return
    with Place() as p, Daemon(p) as d:
        r = subprocess.run([sys.executable, "-c", PY, library()], env=app_env(p), text=True,
                           capture_output=True, timeout=60)
        ok(r.returncode == 0 and told(r.stdout).get("result") == 1,
           "a threaded Python loads and unloads it 64 times: mapped once", r.stdout + r.stderr)
        exact(p, d, "ctypes from 4 threads", told(r.stdout))


def headers(name, records, language):
    try:
        find(name)
    except FileNotFoundError:
        skip(f"a {language} program runs", "no C++ compiler when this was built")
        return
    with Place() as p, Daemon(p) as d:
        proc = app(p, name)
        out, err = proc.communicate(timeout=30)
        off = app(p, name, env={"AON_OFF": 1})
        ok(proc.returncode == 0 and out.startswith("1 "), f"a {language} program joins", out + err)
        ok(off.communicate(timeout=30)[0].startswith("0 ") and off.returncode == 0,
           f"a {language} program runs without aon")
        exact(p, d, f"a {language} program", {"truth": [[proc.pid, records, 1]]})


def flags_of_maps():
    """What the kernel was told about our memory: not in cores, not in children."""
    with Place() as p, Daemon(p):
        proc = app(p, "app_pace", "-s", 1.5)
        proc.stdout.readline()
        text = open(f"/proc/{proc.pid}/smaps").read()
        flags = {}
        name = ""
        for line in text.splitlines():
            if "-" in line.split(" ")[0] and ":" not in line.split(" ")[0]:
                name = line.split()[-1] if "/" in line else ""
                name = "pool" if "aon-pool" in line else "gate" if "aon-gate" in line else name
            if line.startswith("VmFlags:"):
                flags.setdefault(name, []).append(line.split()[1:])
        pool, gate = flags.get("pool", [[]])[0], flags.get("gate", [[]])[0]
        ok({"dd", "dc", "wr"} <= set(pool), "the pool is in no core dump and in no child", pool)
        ok("dd" in gate and "wr" not in gate and "mw" not in gate,
           "the gate can be read and never be made writable", gate)
        proc.communicate(timeout=30)


dlopen()
many_keys()
python()
headers("plain_c99", 15, "C99")
headers("plain_cpp11", 12, "C++11")
flags_of_maps()
done()
