#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""Stores that older versions wrote say what they always said: tests/golden has them and the answers of their time."""
import csv
import hashlib
import json
import lzma
import os
import re
import pathlib
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"
QUERIES = ("select wall, what, text from journal order by wall, what, text",
           "select pid, name from process order by pid",
           "select count(*), sum(dur), min(ts), max(ts) from event",
           "select step, count(*) from step_record group by step order by step limit 20")


def run(aon, *args, cwd=None):
    env = {**os.environ, "AON_RUN_DIR": "/nonexistent", "TZ": "UTC"}
    return subprocess.run([aon, *map(str, args)], capture_output=True, text=True, cwd=cwd, env=env, timeout=120)


def rows_of(path):
    """A table without its head: how many rows, and what they are."""
    with open(path, newline="") as f:
        rows = list(csv.reader(f))[1:]
    return {"rows": len(rows), "sum": hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()}


def short(x):
    """Of long lists the ends: the files stay small."""
    if isinstance(x, dict):
        return {k: short(v) for k, v in x.items()}
    if isinstance(x, list) and len(x) > 100:
        return {"n": len(x), "some": [short(v) for v in x[:3] + x[-3:]]}
    return [short(v) for v in x] if isinstance(x, list) else x


def ask(aon, store, place):
    """All that is compared, as one object."""
    said = {}

    def add(name, r, **more):
        text = re.sub(r'("exe":\s*")[^"]*/', r"\1", r.stdout.replace(str(place) + "/", ""))
        said[name] = {"exit": r.returncode, "out": short(json.loads(text)) if text.startswith("{") else text, **more}
    add("alarms", run(aon, "alarms", "--json", store))
    add("alarms_text", run(aon, "alarms", "--no-color", store))
    add("journal", run(aon, "store", "journal", "--json", store))
    add("check", run(aon, "store", "check", "--json", store))
    add("report", run(aon, "report", "--json", "--all", store))
    add("why", run(aon, "why", "--json", store))
    for i, q in enumerate(QUERIES):
        add(f"sql{i}", run(aon, "sql", "--json", q, store))
    add("export", run(aon, "export", "--json", "-o", "all.csv", store, cwd=place))
    said["export"]["csv"] = rows_of(place / "all.csv")
    add("raised", run(aon, "capture", "--raised", "list", "--json", "--store", store))
    for c in said["raised"]["out"]["captures"]:
        n = c["number"]
        add(f"raised{n}", run(aon, "capture", "--raised", n, "--json", "-o", f"{n}.csv", "--store", store, cwd=place),
            csv=rows_of(place / f"{n}.csv"))
    return said


def differs(was, now, words, at=""):
    """Where `now` has not all of `was`; it may have more. Without `words`, texts may be put differently."""
    if isinstance(was, dict) and isinstance(now, dict):
        return [d for k in was for d in (differs(was[k], now[k], words, f"{at}.{k}") if k in now else [f"{at}.{k} is gone"])]
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        return [d for i, (a, b) in enumerate(zip(was, now)) for d in differs(a, b, words, f"{at}[{i}]")]
    if isinstance(was, str) and isinstance(now, str) and not words:
        return []
    return [] if was == now else [f"{at}: was {str(was)[:200]!r}, is {str(now)[:200]!r}"]


def answers(aon):
    for packed in sorted(GOLDEN.glob("*.db.xz")):
        with tempfile.TemporaryDirectory() as d:
            place = pathlib.Path(d)
            store = place / packed.name[:-3]
            store.write_bytes(lzma.decompress(packed.read_bytes()))
            yield packed.name[:-6], ask(aon, store, place)


if sys.argv[1:2] == ["--make"]:
    for name, said in answers(sys.argv[2]):
        (GOLDEN / f"{name}.json").write_text(json.dumps(said, indent=0, sort_keys=True) + "\n")
    sys.exit(0)

from aontest import Daemon, Place, check, done, find, ok  # noqa: E402


def upgraded(name, was):
    """An aond that goes on with an old store keeps its lines, and writes entries behind them."""
    with Place() as p:
        p.store.parent.mkdir(parents=True, exist_ok=True)
        p.store.write_bytes(lzma.decompress((GOLDEN / f"{name}.db.xz").read_bytes()))
        with Daemon(p) as d:
            d.stop()
        lines = json.loads(run(find("aon"), "store", "journal", "--json", p.store).stdout)["lines"]
        n = len(was["journal"]["out"]["lines"])
        d = differs(was["journal"]["out"]["lines"], lines[:n], True)
        ok(not d and [x["kind"] for x in lines[n:]] == ["start", "stop"] and lines[-1]["version"],
           f"{name}: aond writes on, typed, and changes no line", (d[:3], lines[n:]))
        r = run(find("aon"), "store", "stat", "--json", p.store)
        ok(json.loads(r.stdout)["version"] == 4 and check(p.store), f"{name}: it is of version 4 now, and sound", r)


def judged_anew(was, said):
    """What newer rules may conclude from an old store is not compared: findings, and the one that alarms open with."""
    for k in ("findings", "checked"):
        was["why"]["out"].pop(k)
    now = said["alarms_text"]["out"]
    said["alarms_text"]["out"] = now[now.find(was["alarms_text"]["out"][:20]):]


for name, said in answers(find("aon")):
    was = json.loads((GOLDEN / f"{name}.json").read_text())
    judged_anew(was, said)
    for what in was:
        d = differs(was[what], said.get(what), what not in ("report", "why", "check"))
        ok(not d, f"{name}: {what} as it was", d[:8])
    for what in ("report", "why"):
        d = differs(was[what]["out"]["alarms"], said[what]["out"]["alarms"], True)
        ok(not d, f"{name}: alarms of {what} as they were", d[:8])
    upgraded(name, was)
done()
