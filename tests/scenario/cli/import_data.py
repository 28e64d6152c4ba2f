#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""Every recorded trace in the shared data: the counts that others found in it, and the same again
from a store it was imported to."""
import gzip
import json
import re
import subprocess

from aontest import Place, data, done, find, ok, skip_all

KINDS = {  # ours: categories of Kineto
    ("kernel",): ("kernel", "Kernel"),
    ("copy",): ("gpu_memcpy", "Memcpy"),
    ("memset",): ("gpu_memset", "Memset"),
    ("sync",): ("cuda_sync",),
    ("api host", "sync host"): ("cuda_runtime", "Runtime", "cuda_driver", "mtia_runtime"),
    ("range host 1", "range host 2", "step host"): ("cpu_op", "Operator", "user_annotation"),
    ("range host 3",): ("python_function",),
    ("range 4",): ("gpu_user_annotation", "cuda_profiler_range"),
}
STORED = ("nccl_data", "ns_resolution", "worker3", "Falconsai", "graph_execution", "mtia", "alexnet",
          "gpu_metrics_input", "trace_compare/base", "triton_example")


def dump(*args):
    r = subprocess.run([find("trace_dump"), *map(str, args)], capture_output=True, text=True)
    return r.returncode, json.loads(r.stdout) if r.stdout else None, r.stderr


def oracle(root, name):
    with open(root / "oracles" / name, encoding="utf8") as f:
        return [json.loads(line) for line in f]


def path_of(root, entry):
    path = root / entry["file"].split("/", 1)[1]
    return path if path.exists() else root / "malformed" / path.name


def count(kinds, names):
    return sum(kinds[n][0] for n in names if n in kinds)


def differences(o, d):
    """What differs between an oracle's entry and our dump of the file."""
    f, out = d["files"][0], []
    if f["rows"] != o["events"]:
        out.append(("rows", f["rows"], o["events"]))
    cats = o["cats"]
    for ours, theirs in KINDS.items():
        if "mtia_ccp_events" in cats and len(ours) == 1 and " " not in ours[0]:
            continue
        a, b = count(d["kinds"], ours), sum(cats.get(c, 0) for c in theirs)
        if a != b:
            out.append((ours, a, b))
    info = o.get("distributedInfo") or {}
    if "rank" in info and info["rank"] != f["rank"]:
        out.append(("rank", f["rank"], info["rank"]))
    if info.get("world_size", 0) != f["world"]:
        out.append(("world", f["world"], info.get("world_size")))
    if (o.get("baseTimeNanoseconds") or 0) != f["wall_offset_ns"]:
        out.append(("base", f["wall_offset_ns"], o.get("baseTimeNanoseconds")))
    names = {x["name"] for x in d["devices"]} - {""}
    if names and not names <= set(o.get("gpu") or []):
        out.append(("gpu", names, o.get("gpu")))
    return out


def same_from_store(place, path, d):
    store = place.path / "x.db"
    subprocess.run([find("aon"), "import", str(path), "-o", str(store)], check=True,
                   capture_output=True)
    code, again, _ = dump(store)
    store.unlink()
    for x in (d, again):
        x["lanes"] = sorted(json.dumps(lane) for lane in x["lanes"] if lane["events"])
    return code == 0 and all(d[k] == again[k] for k in ("files", "devices", "lanes", "kinds"))


def joins(path):
    """Kernels whose launch is in the file, by process and correlation id; Python's reading."""
    text = (gzip.open(path) if path.suffix == ".gz" else open(path, "rb")).read()
    rows = json.loads(text)["traceEvents"]
    calls = {r["args"]["correlation"] for r in rows
             if r.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime")}
    return sum(1 for r in rows if r.get("cat") in ("kernel", "Kernel", "gpu_memcpy", "gpu_memset",
                                                   "Memcpy", "Memset")
               and r["args"].get("correlation") in calls)


def our_joins(path):
    out = subprocess.run([find("trace_dump"), "-e", str(path)], capture_output=True, text=True,
                         check=True).stdout
    calls, work = set(), []
    for line in out.splitlines():
        kind, _, _, _, _, corr, _ = line.split(" ", 6)
        if kind in ("api", "sync") and corr != "0":
            calls.add(corr)
        if kind in ("kernel", "copy", "memset"):
            work.append(corr)
    return sum(c in calls for c in work)


def nsys(root):
    with open(root / "oracles/nsys_summary.json", encoding="utf8") as f:
        entries = json.load(f)
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": ("kernel",), "CUPTI_ACTIVITY_KIND_MEMCPY": ("copy",),
              "CUPTI_ACTIVITY_KIND_MEMSET": ("memset",),
              "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": ("sync",),
              "CUPTI_ACTIVITY_KIND_RUNTIME": ("api host", "sync host"),
              "NVTX_EVENTS": ("range host 1", "range host 2", "mark host"),
              "OSRT_API": ("range host 5",)}
    for o in entries:
        path = path_of(root, o)
        code, d, err = dump(path)
        diff = [err] if not d else [
            (table, count(d["kinds"], kinds), o["tables"].get(table, 0))
            for table, kinds in tables.items()
            if count(d["kinds"], kinds) != o["tables"].get(table, 0)]
        if d:
            total = sum(x["kernel_sum_ns"] for x in o["devices"].values())
            if d["kinds"]["kernel"][1] != total:
                diff.append(("kernel time", d["kinds"]["kernel"][1], total))
            if sorted({x["device"] for x in d["lanes"] if "device" in x}) != sorted(
                    map(int, o["devices"])):
                diff.append(("devices", d["lanes"]))
        ok(code == 0 and not diff, f"{path.name}: counts and kernel time are those of the oracle", diff)


