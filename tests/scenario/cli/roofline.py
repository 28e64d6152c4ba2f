#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""aon roofline: the table of devices against what others say of them, and files of devices."""
import json
import os
import pathlib

import aonschema
from aontest import BUILD, Place, data, done, ok, skip
from clitest import aon, on_terminal

TOO_FAR = 0.025  # what rounding in a data sheet does, and no more

# Of XLA's numbers of types (xla_data.proto); it counts a multiply-add as one operation.
XLA_MATRIX = {"2": "int8", "10": "fp16", "16": "bf16", "11": "tf32", "12": "fp64", "19": "fp8", "32": "fp4"}
XLA_VECTOR = {"12": "fp64", "11": "fp32", "10": "fp16", "16": "bf16"}
XLA = {"a100_pcie_80": "A100_PCIE_80", "a100_sxm_40": "A100_SXM_40", "a100_sxm_80": "A100_SXM_80", "b200": "B200", "b300": "B300",
       "gb200": "GB200", "gb300": "GB300", "h100_pcie": "H100_PCIE", "h100_sxm": "H100_SXM", "h200": "H200",
       "mi200": "MI250X", "mi350": "MI350X", "v100": "V100_SXM_16",
       "a6000": "RTX_A6000"}
# Devices that the table has not: nothing to compare.
ABSENT = {"bmg_g21", "gfx1250", "p100", "pvc", "rtx6000pro", "ARTEMIS", "Quadro GP100",
          "AMD Radeon Graphics", "NVIDIA GeForce RTX 2080 Ti", "NVIDIA H100"}

# Who says another number than the table, and why the table does not follow them.
SPARSE = "printed with 2:4 sparsity: twice the dense peak"
BOTH_WAYS = "both directions together; the table has one"
PEAKS = "tensor.int8 tensor.fp16 tensor.bf16 tensor.tf32 tensor.fp8 tensor.fp4"
KNOWN = {(source, device, field): why for source, device, fields, why in (
    ("xla", "A100_PCIE_80", "clock_mhz vector.fp64 vector.fp32 vector.bf16 tensor.int8 tensor.fp16 tensor.bf16 "
     "tensor.tf32 tensor.fp64", "taken of one whose clock was capped at 1.11 GHz; the data sheet has 1.41"),
    ("xla", "A100_PCIE_80", "memory_Bps", "that is the SXM board's; the data sheet of this one has 1,935"),
    ("xla", "A100_PCIE_80", "memory_bytes", "free memory, not all of it"),
    ("xla", "A100_PCIE_80", "vector.fp16", "the white paper has four times fp32, not twice"),
    ("xla", "A100_SXM_40", "vector.fp16", "the white paper has four times fp32, not twice"),
    ("xla", "A100_SXM_80", "vector.fp16", "the white paper has four times fp32, not twice"),
    ("xla", "GB200", PEAKS, "by B200's tensor clock; NVL72's data sheet over 72 is 4 % more"),
    ("xla", "B300", "tensor.fp16 tensor.bf16 tensor.tf32 tensor.fp8", "by all 158 SMs at one tensor clock; HGX's data sheet over 8 is 5 % less"),
    ("xla", "B300", "tensor.fp4 tensor.int8 tensor.fp64 vector.fp64",
     "as if it were a B200: Blackwell Ultra has half again as much fp4, hardly any int8 and fp64"),
    ("xla", "GB300", "tensor.fp16 tensor.bf16 tensor.tf32 tensor.fp8", "as of GB200"),
    ("xla", "GB300", "tensor.fp4 tensor.int8 tensor.fp64 vector.fp64",
     "as if it were a GB200: Blackwell Ultra has half again as much fp4, hardly any int8 and fp64"),
    ("xla", "MI350X", "memory_Bps", "what was reached, not the peak"),
    ("xla", "MI350X", "memory_bytes", "free memory, not all of it"),
    ("xla", "MI350X", "l2_bytes", "of one of eight dies"),
    ("LLM-Viewer", "V100_SXM", "peak.fp16", "the PCIe board's"),
    ("LLM-Viewer", "H100_SXM", "memory_Bps", "3.35 TB/s in the data sheet"),
    ("LLM-Viewer", "H100_SXM", "peak.fp16 peak.int8", SPARSE),
    ("GenZ", "A100_SXM_40", "memory_Bps", "rounded up"),
    ("GenZ", "A100_SXM_40", "link_Bps", "half of the data sheet's 600 GB/s both ways is 300"),
    ("GenZ", "A100_SXM_80", "link_Bps", "half of the data sheet's 600 GB/s both ways is 300"),
    ("GenZ", "MI300X", "link_Bps", "rounded: seven links of 64 GB/s are 448"),
    ("stas00/ml-engineering@0074473", "B200", "memory_Bps", "8 TB/s is of the chip; boards run at 7.67"),
    ("stas00/ml-engineering@0074473", "B200", "memory_bytes", "of the chip; boards have 180 GB in use"),
    ("LLM-Prof", "B200", "memory_Bps", "8 TB/s is of the chip; boards run at 7.67"),
    ("unnamed", "B200", "memory_Bps", "8 TB/s is of the chip; boards run at 7.67"),
    ("LLM-Prof", "H100_SXM", "link_Bps", BOTH_WAYS),
    ("LLM-Prof", "B200", "link_Bps", BOTH_WAYS),
    ("unnamed", "H100_SXM", "peak.fp16 peak.fp8", SPARSE),
    ("unnamed", "A100_SXM_80", "peak.fp16 peak.int8", SPARSE),
    ("astroC86/gpu-datasheet", "H100_SXM", "peak.fp16 peak.fp8", SPARSE),
    ("astroC86/gpu-datasheet", "H200", "peak.fp16 peak.fp8", SPARSE),
    ("vidur", "A40", "memory_bytes", "what is free of 48 GB"),
    ("TraceLens", "MI300X", "peak.bf16 peak.fp16 peak.fp8", "the most that is reached in practice"),
) for field in fields.split()}


