#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""What limits kernels, from a trace made for it: aon why on a slow product, aon roofline, and the report
where the device or the work is not known."""
import json

from aontest import Place, done, ok
from clitest import aon

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
COPY = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)"
M, N, K = 2560, 2688, 4096  # 20 x 21 tiles on 132 SMs: 3.2 waves, the last one 18 % full


def trace(path, device="NVIDIA H100 80GB HBM3", gemm_us=250.0):
    """Ten steps of a product and of a sum of 2^24 elements, back to back."""
    ev, n = [], 0
    for s in range(10):
        at = 1000.0 + s * 400
        ev.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{s}", "pid": 1, "tid": 1, "ts": at, "dur": 399})
        for k, (op, dims, kernel, grid, block, start, dur) in enumerate((
                ("aten::mm", [[M, K], [K, N]], GEMM, [132, 1, 1], [384, 1, 1], 20, gemm_us),
                ("aten::add", [[1 << 24], [1 << 24], []], COPY, [32768, 1, 1], [128, 1, 1], 21 + gemm_us, 70.0))):
            n += 1
            kind = "c10::BFloat16" if op == "aten::mm" else "float"
            ev.append({"ph": "X", "cat": "cpu_op", "name": op, "pid": 1, "tid": 1, "ts": at + 5 * k, "dur": 4,
                       "args": {"External id": n, "Input Dims": dims, "Input type": [kind, kind, "Scalar"][:len(dims)]}})
            ev.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5 * k + 1, "dur": 2,
                       "args": {"correlation": n, "External id": n}})
            ev.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": at + start, "dur": dur,
                       "args": {"device": 0, "context": 1, "stream": 7, "correlation": n, "External id": n, "grid": grid, "block": block,
                                "registers per thread": 168, "shared memory": 0}})
    props = [{"id": 0, "name": device, "numSms": 132, "totalGlobalMem": 85018279936}]
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": props, "traceEvents": ev}))
    return path


def kernels(place, path):
    return {k["name"]: k for k in json.loads(aon(place, "roofline", "--json", path).stdout)["roofline"]["kernels"]}


def slow(place):
    path = trace(place.path / "slow.json")
    found = json.loads(aon(place, "why", "--json", path).stdout)["findings"]
    f = next((f for f in found if f["family"] == "slow_kernels"), None)
    ok(f and f"mm {M}x{N}x{K}" in f["title"] and "of what this shape should reach" in f["title"],
       "why names a product that takes longer than its shape should", found and found[0]["title"])
    text = json.dumps(f)
    ok(f and "3.2 waves" in text and "18 % full" in text, "with its waves, and how full the last one is", text)
    ok(f and f["cost_ns"] > 0 and f["action"], "what it costs, and what to do", text)
    k = kernels(place, path)
    g, a = k[GEMM], k[COPY]
    ok(g["how"] == "shapes" and g["tensor"] and g["limit"] == "latency" and abs(g["flops"] / (2 * M * N * K) - 1) < 1e-4 and
       g["of_model"] < 0.6, "its work is that of its shapes, on tensor cores", g)
    ok(a["limit"] == "memory" and abs(a["bytes"] / (3 * 4 * 2**24) - 1) < 1e-4 and 0.8 < a["fraction"] < 0.9,
       "a sum is limited by memory", a)
    r = aon(place, "report", "--by", "kernel", path).stdout.decode()
    ok("latency" in r and "memory" in r and "shapes" in r, "the report by kernel says so", r)


def fast(place):
    path = trace(place.path / "fast.json", gemm_us=90.0)
    found = json.loads(aon(place, "why", "--json", path).stdout)["findings"]
    ok(not [f for f in found if f["family"] == "slow_kernels"], "a product as fast as expected is not found",
       [f["title"] for f in found])
    ok(kernels(place, path)[GEMM]["limit"] == "compute", "it is limited by compute")


def unknown(place):
    path = trace(place.path / "unknown.json", device="A device of tomorrow")
    k = kernels(place, path)
    ok(all(x["limit"] == "unknown" and x["fraction"] is None and x["flops"] for x in k.values()),
       "of a device that is not known no limit is said, but the work", k)
    text = aon(place, "roofline", path).stdout.decode()
    ok("Device not known: A device of tomorrow" in text, "and that is said", text)
    found = json.loads(aon(place, "why", "--json", path).stdout)["findings"]
    ok(not [f for f in found if f["family"] == "slow_kernels"], "nothing is called slow", found)


with Place() as p:
    slow(p)
    fast(p)
    unknown(p)
done()