def nsys_launches(path):
    """Launches are found within a process: a correlation id says nothing across two."""
    out = subprocess.run([find("trace_dump"), "-e", str(path)], capture_output=True, text=True,
                         check=True).stdout
    _, d, _ = dump(path)
    process = [lane["process"] for lane in d["lanes"]]
    calls, kernels = set(), []
    for line in out.splitlines():
        kind, _, _, _, _, corr, lane, _ = line.split(" ", 7)
        key = (process[int(lane)], corr)
        if kind in ("api", "sync"):
            calls.add(key)
        if kind == "kernel":
            kernels.append(key)
    return sum(k in calls for k in kernels)


def xplane(root):
    for o in oracle(root, "inspect_xplane.jsonl"):
        path = path_of(root, o)
        code, d, err = dump(path)
        if "planes" not in o:
            ok(code == 2 and "not XPlane at byte" in err, f"{path.name} is refused", err)
            continue
        total = sum(p["events"] for p in o["planes"])
        ok(code == 0 and d["files"][0]["rows"] == total == d["files"][0]["imported"],
           f"{path.name}: every event is there", f"{d and d['files']} {total} {err}")
        for p in o["planes"]:
            if not p["name"].startswith("/device:GPU:") or not p["events"]:
                continue
            index = int(p["name"].rsplit(":", 1)[1])
            lanes = {x["name"]: x["events"] for x in d["lanes"] if x.get("device") == index}
            want = {n: c for n, c in p["line_names"] if n.startswith("Stream #")}
            got = {n: c for n, c in lanes.items() if n.startswith("Stream #")}
            ok(got == want, f"{path.name}: streams of GPU {index} are lanes", f"{got} {want}")


def cut(place, root):
    """Half of a file of each format: what is whole, and exit 1."""
    for name in ("nsys/nsys_ai/h100_2gpu_1s.sqlite",
                 "xplane/xprof/GPU-multi-worker_34.83.195.179_6003.xplane.pb",
                 "kineto/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"):
        path = root / name
        half = place.path / path.name
        _, whole, _ = dump(path)
        half.write_bytes(path.read_bytes()[:path.stat().st_size // 2])
        code, d, err = dump(half)
        ok(code == 1 and 0 < d["files"][0]["imported"] < whole["files"][0]["imported"]
           and d["files"][0]["broke_at"] <= half.stat().st_size and d["files"][0]["why"],
           f"half of {path.name}: what is whole is imported", f"{d and d['files']} {err}")


def main():
    root = data()
    if not root:
        skip_all("the shared data is not here")
    # A store of each format, too.
    stored_also = ("nsys/nsys_ai/h100_2gpu_1s.sqlite", "nsys/pipit/perlmutter-cloverleaf-cuda.sqlite",
                   "tracelens/traces/mi300/jax_conv_minimal_08/tw003.xplane.pb")
    with Place() as place:
        for o in oracle(root, "inspect_shareable.jsonl"):
            path = path_of(root, o)
            name = "/".join(path.parts[-2:])
            code, d, err = dump(path)
            if o["kind"] != "chrome trace":
                ok(code == 2 and "execution trace" in err, f"{name} is said to be no trace", err)
                continue
            diff = differences(o, d) if d else [err]
            ok(code == 0 and not diff, f"{name}: rows, kinds and rank are those of the oracle", diff)
            if any(re.search(s, str(path)) for s in STORED):
                ok(same_from_store(place, path, d), f"{name}: the same again from a store")
        for name in ("tracelens/traces/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
                     "kineto/hta/critical_path/alexnet/"
                     "benchmark_result_2869224_1695835535_trace.json.gz"):
            a, b = our_joins(root / name), joins(root / name)
            ok(a == b, f"{name}: as many launches are found as are there", f"{a} {b}")
        for name in stored_also:
            _, d, _ = dump(root / name)
            ok(same_from_store(place, root / name, d), f"{name}: the same again from a store")
        nsys(root)
        n = nsys_launches(root / "nsys/nsys_ai/h100_2gpu_1s.sqlite")
        ok(n == 1632, "11 launches of another process are not taken for a kernel's", n)
        xplane(root)
        cut(place, root)
        code, d, err = dump(root / "param/dlrm_kineto")
        ok(code == 0 and [f["rank"] for f in d["files"]] == list(range(8)),
           "a folder is the ranks of one job", err)
    done()


main()
