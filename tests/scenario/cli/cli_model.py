#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon model: what it says holds together, its JSON is as documented, and bad questions are refused."""
import json
import os
import pathlib

import aonschema
from aontest import SANITIZED, Place, done, ok, skip
from clitest import aon

NVMMH = "nvidia/nvMatmulHeuristics/lib/libnvMatmulHeuristics.so.0"
SHAPE = ["--m", "4096", "--n", "4096", "--k", "4096"]


def ask(place, *args):
    r = aon(place, "model", *args, "--json")
    return json.loads(r.stdout) if r.returncode == 0 else {"error": r.stderr.decode()}


def gemm(place):
    a = ask(place, "gemm", "--device", "h100_sxm", *SHAPE, "--dtype", "bf16")
    ok(not aonschema.check(a), "as docs/json.md has it", aonschema.check(a)[:5])
    ok(a["flops"] == 2 * 4096**3 or abs(a["flops"] / 2 / 4096**3 - 1) < 1e-5, "two operations a multiply-add", a)
    ok(a["limiter"] == "compute" and 0.7 < a["roof_fraction"] < 0.95 and a["fitted"],
       "a large product on H100 is limited by compute, near the roof", a)
    ok(abs(a["flops"] / a["ns"] / 1e3 / a["tflops"] - 1) < 1e-4, "TFLOPS are operations over time", a)
    small = ask(place, "gemm", "--device", "NVIDIA H100 80GB HBM3", "--m", "256", "--n", "256", "--k", "256")
    ok(small["limiter"] == "launch" and small["busy"]["ns"] < small["ns"] < 7000 and small["waves"] < 1,
       "a small one is limited by its launch, less so in a busy stream; the driver's name is taken", small)
    one, four = (ask(place, "gemm", "--device", "B200", *SHAPE, "--batch", b, "--dtype", "fp8") for b in "14")
    ok(3 < four["ns"] / one["ns"] < 4.2, "four products take about four times as long", (one, four))
    a100 = ask(place, "gemm", "--device", "A100_SXM_80", *SHAPE, "--dtype", "f16")
    ok(not a100["fitted"] and a100["constants"] == "sm_90 bf16" and a100["ns"] > a["ns"],
       "a device that was not measured says whose constants it has", a100)
    r = aon(place, "model", "gemm", "--device", "A100_SXM_80", *SHAPE)
    ok(r.returncode == 0 and b"sm_90 bf16" in r.stdout and b"limited by compute" in r.stdout, "so in words", r)


def second(place):
    shape = ["model", "gemm", "--device", "H100_SXM", *SHAPE, "--second-opinion"]
    r = aon(place, *shape, env={"AON_NVMMH": "/nonexistent.so"})
    ok(r.returncode == 1 and b"pip install nvidia-matmul-heuristics" in r.stderr and not r.stdout,
       "without nvMatmulHeuristics it says how to get it", r)
    r = aon(place, *shape, env={"AON_NVMMH": "libz.so.1"})
    ok(r.returncode == 1 and b"cannot be used" in r.stderr, "another library is refused", r)
    lib = pathlib.Path(os.environ.get("AON_PYPI", "")).parent / "nvmmh" / NVMMH
    if not lib.is_file() or SANITIZED:
        skip("nvMatmulHeuristics gives a second opinion", "it is not here, or this is a sanitizer's build")
        return
    env = {"AON_NVMMH": lib}
    r = aon(place, *shape, "--json", env=env)
    a = json.loads(r.stdout or b"{}")
    b = a.get("second_opinion", {})
    ok(not aonschema.check(a) and b.get("source", "").startswith("nvMatmulHeuristics 0.1.")
       and 0.5 < b["ns"] / a["ns"] < 2, "nvMatmulHeuristics gives a second opinion on a large product", r)
    r = aon(place, *shape, env=env)
    ok(r.returncode == 0 and b"nvMatmulHeuristics 0.1" in r.stdout, "so in words", r)
    r = aon(place, "model", "gemm", "--device", "MI300X", *SHAPE, "--second-opinion", env=env)
    ok(r.returncode == 1 and b"does not know bf16 of MI300X" in r.stderr and not r.stdout,
       "of another vendor's device it has none", r)


def refused(place):
    d = ["--device", "H100_SXM"]
    for words, code, said in (
            ([], 2, b"say what to model"), (["soup"], 2, b"no model 'soup'"), (["gemm", "gemm"], 2, b"one model"),
            (["gemm", *SHAPE], 2, b"--device is needed"), (["gemm", *d, "--m", "1", "--n", "1"], 2, b"--k K is needed"),
            (["gemm", "--device", "H10", *SHAPE], 1, b"near: H100_SXM"),
            (["gemm", "--device", "Trinitron", *SHAPE], 1, b"no device 'Trinitron' is known"),
            (["gemm", *d, "--m", "0", "--n", "1", "--k", "1"], 2, b"above 0"),
            (["gemm", *d, "--m", "-4", "--n", "1", "--k", "1"], 2, b"above 0"),
            (["gemm", *d, "--m", "1e3", "--n", "1", "--k", "1"], 2, b"above 0"),
            (["gemm", *d, *SHAPE, "--batch", "0"], 2, b"above 0"),
            (["gemm", *d, "--m", "18446744073709551616", "--n", "1", "--k", "1"], 2, b"above 0"),
            (["gemm", *d, "--m", "18446744073709551615", "--n", "2", "--k", "1"], 1, b"too large"),
            (["gemm", *d, *SHAPE, "--dtype", "q5"], 2, b"--dtype takes bf16"),
            (["gemm", "--device", "A100_SXM_80", *SHAPE, "--dtype", "fp8"], 1, b"has no fp8")):
        r = aon(place, "model", *words)
        ok(r.returncode == code and said in r.stderr and r.stderr.startswith(b"aon model: ") and not r.stdout
           and r.stderr.count(b"\n") == 1, f"{' '.join(words)!r} is refused in one line, exit {code}", r)


with Place() as p:
    gemm(p)
    second(p)
    refused(p)
done()
