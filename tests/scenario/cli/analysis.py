#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon report and aon why on recorded traces: the numbers of others where they are right, the rule
that is the cause where they are not, the known verdicts, and nothing that contradicts itself."""
import csv
import gzip
import json
import subprocess

import aonschema
from aontest import Place, data, done, find, ok, skip_all
from clitest import aon, fixture

FIELDS = ("span_ns", "busy_ns", "idle_ns", "compute_ns", "comm_ns", "memory_ns", "comm_overlap_ns")

# What HTA answers differently, and why: oracles/README.md of the data.
NANOSECONDS, SYNCS, UNSEEN, DEVICES = (
    "HTA floors nanoseconds", "HTA counts cuda_sync rows as GPU work",
    "HTA drops work whose launch is not in a trace of several steps",
    "HTA counts an accelerator's waits and records as its work")
DIFFERS = {
    ("hta", "amd_mi250"): NANOSECONDS, ("hta", "h100_bert_small"): NANOSECONDS,
    ("hta", "h100_falconsai_vit"): NANOSECONDS, ("hta", "mi300x_qwen"): NANOSECONDS,
    ("hta", "nccl_data_rank0"): NANOSECONDS, ("hta", "ns_resolution_rank0"): NANOSECONDS,
    ("hta", "vllm_decode_graph"): NANOSECONDS, ("hta", "h100_qwen"): NANOSECONDS,
    ("hta", "critical_path_alexnet"): SYNCS, ("hta", "critical_path_simple_add"): SYNCS,
    ("hta", "cuda_event_sync"): SYNCS, ("hta", "cuda_event_sync_multi_stream"): SYNCS,
    ("hta", "negative_queue_rank0"): UNSEEN, ("hta", "trace_diff_test_rank1"): UNSEEN,
    ("hta", "mtia_inference"): DEVICES,
}

TRIAGE = (
    ("host to device copies", "copy_bound", ["nsys/nsys_ai/h100_2gpu_1s.sqlite"]),
    ("ResNet50 that loads in its own process", "input_bound",
     ["kineto/kineto_tb/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz"]),
    ("its second recording", "input_bound",
     ["kineto/kineto_tb/resnet50_num_workers_0/worker0.1623143566756.pt.trace.json.gz"]),
    ("bert-small on an H100", "launch_bound",
     ["tracelens/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz"]),
    ("alexnet that warms up", "warm_up",
     ["kineto/hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz"]),
    ("vLLM decoding from a graph", "gpu_saturated",
     ["tracelens/traces/inference/vllm_decode_full/graph_execution.json.gz"]),
    # Rank 7 launches slowly, so that the others wait for it.
    ("DLRM on 8 ranks", "launch_bound", ["param/dlrm_kineto"]),
)


def ask(place, cmd, *paths):
    r = aon(place, cmd, "--json", *paths)
    return json.loads(r.stdout) if r.stdout else None


def exact(place, root):
    """Every file of the independent reading, to the nanosecond."""
    with open(root / "oracles" / "independent_breakdown_shareable.json", encoding="utf8") as f:
        want = json.load(f)
    bad = []
    for o in want:
        r = ask(place, "report", root / o["file"])
        d = r["devices"][0] if r and len(r["devices"]) == 1 else {}
        got = {k: d.get(k) for k in FIELDS} | {"idle_gaps": d.get("gaps")}
        diff = {k: (v, o[k]) for k, v in got.items() if v != o[k]}
        kernels = d.get("kernels") == o["n_compute"] + o["n_comm"]
        if diff or not kernels:
            bad.append((o["file"], diff))
    ok(want and not bad, f"{len(want)} traces agree with an independent reading to 1 ns", bad)


def events_of(path):
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)["traceEvents"]


def union(spans):
    total, end = 0, None
    for s, e in sorted(spans):
        if end is None or s > end:
            total, end = total + e - s, e
        elif e > end:
            total, end = total + e - end, e
    return total


def by_their_rule(path, rule, streams_only):
    """(span, idle) in us of a file, reading it as HTA does."""
    ev = events_of(path)
    calls = {e["args"].get("correlation") for e in ev if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    cats = {"kernel", "gpu_memcpy", "gpu_memset"} | {SYNCS: {"cuda_sync"},
                                                     DEVICES: {"mtia_ccp_events"}}.get(rule, set())
    spans = []
    for e in ev:
        arg = e.get("args") or {}
        if e.get("ph") != "X" or e.get("cat") not in cats:
            continue
        if rule == UNSEEN and arg.get("correlation") not in calls:
            continue
        if streams_only and arg.get("stream", -1) in (-1, 0xffffffff):
            continue
        spans.append((e["ts"], e["ts"] + (e.get("dur") or 0)))
    span = max(e for _, e in spans) - min(s for s, _ in spans)
    return span, span - union(spans)


def hta_rows(case):
    path = case / "temporal_breakdown.csv"
    if not path.exists():
        return []
    with open(path, encoding="utf8") as f:
        return list(csv.DictReader(f))


def hta_case(place, root, mode, case):
    with open(case / "_status.json", encoding="utf8") as f:
        files = {k: root / v.split("/", 1)[1] for k, v in json.load(f)["files"].items()}
    rule, rows = DIFFERS.get((mode, case.name)), hta_rows(case)
    got = ask(place, "report", *files.values())
    bad = []
    for row in rows:
        d = next((d for d in got["devices"] if d["rank"] == int(row["rank"]) or len(files) == 1), None)
        us = [float(row[k]) for k in ("kernel_time(us)", "idle_time(us)", "compute_time(us)",
                                      "non_compute_time(us)")]
        ours = [d["span_ns"], d["idle_ns"], d["compute_ns"], d["busy_ns"] - d["compute_ns"]]
        if rule in (SYNCS, UNSEEN):
            theirs = [by_their_rule(files[row["rank"]], rule, s) for s in (False, True)]
            if (us[0], us[1]) not in theirs:
                bad.append((row, theirs))
        elif rule == DEVICES:  # and floors nanoseconds, so only the span can be compared
            span = by_their_rule(files[row["rank"]], rule, False)[0]
            if int(span) != us[0] or span * 1000 <= d["span_ns"]:
                bad.append((row, span))
        elif any(abs(o / 1000 - h) > 0.06 for o, h in zip(ours, us)):  # HTA computes in doubles
            bad.append((row, ours))
    if not rows:
        return
    if rule in (SYNCS, UNSEEN, DEVICES):
        ok(not bad, f"{case.name}: {rule}; read that way, the numbers are HTA's", bad)
    elif rule:
        ok(bad, f"{case.name}: {rule}")
    else:
        ok(not bad, f"{case.name}: HTA's numbers ({mode})", bad)


def overlap(place, root):
    """HTA's share of communication that is hidden, where it reads all there is."""
    case = root / "oracles" / "hta" / "dlrm_8ranks"
    with open(case / "comm_comp_overlap.csv", encoding="utf8") as f:
        want = {int(r["rank"]): float(r["comp_comm_overlap_pctg"]) for r in csv.DictReader(f)}
    got = ask(place, "report", root / "param" / "dlrm_kineto")
    bad = [(d["rank"], d["comm_overlap_ns"] / d["comm_ns"], want[d["rank"]]) for d in got["devices"]
           if abs(100 * d["comm_overlap_ns"] / d["comm_ns"] - want[d["rank"]]) > 0.006]
    ok(len(want) == 8 and not bad, "the overlap of 8 ranks is HTA's", bad)
    with open(case / "queue_length_summary.csv", encoding="utf8") as f:
        rows = list(csv.reader(f))[3:]
    want = {(int(r[0]), int(r[1])): float(r[-1]) for r in rows}
    mine = {(s["rank"], s["stream"]): s["launch"]["queue_depth_max"] for s in got["streams"]}
    same = sum(mine.get(k) == v for k, v in want.items())
    ok(same >= 0.9 * len(want), f"queues are as deep as HTA's on {same} of {len(want)} streams",
       [(k, v, mine.get(k)) for k, v in want.items() if mine.get(k) != v])


