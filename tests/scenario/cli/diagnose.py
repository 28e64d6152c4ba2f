#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon diagnose: what it says of jobs with known faults, of ByteDance's recorded jobs, and of what is no recording."""
import json
import os

import aonschema
from aontest import Place, data, done, ok
from clitest import aon, lab

LONG = bool(os.environ.get("AON_LONG"))


def said(place, *args):
    r = aon(place, "diagnose", "--json", *args)
    return json.loads(r.stdout) if r.returncode == 0 else {"error": r.stderr.decode(), "recordings": []}


def injected(place):
    path = place.path / "jobs"
    lab(place, "corpus", "-o", path, "--ranks", "8-64", "--cases", "6", "--seed", "21", "--kinds", "F4,F9,F16,F27")
    d = said(place, path)
    ok(len(d["recordings"]) == 6 and not aonschema.check(d), "six jobs are diagnosed, as docs/json.md has it",
       d.get("error") or aonschema.check(d)[:3])
    named, wanted = 0, 0
    for r in d["recordings"]:
        truth = json.loads(open(r["file"].replace(".steps", ".truth.json"), encoding="utf8").read())
        for e in truth["events"]:
            if e["gain"] < 0.02 and not e["stops"]:
                continue
            wanted += 1
            named += any(e["component"] in f["component"] for f in r["findings"] if f["act"])
    ok(wanted >= 2 and named >= wanted - 1, "what was injected is named", (named, wanted))
    one = sorted(path.glob("*.steps"))[0]
    text = aon(place, "diagnose", one).stdout.decode()
    ok("ranks" in text and "times what it would take" in text, "for people, too", text)


def recorded(place):
    root = data()
    if not root or not (root / "straggler").is_dir():
        print("# no recorded timelines beside the tree")
        return
    for name, first, why in (("AR", "rank:0", "compute"), ("ST", "stage:6", "stage")):
        d = said(place, root / "straggler" / f"timeline-{name}.json.gz")
        r = d["recordings"][0] if d["recordings"] else {"findings": [], "slowdown": 0}
        f = r["findings"][0] if r["findings"] else {}
        theirs = json.loads((root / "straggler" / f"result-{name}.json").read_text())["blocking_slowdown"]
        ok(f.get("component") == [first] and f.get("why") == why and f.get("act"),
           f"{name}: {first} is the first finding", d.get("error") or r)
        ok(abs(r["slowdown"] / theirs - 1) < 0.1, f"{name}: {theirs:.2f} times slower by their replay, within a tenth", r["slowdown"])


def missing(place):
    for share in ("0.01", "0.05", "0.2"):
        path = place.path / f"m{share}"
        lab(place, "corpus", "-o", path, "--layouts", "ddp8,moe32", "--cases", "3", "--seed", "5", "--kinds", "F4", "--missing", share)
        d = said(place, path)
        wrong = []
        for r in d["recordings"]:
            truth = json.loads(open(r["file"].replace(".steps", ".truth.json"), encoding="utf8").read())
            true = {e["component"] for e in truth["events"]} | {f"rank:{i}" for i in truth["slow_ranks"]}
            wrong += [f for f in r["findings"] if f["act"] and f["kind"] != "expert_imbalance" and not true & set(f["component"])]
        ok(len(d["recordings"]) == 3 and not wrong, f"with {share} of the records missing nobody is blamed for it", wrong or d.get("error"))


def refused(place):
    (place.path / "no.steps").write_bytes(b"no records at all" * 100)
    (place.path / "no.json").write_text('{"a": [1, 2, 3]}')
    (place.path / "empty.steps").write_bytes(b"")
    os.mkdir(place.path / "none")
    for args, code, word in (([], 2, b"FILE"), ([place.path / "gone"], 1, b"gone"), ([place.path / "no.steps"], 1, b"neither records"),
                             ([place.path / "no.json"], 1, b"neither records"), ([place.path / "empty.steps"], 1, b"no record"),
                             ([place.path / "none"], 3, b"no file of steps")):
        r = aon(place, "diagnose", *args)
        ok(r.returncode == code and r.stderr.startswith(b"aon diagnose: ") and word in r.stderr, f"refused: {args[-1:]}", r)


def store(place):
    """A store is judged by the rules of aon why: one engine, one sentence."""
    trace, db = place.path / "t.json", place.path / "t.db"
    rows = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1000 * i, "dur": 100, "args": {"device": 0, "stream": 7}}
            for i in range(40)]
    trace.write_text(json.dumps({"traceEvents": rows}))
    aon(place, "import", trace, "-o", db)
    why, diagnosed = aon(place, "why", "--json", db), aon(place, "diagnose", "--json", db)
    ok(why.returncode == diagnosed.returncode == 0 and why.stdout == diagnosed.stdout and b'"aon.why/1"' in why.stdout,
       "of a store it says what aon why says", diagnosed)


with Place() as p:
    store(p)
    injected(p)
    recorded(p)
    missing(p)
    refused(p)
done()
