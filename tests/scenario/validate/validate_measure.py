# SPDX-License-Identifier: Apache-2.0
# test: timeout=240 sanitize=no
"""aon validate --measure: the host's memory and OpenCL for real, CUDA, cuBLAS and NCCL on the stand-ins."""
import os
import pathlib
import subprocess
import tempfile
import time

from aontest import *

place = pathlib.Path(tempfile.mkdtemp(prefix="aon-validate-measure-"))
SIM, LIBS = BUILD / "tests/sim/134", BUILD / "tests/sim"
NVRTC = pathlib.Path(os.environ.get("AON_PYPI", "/nonexistent")).parent / "cuda/nvrtc/lib/libnvrtc.so.13"


def run(*args, **env):
    r = subprocess.run([find("aon"), "validate", "--json", "--measure", "--root", str(place), *args], capture_output=True, text=True,
                       env=dict(os.environ, **{k: str(v) for k, v in env.items()}))
    said = json.loads(r.stdout) if r.stdout else {"checks": [], "facts": {}}
    return r, {c["id"]: c for c in said["checks"]}, said["facts"]


def number(f, key):
    return float(f.get(key, "nan"))


# --- for real ---
began = time.monotonic()
r, by, f = run(LD_LIBRARY_PATH="")
ok(0.1 < number(f, "measured/host/copy_GBps") < 1e4 and 0.1 < number(f, "measured/host/triad_GBps") < 1e4 and int(f["measured/host/threads"]) == len(os.sched_getaffinity(0)),
   f"the host's memory: triad {f.get('measured/host/triad_GBps')} GB/s", (r.stderr, f))
if "measured/0/device" in f:
    ok(f["measured/gemm_wrong"] == "0" and number(f, "measured/0/own_gemm_GFLOPS") > 0.1 and number(f, "measured/0/to_host_GBps") > 0.01 and number(f, "measured/0/from_host_GBps") > 0.01 and
       number(f, "measured/0/memory_GBps") > 0.1 and by["gemm_wrong"]["level"] == "pass", f"{f['measured/0/device']}: copies, memory, and a product whose every result is right", f)
    ok("in this run" in by["measured/0/own_gemm_GFLOPS"]["want"] and "in this run" in by["measured/0/memory_GBps"]["want"], "held against what else it reached", by)
else:
    skip("copies, memory and a product through OpenCL", "no OpenCL device: " + by["measured/0"]["is"])
print(f"# {time.monotonic() - began:.1f} s")
r, by, f = run(LD_LIBRARY_PATH="", OCL_ICD_VENDORS="/nonexistent")
ok(by["measured/0"]["level"] == "skip" and "none: " in by["measured/0"]["is"] and r.returncode == 0, "without any device that is said, and no failure", by.get("measured/0"))

# --- on the stand-ins ---
if not SIM.is_dir() or not NVRTC.is_file():
    skip("CUDA, cuBLAS and NCCL", "no stand-in GPU, or no NVRTC")
    done()
GOOD = {"LD_LIBRARY_PATH": f"{SIM}:{NVRTC.parent}", "AON_NVRTC": NVRTC, "AON_CUBLAS": LIBS / "libsim-cublas.so", "AON_NCCL": LIBS / "libsim-nccl.so", "SIM_DEVICES": 2, "SIM_DEVICE_TYPE": "h100",
        "SIM_KERNEL_NS": 20000, "SIM_CUBLAS_TFLOPS": 1500, "SIM_NCCL_GBPS": 2000}
r, by, f = run(**GOOD)
ok(f.get("measured/1/device") == "NVIDIA H100 80GB HBM3" and "measured/2/device" not in f, "each GPU is measured", (r.stderr, f))
g, n = by.get("measured/0/gemm_GFLOPS", {}), by.get("measured/all_reduce_GBps", {})
ok(g.get("level") == "pass" and "8192 x 8192 x 8192 in bf16 on H100_SXM" in g["want"] and 0 < number(f, "measured/0/gemm_GFLOPS") <= 1500e3 * 1.01, "cuBLAS against the model of products", g)
ok(n.get("level") == "pass" and "2 x H100_SXM" in n["want"] and f["measured/nccl"] == "2.27.3" and f["measured/all_reduce_wrong"] == "0", "NCCL against the model of links, its sums with it", n)
ok(number(f, "measured/0/from_host_GBps") > 0 and all("of 63 (table: the device's bus)" in by[f"measured/0/{way}_host_GBps"]["want"] for way in ("from", "to")), "copies against the bus",
   by.get("measured/0/from_host_GBps"))
ok(by["gemm_wrong"]["level"] == "fail" and r.returncode == 1, "a device that computes nothing is told: its results are wrong", by["gemm_wrong"])
r, by, f = run(**(GOOD | {"SIM_KERNEL_NS": 3000000, "SIM_CUBLAS_TFLOPS": 200, "SIM_NCCL_GBPS": 30, "SIM_NCCL_WRONG": 1, "SIM_DEVICES": 3}))
got = {k: by.get(k, {}).get("level") for k in ("measured/0/memory_GBps", "measured/0/fp32_GFLOPS", "measured/0/gemm_GFLOPS", "measured/all_reduce_GBps", "all_reduce_wrong")}
ok(set(got.values()) == {"fail"}, "what is slow or wrong fails", got)
ok("the median of 3 devices" in by["measured/slowest/memory_GBps"]["want"], "from three on GPUs are held against each other", by.get("measured/slowest/memory_GBps"))
r, by, f = run(**(GOOD | {"SIM_NCCL_ERROR": 3, "AON_CUBLAS": "/nonexistent"}))
ok(by["measured/all_reduce"]["level"] == "fail" and "error 3" in by["measured/all_reduce"]["is"], "NCCL that refuses is told", by.get("measured/all_reduce"))
ok("measured/0/gemm_GFLOPS" not in f and "measured/0/own_gemm_GFLOPS" in f, "without cuBLAS there is the own product alone", f)
r, by, f = run(**(GOOD | {"SIM_DEVICES": 1, "SIM_FAIL": "cuLaunchKernel=719@3"}))
ok(by["measured/0"]["level"] == "fail" and "CUDA_ERROR_LAUNCH_FAILED" in by["measured/0"]["is"] and r.returncode == 1, "a launch that fails is a failure of the device", by.get("measured/0"))
done()
