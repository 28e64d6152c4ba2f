#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""Recorded traces of V100, A100 and H100 through the shipped CUDA probe: what CUPTI would have
reported of each (replayed by the stand-in GPU) is in the store field by field."""
import json
import subprocess
import sys

from aontest import ROOT, BUILD, LONG, Place, data, done, find, ok, report, skip_all
from clitest import aon

sys.path.insert(0, str(ROOT / "tests" / "sim"))
import replay  # noqa: E402

if not (BUILD / "tests/sim/134/libcuda.so.1").exists():
    skip_all("the stand-in GPU is not built")
if not data():
    skip_all("the shared data is not here")

# What it is, the trace, the version of CUPTI that reports it, the speed.
CASES = [
    ("V100, ResNet, Kineto in ns", "kineto/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 118, 1),
    ("A100, NCCL, Kineto in ns", "kineto/hta/nccl_parser_config/nccl_data.json.gz", 129, 1),
    ("A100, four streams and waits", "kineto/hta/critical_path/cuda_event_sync_multi_stream/event_sync_trace.json.gz", 120, 1),
    ("A100, CloverLeaf, nsys", "nsys/pipit/perlmutter-cloverleaf-cuda.sqlite", 125, 1),
    ("H100, Qwen decode, Kineto in ns", "tracelens/traces/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 130, 1),
    ("H100, two GPUs, nsys", "nsys/nsys_ai/h100_2gpu_1s.sqlite", 134, 1),
    ("V100, DLRM with collectives, Kineto in us", "param/dlrm_kineto/worker3_step_12.1694128201557.pt.trace.json.gz", 128, 1),
]
MORE = [
    ("V100, ResNet, Kineto's old schema", "kineto/kineto_tb/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz", 131, 1),
    ("V100, two streams", "kineto/hta/df_index_resolver/df_index_resolver.json.gz", 133, 1),
    ("A100, six streams", "kineto/hta/negative_queue_length_values_check/rank0.json.gz", 126, 1),
    ("V100, four streams", "kineto/hta/trace_diff/test/test.json.gz", 132, 1),
]
FLOOD = ("V100, Kineto's old schema, as fast as it goes",
         "kineto/kineto_tb/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz", 131, 0)
MEMORY = ["Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Static", "Managed"]
DIRS = {v: k for k, v in replay.DIRS.items()} | {0: "Unknown"}
AON_DIR = {1: 1, 2: 2, 3: 1, 4: 2, 5: 3, 6: 3, 7: 3, 8: 3, 9: 4, 10: 5}
SYNCS = {v: k for k, v in replay.SYNCS.items()}
SLACK_NS = 50_000  # between the probe's clock and the model's, on a loaded machine


def wanted(o):
    """What the store must say of a recorded op, but its start; None: nothing."""
    at = (o["device"], o["context"], o["stream"])
    dur = o["end"] - o["start"]
    if o["kind"] == replay.KERNEL:
        node = (o["graph"] << 32 | o["node"] & 0xFFFFFFFF) if o["graph"] else 0
        return ("kernel", o["name"], at, o["corr"], dur, (*o["grid"], *o["block"]), o["regs"],
                (o["smem_static"], o["smem_dynamic"]), node)
    if o["kind"] in (replay.MEMCPY, replay.MEMCPY2):
        name = f"Memcpy {DIRS[o['value']]} ({MEMORY[o['src']]} -> {MEMORY[o['dst']]})"
        if o["kind"] == replay.MEMCPY2:
            name = "Memcpy PtoP (0 -> 0)"
        return ("copy", name, at, o["corr"], dur, o["bytes"], AON_DIR.get(o["value"], 0))
    if o["kind"] == replay.MEMSET:
        return ("memset", f"Memset ({MEMORY[o['dst']]})", at, o["corr"], dur, o["bytes"])
    if o["kind"] == replay.SYNC:
        return ("sync", SYNCS.get(o["value"], "Sync"), at, o["corr"], dur)
    return None


def stored(e):
    at = (e.get("device"), e.get("context"), e.get("stream"))
    head = (e["kind"], e["name"], at, e["corr"], e["dur"])
    if e["kind"] == "kernel":
        return (*head, tuple(e.get("geo", ())), e.get("regs"), tuple(e.get("smem", ())), e["b"])
    if e["kind"] == "copy":
        return (*head, e["a"], e["dir"])
    if e["kind"] == "memset":
        return (*head, e["a"])
    return head if e["kind"] == "sync" else None


def differences(want, got):
    """Rows of one that the other lacks: a multiset difference, first ones first."""
    count = {}
    for row in want:
        count[row] = count.get(row, 0) + 1
    for row in got:
        count[row] = count.get(row, 0) - 1
    return [(n, row) for row, n in count.items() if n]


def starts(rows):
    """The start of each, by what it is: equal ones in order."""
    by = {}
    for row, start in rows:
        by.setdefault(row, []).append(start)
    return {k: sorted(v) for k, v in by.items()}


def run(place, what, trace, level, speed):
    """The rows that the store must have, those that it has (each with its start), its account."""
    ops = replay.read(data() / trace)
    replay.write(ops, place.path / "trace.bin")
    store = place.path / "run.db"
    for f in place.path.glob("run.db*"):
        f.unlink()
    r = aon(place, "run", "--probe", "cuda", "--no-report", "-o", store, "--", find("cuda_replay"),
            place.path / "trace.bin", speed,
            env={"LD_LIBRARY_PATH": BUILD / f"tests/sim/{level}", "SIM_DEVICES": 8, "AON_JOIN_MS": "1000"})
    if not ok(r.returncode == 0, f"{what}: replayed with CUPTI {level / 10:.1f}", r):
        return None
    dump = subprocess.run([find("store_dump"), store], capture_output=True, check=True).stdout
    events = [json.loads(line) for line in dump.splitlines()]
    want = [(wanted(o), o["start"]) for o in ops if wanted(o)]
    got = [(stored(e), e["start"]) for e in events if stored(e)]
    return want, got, report(store)["accounting"]


def case(place, what, *how):
    ran = run(place, what, *how)
    if not ran:
        return
    want, got, a = ran
    kinds = {k: sum(1 for w, _ in want if w[0] == k) for k in ("kernel", "copy", "memset", "sync")}
    diff = differences([w for w, _ in want], [g for g, _ in got])
    ok(not diff, f"{what}: {kinds} are in the store, every field equal",
       f"{len(diff)} rows differ\n" + "\n".join(map(str, diff[:12])))
    ok(a["emitted"] == a["stored"] and not a["lost"], f"{what}: nothing is lost", a)
    if not diff:
        was, now = starts(want), starts(got)
        off = [n - w for k in was for w, n in zip(was[k], now[k])]
        ok(max(off) - min(off) < SLACK_NS, f"{what}: each starts as long after the first as recorded",
           f"between {min(off)} and {max(off)}")


def flood(place, what, *how):
    """Faster than any device: what the probe has no memory for is counted, the rest is right."""
    ran = run(place, what, *how)
    if not ran:
        return
    want, got, a = ran
    more = [d for d in differences([w for w, _ in want], [g for g, _ in got]) if d[0] < 0]
    ok(got and not more, f"{what}: what is stored was recorded so", "\n".join(map(str, more[:12])))
    ok(a["emitted"] == a["stored"] + a["lost"], f"{what}: what is not is counted", a)
    ok(len(want) - len(got) <= a["lost"], f"{what}: to the last one", f"{len(want)} {len(got)} {a}")


def main():
    with Place() as place:
        for c in CASES + (MORE if LONG else []):
            case(place, *c)
        flood(place, *FLOOD)
    done()


main()
