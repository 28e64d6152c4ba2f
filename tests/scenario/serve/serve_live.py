# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 suite=threads
"""aon serve beside an aond that writes: what is new is sent to fifty pages at once."""
import json
import os
import re
import socket
import time
from pathlib import Path

from aontest import Daemon, Place, app, done, ok, wait_joined
from servetest import WAIT, Server

CLIENTS = 50


class Page:
    """A client that is told of news."""

    def __init__(self, s, path="/api/v1/live"):
        self.sock = socket.create_connection(s.host.rsplit(":", 1), timeout=WAIT)
        self.sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {s.host}\r\nAuthorization: Bearer {s.token}\r\n\r\n".encode())
        self.file = self.sock.makefile("rb")
        self.status = int(self.file.readline().split()[1])

    def tick(self):
        """The next tick's runs."""
        while line := self.file.readline():
            if line.startswith(b"data: "):
                return json.loads(line[6:])["runs"]
        return None

    def close(self):
        self.file.close()
        self.sock.close()


def until(what):
    """The first true answer."""
    end = time.monotonic() + WAIT
    while not (got := what()) and time.monotonic() < end:
        time.sleep(0.2)
    return got


def room(s):
    """Whether one more is told of news."""
    x = Page(s)
    x.close()
    return x.status == 200


def usage(s):
    """aond's CPU time and memory as /metrics has them. Where aond was slow to answer they are not there for a while."""
    word = r"^aon_daemon_(?:cpu_seconds_total|resident_memory_bytes) (\S+)$"
    return [float(x) for x in until(lambda: re.findall(word, s.ask("/metrics", token=False)[2].decode(), re.M))]


def age(pid):
    """How long a process has been there."""
    start = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start


def cost(s, at, d):
    """What aond takes lies between what is read before and after."""
    was, young = usage(s)[0], age(d.pid)
    got = s.get(at + "overview?t0=0")["cost"]
    now, rss, old = *usage(s), age(d.pid)
    ok(was / old - 1e-3 <= got["core"] <= now / young + 1e-3 and 0.5 < got["mb"] * 1e6 / rss < 2,
       "the overview has aond's share of a core and memory as /metrics has them", (was, got, now, rss, young, old))
    ok(got["pct"] is None, "how much slower the run is stays unknown", got)


with Place() as place, Daemon(place) as d:
    p = app(place, "emitter", "-j", 2000, "-k", "range", "-r", 2000, "-n", 10000000)
    with Server(place, place.store) as s:
        first = until(lambda: [r for r in s.get("runs")["runs"] if r["events"]])
        ok(first and first[0]["state"] == "live" and first[0]["host"], "a run that goes on is live", first)
        at = f"run/{first[0]['id']}/"
        asof = s.get(at + "processes")["asof"]
        ok(until(lambda: s.get(at + "processes")["asof"] > asof), "asof moves")
        ok(until(lambda: s.get("runs")["runs"][0]["events"] > first[0]["events"]), "and so does the number of events")
        ok(s.get(at + "health")["processes"][0]["connected"], "health: it is connected")
        pages = [Page(s, "/api/v1/" + ("live" if i % 2 else at + "live")) for i in range(CLIENTS)]
        ok(all(x.status == 200 for x in pages), f"{CLIENTS} pages are told of news")
        told = [[x.tick() for _ in range(3)] for x in pages]
        ok(all(t and len(t) == 1 and t[0]["id"] == first[0]["id"] for x in told for t in x), "each of the run")
        ok(all(x[2][0]["t1_rel"] > x[0][0]["t1_rel"] and x[2][0]["events"] >= x[0][0]["events"] for x in told),
           "each tick is newer than the last", told[0])
        status, _, body = s.ask("/api/v1/" + at + "overview")
        ok(status == 200 and json.loads(body)["run"]["state"] == "live", "beside them views are answered", body[:200])
        cost(s, at, d)
        ok(s.get(at + "captures")["captures"] == [], "a run that nobody captured has no captures")
        said = d.ask(f"capture {p.pid} 100")
        got = until(lambda: s.get(at + "captures")["captures"])
        ok(got and len(got) == 1 and got[0]["pid"] == p.pid and f"100 ms of pid {p.pid}" in got[0]["text"] and
           got[0]["at_ns"] > asof, "an order to capture it is listed, with its time", (said, got, asof))
        q = app(place, "emitter", "-n", 100, "-h", 60)
        wait_joined(d, q.pid)
        said = d.ask(f"capture begin ms=1 pids={p.pid},{q.pid}")
        got = until(lambda: [x for x in s.get(at + "captures")["captures"] if f"{q.pid}, {p.pid}" in x["text"]])
        ok(got and p.pid in [x["pid"] for x in got], "and one of several, wherever it stands among them", (said, got))
        q.kill()
        q.communicate()
        more = [Page(s) for _ in range(30)]
        ok({x.status for x in more} == {200, 503}, "more than a bound are refused", [x.status for x in more])
        for x in more + pages[: CLIENTS // 2]:
            x.close()
        ok(until(lambda: room(s)), "who left makes room")
        ok(s.ask("/api/v1/run/00000000/live")[0] == 404, "news of no run are none")
        p.kill()
        p.wait()
        ok(until(lambda: s.get("runs")["runs"][0]["state"] == "ended"), "a run that was killed has ended")
        cost = s.get(at + "overview")["cost"]
        ok(cost["core"] is None and cost["mb"] is None, "of which nobody knows what aond took", cost)
        ok(s.stop() == 0, "it ends while pages are open", s.log.read_text())
        for x in pages[CLIENTS // 2:]:
            x.close()
done()
