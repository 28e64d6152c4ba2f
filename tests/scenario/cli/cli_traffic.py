#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""Copies and collectives against their wires: simulated jobs with a slow link or a late rank, a trace of
copies made for it, and the recorded traces of eight ranks."""
import json

import aonschema
from aontest import Place, data, done, ok, skip
from clitest import aon

RULED_OUT = []


def roofline(place, path):
    return json.loads(aon(place, "roofline", "--json", path).stdout)["roofline"]


def findings(place, path):
    found = json.loads(aon(place, "why", "--json", path).stdout)["findings"]
    RULED_OUT.extend(f["not"] for f in found if f["not"])
    return {f["family"]: f for f in found}


def sim(place, name, *args):
    path = place.path / name
    r = aon(place, "sim", "-o", path, "--json", *args)
    ok(r.returncode == 0, f"{name}: a job is simulated", r.stderr)
    return path


def jobs(place):
    path = sim(place, "slow.db", "--fault", "nvlink_degraded:by=16")
    rows = roofline(place, path)["collectives"]
    ok(len(rows) == 16 and all(r["verdict"] == "slow" and 10 < r["total_ns"] / r["count"] / r["model_ns"] < 25 for r in rows),
       "links that are 16 times slower: every all-reduce of every rank is slow", rows[:2])
    f = findings(place, path).get("slow_collectives")
    ok(f and "all-reduce" in f["title"] and f["cost_ns"] > 0 and f["action"], "which aon why says, with its cost", f)
    path = sim(place, "late.db", "--fault", "slow_gpu:rank=3,by=1.5")
    rows = roofline(place, path)["collectives"]
    verdicts = {r["rank"]: r["verdict"] for r in rows}
    ok(verdicts[3] == "link" and {v for r, v in verdicts.items() if r != 3} == {"waiting"},
       "a rank that comes late makes the others wait, and no link slow", verdicts)
    ok(all(r["waited_ns"] > r["total_ns"] / 2 for r in rows if r["rank"] != 3) and
       all(0.7 < (r["total_ns"] - r["waited_ns"]) / r["count"] / r["model_ns"] < 1.5 for r in rows),
       "what is left without waiting is what the model expects", rows[:2])
    ok("slow_collectives" not in findings(place, path), "aon why calls no link slow then")
    text = aon(place, "report", path).stdout.decode()
    ok("Copies and collectives" in text and "all-reduce 103 MB, 8 ranks" in text and "waiting" in text,
       "aon report shows them", text)


def trace(path, gbps, name):
    """Twenty copies of 64 MB to an H100, one after the other."""
    ev, at = [], 1000.0
    for n in range(1, 21):
        us = 64e6 / gbps / 1e3
        ev.append({"ph": "X", "cat": "gpu_memcpy", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": us,
                   "args": {"device": 0, "context": 1, "stream": 7, "correlation": n, "bytes": 64000000}})
        at += us + 10
    props = [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132, "totalGlobalMem": 85018279936}]
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": props, "traceEvents": ev}))
    return path


def copies(place):
    for gbps, name, verdict, words in (
            (52, "Memcpy HtoD (Pinned -> Device)", "link", None),
            (26, "Memcpy HtoD (Pinned -> Device)", "slow", "PCIe 4.0 gives this much"),
            (12, "Memcpy DtoH (Device -> Pageable)", "pageable", "pin the host's memory")):
        path = trace(place.path / f"{verdict}.json", gbps, name)
        rows = roofline(place, path)["copies"]
        ok(len(rows) == 1 and rows[0]["verdict"] == verdict and abs(rows[0]["bytes_per_s"] / gbps / 1e9 - 1) < 1e-2 and
           rows[0]["pageable"] == (verdict == "pageable"), f"copies at {gbps} GB/s: {verdict}", rows)
        f = findings(place, path).get("slow_copies")
        ok(not f if words is None else f and words in json.dumps(f), f"aon why {'is silent' if words is None else 'says it'}", f)
    r = json.loads(aon(place, "report", "--json", place.path / "slow.json").stdout)
    bad = aonschema.problems(r, aonschema.schemas()["aon.report/1"], "report")
    ok(not bad and r["roofline"]["copies"], "the report has them, as its schema says", bad[:3])


def nameless(place):
    """A trace that does not say what its GPU is."""
    path = place.path / "nameless.json"
    t = json.loads((place.path / "slow.json").read_text())
    t.pop("deviceProperties")
    path.write_text(json.dumps(t))
    ok([r["verdict"] for r in roofline(place, path)["copies"]] == ["unknown"], "of a GPU that nobody names nothing is said")
    ok(b"Say --device" in aon(place, "roofline", path).stdout, "but how to name it")
    r = json.loads(aon(place, "roofline", "--device", "h100_sxm", "--json", path).stdout)["roofline"]
    ok([x["verdict"] for x in r["copies"]] == ["slow"] and r["devices"][0]["known_as"] == "H100_SXM", "named, it is judged", r["devices"])
    why = json.loads(aon(place, "why", "--device", "H100_SXM", "--json", path).stdout)["findings"]
    ok([f for f in why if f["family"] == "slow_copies"], "and aon why finds it", why)
    r = aon(place, "roofline", "--device", "H1000", path)
    ok(r.returncode == 1 and b"no device 'H1000' is known" in r.stderr, "a device that nobody knows", r)
    r = roofline(place, place.path / "slow.json")["devices"][0]["known_as"]
    same = json.loads(aon(place, "roofline", "--device", "V100_SXM", "--json", place.path / "slow.json").stdout)["roofline"]
    ok(same["devices"][0]["known_as"] == r == "H100_SXM", "what a trace says goes before", same["devices"])


def recorded(place):
    if not data():
        skip("eight ranks of a recorded job", "no recorded traces here")
        return
    path = data() / "param" / "dlrm_kineto"
    rows = roofline(place, path)["collectives"]
    known = [r for r in rows if r["model_ns"]]
    ok(len(known) == len(rows) == 56, "PyTorch's annotations tell the bytes of each collective", len(rows))
    waited = sum(r["waited_ns"] for r in rows) / sum(r["total_ns"] for r in rows)
    ok(0.9 < waited < 1 and not [r for r in rows if r["verdict"] == "slow"],
       "nearly all of their time is waiting, and none is called slow", waited)
    large = [r for r in rows if r["op"] == "all-reduce" and r["bytes"] / r["count"] > 5e5]
    off = [r["least_ns"] / r["model_ns"] for r in large]
    ok(len(large) == 16 and all(0.6 < x < 1.5 for x in off), "the fastest of the large ones are as the model expects", off)
    store = place.path / "dlrm.db"
    aon(place, "import", path, "-o", store)
    same = [sorted(json.dumps(r, sort_keys=True) for k in ("copies", "collectives") for r in roofline(place, p)[k])
            for p in (path, store)]
    ok(len(same[0]) > 56 and same[0] == same[1], "the same from the store that they were imported into")


with Place() as p:
    jobs(p)
    copies(p)
    nameless(p)
    recorded(p)
    findings(p, p.path / "slow.db")
ok(RULED_OUT and all(x.endswith(")") for x in RULED_OUT), "what was ruled out is said in whole words", RULED_OUT)
done()
