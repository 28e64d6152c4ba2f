# SPDX-License-Identifier: Apache-2.0
# test: timeout=60
"""Why a GPU was idle: aon report, aon why and every answer of aon serve give the same figures of one store."""
import json

from aontest import Place, done, ok
from clitest import aon
from servetest import Server
from tilekit import tiles

STEPS = 12


def trace(path):
    """Steps whose GPU waits for the next batch, for launches, for a synchronisation and for its host."""
    events, n = [], 0

    def add(cat, name, at, dur, tid=1, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1 if tid == 1 else 0, "tid": tid, "ts": at, "dur": dur,
                       "args": {**args, "correlation": n} if args or "cuda" in cat else args})

    for s in range(STEPS):
        at = 1000 + 2000 * s
        add("user_annotation", f"ProfilerStep#{s}", at, 1990)
        add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 5, 400 + 10 * s)
        at += 420 + 10 * s
        for name, dur, pause in (("sgemm_128x64", 300, 60), ("elementwise_add", 4, 30), ("layer_norm", 120, 30)):
            n += 1
            add("cuda_runtime", "cudaLaunchKernel", at, 8)
            add("kernel", name, at + 12, dur, 7, device=0, stream=7)
            at += dur + pause
        n += 1
        add("cuda_runtime", "cudaDeviceSynchronize", at - 40, 90)
    path.write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
                                "traceEvents": events}))
    return path


def cli(place, *args):
    return json.loads(aon(place, *args, "--json").stdout)


def gaps(s, at):
    """Of the timeline's lane: how many gaps begin, how long they are, and how exact that is."""
    tracks = s.get(at + "tracks")["tracks"]
    lane = next(t for t in tracks if t["kind"] == "why")
    level = lane["base_level"]
    last = max(t["last"] for t in tracks) >> level + 9
    _, _, body = s.ask(f"/api/v1/{at}tiles?L={level}&i=0-{last}&tracks={lane['id']}")
    cells = [c for t in tiles(body) for c in t["cells"].values()]
    return sum(begin for _, begin, _ in cells), sum(sum(c[0].values()) for c in cells) / 255 * (1 << level), 2 << level


with Place() as place:
    store = place.path / "idle.db"
    aon(place, "import", trace(place.path / "idle.json"), "-o", store)
    report, why = cli(place, "report", store), cli(place, "why", store)
    device = report["devices"][0]
    with Server(place, store) as s:
        at = f"run/{s.run()}/"
        d = s.get(at + "devices")["devices"][0]
        ok(d["idle"] == device["idle"] and d["idle_ns"] == device["idle_ns"] == sum(d["idle"].values()),
           "the causes of a device's idle time are those of aon report, and add up", (d["idle"], device["idle"]))
        ok(sum(v > 0 for v in d["idle"].values()) >= 4, "there are four causes at least", d["idle"])
        ok([x["idle_ns"] for x in s.get(at + "steps")["steps"]] == [x["idle_ns"] for x in report["steps"]],
           "so is the idle time of every step")
        f = {x["family"]: (x["cost_ns"], x["share"], x["evidence"]) for x in s.get(at + "findings")["findings"]}
        ok(f and f == {x["family"]: (x["cost_ns"], x["share"], x["evidence"]) for x in why["findings"]},
           "findings cost what aon why says", f)
        ok(f["input_bound"][2]["input_idle_ns"] == device["account"]["ns"]["input"], "which is what aon report has of that cause", f)
        idle = next(x for x in s.get(at + "overview")["split"] if x["class"] == "idle")
        mean = sum(x["idle_ns"] for x in report["steps"]) / STEPS
        parts = [v for k, v in device["account"]["ns"].items() if k in device["idle"] and v]
        shares = sorted(v / sum(parts) for v in parts)
        ok(abs(idle["ns"] - mean) <= 1 and
           all(abs(a - b) < 1e-3 for a, b in zip(shares, sorted(x["ns"] / idle["ns"] for x in idle["why"]), strict=True)),
           "the overview has the mean of the steps, in the shares of the account", (idle, mean))
        n, ns, near = gaps(s, at)
        ok(n == device["gaps"] and abs(ns - device["idle_ns"]) <= near * n,
           "the timeline has as many gaps, and as much of them as its cells tell", (n, ns, device["gaps"]))
done()