def triage(place, root):
    for text, family, files in TRIAGE:
        if any(f.endswith(".sqlite") for f in files) and not ask(place, "report", root / files[0]):
            continue
        r = ask(place, "why", *(root / f for f in files))
        got = [f["family"] for f in r["findings"]] if r else None
        ok(got and got[0] == family, f"{text}: {family}", got)
    r = ask(place, "why", root / "param" / "dlrm_kineto")
    late = [f for f in r["findings"] if f["family"] == "straggler"]
    ok(late and late[0]["rank"] == 7 and late[0]["id"] <= 2, "DLRM: rank 7 is late", late)
    before, after = (ask(place, "why", root / "kineto" / "kineto_tb" / f"resnet50_num_workers_{n}" / f)
                     for n, f in ((0, "worker0.1623143089861.pt.trace.json.gz"),
                                  (4, "worker0.1623212756351.pt.trace.json.gz")))
    ok(all(f["family"] != "input_bound" for f in after["findings"]) and
       after["findings"][0]["base_ns"] < 0.85 * before["findings"][0]["base_ns"],
       "with four workers ResNet50 no longer waits for input", after["findings"])


def sound(place, root, paths):
    """Nothing that any trace gets said contradicts its numbers; classes cover GPU time."""
    bad, other, total, broken = [], 0, 0, []
    for p in paths:
        r, w = ask(place, "report", p), ask(place, "why", p)
        if r is None or w is None:
            continue
        broken += aonschema.check(r) + aonschema.check(w)
        for d in r["devices"]:
            if d["busy_ns"] + d["idle_ns"] != d["span_ns"] or sum(d["idle"].values()) != d["idle_ns"] or \
                    d["compute_ns"] + d["exposed_comm_ns"] + d["exposed_copy_ns"] != d["busy_ns"] or \
                    d["comm_ns"] != d["comm_overlap_ns"] + d["exposed_comm_ns"]:
                bad.append((p.name, "parts", d))
            if "mtia" not in str(p) and "cloverleaf" not in p.name:
                other += d["classes"].get("other", 0)
                total += sum(d["classes"].values())
        for f in w["findings"]:
            if not 0 <= f["share"] <= 1 or f["cost_ns"] > f["base_ns"] or not f["seen"] or \
                    len(f["evidence"]) < 2 or not f["expect"] or f.get("replay_ns", 0) > f["base_ns"]:
                bad.append((p.name, f))
        path = w["critical_path"]
        if path and not 0 < sum(path["by_kind"].values()) <= path["span_ns"]:
            bad.append((p.name, "path", path))
    ok(not bad, f"of {len(paths)} traces no number contradicts another", bad[:3])
    ok(not broken, "all JSON is as docs/json.md has it", broken[:5])
    ok(total and other / total < 0.03, f"{100 * other / max(total, 1):.2f} % of GPU time is of no class")


