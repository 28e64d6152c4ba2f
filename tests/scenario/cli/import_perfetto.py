#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=200
"""Perfetto's protobuf: aon's own export read again, and what other writers do."""
import ctypes
import gzip
import json
import subprocess
import zlib

from aontest import Place, data, done, find, ok
from clitest import aon

OWN = ("kineto/hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
       "tracelens/traces/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
       "nsys/nsys_ai/h100_2gpu_1s.sqlite",
       "tracelens/traces/mi300/jax_conv_minimal_08/tw003.xplane.pb")


def varint(v):
    out = b""
    while True:
        out += bytes([v & 0x7f | (0x80 if v > 0x7f else 0)])
        v >>= 7
        if not v:
            return out


def msg(*fields):
    """A message of (number, value): an int is a varint, bytes and text have a length."""
    out = b""
    for num, v in fields:
        if v is None:
            continue
        if isinstance(v, int):
            out += varint(num << 3) + varint(v)
        else:
            v = v.encode() if isinstance(v, str) else v
            out += varint(num << 3 | 2) + varint(len(v)) + v
    return out


def packet(*fields, seq=1, clock=None, time=None):
    return msg((1, msg((8, time), (10, seq), (58, clock), *fields)))


def process(uuid, pid, name):
    return packet((60, msg((1, uuid), (3, msg((1, pid), (6, name))))))


def thread(uuid, parent, pid, tid, name):
    return packet((60, msg((1, uuid), (5, parent), (4, msg((1, pid), (2, tid), (5, name))))))


def track(uuid, parent, name, *more):
    return packet((60, msg((1, uuid), (5, parent), (2, name), *more)))


def note(name, v):
    return 4, msg((10, name), (3, v) if isinstance(v, int) else (6, v))


def event(time, kind, uuid, *fields, **more):
    return packet((11, msg((9, kind), (11, uuid), *fields)), time=time, **more)


def interned(field, iid, text, **more):
    return packet((12, msg((field, msg((1, iid), (2, text))))), **more)


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def zstd(data):
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_compressBound.restype = lib.ZSTD_compress.restype = ctypes.c_size_t
    lib.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    lib.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    out = ctypes.create_string_buffer(lib.ZSTD_compressBound(len(data)))
    size = lib.ZSTD_compress(out, len(out), data, len(data), 3)
    return out.raw[:size]


def others():
    """As rocprofv3 writes it with Perfetto's SDK: names inline or interned, tracks by agent, a
    clock of the writer's own that counts on, flows instead of correlation ids."""
    out = packet((6, msg((1, msg((1, 6), (2, 1_000_000))), (1, msg((1, 3), (2, 400_000))),
                         (1, msg((1, 64), (2, 500), (3, 1), (4, 1000))))), seq=1)
    out += packet((59, msg((58, 64))), (13, 1))
    out += process(10, 77, "train") + thread(11, 10, 77, 78, "main")
    out += track(20, 0, "COMPUTE AGENT [2] QUEUE [1] (GPU)")
    out += interned(2, 5, "hipLaunchKernel") + interned(1, 6, "hip_api")
    # 500 + 100 us of the own clock is 1,000,000 + 100,000 ns.
    out += event(100, BEGIN, 11, (10, 5), (3, 6), (47, 9))
    out += event(5, END, 11)
    out += event(15, BEGIN, 20, (23, "my_kernel"), (22, "kernel_dispatch"), (47, 9))
    out += event(40, END, 20)
    out += event(1, BEGIN, 11, (23, "never ends"))
    # Another writer, on the monotonic clock, 600,000 ns behind.
    out += track(30, 10, "queue length", (8, b""))
    out += event(520_000, COUNTER, 30, (30, 12), seq=2, clock=3)
    out += event(530_000, INSTANT, 11, (23, "here"), seq=2, clock=3)
    # An id that its writer forgot means nothing.
    out += packet((13, 1), (41, 1), seq=1)
    out += event(2_000_000, BEGIN, 11, (10, 5), clock=6) + event(2_000_500, END, 11, clock=6)
    return out


def stages():
    """As a driver of Android writes GPU work."""
    out = interned(24, 1, "Compute") + interned(24, 2, "queue 0")
    for i in range(5):
        out += packet((53, msg((2, 700), (13, 2), (14, 1), (11, 3))), time=1000 * i + 10)
    return out


def dump(path):
    r = subprocess.run([find("trace_dump"), str(path)], capture_output=True, text=True)
    return r.returncode, json.loads(r.stdout) if r.stdout.startswith("{") else r.stdout, r.stderr


def events(path):
    r = subprocess.run([find("trace_dump"), "-e", str(path)], capture_output=True, text=True)
    return [line.split(" ", 9) for line in r.stdout.splitlines()]


def bare(rows):
    """Without the numbers of lanes and names, which a trip may change."""
    return sorted((x[0], *x[1:3], x[5], x[9]) for x in rows)


