#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""What Python and torch.compile do to a program's time: each compilation, why it was one more, where a graph
breaks, and collections of garbage; the program's results and output are its own."""
import json

from aontest import Place, balanced, done, ok
from clitest import aon
from torchtest import APPS, bare, run, torches

APP = APPS / "torch_compile.py"


def told(r):
    return json.loads(r.stdout.splitlines()[-1]) if r.returncode == 0 else {}


def collections(version, rep, want):
    ranges = {x["name"]: x["count"] for x in rep["ranges"]}
    # Python collects once more, or twice, when it ends.
    ok(want["collections"] <= ranges.get("Python GC", 0) <= want["collections"] + 4,
       f"{version}: collections of all generations", (want, ranges))


def compilations(p, version, rep, want):
    ranges = {x["name"]: x["count"] for x in rep["ranges"]}
    marks = {x["name"]: x["count"] for x in rep["marks"]}
    ok(ranges.get(f"torch.compile recompiled (torch_compile.py:{want['line']})") == 4,
       f"{version}: each compilation is a range", ranges)
    again = [m for m in marks if m.startswith("torch.compile: recompiled recompiled (torch_compile.py:")]
    ok(sum(marks[m] for m in again) == 3 and all("size mismatch at index 0" in m for m in again),
       f"{version}: three of them again, for a size that changed", marks)
    breaks = {m: n for m, n in marks.items() if m.startswith("torch.compile: graph break in broken (torch_compile.py:")}
    ok(len(breaks) == 1 and "graph_break()" in next(iter(breaks)), f"{version}: one graph break, and by what", marks)
    text = aon(p, "report", p.path / "run.db").stdout.decode()
    ok("3 again for another input, 1 graph break." in text and "expected 2, actual 3" in text,
       f"{version}: the report says so", text)


with Place() as place:
    for which in torches():
        plain = bare(place, which[1], APP)
        r, report = run(place, which[1], APP)
        ok(r.returncode == 0 and plain.returncode == 0 and told(r)["total"] == told(plain)["total"],
           f"{which[0]}: the same results as without aon", (r, plain))
        ok(len(r.stderr.splitlines()) == len(plain.stderr.splitlines()), f"{which[0]}: and as much output", (r.stderr, plain.stderr))
        collections(which[0], report, told(r))
        if told(r)["compiles"]:
            compilations(place, which[0], report, told(r))
        ok(all(balanced(x["accounting"]) and not x["accounting"]["lost"] for x in report["processes"]),
           f"{which[0]}: nothing is lost", report["accounting"])
done()
