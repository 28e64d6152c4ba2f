#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""Sums of Triton's Proton, as its writer (csrc/lib/Data/Dump/Hatchet.cpp) makes them: how long and how often, never
when."""
import gzip
import json
import random

from aontest import Place, done, ok
from clitest import aon


def node(name, children=(), **metrics):
    """Keys in the writer's order: what a node holds comes before its name."""
    return {"children": list(children), "frame": {"name": name, "type": "function"}, "metrics": metrics}


def kernel(name, ns, count, device=0):
    return node(name, **{"count": count, "device_id": str(device), "device_type": "CUDA", "time (ns)": ns})


def tree(*children):
    return [node("ROOT", children, **{"count": 0, "time (ns)": 0}),
            {"CUDA": {"0": {"arch": "90", "bus_width": 5120, "clock_rate": 1980000, "num_sms": 132}}}]


def drawn(r, depth=0):
    """A random tree, and its kernels as (path, name, ns, count)."""
    out, rows = [], []
    for i in range(r.randint(1, 4)):
        if depth < 4 and r.random() < 0.5:
            name = f"scope {r.randint(0, 9)}"
            inner, below = drawn(r, depth + 1)
            out.append(node(name, inner, **({"flops16": 1e12} if r.random() < 0.3 else {})))
            rows += [([name, *p], *x) for p, *x in below]
        else:
            row = ([], f"kernel_{r.randint(0, 5)}", r.randint(0, 10**9), r.randint(1, 1000))
            out.append(kernel(*row[1:]))
            rows.append(row)
    return out, rows


def sums(place, path, *args):
    r = aon(place, "report", "--json", path, *args)
    return r, json.loads(r.stdout or "{}").get("sums")


def totals(place):
    path, bad = place.path / "run.hatchet", []
    for seed in range(25):
        children, rows = drawn(random.Random(seed))
        path.write_text(json.dumps(tree(*children)))
        r, s = sums(place, path)
        want = {}
        for _, name, ns, count in rows:
            a = want.setdefault(name, [0, 0])
            a[0] += ns
            a[1] += count
        got = {k["name"]: [k["total_ns"], k["count"]] for k in s["kernels"]} if s else None
        scopes = sum(x["total_ns"] for x in s["scopes"] if len(x["path"]) == 1) if s else None
        if (r.returncode, got, scopes, s and s["total_ns"]) != (
                0, want, sum(ns for p, _, ns, _ in rows if p), sum(ns for _, _, ns, _ in rows)):
            bad.append((seed, r.stderr, got, want))
    ok(not bad, "25 drawn trees: kernels and scopes have the totals of the file, to the nanosecond", bad[:1])


def words(place):
    path = place.path / "bench.hatchet"
    text = json.dumps(tree(node("forward", [kernel("matmul", 60_000_000, 100), kernel("softmax", 20_000_000, 50)],
                                flops16=1.2e12, bytes=8e9),
                           node("backward", [kernel("matmul", 20_000_000, 100, 1)])))
    path.write_text(text)
    r = aon(place, "report", path)
    ok(r.returncode == 0 and b"sums without times: 100 ms in 250 launches" in r.stdout and b"forward" in r.stdout
       and b"15" in r.stdout, "aon report shows kernels, scopes and what the program said of its work", r.stdout)
    r = aon(place, "why", path)
    ok(r.returncode == 3 and b"not when" in r.stdout and b"matmul 80 %" in r.stdout and b"by 40 %" in r.stdout
       and b'data="trace"' in r.stdout, "aon why tells the kind of recording and what its totals bound", f"{r.returncode} {r.stdout}")
    d = json.loads(aon(place, "why", "--json", path).stdout)
    ok(d["findings"] == [] and not any(c["possible"] for c in d["checked"]) and d["sums"]["total_ns"] == 10**8,
       "no rule that needs times is applied", d)
    packed = place.path / "bench.hatchet.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    ok(sums(place, packed)[1] == sums(place, path)[1], "gzip is read as well")
    for args in (["import", path, "-o", "x.db"], ["whatif", path], ["diff", path, path], ["export", path, "-o", "x.json"],
                 ["report", "--by", "op", path], ["report", "--memory", path], ["roofline", path]):
        r = aon(place, *args)
        ok(r.returncode == 1 and b"no times" in r.stderr and b'data="trace"' in r.stderr and not r.stdout,
           f"aon {' '.join(map(str, args[:2] if args[1] != path else args[:1]))}: refused, with what to give instead",
           f"{r.returncode} {r.stderr} {r.stdout}")
    trace = place.path / "t.json"
    trace.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2, "pid": 0,
                                                  "tid": 7, "args": {"device": 0, "stream": 7}}]}))
    r = aon(place, "report", path, trace)
    ok(r.returncode == 1 and b"either alone" in r.stderr, "sums and a trace are not mixed", r.stderr)


def hostile(place):
    path = place.path / "bad.hatchet"
    whole = json.dumps(tree(node("a", [kernel("k", 5, 1)]), node("b", [kernel("k", 7, 1)])))
    deep = '[{"children":' * 200_000
    cases = {
        "cut short": (whole[:whole.index('"b"') - 40], b"the text ends at byte"),
        "too deep": ('[{"children":[' + '{"children":[' * 100_000, b"too deep"),
        "brackets alone": (deep, b"Proton without a kernel"),
        "of cycles": (json.dumps(tree(node("k", cycles=9, device_id="0"))), b"sums of cycles"),
        "without kernels": (json.dumps(tree(node("a"))), b"without a kernel"),
        "of wrong types": ('[{"children": 5, "frame": [], "metrics": "x"}]', b"without a kernel"),
    }
    for name, (text, word) in cases.items():
        path.write_text(text)
        r = aon(place, "report", path)
        ok(r.returncode == 1 and word in r.stderr and b"bad.hatchet" in r.stderr, f"a file {name}: exit 1, and says so",
           f"{r.returncode} {r.stderr[:300]}")
    path.write_bytes(b"\x92\x83\xa5frame\x82\xa4name\xa4ROOT")
    r = aon(place, "report", path)
    ok(r.returncode == 1 and b"MessagePack" in r.stderr, "MessagePack is told by its name", r.stderr)


with Place() as place:
    totals(place)
    words(place)
    hostile(place)
done()
