# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenarios of aon serve: a private server, and ways to query it."""
import http.client
import json
import signal
import socket
import subprocess

from aontest import SANITIZED, find
from clitest import env_for

WAIT = 120 if SANITIZED else 60


class Unix(http.client.HTTPConnection):
    """HTTP through a unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT)
        self.sock.connect(self.path)


class Server:
    """`aon serve` of a Place, until the end of a with."""

    def __init__(self, place, *args, user=None, env=None):
        self.proc = subprocess.Popen([find("aon"), "serve", "--json", *map(str, args)], cwd=place.path,
                                     env=env_for(place, TMPDIR=place.path, XDG_STATE_HOME=place.path / "state", **(env or {})), user=user,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=open(place.path / "serve.log", "ab"))
        line = self.proc.stdout.readline()
        self.log = place.path / "serve.log"
        assert line, self.log.read_text()
        self.said = json.loads(line)
        self.token = self.said["token"]
        where = self.said["base"]
        self.unix = where[5:] if where.startswith("unix:") else None
        self.host = None if self.unix else where.removeprefix("http://").rstrip("/")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()

    def stop(self, sig=signal.SIGTERM):
        if self.proc.poll() is None:
            self.proc.send_signal(sig)
        return self.proc.wait(WAIT)

    def connect(self):
        return Unix(self.unix) if self.unix else http.client.HTTPConnection(self.host, timeout=WAIT)

    def ask(self, path, method="GET", token=True, heads=None, connection=None):
        """Status, heads and body of an answer."""
        c = connection or self.connect()
        h = {"Authorization": f"Bearer {self.token}"} if token and self.token else {}
        c.request(method, path, headers={**h, **(heads or {})})
        r = c.getresponse()
        body = r.read()
        if not connection:
            c.close()
        return r.status, r.headers, body

    def get(self, path):
        """An answer of the API as JSON."""
        status, _, body = self.ask("/api/v1/" + path)
        assert status == 200, (path, status, body[:300])
        return json.loads(body)

    def run(self, n=0):
        return self.get("runs")["runs"][n]["id"]


def job(folder, ranks, steps, slow=None):
    """A folder with a trace of each rank; rank `slow` computes half as long again in the second half of them."""
    folder.mkdir()
    for r in range(ranks):
        events, n = [], 0
        for s in range(steps):
            at, k = 1000 + 1000 * s, 3 if r == slow and s >= steps // 2 else 2
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{s}", "pid": 1, "tid": 1, "ts": at, "dur": 990})
            for name, dur in (("sgemm_128x64", 150 * k), ("elementwise_add", 50 * k), ("ncclDevKernel_AllReduce", 700 - 200 * k)):
                n += 1
                events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 5, "dur": 3, "args": {"correlation": n}})
                events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 20, "dur": dur,
                               "args": {"device": 0, "stream": 7, "correlation": n}})
                at += dur + 5
        (folder / f"rank{r}.json").write_text(json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": r, "world_size": ranks},
                                                          "traceEvents": events}))
    return folder
