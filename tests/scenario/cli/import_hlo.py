#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""What XLA's operations have to do, from an XPlane: by the program beside the times, as XLA itself counts it; by stats of
the events; and of a recorded job on eight MI300X."""
import json
import struct
import subprocess
import sys

from aontest import SANITIZED, Place, data, done, ok, skip
from clitest import aon
from torchtest import APPS, CACHE


def roofline(place, path):
    r = aon(place, "roofline", "--json", "--all", path)
    return json.loads(r.stdout)["roofline"] if r.returncode == 0 else {"kernels": [], "ops": [], "why": r}


# --- messages of protobuf ---

def number(v):
    out = b""
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


def msg(*fields):
    """(field, value): a number, a double, text, or a message."""
    out = b""
    for f, v in fields:
        if isinstance(v, float):
            out += number(f << 3 | 1) + struct.pack("<d", v)
        elif isinstance(v, int):
            out += number(f << 3) + number(v)
        else:
            v = v.encode() if isinstance(v, str) else v
            out += number(f << 3 | 2) + number(len(v)) + v
    return out


def entry(key, *fields):
    return msg((1, key), (2, msg((1, key), *fields)))


def shape(kind, *dims):
    return msg((2, kind), (3, b"".join(number(d) for d in dims)))


def stat(at, kind, v):
    return (4, msg((1, at), (kind, v)))


STATS = ["hlo_op", "hlo_module", "program_id", "flops", "bytes_accessed", "Hlo Proto", "correlation_id"]
AT = {s: i + 1 for i, s in enumerate(STATS)}
NAMES = [(5, entry(i, (2, s))) for s, i in AT.items()]


def kernel(event, start_us, *stats):
    return (4, msg((1, event), (2, start_us * 10**6), (3, 10**7), *stats))


LOOP = msg((1, "loop.3"), (2, "fusion"), (3, shape(16, 8, 8)), (35, 5), (38, 2))  # of itself


def program(i, *insts):
    return entry(i, (2, f"jit_f({i})"), (5, msg((1, AT["Hlo Proto"]), (6, msg((1, msg((1, "jit_f"), (3, msg((5, 1), *insts)), (3, msg((5, 2), (2, LOOP))))))))))


def gemm(m, k, n):
    """A call of cuBLAS in bf16, whose dimensions are in its settings."""
    config = '{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["0"],' \
             '"lhs_batch_dimensions":[],"rhs_batch_dimensions":[]}}}'
    room = msg((2, 13), (4, shape(16, m, n)), (4, shape(6, 1 << 20)))
    return [(2, msg((1, "a"), (2, "parameter"), (3, shape(16, m, k)), (35, 1))), (2, msg((1, "b"), (2, "parameter"), (3, shape(16, k, n)), (35, 2))),
            (2, msg((1, "gemm.1"), (2, "custom-call"), (3, room), (28, "__cublas$gemm"), (35, 3), (36, bytes([1, 2])), (43, config))),
            (2, msg((1, "strange.2"), (2, "custom-call"), (3, shape(16, m, n)), (28, "mine"), (35, 4), (36, bytes([3])))),
            (2, LOOP)]


def made_gpu(place):
    """Two programs of one name and with the same operations, of other sizes."""
    path = place.path / "gpu.xplane.pb"
    stats = (stat(AT["hlo_op"], 5, "gemm.1"), stat(AT["hlo_module"], 5, "jit_f"))
    line = msg((1, 7), (2, "Stream #7(Kernel)"), (3, 1000), *[kernel(1, 20 * i, *stats, stat(AT["program_id"], 4, 5 + i % 2)) for i in range(4)],
               kernel(2, 100, stat(AT["hlo_op"], 5, "strange.2"), stat(AT["program_id"], 4, 5)),
               kernel(2, 120, stat(AT["hlo_op"], 5, "loop.3"), stat(AT["program_id"], 4, 5)))
    path.write_bytes(msg((1, msg((2, "/host:metadata"), (4, program(5, *gemm(4096, 1024, 512))), (4, program(6, *gemm(64, 128, 256))), *NAMES)),
                         (1, msg((2, "/device:GPU:0"), (3, line), (4, entry(1, (2, "nvjet_tst_128x128_64x4_1x1_v_bz_TNN"))),
                                 (4, entry(2, (2, "strange"))), *NAMES))))
    r = roofline(place, path)
    k = {x["shapes"]: x for x in r["kernels"] if x["how"] == "hlo"}
    want = {f"flops={2 * m * n * k} bytes={2 * (m * k + k * n + m * n)} type=15 gemm={m}x{n}x{k}x1": 2 for m, k, n in ((4096, 1024, 512), (64, 128, 256))}
    ok({s: x["count"] for s, x in k.items()} == want, "a product by cuBLAS of each of two programs with one name", r)
    ok(all(x["tensor"] and x["type"] == "bf16" for x in k.values()), "is of its type, on tensor cores", k)
    ok([x["how"] for x in r["kernels"] if x["name"] == "strange"] == ["none"],
       "what XLA cannot count either, and a fusion of itself, have no work", r["kernels"])
    store = place.path / "gpu.db"
    ok(aon(place, "import", "-o", store, path).returncode == 0 and
       sorted(x["shapes"] or "" for x in roofline(place, store)["kernels"]) == sorted(x["shapes"] or "" for x in r["kernels"]),
       "the same from a store", store)


def made_tpu(place):
    """A TPU says it with each operation."""
    path = place.path / "tpu.xplane.pb"
    costs = (5, msg((1, AT["flops"]), (3, 2 * 10**9))), (5, msg((1, AT["bytes_accessed"]), (2, 3e6)))
    line = msg((1, 3), (2, "XLA Ops"), (3, 1000), kernel(1, 0), kernel(1, 20), kernel(2, 40))
    path.write_bytes(msg((1, msg((2, "/device:TPU:0"), (3, line), (4, entry(1, (2, "%fusion.3 = bf16[8]"), (4, "fusion.3"), *costs)),
                                 (4, entry(2, (2, "%copy.1 = bf16[8]"))), *NAMES))))
    k = {x["op"] or "": (x["how"], x["count"], x["flops"], x["bytes"]) for x in roofline(place, path)["kernels"]}
    ok(k.get("fusion.3") == ("hlo", 2, 2e9, 3e6) and k.get("", (0,))[0] == "none", "stats of an event's name say its work", k)


def real(place, version, folder):
    out = place.path / version
    r = subprocess.run([sys.executable, APPS / "jax_costs.py", out], env={"PATH": "/usr/bin:/bin", "HOME": str(place.path), "PYTHONPATH": str(folder),
                       "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=120)
    want = json.loads(r.stdout) if r.returncode == 0 else {}
    path = next(iter(out.rglob("*.xplane.pb")), None)
    ok(want and path, f"JAX {version} has profiled itself", r)
    got = {}
    for x in roofline(place, path)["ops"] if path else ():
        module = got.setdefault(x["name"].split("/")[0], {"flops": 0, "bytes": 0})
        module["flops"] += x["flops"]
        module["bytes"] += x["bytes"]
    for name, w in want.items():
        g = got.get(name, {"flops": 0, "bytes": 0})
        ok(g["flops"] == w["flops"], f"JAX {version}: operations of {name} are those of cost_analysis()", (g, w))
        ok(abs(g["bytes"] / w["bytes"] - 1) < 0.02, f"JAX {version}: and its bytes, within 2 %", (g, w))


def recorded(place, root):
    """A 3D convolution of 1x16x32x60x104 by 5120x16x1x2x2, stride 1x2x2, padded 1 at both ends, on each of eight MI300X."""
    r = roofline(place, root / "tracelens/traces/mi300/jax_conv_minimal_08/tw003.xplane.pb")
    conv = [x for x in r["kernels"] if x["op"] == "jit_forward_3d_conv/cudnn-conv.1" and x["how"] == "hlo"]
    ok(sorted(x["device"] for x in conv) == list(range(8)) and all(x["name"].startswith("Cijk_") for x in conv),
       "on each device the longest kernel of a convolution has its work", conv)
    fused = 2 * 16 * 5120 * 32 * 60 * 104  # each point of the image meets one of each 2 x 2 points of the kernel
    ok(conv and all(x["flops"] and abs(x["flops"] / fused - 1) < 1e-4 for x in conv), "which leaves out what meets the edge only", conv[:1])
    ok(all(d["known_as"] == "MI300X" for d in r["devices"]) and all(x["fraction"] and x["limit"] != "unknown" for x in conv),
       "a device without a name is known by its size", (r["devices"], conv[:1]))
    moved = [x for x in r["kernels"] if x["op"] == "jit_forward_3d_conv/input_transpose_fusion"]
    ok(moved and all(f"bytes={2 * 2 * 55862 * 5120} " in x["shapes"] for x in moved), "a transposition reads and writes its bytes once", moved[:1])


with Place() as p:
    made_gpu(p)
    made_tpu(p)
    versions = [(f.name, f) for f in sorted(CACHE.glob("jax/*")) if (f / ".has").exists()]
    for v, f in versions if not SANITIZED else ():
        real(p, v, f)
    if not versions or SANITIZED:
        skip("operations as JAX counts them", "no JAX" if not versions else "a sanitizer's runtime must come before Python's")
    if data():
        recorded(p, data())
    else:
        skip("a recorded job", "the shared data is not here")
done()
