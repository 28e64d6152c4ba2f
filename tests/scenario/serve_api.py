# SPDX-License-Identifier: Apache-2.0
"""aon serve: each answer has the numbers that aon report and aon why have of the same input."""
import gzip
import json
import os
import signal

from aontest import Place, data, done, ok, skip
from clitest import aon, fixture
from servetest import Server


def report(place, *args):
    return json.loads(aon(place, *args, "--json").stdout)


def recorded(place, store):
    """A store that aon recorded."""
    r = report(place, "report", store)
    with Server(place, store) as s:
        runs = s.get("runs")
        ok(runs["v"] == 1 and {x["state"] for x in runs["runs"]} == {"ended"}, "runs are listed", runs)
        ok(sum(x["processes"] for x in runs["runs"]) == len(r["processes"]), "every process is of one run", runs)
        ok(len({x["id"] for x in runs["runs"]}) == len(runs["runs"]), "each run has an id", runs)
        got = [p for x in runs["runs"] for p in s.get(f"run/{x['id']}/processes")["processes"]]
        want = {p["process"]: p for p in r["processes"]}
        ok(all(p["accounting"] == want[p["process"]]["accounting"] and p["comm"] == want[p["process"]]["comm"]
               for p in got), "processes are those of aon report", got)
        lost = sum(s.get(f"run/{x['id']}/accounting")["accounting"]["lost"] for x in runs["runs"])
        ok(lost == r["accounting"]["lost"], "accounting adds up to aon report's", lost)
        ok(s.get(f"run/{s.run()}/health")["state"] == "ended", "health: nothing runs")
        ok(s.get(f"run/{s.run()}/captures")["captures"] == [], "there are no captures yet")
        for sig in (signal.SIGTERM,):
            ok(s.stop(sig) == 0, "it ends cleanly on SIGTERM", s.log.read_text())


def imported(place, trace):
    """A trace of another tool."""
    r = report(place, "report", trace)
    with Server(place, trace) as s:
        run = s.get("runs")["runs"][0]
        ok(run["name"] == trace.name and run["events"] == r["accounting"]["imported"], "a trace is a run", run)
        d = s.get(f"run/{run['id']}/devices")
        ok(d["devices"] == r["devices"] and d["streams"] == r["streams"], "devices are those of aon report", d)
        ok(not d["partial"] and d["range"]["whole"], "and say that they are of all of it", d["range"])
        a = s.get(f"run/{run['id']}/accounting")["accounting"]
        ok(a == r["accounting"], "accounting is that of aon report", a)
    left = [f for f in os.listdir(place.path) if f.startswith("aon-serve-")]
    ok(not left, "nothing is left of it when it has ended", left)


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
        ok(h["Content-Encoding"] == "gzip" and json.loads(gzip.decompress(zipped))["openapi"], "gzip for who takes it")
        _, h, plain = s.ask("/api/v1/openapi.json", heads={"Accept-Encoding": "gzip;q=0"})
        ok("Content-Encoding" not in h and plain == gzip.decompress(zipped), "and none for who does not")
        _, h, _ = s.ask("/api/v1/openapi.json", heads={"Accept-Encoding": "br"})
        ok("Content-Encoding" not in h, "nor for who takes another")
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
    store = fixture(place.path / "store.db")
    recorded(place, store)
    wire(place, store)
    if data():
        imported(place, data() / "kineto/hta/trace_diff/control/control.json.gz")
    else:
        skip("a trace is served", "no recorded traces beside the tree")
done()
