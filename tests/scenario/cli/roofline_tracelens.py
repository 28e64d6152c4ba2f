#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120 sanitize=no
"""What work operators did, and how fast, as TraceLens says it of the same traces (H100, MI300X): sums
of products and attention, bytes of everything that it has a model for, kernel time. What limits the
kernels, the same from a trace and from the store that it was imported into."""
import csv
import json

from aontest import Place, data, done, ok, skip_all
from clitest import aon
from servetest import Server

TRACES = ("h100/Falconsai_nsfw_image_detection__1016002", "h100/gaunernst_bert-small-uncased__1016001",
          "h100/Qwen_Qwen1.5-0.5B-Chat__1016005", "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005")
TYPES = {"c10::BFloat16": 15, "float": 6, "double": 7, "long int": 4, "c10::Half": 5, "bool": 11}
KEYS = ("limit", "fraction", "how", "flops", "bytes", "count", "total_ns", "waves")


def roofline(place, *paths):
    return json.loads(aon(place, "report", "--json", *paths).stdout)["roofline"]


def key(name, dims, types):
    """An operator as aon names it, without its result."""
    return name, " ".join(f"[{','.join(map(str, d))}]t{TYPES[t]}" for d, t in zip(dims, types) if t in TYPES)


def literal(text):
    """TraceLens writes Python tuples and lists of numbers and words."""
    return json.loads(text.replace("(", "[").replace(")", "]").replace(",]", "]").replace("'", '"'))


def rows_of(path):
    with open(path, encoding="utf8", newline="") as f:
        return [r for r in csv.DictReader(f)]


def near(a, b, by=0.01):
    return abs(a - b) <= by * abs(b)


def products(ops, rows, label):
    bad = []
    for r in rows:
        o = ops.get(key(r["name"], literal(r["Input Dims_first"]), literal(r["Input type_first"])))
        want = {"flops": float(r["GFLOPS_first"]) * 1e9, "bytes": float(r["Data Moved (MB)_first"]) * 2**20,
                "flops_per_s": float(r["TFLOPS/s_mean"]) * 1e12, "bytes_per_s": float(r["TB/s_mean"]) * 1e12,
                "count": int(r["name_count"])}
        bad += [(r["name"], k, o and o[k], v) for k, v in want.items() if not o or not near(o[k], v)]
    ok(rows and not bad, f"{label}: {len(rows)} products have TraceLens' FLOP, bytes and rates within 1 %", bad)


def others(ops, rows, label):
    """Shapes that stand for several rows (they differ in strides) have their mean; helpers that TraceLens
    adds to an attention on MI300X are operators of their own here."""
    seen, bad = {}, []
    for r in rows:
        if r["has_perf_model"] == "True":
            seen.setdefault(key(r["name"], literal(r["Input Dims"]), literal(r["Input type"])), []).append(r)
    n = 0
    for k, same in seen.items():
        o = ops.get(k)
        if not o:
            continue
        n += 1
        count = sum(int(r["operation_count"]) for r in same)
        us = sum(float(r["Kernel Time (µs)_sum"]) for r in same)
        if o["count"] != count or not near(o["bytes"], float(same[0]["Data Moved (MB)"]) * 2**20):
            bad.append((k, o["count"], count, o["bytes"]))
        if not near(o["total_ns"], us * 1e3, 0.03 if "dot_product" in k[0] else 0.01):
            bad.append((k, o["total_ns"], us))
    ok(n >= 4 and not bad, f"{label}: {n} shapes of operators have TraceLens' counts, bytes and kernel time", bad)


def verdicts(place, path, r, device):
    kernels = [k for k in r["kernels"] if k["how"] == "shapes"]
    by_time = sum(k["total_ns"] for k in kernels) / sum(k["total_ns"] for k in r["kernels"])
    ok(r["devices"][0]["known_as"] == device, f"the device is known as {device}", r["devices"][0]["known_as"])
    ok(by_time > 0.6, f"shapes tell the work of {100 * by_time:.0f} % of kernel time")
    bad = [k for k in kernels if k["limit"] != "unknown" and not 0 <= (k["fraction"] or 0) <= 1.05]
    ok(not bad, "no kernel is faster than its roof", bad[:3])
    gemm = [k for k in kernels if k["class"] == "gemm" and k["type"] == "bf16" and k["total_ns"] > 1e6]
    ok(all(k["tensor"] for k in gemm), "products of bf16 run on tensor cores", gemm[:3])
    store = place.path / f"{path.parent.name}-{path.name}.db"
    aon(place, "import", path, "-o", store)
    told = [sorted(json.dumps([k[x] for x in KEYS]) for k in x["kernels"]) for x in (r, roofline(place, store))]
    ok(told[0] == told[1], "a store tells the same as the trace")


def command(place, path):
    r = aon(place, "roofline", "--all", path)
    text = r.stdout.decode() if isinstance(r.stdout, bytes) else r.stdout
    rows = [x for x in text.splitlines() if "mm 788x768x768" in x]
    ok(r.returncode == 0 and rows and "latency" in rows[0] and "shapes" in rows[0],
       "aon roofline TRACE shows a product, its limit and how it is known", text[:2000])
    j = json.loads(aon(place, "roofline", "--json", path).stdout)
    gemm = [k for k in j["roofline"]["kernels"] if k["op"] == "aten::addmm"]
    ok(j["schema"] == "aon.roofline/1" and gemm and all(0.2 < k["of_model"] < 1.6 for k in gemm),
       "products take about what the model of products says", [k["of_model"] for k in gemm])
    ok(aon(place, "roofline", "show").returncode == 2, "show without a device is misuse")
    ok(aon(place, "roofline", place.path / "none.json").returncode == 1, "a trace that is not there is said")


def served(place, path, r):
    with Server(place, path) as s:
        run = s.run()
        a = s.get(f"run/{run}/roofline")
        kernels = s.get(f"run/{run}/kernels")["rows"]
    known = [k for k in r["kernels"] if k["how"] != "none"]
    ok([(p["name"], p["ns"], p["limit"]) for p in a["points"]] == [(k["name"], k["total_ns"], k["limit"]) for k in known],
       "the page's points are the kernels whose work is known", a["points"][:2])
    ok({"bf16 tensor", "bf16"} == {p["name"] for p in a["peaks"]} and a["bw"][0]["Bps"] > 3e12,
       "under the roofs of the types that were used", (a["peaks"], a["bw"]))
    ids = {k["id"]: k for k in kernels}
    ok(all(p["kid"] in ids for p in a["points"]) and any(k["bound"] and k["limit"] for k in kernels),
       "and the table of kernels says what bounds them", kernels[:2])


def main():
    csv.field_size_limit(1 << 28)
    root = data()
    if not root or not (root / "tracelens").is_dir():
        skip_all("no recorded traces here")
    with Place() as place:
        for name in TRACES:
            path = root / "tracelens" / "traces" / f"{name}.json.gz"
            r = roofline(place, path)
            ops = {(o["name"], o["shapes"].split(" >")[0].split(" causal")[0]): o for o in r["ops"]}
            csvs = path.parent / f"{path.name.split('.json')[0]}_perf_report_csvs"
            label = name.split("_")[0]
            products(ops, rows_of(csvs / "GEMM.csv"), label)
            others(ops, rows_of(csvs / "unified_perf_summary.csv"), label)
            if name == TRACES[0]:
                command(place, path)
                served(place, path, r)
            verdicts(place, path, r, "H100_SXM" if name.startswith("h100") else "MI300X")
    done()


main()
