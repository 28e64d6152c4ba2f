# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 suite=threads
"""Live events as server-sent events: all of them, in order, from where a client stopped, to whom they belong."""
import json
import os
import shutil
import socket
import subprocess

from aontest import SANITIZED, Daemon, Place, app, app_env, done, emitted, find, ok, skip, wait_for
from servetest import WAIT, Server
from webtest import CACHE, ROOT

NOBODY = 65534


class Stream:
    """A client that takes events apart as a browser does."""

    def __init__(self, s, query="", last=None):
        if s.unix:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(WAIT)
            self.sock.connect(s.unix)
        else:
            host, port = s.host.rsplit(":", 1)
            self.sock = socket.socket()
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)  # what is not read waits at the server
            self.sock.settimeout(WAIT)
            self.sock.connect((host, int(port)))
        heads = f"Authorization: Bearer {s.token}\r\n" if s.token else ""
        heads += f"Last-Event-ID: {last}\r\n" if last else ""
        self.sock.sendall(f"GET /api/v1/stream{query} HTTP/1.1\r\nHost: localhost\r\n{heads}\r\n".encode())
        self.file = self.sock.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.last, self.lost, self.events, self.beats = None, 0, [], 0

    def lines(self):
        """Lines of the body; its chunks are taken out."""
        while self.file.readline().strip():
            pass
        text = b""
        while size := int(self.file.readline() or b"0", 16):
            text += self.file.read(size)
            self.file.readline()
            *lines, text = text.split(b"\n")
            yield from lines

    def take(self, enough):
        """Reads until enough() says so, or the end. Returns self."""
        if not hasattr(self, "gen"):
            self.gen = self.lines()
        event, place = None, None
        while not enough() and (line := next(self.gen, None)) is not None:
            key, _, value = line.decode().partition(": ")
            if key == "id":
                place = value
            elif key == "event":
                event = value
            elif key == "data":
                self.last = place
                got = json.loads(value)
                self.lost += got.get("lost", 0)
                if event != "lost":
                    self.events.append(got)
            self.beats += line == b":"
        return self

    def close(self):
        self.file.close()
        self.sock.close()


def run(p, d, *args, **kw):
    proc = app(p, "emitter", "-j", 5000, *args, **kw)
    said = emitted(proc)
    wait_for(lambda: not d.session(proc.pid), 30)
    return proc.pid, said


def events():
    with Place() as p, Daemon(p) as d, Server(p, env=app_env(p)) as s:
        x, few, rolled = Stream(s, "?kind=mark"), Stream(s, "?rate=10"), Stream(s, "?window=1&kind=mark")
        ok([y.status for y in (x, few, rolled)] == [200] * 3, "streams are opened", [y.status for y in (x, few, rolled)])
        wait_for(lambda: d.counter("consumers") == 3)
        pid, _ = run(p, d, "-n", 3000)
        x.take(lambda: len(x.events) >= 3000)
        seq = [e["seq"] for e in x.events]
        ok(len(x.events) == 3000 and {e["pid"] for e in x.events} == {pid} and seq == list(range(seq[0], seq[0] + 3000)) and not x.lost,
           "all events of a program come, once and in order", (len(x.events), x.lost))
        few.take(lambda: sum(e["weight"] for e in few.events) + few.lost >= 3000)
        ok(sum(e["weight"] for e in few.events) == 3000 and len(few.events) < 300, "few of them stand for all", len(few.events))
        rolled.take(lambda: sum(e["count"] for e in rolled.events) >= 3000)
        ok(sum(e["count"] for e in rolled.events) == 3000 and all(e["p99_ns"] >= e["p50_ns"] for e in rolled.events),
           "windows have every one", rolled.events[:1])
        ok("-" in x.last, "each has an id", x.last)

        # Comes back: nothing twice, nothing left out.
        was = x.last
        x.close()
        wait_for(lambda: d.counter("consumers") == 3)  # its place is kept for a while
        run(p, d, "-n", 500)
        y = Stream(s, "?kind=mark", last=was)
        y.take(lambda: len(y.events) >= 500)
        ok([e["seq"] for e in y.events] == list(range(seq[-1] + 1, seq[-1] + 501)) and not y.lost,
           "who comes back with Last-Event-ID goes on behind it", ([e["seq"] for e in y.events][:3], seq[-1], y.lost))
        y.close()
        bad = ("0-0", "ffffffffffffffff-ffffffffffffffff", "x", "%n%n", "1-" + "f" * 60, was.split("-")[0] + "-ffffffff")
        none = [Stream(s, "?kind=mark", last=b) for b in bad]
        run(p, d, "-n", 5)
        for b, z in zip(bad, none):
            z.take(lambda: z.events)
            ok(z.status == 200 and z.events and not z.lost, f"one that is none begins now: {b[:20]}", (z.status, z.lost))
            z.close()
        for q in ("?kind=nonsense", "?pid=x", "?pid=0", "?rate=0", "?window=2", "?priority=urgent", "?rate=5&window=1", "?x=1"):
            ok(Stream(s, q).status == 400, f"misuse: {q}")
        status, _, body = s.ask("/api/v1/stream", token=False)
        ok(status == 401 and b"token" in body, "without the token there is none", body)
        ok(s.ask("/api/v1/stream", method="POST")[0] == 405, "nor by POST")
        rolled.take(lambda: rolled.beats)
        ok(rolled.beats, "a silent stream has a heartbeat")
        d.stop()
        few.take(lambda: False)
        ok(True, "when aond ends, so do streams")
        ok(Stream(s).status == 503, "and there are none without it")
        ok(s.stop() == 0, "the server ends cleanly", s.log.read_text())


