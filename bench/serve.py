#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a timeline of ten million events for the server: the time of an answer over HTTP, its memory; and the CPU
time of a scrape of /metrics, with node_exporter beside it where it is installed.
"""
import http.client
import json
import math
import os
import pathlib
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("AON_BUILD") or os.getcwd())
QUESTIONS, SCRAPES = 600, 200
WIDTH = 1280  # pixels of a page


def row(name, value, unit, bar, note):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": None if value is None else value <= bar,
                      "note": note}), flush=True)


def cpu_ns(pid):
    """Of all threads that are there."""
    return sum(int((t / "schedstat").read_text().split()[0]) for t in pathlib.Path(f"/proc/{pid}/task").iterdir())


def peak_mb(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


class Server:
    def __init__(self, store, **env):
        self.proc = subprocess.Popen([BUILD / "aon", "serve", "--json", store], stdout=subprocess.PIPE,
                                     stdin=subprocess.DEVNULL, env={**os.environ, **env})
        said = json.loads(self.proc.stdout.readline())
        self.heads = {"Authorization": "Bearer " + said["token"]}
        self.c = http.client.HTTPConnection(said["base"].removeprefix("http://").rstrip("/"), timeout=60)

    def ask(self, path):
        t = time.monotonic()
        self.c.request("GET", path, headers=self.heads)
        r = self.c.getresponse()
        body = r.read()
        assert r.status == 200, (path, r.status, body[:200])
        return time.monotonic() - t, r.headers, body

    def stop(self):
        self.proc.terminate()
        self.proc.wait(30)


def pans(s, run, tracks):
    """Where a hand would be next: near, farther in, farther out, or somewhere else."""
    end = max(t["last"] for t in tracks)
    at, span = 0.0, float(end)
    for _ in range(QUESTIONS):
        what = random.random()
        if what < 0.5:
            at += span * random.uniform(-0.5, 0.5)
        elif what < 0.75:
            mid, span = at + span / 2, span / 4
            at = mid - span / 2
        elif what < 0.9:
            span *= 4
        else:
            span = end * 2 ** -random.uniform(0, 24)
            at = random.uniform(0, end)
        span = min(max(span, 1000.0), float(end))
        at = min(max(at, 0.0), end - span)
        level = max(0, math.ceil(math.log2(span / WIDTH) / 2) * 2) if span > WIDTH else 0
        width = 2 ** (level + 9)
        yield (f"/api/v1/run/{run}/tiles?L={level}&i={int(at // width)}-{int((at + span) // width)}"
               f"&tracks={','.join(str(t['id']) for t in tracks[:40])}")


def timeline(place):
    store = place / "big.db"
    subprocess.run([BUILD / "bench/big_store", store], check=True)
    s = Server(store)
    try:
        run = json.loads(s.ask("/api/v1/runs")[2])["runs"][0]
        used = cpu_ns(s.proc.pid)
        first, _, body = s.ask(f"/api/v1/run/{run['id']}/tracks")
        used = (cpu_ns(s.proc.pid) - used) / 1e9
        tracks = json.loads(body)["tracks"]
        random.seed(7)
        times, sizes, parts = [], [], 0
        for path in pans(s, run["id"], tracks):
            t, heads, body = s.ask(path)
            times.append(t * 1e3)
            sizes.append(len(body))
            parts += "Aon-Next" in heads
        times.sort()
        p = lambda q: times[min(len(times) - 1, int(len(times) * q))]
        row("timeline_api_p95_ms", round(p(0.95), 1), "ms", 100,
            f"{len(times)} pans and zooms over {run['events']:,} events, {min(40, len(tracks))} tracks each: p50 {p(0.5):.1f}, "
            f"max {times[-1]:.1f} ms, {sum(sizes) / len(sizes) / 1024:.0f} KiB a body, {parts} in parts; "
            f"opened in {first:.2f} s, {used:.2f} s of CPU")
        row("serve_rss_mb", round(peak_mb(s.proc.pid), 1), "MB", 150, "at the most, after all of these")
    finally:
        s.stop()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def node_exporter():
    """CPU of its scrapes, in ms, or None."""
    exe = shutil.which("prometheus-node-exporter")
    if not exe:
        return None
    port = free_port()
    p = subprocess.Popen([exe, f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
                c.request("GET", "/metrics")
                c.getresponse().read()
                break
            except OSError:
                time.sleep(0.1)
        else:
            return None
        used = cpu_ns(p.pid)
        for _ in range(20):
            c.request("GET", "/metrics")
            c.getresponse().read()
        return (cpu_ns(p.pid) - used) / 20 / 1e6
    finally:
        p.terminate()
        p.wait(30)


def metrics(place):
    """Of a node that records: a program with four threads, a scrape twenty times a second."""
    run, store = place / "run", place / "live.db"
    run.mkdir()
    env = {"AON_RUN_DIR": str(run), "LD_LIBRARY_PATH": str(BUILD / "src/app/client")}
    aond = subprocess.Popen([os.environ["AOND"], "--run-dir", run, "--store", store], stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    app, s = None, None
    try:
        while not (run / "admin.sock").exists():
            time.sleep(0.05)
        app = subprocess.Popen([BUILD / "tests/app/steady", "-t", "4", "-r", "1000", "-k", "range", "-w"],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **env})
        time.sleep(3)
        s = Server(store, **env)
        s.ask("/metrics")
        used = cpu_ns(s.proc.pid)
        for _ in range(SCRAPES):
            _, _, body = s.ask("/metrics")
            time.sleep(0.05)
        ms = (cpu_ns(s.proc.pid) - used) / SCRAPES / 1e6
        other = node_exporter()
        row("metrics_cpu_ms", round(ms, 3), "ms", 1,
            f"CPU of the server a scrape, {len(body)} bytes; node_exporter " +
            (f"{other:.1f} ms" if other is not None else "is not installed"))
    finally:
        if s:
            s.stop()
        if app:
            app.stdin.close()
            app.wait(30)
        aond.terminate()
        aond.wait(30)


def main():
    wanted = os.environ.get("BENCH_IDS", "").split()
    with tempfile.TemporaryDirectory(prefix="aon-bench-", dir=BUILD) as place:
        if not wanted or set(wanted) & {"timeline_api_p95_ms", "serve_rss_mb"}:
            timeline(pathlib.Path(place))
        if not wanted or "metrics_cpu_ms" in wanted:
            metrics(pathlib.Path(place))
    return 0


if __name__ == "__main__":
    sys.exit(main())