def near(a, b):
    return abs(a - b) <= TOO_FAR * max(abs(a), abs(b))


def claims_of_xla(root):
    for name, x in json.loads((root / "xla_specs.json").read_text()).items():
        if name in ABSENT:
            continue
        key = XLA[name]
        yield "xla", key, "sms", x["sm"]
        yield "xla", key, "clock_mhz", x["clock_ghz"] * 1e3
        yield "xla", key, "memory_Bps", x["mem_bw_GBs"] * 1e9
        yield "xla", key, "l2_bytes", x["l2_MiB"] * 2 ** 20
        yield "xla", key, "memory_bytes", x["mem_GiB"] * 2 ** 30
        if x["cc"][:1].isdigit():
            yield "xla", key, "cc", float(x["cc"]) * 10
        for kind, types in (("matrix", XLA_MATRIX), ("scalar", XLA_VECTOR)):
            for number, word in types.items():
                if number in x.get(kind + "_tflops", {}):
                    yield "xla", key, ("tensor." if kind == "matrix" else "vector.") + word, \
                        2e12 * x[kind + "_tflops"][number]


def claims_of_others(root):
    field = {"bw": ("memory_Bps", 1e9), "mem": ("memory_bytes", 2 ** 30), "icn": ("link_Bps", 1e9),
             "nvlink_uni": ("link_Bps", 1e9)}
    keys = {"V100": "V100_SXM", "A100_40": "A100_SXM_40", "A100_80": "A100_SXM_80", "RTX4090": "RTX_4090"}
    for source, devices in json.loads((root / "spec_tables_crosscheck.json").read_text()).items():
        for key, values in devices.items():
            if key in ABSENT:
                continue
            for name, v in values.items():
                to, unit = field.get(name, ("peak." + name, 1e12))
                yield source.split()[0], keys.get(key, key), to, v * unit


def claims_of_traces(root):
    for name, p in json.loads((root / "device_properties_from_traces.json").read_text()).items():
        if name in ABSENT:
            continue
        yield "traces", name, "sms", p["numSms"]
        yield "traces", name, "memory_bytes", p["totalGlobalMem"]
        if "AMD" not in name:
            yield "traces", name, "cc", p["computeMajor"] * 10 + p["computeMinor"]


