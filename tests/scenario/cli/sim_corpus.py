#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon-lab corpus: jobs with known faults as records and truths. aon-lab score: findings about them against the truth."""
import json

import aonschema
from aontest import Place, done, ok
from clitest import aon, lab

RANKS = ["--ranks", "8-32", "--steps", "64"]


def corpus(place, name, *args):
    r = lab(place, "corpus", "-o", place.path / name, "--json", *RANKS, *args)
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
        r = lab(place, "corpus", *args)
        ok(r.returncode == code and r.stderr.startswith(b"aon-lab: ") and not r.stdout, f"refused: {args}", r)
    r = lab(place, "corpus", "-o", place.path / "a", *RANKS, "--cases", "1")
    ok(r.returncode == 1 and b"exists" in r.stderr, "nothing that is there is written over", r.stderr)
    r = lab(place, "corpus", "--list-layouts")
    names = [x["name"] for x in json.loads(lab(place, "corpus", "--list-layouts", "--json").stdout)["layouts"]]
    ok(r.returncode == 0 and b"tp8pp8dp64" in r.stdout and "tp8pp8dp64" in names, "layouts are listed", r)


def moved(place):
    for what in ("corpus", "score"):
        r = aon(place, "sim", what, "--cases", "1")
        ok(r.returncode == 2 and b"aon-lab " + what.encode() in r.stderr and r.stderr.count(b"\n") == 1, f"aon sim {what} says where it went", r)
    r = lab(place, "--help")
    ok(r.returncode == 0 and max(map(len, r.stdout.splitlines())) <= 90 and b"--list-layouts" in r.stdout, "and aon-lab has a help", r)


def score(place, *args):
    r = lab(place, "score", "--json", *args)
    return json.loads(r.stdout) if r.returncode == 0 else {"error": r.stderr.decode(), "scores": []}


def scored(place):
    path = place.path / "e"
    lab(place, "corpus", "-o", path, "--ranks", "8-32", "--steps", "128", "--cases", "12", "--seed", "3")
    d = score(place, path)
    ok(d.get("cases") == 12 and not aonschema.check(d), "baselines are scored, as docs/json.md has it", aonschema.check(d)[:3] or d)
    drawn = score(place, "--ranks", "8-32", "--steps", "128", "--cases", "12", "--seed", "3")
    strip = [[{k: v for k, v in s.items() if not k.startswith("cpu")} for s in x["scores"]] for x in (d, drawn)]
    ok(strip[0] == strip[1] and len(strip[0]) == 13, "of a folder and of cases that are drawn alike")
    mine, rest = d["scores"][0], d["scores"][1:]
    ok(mine["name"] == "aon" and mine["recall"] >= 0.75 and mine["precision"] >= 0.75
       and all(mine["detected"] >= s["detected"] and mine["acts_victim"] + mine["acts_false"] <= s["acts_victim"] + s["acts_false"] + 1 for s in rest),
       "aon's own finds as much as any baseline, and makes up no more", [(s["name"], s["detected"], s["acts_victim"] + s["acts_false"]) for s in d["scores"]])
    truths = [json.loads(f.read_text()) for f in sorted(path.glob("*.truth.json"))]
    counted = [(t, e) for t in truths for e in t["events"] if e["gain"] >= 0.01]
    ok(all(s["events"] == len(counted) > 2 for s in d["scores"]), "all of them on the same faults", len(counted))
    perfect = [{"case": t["case"], "step": e["from_step"], "component": [e["component"]], "kind": e["code"],
                "gain": max(0, min(1, e["gain"])), "confidence": 1, "act": True} for t, e in counted]
    (place.path / "f").write_text("".join(json.dumps(f) + "\n" for f in perfect))
    s = score(place, path, "--findings", place.path / "f", "--against", "B1")["scores"]
    ok([x["name"] for x in s] == ["B1", "findings"] and s[1]["recall"] == s[1]["precision"] == s[1]["culprit"] == 1
       and s[1]["class_right"] == s[1]["detected"] and s[1]["gain_error"] < 1e-6,
       "who says what is true is right in all", s[-1:])
    (place.path / "g").write_text("".join(json.dumps({**f, "component": ["rank:7"], "step": 0}) + "\n" for f in perfect))
    s = score(place, path, "--findings", place.path / "g", "--against", "none")["scores"]
    ok(len(s) == 1 and s[0]["recall"] < 0.5 and s[0]["precision"] < 0.5, "who makes it up is not", s)
    text = lab(place, "score", path, "--against", "B0,B8").stdout.decode()
    ok("RECALL" in text and "B0" in text and "B8" in text and "B1 " not in text, "a table for people", text)


def broken(place):
    path = place.path / "e"
    (place.path / "h").write_text("{}\n")
    for args, code, said in ((["--findings", place.path / "f"], 2, b"FOLDER"), ([path, "--against", "B99"], 2, b"B99"),
                             ([path, "--findings", place.path / "h"], 1, b"h:1: "), ([place.path / "none"], 1, b"none"),
                             ([place.path], 3, b"no case")):
        r = lab(place, "score", *args)
        ok(r.returncode == code and said in r.stderr and not r.stdout, f"refused: {args[1:] or args}", r)
    truth = sorted(path.glob("*.truth.json"))[0]
    whole = truth.read_bytes()
    truth.write_bytes(whole[:200])
    r = lab(place, "score", path, "--against", "B0")
    ok(r.returncode == 1 and truth.name.encode() + b":1: " in r.stderr, "a truth that is cut is named", r.stderr)
    truth.write_bytes(whole)
    steps = sorted(path.glob("*.steps"))[0]
    data = bytearray(steps.read_bytes())
    data[5000] ^= 1
    steps.write_bytes(data)
    r = lab(place, "score", path, "--against", "B0")
    ok(r.returncode == 1 and steps.name.encode() in r.stderr, "so are records with one bit turned", r.stderr)


with Place() as p:
    folder(p)
    refused(p)
    moved(p)
    scored(p)
    broken(p)
done()