def slow():
    """Who does not take what it is sent loses it, and is told; others do not."""
    with Place() as p, Daemon(p, {"subscribe_mib": 1}) as d, Server(p, env=app_env(p)) as s:
        x, y = Stream(s), Stream(s)
        n = 0
        for _ in range(4):
            run(p, d, "-n", 15000)
            n += 15000
            y.take(lambda: len(y.events) + y.lost >= n)
        ok(len(y.events) == n and not y.lost, "who reads loses nothing", (len(y.events), y.lost))
        x.take(lambda: len(x.events) + x.lost >= n)
        ok(len(x.events) + x.lost == n and x.lost, "who did not is told how many, to the event", (len(x.events), x.lost))
        more = [Stream(s) for _ in range(40)]
        ok([m.status for m in more].count(200) == 30 and {m.status for m in more} == {200, 503}, "streams are bounded",
           [m.status for m in more].count(200))
        for m in (x, y, *more):
            m.close()
        ok(wait_for(lambda: d.counter("consumers") <= 8, WAIT), "who left is gone, but for those that are kept", d.counter("consumers"))
        ok(Stream(s).status == 200, "and makes room")


def curl():
    if not shutil.which("curl"):
        skip("curl", "is not installed")
        return
    with Place() as p, Daemon(p) as d, Server(p, env=app_env(p)) as s:
        c = subprocess.Popen(["curl", "-sN", "-H", f"Authorization: Bearer {s.token}", s.said["base"] + "api/v1/stream?kind=mark"],
                             stdout=subprocess.PIPE, text=True)
        wait_for(lambda: d.counter("consumers") == 1)
        run(p, d, "-n", 50)
        got = []
        while len(got) < 50 and (line := c.stdout.readline()):
            if line.startswith("data: "):
                got.append(json.loads(line[6:]))
        ok(len(got) == 50 and {e["kind"] for e in got} == {"mark"}, "curl gets them", got[:2])
        c.kill()
        c.communicate()


def browser():
    if SANITIZED:
        skip("a browser", "the plain build has it")
        return
    if not all(map(shutil.which, ("node", "chromium"))) or not (CACHE / "web/node_modules/playwright-core").is_dir():
        skip("a browser", "node, chromium or playwright-core is not there (tools/setup check)")
        return
    with Place() as p, Daemon(p) as d, Server(p, env=app_env(p)) as s:
        page = {"address": s.said["address"], "base": s.said["base"], "events": 400}
        c = subprocess.Popen(["node", ROOT / "web/test/stream.mjs"], env={**os.environ, "AON_PAGE": json.dumps(page)},
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        wait_for(lambda: d.counter("consumers") == 1 or c.poll() is not None, WAIT)
        run(p, d, "-n", 400)
        out, _ = c.communicate(timeout=WAIT)
        got = json.loads(out or "{}")
        ok(got.get("ids") == 400 and sum(got["names"].values()) == 400 and "-" in got["last"] and not got["lost"],
           "EventSource of Chromium gets each, with its id", got)
        ok(got.get("faults") == [], "and the page complains of nothing", got)


def users():
    if os.getuid() or not shutil.which("setpriv"):
        skip("users are apart", "needs root and setpriv to become nobody")
        return
    with Place() as p, Daemon(p) as d:
        for name in ("emitter", "libaon.so.0"):
            shutil.copy(find(name), p.path / name)
        with Server(p, "--listen", f"unix:{p.path}/http.sock", env=app_env(p)) as s:
            mine = Stream(s, "?kind=mark")
            # The kernel says who connects.
            theirs = subprocess.Popen(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "curl", "-sN", "--unix-socket",
                                       str(p.path / "http.sock"), "http://localhost/api/v1/stream?kind=mark"],
                                      stdout=subprocess.PIPE, text=True)
            wait_for(lambda: d.counter("consumers") == 2)
            pid, _ = run(p, d, "-n", 100)
            env = {**app_env(p), "LD_LIBRARY_PATH": str(p.path)}
            other = subprocess.Popen(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", p.path / "emitter", "-j", "5000", "-n", "50"],
                                     env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            emitted(other)
            mine.take(lambda: len(mine.events) >= 150)
            got = []
            while len(got) < 50 and (line := theirs.stdout.readline()):
                if line.startswith("data: "):
                    got.append(json.loads(line[6:]))
            ok({e["pid"] for e in mine.events} == {pid, other.pid}, "root sees all")
            ok(len(got) == 50 and {e["pid"] for e in got} == {other.pid}, "nobody sees its own processes", {e.get("pid") for e in got})
            theirs.kill()
            theirs.communicate()
            mine.close()


events()
slow()
curl()
browser()
users()
done()
