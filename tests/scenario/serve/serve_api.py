# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""aon serve: each answer has the numbers that aon report, why, diff and whatif have of the same
input, and is as its openapi.json says."""
import gzip
import json
import os
import re
import subprocess

import aonschema
from aontest import ROOT, Place, data, done, ok, skip
from clitest import aon, fixture
from servetest import Server, job

API = json.loads(subprocess.run([ROOT / "tools/openapi.py", ROOT / "src/ui/serve/api/api.json"], capture_output=True,
                                check=True).stdout)
VIEWS = ["overview", "processes", "devices", "steps", "kernels", "ops", "windows", "findings", "flame", "roofline",
         "heat", "states", "memory", "captures", "accounting", "health"]


def cli(place, *args):
    return json.loads(aon(place, *args, "--json").stdout)


def expand(s):
    """A schema with what it refers to in it."""
    if isinstance(s, list):
        return [expand(x) for x in s]
    if not isinstance(s, dict):
        return s
    if "$ref" in s:
        return expand(API["components"]["schemas"][s["$ref"].rsplit("/", 1)[1]])
    return {k: expand(v) for k, v in s.items()}


def faults(path, answer):
    """What of an answer is not as the file says."""
    schema = API["paths"]["/api/v1/" + path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    return aonschema.problems(answer, expand(schema), path)


def routes():
    """The table and the file speak of the same addresses and parameters."""
    table = dict(re.findall(r'^(?:ROUTE|JSON)\("([^"]+)",.*"([^"]*)"\)$', (ROOT / "src/ui/serve/api/route.tbl.h").read_text(), re.M))
    there = {}
    for path, item in API["paths"].items():
        names = [p.get("$ref", "/" + p.get("name", "")).rsplit("/", 1)[1]
                 for way in item.values() for p in way.get("parameters", []) if p.get("in") != "header"]
        there[re.sub(r"{(?!id})[^}]+}", "{x}", path)] = {n for n in names if "{" + n + "}" not in path}
    mine = {p: set(a.split()) for p, a in table.items() if p in there}
    ok(mine == there, "openapi.json has the parameters of route.tbl.h",
       [(p, mine.get(p), there[p]) for p in there if mine.get(p) != there[p]])
    known = {"/metrics", "/health"}  # not of the API
    ok(not {p for p in table if p.startswith("/api/")} - set(there) and set(table) - set(there) <= known,
       "and leaves no address out", set(table) - set(there))


def row(r):
    """A row of aon report as the API tells it."""
    return {"name": r["name"], "ns": r["total_ns"], "calls": r["count"], "min": r["min_ns"], "max": r["max_ns"],
            "p50": r["p50_ns"], "p99": r["p99_ns"]}


def told(r):
    return {k: r[k] for k in ("name", "ns", "calls", "min", "max", "p50", "p99")}


def by_name(rows):
    return sorted(rows, key=lambda r: (r["name"], r["ns"], r["calls"]))


def recorded(place, store):
    """A store that aon recorded."""
    r = cli(place, "report", store)
    with Server(place, store) as s:
        ok(not aonschema.check(s.said), "where it listens is said in JSON", aonschema.check(s.said))
        runs = s.get("runs")
        ok(not faults("runs", runs), "runs are as the file says", faults("runs", runs))
        ok(sum(x["processes"] for x in runs["runs"]) == len(r["processes"]), "every process is of one run", runs)
        ok(len({x["id"] for x in runs["runs"]}) == len(runs["runs"]), "each run has an id", runs)
        ids = [x["id"] for x in runs["runs"]]
        wrong = [f for i in ids for v in VIEWS for f in faults("run/{id}/" + v, s.get(f"run/{i}/{v}"))]
        ok(not wrong, "every view of it is as the file says", wrong)
        got = [p for i in ids for p in s.get(f"run/{i}/processes")["processes"]]
        want = {p["process"]: p for p in r["processes"]}
        ok(all(p["accounting"] == want[p["process"]]["accounting"] and p["comm"] == want[p["process"]]["comm"]
               for p in got), "processes are those of aon report", got)
        lost = sum(s.get(f"run/{i}/accounting")["accounting"]["lost"] for i in ids)
        ok(lost == r["accounting"]["lost"], "accounting adds up to aon report's", lost)
        rows = [told(k) for i in ids for k in s.get(f"run/{i}/kernels")["rows"]]
        sums = {}
        for k in r["kernels"]:
            was = sums.setdefault(k["name"], [0, 0])
            was[0] += k["total_ns"]
            was[1] += k["count"]
        mine = {}
        for k in rows:
            was = mine.setdefault(k["name"], [0, 0])
            was[0] += k["ns"]
            was[1] += k["calls"]
        ok(all(sum(k["trend"]) == k["ns"] for i in ids for k in s.get(f"run/{i}/kernels")["rows"]), "trends have all of their time")
        ok(mine == sums, "kernels have the times and counts of aon report's rollups", (mine, sums))
        ok(s.stop() == 0, "it ends cleanly on SIGTERM", s.log.read_text())


def imported(place, trace):
    """A trace of another tool: every number."""
    r, w = cli(place, "report", trace), cli(place, "why", trace)
    with Server(place, trace) as s:
        run = s.get("runs")["runs"][0]
        at = f"run/{run['id']}/"
        ok(run["name"] == trace.name and run["events"] == r["accounting"]["imported"], "a trace is a run", run)
        wrong = [f for v in VIEWS for f in faults("run/{id}/" + v, s.get(at + v))]
        ok(not wrong, "every view of it is as the file says", wrong)
        d = s.get(at + "devices")
        ok(d["devices"] == r["devices"] and d["streams"] == r["streams"], "devices are those of aon report", d)
        ok(not d["partial"] and d["range"]["whole"], "and say that they are of all of it", d["range"])
        ok(s.get(at + "accounting")["accounting"] == r["accounting"], "accounting is that of aon report")
        k = s.get(at + "kernels?limit=5000")
        ok(by_name(map(told, k["rows"])) == by_name(map(row, r["kernels"])), "kernels are those of aon report")
        ok(k["total_ns"] == sum(x["ns"] for x in k["rows"]) and k["rest"] == {"n": 0, "ns": 0} and
           all(sum(x["hist"]) == x["calls"] and sum(x["trend"]) == x["ns"] for x in k["rows"]),
           "their sums, histograms and trends hold all calls", k["rest"])
        for group, word in (("op", "ops"), ("module", "modules")):
            o = s.get(f"{at}ops?group={group}&limit=5000")["rows"]
            ok(by_name(map(told, o)) == by_name(map(row, r[word])), f"{word} are those of aon report")
        first = min(x["start_ns"] for x in r["steps"]) if r["steps"] else 0
        steps = s.get(at + "steps")["steps"]
        base = first - min((x["start_ns"] for x in steps), default=0)
        ok([{**x, "start_ns": x["start_ns"] + base} for x in steps] == r["steps"],
           "steps are those of aon report, from the run's begin on")
        f = s.get(at + "findings")
        for x in w["findings"] + f["findings"]:
            for e in x["events"]:
                e.pop("start_ns")
        ok(f["findings"] == w["findings"] and f["checked"] == w["checked"] and
           f["critical_path"] == w["critical_path"], "findings are those of aon why", f)
        v = s.get(at + "overview")
        ok(v["findings"] == s.get(at + "findings")["findings"][:3] and v["step"]["n"] == len(
            {x["step"] for x in r["steps"]}), "the overview begins with them", v["step"])
        split = sum(x["ns"] for x in v["split"])
        mean = sum(x["dur_ns"] for x in r["steps"]) / max(len(r["steps"]), 1)
        ok(not r["steps"] or abs(split - mean) < 0.01 * mean, "the parts of a step add up to it", (split, mean))
        fl = s.get(at + "flame?min=0")
        tops = sum(n[3] for n in fl["nodes"] if n[1] < 0)
        ok(fl["total"] == k["total_ns"] and tops == fl["total"] - fl["folded"]["total"] and
           all(n[1] < i for i, n in enumerate(fl["nodes"])), "the flame has all GPU time, parents first", fl["total"])
        wi = cli(place, "whatif", trace, "--scale", "gemm=0.5")
        got = s.get(at + "whatif?scale=gemm%3D0.5")
        ok({**wi, **got} == {**got, **wi} and got["predicted_ns"] == wi["predicted_ns"], "whatif is aon whatif's", got)
        pages(s, at, k)
        ranges(s, at, run)
    left = [f for f in os.listdir(place.path) if f.startswith("aon-serve-")]
    ok(not left, "nothing is left of it when it has ended", left)


def pages(s, at, k):
    """Rows in pages, and in another order."""
    rows, cursor = [], "0"
    while cursor:
        page = s.get(f"{at}kernels?limit=7&cursor={cursor}")
        rows += page["rows"]
        cursor = page["next"]
    ok(rows == k["rows"], "pages of rows are all rows")
    calls = [x["calls"] for x in s.get(at + "kernels?sort=calls")["rows"]]
    ok(calls == sorted(calls, reverse=True), "rows can be sorted by calls", calls)


def ranges(s, at, run):
    """A part of the time."""
    half = run["t1_rel"] // 2
    a, b = (s.get(f"{at}kernels?{x}={half}&limit=5000")["rows"] for x in ("t1", "t0"))
    whole = s.get(at + "kernels?limit=5000")["rows"]
    both = sum(x["calls"] for x in a) + sum(x["calls"] for x in b)
    ok(both >= sum(x["calls"] for x in whole) > max(sum(x["calls"] for x in y) for y in (a, b)),
       "what overlaps a range is in it", both)


def compared(place, a, b):
    want = cli(place, "diff", a, b)
    with Server(place, a, b) as s:
        runs = {r["name"]: r["id"] for r in s.get("runs")["runs"]}
        got = s.get(f"run/{runs[b.name]}/diff?vs={runs[a.name]}")
        ok(not faults("run/{id}/diff", got), "diff is as the file says", faults("run/{id}/diff", got))
        same = [k for k in want if k not in ("schema", "a", "b")]
        ok(all(got[k] == want[k] for k in same), "diff is that of aon diff", [k for k in same if got[k] != want[k]])


def downloads(place, trace):
    """Files for other tools are those of aon export."""
    with Server(place, trace) as s:
        for name in ("kineto", "pprof", "perfetto"):
            status, heads, body = s.ask(f"/api/v1/run/{s.run()}/download?format={name}")
            out = place.path / ("export." + name)
            aon(place, "export", "--format", name, "-o", out, trace)
            ok(status == 200 and "attachment" in heads["Content-Disposition"] and body,
               f"a run can be had as {name}", (status, heads))
            if name == "kineto":
                work = [sorted((e["name"], e["dur"]) for e in json.loads(x)["traceEvents"] if e.get("cat") == "kernel")
                        for x in (body, out.read_bytes())]
                ok(work[0] == work[1] and work[0], "with the kernels that aon export writes", list(map(len, work)))


def names(place):
    """What a stranger calls a kernel stays text."""
    bad = "<script>alert(1)</script>\x1b[31m\u202e\"'&"
    trace = place.path / "bad.json"
    trace.write_text(json.dumps({"traceEvents": [
        {"ph": "X", "cat": "kernel", "name": bad, "pid": 0, "tid": 7, "ts": 1, "dur": 5,
         "args": {"device": 0, "stream": 7, "correlation": 1}}]}))
    with Server(place, trace) as s:
        status, heads, body = s.ask(f"/api/v1/run/{s.run()}/kernels")
        ok(heads["Content-Type"] == "application/json" and heads["X-Content-Type-Options"] == "nosniff" and
           json.loads(body)["rows"][0]["name"] == bad and b"\x1b" not in body,
           "a name with markup and escapes is JSON, and nothing else", body)
        ok("unsafe" not in heads["Content-Security-Policy"], "and no script of a page could be inline", heads)


def changes(place):
    """Steps that become slower: the overview says from which one on."""
    trace = place.path / "slower.json"
    at, events = 0, []
    for i in range(120):
        dur = 1000 + i % 7 + (500 if i >= 70 else 0) + (9000 if i in (20, 100) else 0)
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": at, "dur": dur})
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": at + 10, "dur": dur - 20,
                       "args": {"device": 0, "stream": 7, "correlation": i + 1}})
        at += dur
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    with Server(place, trace) as s:
        got = s.get(f"run/{s.run()}/overview")
        c = got["step"]["changes"]
        ok(len(c) == 1 and c[0]["step"] == 70 and 1e6 <= c[0]["before_ns"] < 1.01e6 and 1.5e6 <= c[0]["after_ns"] < 1.51e6,
           "steps that become slower are one change, at its step", got["step"])
        ok(not faults("run/{id}/overview", got), "as the file says", faults("run/{id}/overview", got))
        trend = s.get(f"run/{s.run()}/kernels")["rows"][0]["trend"]
        part = at * 1000 / 16
        ok(all(0.8 * part < x <= 1.001 * part for x in trend), "a kernel that runs all the time has a flat trend", trend)
        first = s.get(f"run/{s.run()}/kernels?t0=0&t1={at * 1000 // 4}")["rows"][0]
        ok(sum(first["trend"]) == first["ns"] and min(first["trend"]) > 0.8 * part / 4, "also in a part of the time", first)


def states(place, store):
    """What people decide about findings is kept beside the store, which is only read."""
    before = store.read_bytes()
    with Server(place, store) as s:
        at = f"/api/v1/run/{s.run()}/states"
        status, _, body = s.ask(at + "?key=straggler:5:0&state=accepted&note=the%20node%20is%20replaced", method="POST")
        got = json.loads(body)["states"]
        ok(status == 200 and [(x["key"], x["state"], x["note"]) for x in got] == [("straggler:5:0", "accepted", "the node is replaced")],
           "a finding can be accepted, with a reason", (status, body))
        s.ask(at + "?key=input_bound:-1:0&state=known", method="POST")
        s.ask(at + "?key=input_bound:-1:0&state=new", method="POST")
        for query in ("key=straggler:5:0", "state=known", "key=a%0Ab:1:1&state=known", "key=../x:1:1&state=known",
                      "key=straggler:5:0&state=gone", "key=straggler:5:0&state=known&note=" + "x" * 401):
            status, _, body = s.ask(f"{at}?{query}", method="POST")
            ok(status == 400 and json.loads(body)["error"], f"{query[:40]}: refused with a reason", (status, body))
        status, _, body = s.ask(at + "?key=straggler:5:0&state=known")
        ok(status == 400, "GET decides nothing", (status, body))
    with Server(place, store) as s:
        now = s.get(f"run/{s.run()}/states")
        ok(now["states"] == got and not faults("run/{id}/states", now), "and is after a restart; what is new again is not listed", now)
    ok(store.read_bytes() == before, "the store was not changed")


def heat(place):
    """Ranks x steps in as many cells as are asked for."""
    with Server(place, job(place.path / "job", 6, 40, slow=4)) as s:
        at = f"run/{s.run()}/"
        rows = s.get(at + "steps")["steps"]
        full = s.get(at + "heat?measure=compute&w=1024&h=1024")
        ok(not faults("run/{id}/heat", full), "the map of ranks and steps is as the file says", faults("run/{id}/heat", full))
        by = {(x["rank"], x["step"]): x["compute_ns"] for x in rows}
        mid = {n: sorted(by[r, n] for r in range(6))[3] for n in range(40)}
        want = [[round(1000 * (by[r, n] / mid[n] - 1)) for n in range(40)] for r in range(6)]
        ok(full["ranks"] == list(range(6)) and full["steps"] == list(range(40)) and
           all(abs(a - b) <= 1 for x, y in zip(full["worst"], want) for a, b in zip(x, y)),
           "a cell is how much a rank's step is above the median of that step", full["worst"])
        ok(full["slowest"][0] == {"rank": 4, "over": 250}, "the rank that lags is named", full["slowest"])
        few = s.get(at + "heat?measure=compute&w=4&h=3")
        ok(few["steps"] == [0, 10, 20, 30] and few["ranks"] == [0, 2, 4] and few["ranks_n"] == 6 and few["steps_n"] == 40 and
           few["worst"] == [[max(max(x[10 * i:10 * i + 10]) for x in full["worst"][2 * r:2 * r + 2]) for i in range(4)] for r in range(3)] and
           few["mean"][2] == [0, 0, 250, 250], "fewer cells have the worst and the mean of what they hold", few)
        ok(all(not any(map(any, s.get(at + f"heat?measure={m}")["worst"])) for m in ("dur", "idle")),
           "what is the same for all lights up nowhere")
        late = s.get(f"{at}search?q=sgemm&least=400000&limit=100")["results"]
        ok(len(late) == 20 and all(x["dur"] == 450000 for x in late) and
           len(s.get(f"{at}search?q=sgemm&below=400000&limit=2000")["results"]) == 220,
           "a search can be for calls of some length", len(late))


def wire(place, store):
    """What an answer looks like on the wire."""
    with Server(place, store) as s:
        path = f"/api/v1/run/{s.run()}/processes"
        status, heads, body = s.ask(path)
        ok(status == 200 and "default-src 'none'" in heads["Content-Security-Policy"] and
           heads["X-Content-Type-Options"] == "nosniff" and "Access-Control-Allow-Origin" not in heads,
           "answers carry a strict policy, and nothing for other sites", heads)
        status, _, none = s.ask(path, heads={"If-None-Match": heads["ETag"]})
        ok(status == 304 and not none, "what the asker has is not sent again")
        status, h, zipped = s.ask("/api/v1/openapi.json", heads={"Accept-Encoding": "gzip"})
        ok(h["Content-Encoding"] == "gzip" and json.loads(gzip.decompress(zipped)) == API, "gzip for who takes it")
        _, h, plain = s.ask("/api/v1/openapi.json", heads={"Accept-Encoding": "gzip;q=0"})
        ok("Content-Encoding" not in h and plain == gzip.decompress(zipped), "and none for who does not")
        _, h, zstd = s.ask("/api/v1/openapi.json", heads={"Accept-Encoding": "zstd, br"})
        ok(h["Content-Encoding"] == "zstd" and zstd[:4] == b"\x28\xb5\x2f\xfd", "zstd for who takes that", h)
        status, h, body2 = s.ask(path, method="HEAD")
        ok(status == 200 and int(h["Content-Length"]) == len(body) and not body2, "HEAD has the heads alone", h)
        c = s.connect()
        two = [s.ask(path, connection=c)[2] for _ in range(2)]
        ok(two == [body, body], "a connection is used again")
        status, h, _ = s.ask("/?token=" + s.token, token=False)
        cookie = h["Set-Cookie"]
        ok(status == 303 and h["Location"] == "/" and "HttpOnly" in cookie and "SameSite=Strict" in cookie,
           "the printed address sets a cookie, and the token leaves the address", h)
        status, _, page = s.ask("/", token=False, heads={"Cookie": cookie.split(";")[0]})
        ok(status == 200 and b"<html" in page, "with which the page opens", page[:200])


with Place() as place:
    routes()
    store = fixture(place.path / "store.db")
    recorded(place, store)
    wire(place, store)
    names(place)
    changes(place)
    heat(place)
    states(place, store)
    if data():
        hta = data() / "kineto/hta"
        imported(place, hta / "trace_diff/control/control.json.gz")
        compared(place, hta / "trace_diff/control/control.json.gz", hta / "trace_diff/test/test.json.gz")
        downloads(place, hta / "trace_diff/test/test.json.gz")
    else:
        skip("a trace is served", "no recorded traces beside the tree")
done()