def own(place, root, name):
    src, out = root / name, place.path / "own.pftrace"
    out.unlink(missing_ok=True)
    r = aon(place, "export", "-f", "perfetto", "-o", out, src)
    a, b = bare(events(src)), bare(events(out))
    ok(r.returncode == 0 and a == b, f"{src.name}: the same events after the trip",
       f"{r.stderr} {sorted(set(a) ^ set(b))[:4]}")

    def answer(path):
        d = json.loads(aon(place, "report", "--json", path).stdout)
        return {k: d.get(k) for k in ("breakdown", "devices", "span_ns", "steps", "idle")}
    x, y = answer(src), answer(out)
    for d in (x, y):
        for k in d.get("devices") or []:
            k.pop("sms", None)
            k.pop("memory_bytes", None)
    ok(x == y, f"{src.name}: the same breakdown to the nanosecond", f"{x}\n{y}")


def other_writers(place):
    path = place.path / "others.pftrace"
    path.write_bytes(others())
    code, d, err = dump(path)
    rows = {x[9]: x for x in events(path)}
    call, kernel = rows["hipLaunchKernel"], rows["my_kernel"]
    ok(code == 0 and call[:3] == ["api", "1100000", "5000"] and kernel[:3] == ["kernel", "1120000", "40000"],
       "a writer's own clock, counting on, is moved by its snapshot", f"{err} {rows}")
    ok(call[5] == kernel[5] != "0", "a flow joins a call and its kernel", (call, kernel))
    lane = d["lanes"][int(kernel[6])]
    ok(lane["device"] == 2 and lane["stream"] == 1 and d["lanes"][int(call[6])]["stream"] == 78,
       "device and queue come from the track's name, threads from their descriptor", d["lanes"])
    ok(rows["queue length"][:4] == ["counter", "1120000", "0", "12"] and rows["here"][1] == "1130000",
       "a value of another clock is moved, too", rows)
    ok(rows["never ends"][7] == "1" and "" in rows and d["files"][0]["rows"] == 6,
       "a slice without an end is marked, and forgotten names are none", f"{rows} {d['files']}")
    path.write_bytes(stages())
    code, d, _ = dump(path)
    ok(code == 0 and d["kinds"]["kernel"] == [5, 3500] and d["lanes"][0]["device"] == 3
       and {x[9] for x in events(path)} == {"Compute"}, "GPU stages of a driver are GPU work", d)
    packed = packet((50, zlib.compress(others())))
    path.write_bytes(packed)
    ok(len(events(path)) == 6, "packets that were deflated are read", len(events(path)))
    path.write_bytes(gzip.compress(others()))
    ok(len(events(path)) == 6, "and a file that gzip packed")
    half = others().find(interned(2, 5, "hipLaunchKernel"))
    path.write_bytes(packet((133, zstd(others()[:half]))) + packet((133, zstd(others()[half:]))))
    ok(len(events(path)) == 6, "packets that zstd packed are read", len(events(path)))
    path.write_bytes(packet((133, zstd(others()[:half]) + zstd(others()[half:]))))
    ok(len(events(path)) == 6, "frames one after the other are one text", len(events(path)))


def bombs(place):
    """Packed packets that do not end, and packets in packets in packets."""
    path = place.path / "bomb.pftrace"
    zeros = bytes(200 << 20)
    inner = packet((133, zstd(others())))
    for name, packed in (("zstd", (133, zstd(zeros))), ("zlib", (50, zlib.compress(zeros))),
                         ("nested", (133, zstd(inner))), ("cut zstd", (133, zstd(others())[:-9])),
                         ("no zstd", (133, b"\x28\xb5\x2f\xfd" + b"\xff" * 60))):
        path.write_bytes(others() + packet(packed))
        code, d, err = dump(path)
        f = d["files"][0]
        ok(code == 1 and f["imported"] >= 6 and f["lost"] >= 1 and "byte" in f["why"],
           f"{name}: what came before is imported, the place is said", f"{code} {d} {err}")


def damage(place):
    raw = others()
    path = place.path / "cut.pftrace"
    path.write_bytes(raw[:len(raw) - 5])
    code, d, err = dump(path)
    ok(code == 1 and d["files"][0]["imported"] >= 5 and "byte" in d["files"][0]["why"],
       "of a cut file what is whole is imported, and the place is said", f"{d} {err}")
    path.write_bytes(process(1, 2, "p") + packet((1, b"\x08\x01")))
    r = aon(place, "why", path)
    ok(r.returncode == 1 and b"without track events" in r.stderr and r.stderr.count(b"\n") == 1,
       "a trace without events that aon knows is refused", r.stderr)


def lookalike(place):
    """JSON behind an empty line begins with the byte that a packet begins with."""
    path = place.path / "like.json"
    path.write_text("\n  " + json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2}]}, indent=2))
    code, d, err = dump(path)
    ok(code == 0 and d["kinds"] == {"kernel": [1, 2000]}, "JSON is not taken for packets", f"{d} {err}")


def main():
    root = data()
    with Place() as place:
        other_writers(place)
        bombs(place)
        damage(place)
        lookalike(place)
        path = place.path / "others.pftrace"
        path.write_bytes(others())
        for args in (("why", path), ("report", path)):
            r = aon(place, *args)
            ok(r.returncode == 0 and r.stdout, f"aon {args[0]} reads it", r.stderr)
        for name in OWN if root else ():
            own(place, root, name)
    done()


main()
