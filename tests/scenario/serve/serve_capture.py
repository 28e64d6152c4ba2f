# SPDX-License-Identifier: Apache-2.0
# test: timeout=240
"""Captures by the API: only where serve allows them, through aond and its audit log, by nobody else's page."""
import json

from aontest import Daemon, Place, aon, app, done, ok, wait_for
from servetest import Server


def post(s, run, query, **kw):
    status, _, body = s.ask(f"/api/v1/run/{run}/capture?{query}", method="POST", **kw)
    return status, json.loads(body)


def ended(s, run, number):
    def look():
        x = next(x for x in s.get(f"run/{run}/capture")["orders"] if x["number"] == number)
        return x if x["state"] != "running" else None
    return wait_for(look, 90) or s.get(f"run/{run}/capture")["orders"]


def live(s):
    return wait_for(lambda: next((x["id"] for x in s.get("runs")["runs"] if x["state"] == "live" and x["steps"] > 3), None), 60)


def test_off(place):
    with Server(place, place.store) as s:
        run = live(s)
        r = s.get(f"run/{run}/capture")
        ok(not r["allowed"] and "--allow-capture" in r["why"] and r["orders"] == [], "unless told, serve only reads, and says what would change that", r)
        status, r = post(s, run, "ms=100")
        ok(status == 403 and "--allow-capture" in r["error"], "and orders nothing", r)
        ok("number" not in aon("store", "journal", str(place.store)).stdout, "aond was asked for nothing")


def test_on(place, pid):
    with Server(place, "--allow-capture", place.store) as s:
        run = live(s)
        status, r = post(s, run, "steps=3&before=1000")
        ok(status == 200 and r["allowed"] and r["orders"][0]["state"] == "running", "told to, it orders", r)
        x = ended(s, run, r["orders"][0]["number"])
        ok(x["state"] == "done" and x["bytes"] > 100 and x["processes"] == 1, "and it is done", x)
        ok(x["from_ns"] is not None and x["from_ns"] < x["to_ns"], "where it is on the timeline is known", x)
        status, heads, body = s.ask(f"/api/v1/run/{run}/captured/{x['number']}")
        ok(status == 200 and len(body) == x["bytes"] and ".pftrace" in heads["Content-Disposition"], "the trace can be had", heads)
        ok(s.ask(f"/api/v1/run/{run}/captured/77")[0] == 404 and s.ask(f"/api/v1/run/{run}/captured/x")[0] == 404, "another one there is not")
        ok(f"of pid {pid}" in aon("store", "journal", str(place.store)).stdout, "the journal has it")
        log = place.path / "audit.log"
        ok("capture" in aon("audit", env={"AON_RUN_DIR": str(place.run)}).stdout or (log.exists() and "capture" in log.read_text()), "and aond's audit log who it was for")

        status, r = post(s, run, "ms=300000")
        n = r["orders"][0]["number"]
        wait_for(lambda: aon("store", "journal", str(place.store)).stdout.count("number") >= 2, 20)
        status, r = post(s, run, f"cancel={n}")
        ok(status == 200 and ended(s, run, n)["state"] == "cancelled", "one under way is taken back", r)
        ok(post(s, run, "cancel=99")[0] == 404, "one that is not there is not")

        status, r = post(s, run, "ms=100&trigger=no_such_word+%3E+1")
        x = ended(s, run, r["orders"][0]["number"])
        ok(x["state"] == "failed" and "step_ms" in x["why"], "a trigger that is none: it says why", x)
        status, r = post(s, run, "ms=100&trigger=%3Btouch+/nonexistent%27%22%24(id)")
        x = ended(s, run, r["orders"][0]["number"])
        ok(x["state"] == "failed" and x["trigger"].startswith(";touch"), "and no shell sees it", x)
        for bad in ("steps=1&ms=5", "ms=0", "steps=x", "before=700000", "trigger=", "ranks=a", "ranks=5", "other=1"):
            status, r = post(s, run, bad)
            ok(status == 400 and r["error"], f"{bad} is refused", (status, r))
        ok(s.ask(f"/api/v1/run/{run}/capture?ms=5")[0] == 400, "GET orders nothing")

        cookie = {"Cookie": s.ask("/?token=" + s.token, token=False)[1]["Set-Cookie"].split(";")[0]}
        had = len(s.get(f"run/{run}/capture")["orders"])
        evil = [({**cookie}, "without an origin"), ({**cookie, "Origin": "http://evil.example"}, "of another site"),
                ({**cookie, "Sec-Fetch-Site": "cross-site"}, "that another site asks for"), ({}, "without the token")]
        for heads, what in evil:
            status, _, _ = s.ask(f"/api/v1/run/{run}/capture?ms=100", method="POST", token=False, heads=heads)
            ok(status in (401, 403), f"a request {what} orders nothing", status)
        ok(len(s.get(f"run/{run}/capture")["orders"]) == had, "and nothing was")
        status, r = post(s, run, "ms=300000")
        n = r["orders"][0]["number"]
        folder = [p for p in place.path.glob("aon-serve-*") if p.is_dir()]
        ok(s.stop() == 0 and not any(p.exists() for p in folder), "when serve ends, its captures do, and their files", folder)
        ok(wait_for(lambda: "no capture" in aon("capture", "--list", env={"AON_RUN_DIR": str(place.run)}).stderr, 20), "aond has none under way")


with Place() as place, Daemon(place) as d:
    p = app(place, "app_pace", "-s", "600", "-r", "200", "-S", "20")
    test_off(place)
    test_on(place, p.pid)
    p.kill()
    p.wait()
done()
