# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon serve as a timeline: tracks, names and tiles over HTTP say what aon report says of the same input."""
import json

from aontest import Place, data, done, ok, skip
from clitest import aon, fixture
from servetest import Server
from tilekit import tiles


def whole(tracks):
    """The level at which one tile is all of the run."""
    last, level = max(t["last"] for t in tracks), 0
    while last >> (level + 9):
        level += 2
    return level


def rest(s, run, query):
    """Tiles of a question and of all that follow from it."""
    out, more, parts = [], "", 0
    while True:
        status, heads, body = s.ask(f"/api/v1/run/{run}/tiles?{query}{more}")
        assert status == 200, (status, body)
        out += tiles(body)
        parts += 1
        if "Aon-Next" not in heads:
            return out, parts, heads
        more = f"&from={heads['Aon-Next']}"


def timeline(place, trace):
    r = json.loads(aon(place, "report", trace, "--json").stdout)
    with Server(place, trace) as s:
        run = s.run()
        tracks = s.get(f"run/{run}/tracks")["tracks"]
        names = s.get(f"run/{run}/names")
        kinds = {t["kind"] for t in tracks}
        ok({"gpu", "stream", "thread"} <= kinds, "a trace has tracks of GPUs, streams and threads", kinds)
        ok(len({t["id"] for t in tracks}) == len(tracks) and names["epoch"] == len(names["names"]),
           "ids are told once", names["epoch"])
        ids = ",".join(str(t["id"]) for t in tracks)
        level = whole(tracks)
        top, _, heads = rest(s, run, f"L={level}&i=0&tracks={ids}")
        ok(len(top) == len(tracks) and [t["track"] for t in top] == [t["id"] for t in tracks], "each track has its tile")
        ok("immutable" in heads["Cache-Control"], "which never changes", heads["Cache-Control"])
        n = {t["track"]: t["n"] for t in top}
        ok(all(n[t["id"]] == t["n"] for t in tracks), "a tile of all of it has all events",
           [(t["n"], n[t["id"]]) for t in tracks if n[t["id"]] != t["n"]])
        gpu = next(t for t in tracks if t["kind"] == "gpu")
        busy = r["devices"][0]["busy_ns"]
        for up in (0, -2, -6, -10):
            lv = max(level + up, gpu["base_level"])
            last = gpu["last"] >> (lv + 9)
            row = [t for i in range(0, last + 1, 200)
                   for t in rest(s, run, f"L={lv}&i={i}-{min(i + 199, last)}&tracks={gpu['id']}")[0]]
            seen = sum(v / 255 * 2 ** lv for t in row for c in t["cells"].values() for v in c[0].values())
            cells = sum(len(c[0]) for t in row for c in t["cells"].values())
            ok(abs(seen - busy) <= cells * 2 ** lv / 255, "level %d is as busy as aon report says" % lv, (seen, busy))
        why = [t for t in tracks if t["kind"] == "why" and t["gpu"] == gpu["gpu"]]
        lv = max(level, why[0]["base_level"]) if why else level
        lane = rest(s, run, f"L={lv}&i=0&tracks={why[0]['id']}")[0][0] if why else {"cells": {}}
        idle = sum(v / 255 * 2 ** lv for c in lane["cells"].values() for v in c[0].values())
        ok(abs(idle - r["devices"][0]["idle_ns"]) <= (len(lane["cells"]) + 1) * 2 ** lv / 255,
           "the lane of causes has all of the idle time", (idle, r["devices"][0]["idle_ns"]))
        step = next((t for t in tracks if t["kind"] == "stream"), gpu)
        lv = max(0, step["base_level"] - 2)
        first = step["first"] >> (lv + 9)
        exact, _, _ = rest(s, run, f"L={lv}&i={first}&tracks={step['id']}")
        ok(exact[0]["kind"] == 1 and exact[0]["events"][0][0] == step["first"], "below its base a track is events", exact[0])
        start, dur, name, eid = exact[0]["events"][0]
        e = s.get(f"run/{run}/event/{eid}")
        ok((e["start"], e["dur"], e["track"]) == (start, dur, step["id"]) and e["name"] == names["names"][name]["name"],
           "an event is that of its tile", e)
        hits = s.get(f"run/{run}/search?q={e['name'][:12].replace('<', '%3C').replace(' ', '%20').replace('&', '%26')}&limit=2000")
        ok(any(h["id"] == eid for h in hits["results"]), "and a search finds it", hits["results"][:3])
        sel = s.get(f"run/{run}/select?t0={start}&t1={start + max(dur, 1)}&tracks={step['id']}")
        ok(sel["n"] >= 1 and sum(c["ns"] for c in sel["classes"]) >= dur, "a selection of its time has it", sel)
        f = s.get(f"run/{run}/flows?event={eid}")["flows"]
        ok(all({"id", "track", "start", "dur"} <= set(x["from"]) for x in f), "flows have two ends", f)
        for bad in ("tiles?L=7&i=0&tracks=1", "tiles?L=8&i=9-1&tracks=1", "tiles?L=8&i=0", "tiles?L=8&i=0&tracks=1&x=1",
                    "event/x", "flows", "search?q=", "select?t0=5&t1=5", "select?tracks=1,,2", "names?from=-1"):
            ok(s.ask(f"/api/v1/run/{run}/{bad}")[0] == 400, f"{bad} is refused")
        ok(s.ask(f"/api/v1/run/{run}/event/9007199254740991")[0] == 404, "an event that is not there")


