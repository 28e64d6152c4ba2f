#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""aon sim corpus: jobs with known faults as records and truths."""
import json

import aonschema
from aontest import Place, done, ok
from clitest import aon

RANKS = ["--ranks", "8-32", "--steps", "64"]


def corpus(place, name, *args):
    r = aon(place, "sim", "corpus", "-o", place.path / name, "--json", *RANKS, *args)
    return place.path / name, (json.loads(r.stdout) if r.returncode == 0 else {"error": r.stderr.decode()})


def folder(place):
    path, said = corpus(place, "a", "--cases", "12")
    truths = [json.loads(f.read_text()) for f in sorted(path.glob("*.truth.json"))]
    ok(said.get("cases") == 12 and len(truths) == 12, "twelve cases are twelve truths", said)
    ok(not aonschema.check(said) and not any(aonschema.check(t) for t in truths), "as docs/json.md has them",
       aonschema.check(said) or [aonschema.check(t)[:3] for t in truths])
    ok(said["bytes"] == sum(f.stat().st_size for f in path.glob("*.steps")) and
       said["bytes"] <= 1024 * said["records"], "no record is longer than a thousand bytes", said)
    ok(said["events"] == sum(len(t["events"]) for t in truths), "every fault is in a truth")
    again, other = corpus(place, "b", "--cases", "12")[0], corpus(place, "c", "--cases", "12", "--seed", "2")[0]
    same = [[f.read_bytes() for f in sorted(p.iterdir())] for p in (path, again, other)]
    ok(same[0] == same[1] != same[2], "the same seed is the same corpus, to the byte")
    few = corpus(place, "d", "--cases", "5", "--kinds", "F1,slow_cpu", "--layouts", "ddp8")[0]
    codes = {e["code"] for f in few.glob("*.truth.json") for e in json.loads(f.read_text())["events"]}
    ok(codes <= {"F1", "F9"} and len(list(few.glob("*-ddp8.steps"))) == 5, "kinds and layouts can be chosen", codes)


def refused(place):
    for args, code in (([], 2), (["-o", place.path / "x", "--cases", "0"], 2), (["-o", place.path / "x", "--kinds", "F99"], 2),
                       (["-o", place.path / "x", "--layouts", "none"], 2), (["-o", place.path / "x", "--ranks", "9-8"], 2),
                       (["-o", place.path / "x", "--ranks", "100000"], 2), (["-o", place.path / "no" / "x", "--cases", "1"], 1)):
        r = aon(place, "sim", "corpus", *args)
        ok(r.returncode == code and r.stderr.startswith(b"aon sim: ") and not r.stdout, f"refused: {args}", r)
    r = aon(place, "sim", "corpus", "-o", place.path / "a", *RANKS, "--cases", "1")
    ok(r.returncode == 1 and b"exists" in r.stderr, "nothing that is there is written over", r.stderr)
    r = aon(place, "sim", "corpus", "--list-layouts")
    ok(r.returncode == 0 and b"tp8pp8dp64" in r.stdout, "layouts are listed", r)


with Place() as p:
    folder(p)
    refused(p)
done()