def ours(device, field):
    kind, _, word = field.partition(".")
    if kind == "peak":
        return max(device["vector_flops"].get(word, 0), device["tensor_flops"].get(word, 0))
    return device[kind + "_flops"].get(word, 0) if word else device.get(field, 0)


def cross_check(place):
    root = data()
    if not root or not (root / "specs").is_dir():
        skip("what others say of devices", "the shared data is not here")
        return
    root = root / "specs"
    new, met, n = [], set(), 0
    for source, device, field, v in [*claims_of_xla(root), *claims_of_others(root), *claims_of_traces(root)]:
        r = aon_device(place, device)
        n += 1
        if r is None:
            new.append(f"{source}: {device} is not known")
        elif not near(ours(r, field), v):
            if (source, device, field) in KNOWN:
                met.add((source, device, field))
            else:
                new.append(f'("{source}", "{device}", "{field}"): they say {v:g}, the table {ours(r, field):g}')
    ok(n > 150 and not new, f"{n} numbers of others are those of the table, but for what is known to differ",
       "\n".join(new))
    ok(met == set(KNOWN), "each difference that is known is still there", sorted(set(KNOWN) - met))


SEEN = {}


def aon_device(place, text):
    if text not in SEEN:
        r = aon(place, "roofline", "show", text, "--json")
        SEEN[text] = json.loads(r.stdout)["devices"][0] if r.returncode == 0 else None
    return SEEN[text]


def devices(place):
    r = aon(place, "roofline", "devices", "--json")
    d = json.loads(r.stdout)
    ok(r.returncode == 0 and len(d["devices"]) > 25 and not aonschema.check(d), "devices as docs/json.md has them",
       aonschema.check(d)[:5])
    text = aon(place, "roofline").stdout.decode()
    ok(all(g["key"] in text for g in d["devices"]), "the list has each of them", text)
    for width in (80, 60):
        out, _ = on_terminal(place, ["roofline", "devices"], width)
        ok(all(len(x) <= width + 12 for x in out.decode().splitlines()), f"fits {width} columns", out)
    text = aon(place, "roofline", "show", "NVIDIA H100 80GB HBM3").stdout.decode()
    ok("H100_SXM" in text and "989 " in text and "[W] the vendor's white paper" in text,
       "a device by the name that a trace gives, with sources", text)
    r = aon(place, "roofline", "show", "h1000")
    ok(r.returncode == 1 and b"no device 'h1000' is known" in r.stderr, "a device that nobody knows", r)
    for bad in (["show"], ["show", "a", "b"], ["devices", "x"]):
        r = aon(place, "roofline", *bad)
        ok(r.returncode == 2 and r.stderr and not r.stdout, f"misuse: {' '.join(bad)}", r)


MINE = {"schema": "aon.devices/1", "devices": [
    {"key": "MINE", "name": "My GPU", "like": "H100_SXM", "memory_Bps": 1e12},
    {"key": "H100_SXM", "name": "Ours", "like": "H100_SXM", "link_Bps": 1e9}]}