def soon(place, trace):
    """What is told while a run is still being read says so, is kept by nobody, and ends as what all of it says."""
    with Server(place, trace) as s:
        run = s.run()
        wrong, partial = [], True
        while partial:
            status, heads, body = s.ask(f"/api/v1/run/{run}/tracks?soon=1")
            said = json.loads(body)
            partial = said["partial"]
            if status != 200 or partial != ("to_read" in said) or (partial and said["read"] > said["to_read"]):
                wrong.append((status, body[:200]))
            if not said["tracks"]:
                continue
            level, ids = whole(said["tracks"]), ",".join(str(t["id"]) for t in said["tracks"])
            _, heads, body = s.ask(f"/api/v1/run/{run}/tiles?L={level}&i=0&tracks={ids}&soon=1")
            live = [t["flags"] & 1 for t in tiles(body)]
            if ("immutable" in heads["Cache-Control"]) == any(live) or (not partial and any(live)):
                wrong.append((partial, heads["Cache-Control"], live))
        ok(not wrong, "who does not wait is told what is not final", wrong[:3])
        ok(said["tracks"] == s.get(f"run/{run}/tracks")["tracks"] and not s.get(f"run/{run}/names?soon=1")["partial"],
           "and in the end the same as who waited")
        for bad in ("tracks?soon=2", "names?soon=x", "select?soon=1"):
            ok(s.ask(f"/api/v1/run/{run}/{bad}")[0] == 400, f"{bad} is refused")
    ok(Server(place, trace).stop() == 0, "a server that has just begun to read can be stopped")


def recorded(place, store):
    with Server(place, store) as s:
        seen = 0
        for run in s.get("runs")["runs"]:
            tracks = s.get(f"run/{run['id']}/tracks")["tracks"]
            if not tracks:
                continue
            top, _, _ = rest(s, run["id"], f"L={whole(tracks)}&i=0&tracks={','.join(str(t['id']) for t in tracks)}")
            seen += 1
            ok(all(t["kind"] in (1, 2, 3) for t in top), "every track of what aon recorded has a tile with something in it")
        ok(seen > 0, "there are recorded runs")


with Place() as place:
    recorded(place, fixture(place.path / "store.db"))
    soon(place, place.path / "store.db")
    if data():
        soon(place, data() / "kineto/hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz")
        timeline(place, data() / "kineto/hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz")
    else:
        skip("a trace is a timeline", "no recorded traces beside the tree")
done()