def traces(root):
    found = [p for d in ("kineto", "param/dlrm_kineto", "tracelens") for p in (root / d).rglob("*.json*")
             if "_et" not in p.name and "expected" not in p.name and "csv" not in str(p)]
    return sorted(found)


def tables(place, root):
    p = root / "tracelens/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz"
    for by, word in (("kernel", "gemm"), ("class", "matmul"), ("op", "aten::addmm"),
                     ("module", "nn.Module: Linear"), ("step", "step"), ("rank", "GPU 0"),
                     ("stream", "stream 7")):
        r = aon(place, "report", p, "--by", by)
        ok(r.returncode == 0 and word in r.stdout.decode(), f"--by {by} has {word}", r.stdout[:400])
    r = ask(place, "report", p)
    ops = sum(o["total_ns"] for o in r["ops"])
    ok(ops == sum(k["total_ns"] for k in r["kernels"]), "ops have all GPU time of their kernels")
    text = aon(place, "why", p, "--explain", "--wide", "--all").stdout.decode()
    ok(all(w in text for w in ("seen", "small", "do", "expect", "check", "means", "launch_bound")),
       "why says what was seen, ruled out, to do, to expect and to check", text)


def stores(place, root):
    """What was imported says the same from a store; what aon recorded has its GPUs taken apart."""
    db, src = place.path / "dlrm.db", root / "param" / "dlrm_kineto"
    aon(place, "import", src, "-o", db)
    a, b = ask(place, "report", db), ask(place, "report", src)
    bad = [k for k in b if k not in ("files", "accounting") and a.get(k) != b[k]]
    ok(a and not bad, "an imported store has the same report", bad)
    a, b = ask(place, "why", db), ask(place, "why", src)
    ok(a and a.pop("alarms", 0) == [] and a.pop("out_of_memory", 0) is None and a == b,
       "and the same findings; alarms and what filled memory are of stores alone", (a, b))
    own = ask(place, "report", fixture(place.path / "own.db"))
    d = own["devices"][0]
    ok(len(own["devices"]) == 1 and d["kernels"] == 560 and d["busy_ns"] == 56000000 and
       d["span_ns"] == 392700000 and "processes" in own, "a store of aon has its devices", d)
    ok(not aonschema.check(own), "as docs/json.md has it", aonschema.check(own)[:5])
    r = aon(place, "why", place.path / "own.db")
    ok(r.returncode == 0 and b"range load takes longest: 3.00 ms of 10.0 ms a step" in r.stdout, "without launches, the program's own ranges say where its time goes", r)


