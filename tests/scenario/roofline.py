#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""aon roofline: the table of devices against what others say of them, and files of devices."""
import json

import aonschema
from aontest import Place, data, done, ok, skip
from clitest import aon, on_terminal

TOO_FAR = 0.025  # what rounding in a data sheet does, and no more

# Of XLA's numbers of types (xla_data.proto); it counts a multiply-add as one operation.
XLA_MATRIX = {"2": "int8", "10": "fp16", "16": "bf16", "11": "tf32", "12": "fp64", "19": "fp8", "32": "fp4"}
XLA_VECTOR = {"12": "fp64", "11": "fp32", "10": "fp16", "16": "bf16"}
XLA = {"a100_pcie_80": "A100_PCIE_80", "a100_sxm_40": "A100_SXM_40", "a100_sxm_80": "A100_SXM_80", "b200": "B200",
       "gb200": "GB200", "gb300": "GB300", "h100_pcie": "H100_PCIE", "h100_sxm": "H100_SXM", "h200": "H200",
       "mi200": "MI250X", "mi350": "MI350X", "v100": "V100_SXM_16"}
# Devices that the table has not: nothing to compare.
ABSENT = {"a6000", "b300", "bmg_g21", "gfx1250", "p100", "pvc", "rtx6000pro", "A40", "ARTEMIS", "Quadro GP100",
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
    r = aon(place, "roofline", "devices", env={"AON_DEVICES": place.path / "none.json"})
    ok(r.returncode == 1 and b"none.json: No such file" in r.stderr, "a file that was named and is not there", r)


with Place() as place:
    cross_check(place)
    devices(place)
    files(place)
done()
