# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 long=yes
"""aon serve against who should not get anything: other sites, other users, strange bytes, the slow."""
import http.client
import json
import os
import pathlib
import socket
import time

from aontest import Place, done, ok, skip
from clitest import fixture
from servetest import WAIT, Server


def raw(s, data, wait=WAIT):
    """What comes back for these bytes until it is closed."""
    with socket.create_connection(s.host.rsplit(":", 1), timeout=wait) as c:
        try:
            c.sendall(data)
            c.shutdown(socket.SHUT_WR)
            out = b""
            while chunk := c.recv(65536):
                out += chunk
        except OSError:  # closed before all was sent
            return b"closed"
        return out


def status(answer):
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def sites(s):
    host = s.host
    for name, heads, want in (
            ("another host, as after DNS rebinding", {"Host": "evil.example"}, 403),
            ("a host that only begins like ours", {"Host": "127.0.0.1.evil.example"}, 403),
            ("another origin", {"Origin": "http://evil.example"}, 403),
            ("an origin without a name", {"Origin": "null"}, 403),
            ("another port's origin", {"Origin": "http://127.0.0.1:1"}, 403),
            ("another site's fetch", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
            ("our own origin", {"Origin": f"http://{host}"}, 200)):
        got = s.ask("/api/v1/runs", heads=heads)
        ok(got[0] == want and "Access-Control-Allow-Origin" not in got[1], f"{name}: {want}", got)


def tokens(s):
    for name, heads in (("no token", {}), ("a wrong token", {"Authorization": "Bearer " + "0" * 48}),
                        ("an empty one", {"Authorization": "Bearer "}),
                        ("half of it", {"Authorization": "Bearer " + s.token[:24]}),
                        ("another port's cookie", {"Cookie": "aon_1=" + s.token})):
        got = s.ask("/api/v1/runs", token=False, heads=heads)
        ok(got[0] == 401 and b"runs" not in got[2].replace(b"api/v1/runs", b""), f"{name}: nothing but 401", got)
    got = s.ask("/?token=" + "0" * 48, token=False)
    ok(got[0] in (200, 401) and "Set-Cookie" not in got[1], "a wrong token in the address sets no cookie", got)
    ok(s.ask("/assets/x.js", token=False)[0] == 401, "what is not a file of the page is not told of")


def paths(s):
    for path, want in (("/../../etc/passwd", 400), ("/%2e%2e/%2e%2e/etc/passwd", 400), ("/..%2f..%2fetc/passwd", 400),
                       ("/assets/..%5c..%5cx", 400), ("/api/v1/run/../runs", 400), ("/api/v1/%00", 400),
                       ("/api/v1/%", 400), ("/api/v1/%zz", 400), ("/api/v1/runs?x=%ff", 400), ("//etc/passwd", 404),
                       ("/api/v1/run//kernels", 404), ("/api/v1/run/zzzzzzzz/kernels", 404), ("/api/v2/runs", 404),
                       ("/api/v1/runs/", 404), ("/api/v1/runs?token=1&token=2", 400), ("/nothing", 404)):
        got = s.ask(path)
        ok(got[0] == want, f"{path}: {want}", got)


def numbers(s):
    at = f"/api/v1/run/{s.run()}/"
    for query in ("kernels?limit=0", "kernels?limit=5001", "kernels?limit=-1", "kernels?limit=1e9", "kernels?cursor=x",
                  "kernels?t0=99999999999999999999999", "kernels?t0=9&t1=9", "kernels?sort=x", "kernels?group=",
                  "kernels?ranks=1,,2", "kernels?ranks=5-1", "windows?n=0", "windows?n=1000000000", "flame?min=2",
                  "flame?min=nan", "flame?min=inf", "diff", "diff?vs=x", "download", "download?format=exe",
                  "whatif?scale=x", "whatif?scale=nosuchname=0", "whatif?no_sync=yes", "kernels?t0=5&t0=6", "kernels?x=1"):
        got = s.ask(at + query)
        ok(got[0] in (400, 422) and json.loads(got[2])["error"], f"{query}: refused with a reason", got)
    for query in ("kernels?t0=0&t1=9007199254740991&limit=5000", "windows?t0=9007199254740990", "steps?cursor=999999999",
                  "kernels?ranks=0-999999999", "devices?t0=9007199254740990", "windows?n=2000"):
        got = s.ask(at + query)
        ok(got[0] == 200 and len(got[2]) < 1 << 20, f"{query}: answered within bounds", got[:1])


def methods(s):
    for m in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X"):
        c = s.connect()
        try:
            got = s.ask("/api/v1/runs", method=m, connection=c)
        except (http.client.HTTPException, ConnectionError):
            got = (0, {}, b"")
        c.close()
        ok(got[0] in (0, 400, 405) and b'"runs"' not in got[2], f"{m} is not for here", got)


def changes(s):
    """Only the page of aon, or who has the token in hand, decides about findings."""
    at = f"/api/v1/run/{s.run()}/states?key=straggler:5:0&state=known"
    cookie = s.ask(f"/?token={s.token}", token=False)[1]["Set-Cookie"].split(";")[0]
    own, evil = f"http://{s.host}", "http://evil.example"
    for name, heads, want in (("another origin", {"Origin": evil}, 403), ("no origin", {}, 403), ("origin null", {"Origin": "null"}, 403),
                              ("another site", {"Origin": own, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403),
                              ("a form of another site", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403),
                              ("the page itself", {"Origin": own, "Sec-Fetch-Site": "same-origin"}, 200)):
        got = s.ask(at, method="POST", token=False, heads={"Cookie": cookie, **heads})
        ok(got[0] == want, f"{name} decides: {want}", got)
    ok(s.ask(at, method="POST", token=False, heads={"Origin": own})[0] == 401, "without the token nobody does")
    ok(s.ask(at, method="POST", heads={"Content-Length": "5"})[0] in (400, 413), "and a body is refused")


def bytes_(s):
    """Requests that are none."""
    head = f"Host: {s.host}\r\nAuthorization: Bearer {s.token}\r\n".encode()
    get = b"GET /api/v1/runs HTTP/1.1\r\n" + head
    for name, data in (("no request", b"\0\1\2\xff\r\n\r\n"), ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
                       ("a line without end", b"GET /" + b"a" * 100000), ("a head without end", get + b"X: " + b"a" * 100000),
                       ("too many heads", get + b"".join(b"X%d: y\r\n" % i for i in range(20000)) + b"\r\n"),
                       ("an address that is too long", b"GET /?" + b"a" * 20000 + b" HTTP/1.1\r\n" + head + b"\r\n"),
                       ("no host", b"GET /api/v1/runs HTTP/1.1\r\nAuthorization: Bearer " + s.token.encode() + b"\r\n\r\n"),
                       ("a body", get + b"Content-Length: 5\r\n\r\nhello"),
                       ("a body in chunks that are none", get + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
                       ("two lengths", get + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
                       ("an absolute address", b"GET http://evil.example/api/v1/runs HTTP/1.1\r\n" + head + b"\r\n")):
        got = raw(s, data)
        ok(b'"runs"' not in got and status(got) in (0, 400, 403, 404, 413, 414, 431), f"{name}: refused", got[:200])
    piped = raw(s, get + b"\r\n" + b"GET /health HTTP/1.1\r\nHost: evil\r\n\r\n" + get + b"Connection: close\r\n\r\n")
    ok(piped.count(b"HTTP/1.1 ") == 3 and piped.count(b"HTTP/1.1 403") == 1 and piped.count(b'"runs"') == 2,
       "requests in a row are judged one by one", piped[:200])
    smuggled = raw(s, get + b"Content-Length: 100\r\n\r\n" + get + b"\r\n")
    ok(smuggled.count(b"HTTP/1.1 ") <= 1 and b'"runs"' not in smuggled, "what stands in a body is no request", smuggled)


def slow(s):
    """Who sends a byte now and then does not keep others out, nor stays."""
    late = [socket.create_connection(s.host.rsplit(":", 1), timeout=WAIT) for _ in range(40)]
    for c in late:
        c.sendall(b"GET /api/v1/runs HTTP/1.1\r\nX: ")
    ok(s.ask("/api/v1/runs")[0] == 200, "beside forty that do not finish their requests others are served")
    c, begun, closed = late[0], time.monotonic(), False
    while not closed and time.monotonic() - begun < 3 * WAIT:
        time.sleep(1)
        try:
            c.sendall(b"a")
            c.settimeout(0.01)
            closed = c.recv(1) == b""
        except socket.timeout:
            continue
        except ConnectionError:
            closed = True
    ok(closed, "one that goes on sending a byte a second is closed in the end")
    for c in late:
        c.close()
    many = []
    try:
        for _ in range(400):
            many.append(socket.create_connection(s.host.rsplit(":", 1), timeout=2))
    except OSError:
        pass
    for c in many:
        c.close()
    end = time.monotonic() + WAIT
    good = False
    while not good and time.monotonic() < end:
        try:
            good = s.ask("/api/v1/runs")[0] == 200
        except (OSError, http.client.HTTPException):
            time.sleep(0.2)
    ok(good, "after four hundred connections at once it serves on")


def memory(s):
    rss = [int(line.split()[1]) for line in pathlib.Path(f"/proc/{s.proc.pid}/status").read_text().splitlines()
           if line.startswith("VmRSS")]
    fds = len(os.listdir(f"/proc/{s.proc.pid}/fd"))
    ok(fds < 100 and rss, "and holds no more than before", (rss, fds))


def users(place, store):
    """On a unix socket each user sees what is theirs."""
    if os.geteuid() != 0:
        skip("users see their own", "only root can be others")
        return
    os.chmod(store, 0o600)
    sock = place.path / "serve.sock"
    with Server(place, store, "--listen", f"unix:{sock}") as s:
        ok(s.get("runs")["runs"], "root sees all")
        ids = [r["id"] for r in s.get("runs")["runs"]]
        pid = os.fork()
        if pid == 0:
            try:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                seen = s.get("runs")["runs"]
                status = s.ask(f"/api/v1/run/{ids[0]}/processes")[0]
                os._exit(0 if not seen and status == 404 else 1)
            except BaseException:  # noqa: the child must not go on
                os._exit(2)
        ok(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "another user sees nothing, and finds nothing by its id")
    ok(not sock.exists(), "the socket goes with the server")


with Place() as place:
    store = fixture(place.path / "store.db")
    with Server(place, store) as s:
        sites(s)
        tokens(s)
        paths(s)
        numbers(s)
        methods(s)
        changes(s)
        bytes_(s)
        slow(s)
        memory(s)
        ok(s.stop() == 0, "it ends cleanly", s.log.read_text())
    users(place, store)
done()