SWEPT = (
    "param/dlrm_kineto", "nsys/nsys_ai/h100_2gpu_1s.sqlite",
    "tracelens/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "tracelens/traces/inference/vllm_decode_full/graph_execution.json.gz",
    "kineto/kineto_tb/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
)


def both_ways(db):
    """A store's breakdown from its events and from its columns."""
    return [subprocess.run([find("sweep_dump"), way, str(db)], capture_output=True, check=True).stdout
            for way in ("events", "columns")]


def swept(place, root):
    """Tables of a store come straight from its columns, those of a trace from its events."""
    for i, path in enumerate(SWEPT):
        db = place.path / f"swept{i}.db"
        aon(place, "import", root / path, "-o", db)
        # Columns know no operators, so that classes of kernels differ; all else must not.
        a, b = ([x for x in some.splitlines() if x.startswith((b"device", b"stream"))] for some in both_ways(db))
        ok(a and a == b, f"{path}: a store's columns give what its events give", (a, b))
        bad = []
        for by in ("rank", "class", "stream", "step"):
            a, b = (aon(place, "report", p, "--by", by, "--all", "--wide") for p in (db, root / path))
            if a.returncode or not a.stdout or a.stdout != b.stdout:
                bad.append((by, a.stdout, b.stdout))
        ok(not bad, f"{path}: the tables of its store are those of the trace", bad)
    a, b = both_ways(fixture(place.path / "swept.db"))
    ok(b" 560 " in a and a == b, "so they do of a store that aon recorded", (a, b))
    r = aon(place, "report", place.path / "swept.db", "--by", "rank", "--ascii")
    ok(r.returncode == 0 and b" 560" in r.stdout and b"base" in r.stdout, "which has the table, too", r)


def main():
    root = data()
    if not root:
        skip_all("the recorded traces are not beside the source tree")
    with Place() as place:
        exact(place, root)
        for mode in ("hta", "hta_nons"):
            for case in sorted((root / "oracles" / mode).iterdir()):
                hta_case(place, root, mode, case)
        overlap(place, root)
        triage(place, root)
        tables(place, root)
        stores(place, root)
        swept(place, root)
        sound(place, root, traces(root))
    done()


if __name__ == "__main__":
    main()