def files(place):
    f = place.path / "mine.json"
    f.write_text(json.dumps(MINE))
    env = {"AON_DEVICES": f}
    d = json.loads(aon(place, "roofline", "show", "my gpu", "--json", env=env).stdout)["devices"][0]
    ok(d["key"] == "MINE" and d["memory_Bps"] == 1e12 and d["sms"] == 132, "a device of a file, like another", d)
    d = json.loads(aon(place, "roofline", "show", "h100_sxm", "--json", env=env).stdout)["devices"][0]
    ok(d["link_Bps"] == 1e9, "goes before the table's", d)
    text = aon(place, "roofline", env=env).stdout.decode()
    ok("MINE" in text, "and is in the list", text)
    r = aon(place, "roofline", "show", "L40S", "--json")
    f.write_bytes(r.stdout.replace(b'"L40S"', b'"COPY"'))
    a, b = json.loads(r.stdout), json.loads(aon(place, "roofline", "show", "copy", "--json", env=env).stdout)
    a["devices"][0].pop("sources")
    a["devices"][0]["key"] = "COPY"
    ok(a == b, "what is printed is such a file", b)
    home = place.path / "aon"
    home.mkdir()
    (home / "devices.json").write_text(json.dumps(MINE))
    ok(aon(place, "roofline", "show", "mine").returncode == 0, "found without being named")
    (home / "devices.json").unlink()
    bad = place.path / "bad.json"
    for what, text, want in (
            ("a typing mistake", '{"schema": "aon.devices/1",\n "devices": [{"key": "A",\n "memory_bps": 1}]}',
             "bad.json:3: unknown field 'memory_bps'"),
            ("a cut file", '{"schema": "aon.devices/1", "devices": [{"key": "A', "bad.json:1: this is not JSON"),
            ("no JSON", "\x1b[31mhello", "bad.json:1: an object"),
            ("too large", " " * ((1 << 20) + 1), "File too large"),
            ("a value with an escape", '{"schema": "aon.devices/1", "devices": [{"sms": "\x1b[31m"}]}', "number")):
        bad.write_text(text)
        r = aon(place, "roofline", "devices", env={"AON_DEVICES": bad})
        ok(r.returncode == 1 and want in r.stderr.decode() and b"\x1b" not in r.stderr and not r.stdout,
           f"{what} is said with its place", r)
    r = aon(place, "model", "gemm", "--device", "H100", "--m", "8", "--n", "8", "--k", "8", env={"AON_DEVICES": bad})
    ok(r.returncode == 1 and b"bad.json:1:" in r.stderr, "models refuse it, too", r)
    r = aon(place, "run", "--no-report", "-o", place.path / "run.db", "--", "true", env={"AON_DEVICES": bad})
    ok(r.returncode == 0 and b"bad.json:1:" in r.stderr, "a program is run all the same", r)
    r = aon(place, "roofline", "devices", env={"AON_DEVICES": place.path / "none.json"})
    ok(r.returncode == 1 and b"none.json: No such file" in r.stderr, "a file that was named and is not there", r)


def measure(place, *args, **env):
    """aon roofline measure --quick --json. What drivers leave behind is theirs."""
    return aon(place, "roofline", "measure", "--quick", "--json", *args, timeout=110,
               env={"ASAN_OPTIONS": "detect_leaks=0", "POCL_CACHE_DIR": place.path / "pocl", **env})


def measured(place):
    if not list(pathlib.Path("/etc/OpenCL/vendors").glob("*.icd")):
        skip("a device is measured through OpenCL", "no OpenCL driver: pocl-opencl-icd")
        return
    r = measure(place, "--api", "opencl")
    if not ok(r.returncode == 0, "a device is measured through OpenCL", r.stderr):
        return
    d = json.loads(r.stdout)
    g = d["devices"][0]
    ok(not aonschema.check(d) and g["key"] == "measured" and g["measured"] and g["sms"] > 0,
       "as docs/json.md has it", aonschema.check(d) or g)
    ok(b"measuring: peak of fp32" in r.stderr, "it says on stderr what it is at", r.stderr)
    sizes = [x["bytes"] for x in g["levels"]]
    rates = [x["Bps"] for x in g["levels"]]
    ok(len(sizes) > 3 and sizes == sorted(sizes) and sizes[-1] > 32 << 20, "ever larger working sets", sizes)
    # A machine at work slows one or the other; not all of the small ones by as much as this.
    ok(max(rates[:-3]) > 0.7 * rates[-1], "caches are not slower than memory", rates)
    ok(all(1e6 < x < 1e14 for x in [*rates, g["memory_Bps"], g["pcie_Bps"]]), "bandwidths that a machine has", g)
    ok(all(1e6 < x < 1e16 for x in g["vector_flops"].values()) and "fp32" in g["vector_flops"],
       "peaks that a machine has", g["vector_flops"])
    ok(10 < g["launch_ns"] < 1e8, "the time of an empty kernel", g["launch_ns"])
    again = json.loads(aon(place, "roofline", "show", "measured", "--json").stdout)["devices"][0]
    g.pop("levels")
    ok(again == g, "it is kept, and known from now on", again)
    text = aon(place, "roofline", "show", g["name"]).stdout.decode()
    ok("(measured)" in text, "also by its name", text)
    r = measure(place, "--api", "opencl", "--index", "99")
    ok(r.returncode == 1 and b"no OpenCL device 99" in r.stderr, "a device that is not there", r)
    r = measure(place, "--api", "opencl", OCL_ICD_VENDORS=place.path / "none")
    ok(r.returncode == 1 and b"there is no OpenCL device" in r.stderr, "no driver of OpenCL", r)
    r = measure(place, "--api", "opencl", "-o", "/proc/none/x.json")
    ok(r.returncode == 1 and b"/proc/none/x.json" in r.stderr and not r.stdout, "a place that cannot be written", r)
    r = aon(place, "roofline", "measure", "--api", "metal")
    ok(r.returncode == 2 and b"opencl|cuda" in r.stderr, "an interface that is not known", r)


def cuda(place):
    """The same kernels compiled by NVRTC; on the stand-in each takes a millisecond, whatever it does."""
    sim = BUILD / "tests" / "sim" / "134"
    nvrtc = pathlib.Path(os.environ.get("AON_PYPI", "/nonexistent")).parent / "cuda" / "nvrtc" / "lib" / "libnvrtc.so.13"
    if not sim.is_dir() or not nvrtc.is_file():
        skip("CUDA kernels compile", "no stand-in GPU, or no NVRTC")
        return
    env = {"LD_LIBRARY_PATH": f"{sim}:{nvrtc.parent}", "AON_NVRTC": nvrtc, "SIM_KERNEL_NS": 1000000}
    # What a block's product of matrices has for each of its threads: of 16 x 8 a warp, or 128 x 256 a block.
    for kind, name, each in (("a100", "NVIDIA A100-SXM4-80GB", 128), ("l40s", "NVIDIA L40S", 128),
                             ("h100", "NVIDIA H100 80GB HBM3", 4096), ("b200", "NVIDIA B200", 4096)):
        out = place.path / f"{kind}.json"
        r = measure(place, "--api", "cuda", "-o", out, SIM_DEVICE_TYPE=kind, **env)
        if not ok(r.returncode == 0, f"{kind}: the kernels compile to its machine code, and run", r.stderr):
            continue
        g, table = json.loads(r.stdout)["devices"][0], aon_device(place, name)
        ok(g["name"] == name and g["cc"] == table["cc"] and g["sms"] == table["sms"], f"{kind}: what its driver says", g)
        # Ten sums, eight multiply-adds each, of 256 threads in 16 blocks an SM, in a millisecond.
        most = 2 * 10 * 8 * 256 * 16 * g["sms"] * 1e3
        ok(0.001 * most < g["vector_flops"]["fp32"] <= 1.01 * most, f"{kind}: work over time", (g["vector_flops"], most))
        got = g["tensor_flops"]
        ok(all(0.001 * most < got[t] / (k * each / 2) <= 1.01 * most for t, k in (("bf16", 1), ("fp16", 1), ("tf32", 0.5), ("int8", 2))),
           f"{kind}: of tensor cores, too, by the instructions that it has", (got, most))
        ok(all(got[t] == table["tensor_flops"][t] for t in ("fp64", "fp4") if t in got),
           f"{kind}: what is not measured is as in the table", got)
        known = json.loads(aon(place, "roofline", "show", name, "--json", env={"AON_DEVICES": out}).stdout)
        ok(known["devices"][0]["measured"], f"{kind}: the file is one of devices", known)
    r = measure(place, "--api", "cuda", SIM_DEVICES=0, **env)
    ok(r.returncode == 1 and b"CUDA_ERROR_NO_DEVICE" in r.stderr, "no device", r)
    r = measure(place, "--api", "cuda", SIM_FAIL="cuLaunchKernel=719@3", **env)
    ok(r.returncode == 1 and b"CUDA_ERROR_LAUNCH_FAILED" in r.stderr and not r.stdout, "a launch that fails", r)
    r = measure(place, "--api", "cuda", **{**env, "AON_NVRTC": place.path / "none.so"})
    ok(r.returncode == 1 and b"nvidia-cuda-nvrtc" in r.stderr, "no NVRTC: what to install", r)


with Place() as place:
    cross_check(place)
    devices(place)
    files(place)
    cuda(place)
    measured(place)
done()
