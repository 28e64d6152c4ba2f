#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of telemetry: the host collector's CPU beside node_exporter's in the same seconds, a scrape of 8 GPUs, a day
in the store."""
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("AON_BUILD") or os.getcwd())
sys.path.insert(0, str(ROOT / "tests/scenario/lib"))
import nvmlkit

SECONDS, SCRAPES = 30, 100


def row(name, value, unit, bar, note):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": None if value is None else value <= bar,
                      "note": note}), flush=True)


def cpu_ns(pid):
    return sum(int((t / "schedstat").read_text().split()[0]) for t in pathlib.Path(f"/proc/{pid}/task").iterdir())


def children(pid):
    return [int(x) for t in pathlib.Path(f"/proc/{pid}/task").iterdir() for x in (t / "children").read_text().split()]


class Node:
    """aond and aon-collect in a folder of their own."""

    def __init__(self, folder, *collectors, env=None):
        self.run, self.store = f"{folder}/run", f"{folder}/store.db"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.aond = subprocess.Popen([BUILD / "src/node/daemon/aond", "--run-dir", self.run, "--store", self.store], **quiet)
        for _ in range(100):
            if os.path.exists(f"{self.run}/telemetry.sock"):
                break
            time.sleep(0.1)
        self.collect = subprocess.Popen([BUILD / "src/node/collect/aon-collect", "--run-dir", self.run, *collectors],
                                        env={**os.environ, **(env or {})}, **quiet)

    def cpu_ns(self):
        return sum(cpu_ns(p) for p in [self.collect.pid, *children(self.collect.pid)])

    def stop(self):
        for p in (self.collect, self.aond):
            p.terminate()
            p.wait(30)


def exporter():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    p = subprocess.Popen(["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return p, port


def scrape(port):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    c.request("GET", "/metrics")
    c.getresponse().read()
    c.close()


def bench_host():
    """Both at 1 Hz, ours with all that it measures slowly otherwise."""
    theirs = shutil.which("prometheus-node-exporter")
    with tempfile.TemporaryDirectory() as d:
        node = Node(d, "--all", "host")
        p, port = exporter() if theirs else (None, 0)
        time.sleep(3)
        if p:
            scrape(port)
        a, b, aond, t0 = node.cpu_ns(), cpu_ns(p.pid) if p else 0, cpu_ns(node.aond.pid), time.monotonic()
        for i in range(SECONDS):
            if p:
                scrape(port)
            time.sleep(max(0, t0 + i + 1 - time.monotonic()))
        wall = time.monotonic() - t0
        ours = (node.cpu_ns() - a) / 1e9 / wall
        other = (cpu_ns(p.pid) - b) / 1e9 / wall if p else None
        aond = (cpu_ns(node.aond.pid) - aond) / 1e9 / wall
        node.stop()
        if p:
            p.terminate()
            p.wait(30)
    row("host_core_share", round(ours, 5), "cores", 0.002, f"aon-collect --all host at 1 Hz, {SECONDS} s; aond {aond:.5f} besides")
    row("node_exporter_ratio", round(ours / other, 3) if other else None, "x", 0.1667,
        f"of node_exporter's {other:.5f} cores, scraped at 1 Hz in the same seconds" if other else "no node_exporter")


def bench_scrape():
    with tempfile.TemporaryDirectory() as d:
        rows = nvmlkit.query(nvmlkit.captures()[1], "load") if nvmlkit.captures() else []
        lines = ["- gpus 8"] + [x.replace("0 ", "* ", 1) for x in nvmlkit.state_of(rows)[1:] if x.startswith("0 ")]
        lines = (lines if rows else ["- gpus 8", "* name x", "* power 650000", "* util 97"]) + ["* gpm.1 97", "* gpm.5 45"]
        nvmlkit.write_state(f"{d}/state", [x for x in lines if " uuid " not in x] + [f"{i} uuid GPU-{i}" for i in range(8)])
        node = Node(d, "host", f"nvml={BUILD}/tests/sim/libsim-nvml.so", env={"AON_NVML_STATE": f"{d}/state"})
        time.sleep(8)
        s = subprocess.Popen([BUILD / "src/ui/cli/aon", "serve", "--json", node.store], stdout=subprocess.PIPE)
        said = json.loads(s.stdout.readline())
        port = int(said["base"].rstrip("/").rsplit(":", 1)[1])
        for _ in range(5):
            scrape(port)
        t = cpu_ns(s.pid)
        for _ in range(SCRAPES):
            scrape(port)
            time.sleep(0.1)
        ms = (cpu_ns(s.pid) - t) / 1e6 / SCRAPES
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        c.request("GET", "/metrics")
        n = sum(not x.startswith(b"#") for x in c.getresponse().read().splitlines())
        c.close()
        s.terminate()
        s.wait(30)
        node.stop()
    row("scrape_cpu_ms", round(ms, 3), "ms", 1, f"{n} values, 8 GPUs of the stand-in and this host, {SCRAPES} scrapes")


def bench_day():
    metric = {"power": "POWER_USAGE", "util": "GPU_UTIL", "memutil": "MEM_COPY_UTIL", "temp.0": "GPU_TEMP",
              "field.82": "MEMORY_TEMP", "clock.1": "SM_CLOCK", "clock.2": "MEM_CLOCK"}
    scale = {"power": 1e-3}
    path = [p for p in nvmlkit.captures() if "h100-80gb" in p.name]
    args = []
    for line in nvmlkit.state_of(nvmlkit.query(path[0], "load"))[1:] if path else []:
        _, key, value = line.split(" ", 2)
        if key in metric:
            args.append(f"DCGM_FI_DEV_{metric[key]}={float(value) * scale.get(key, 1)}")
    with tempfile.TemporaryDirectory() as d:
        r = json.loads(subprocess.run([BUILD / "bench/telemetry_day", f"{d}/s.db", *args], check=True, capture_output=True).stdout)
    row("telemetry_mb_day", r["mb_day"], "MB", 10,
        f"8 GPUs, 192 cores, 8 ports: {r['series']} series, {r['bytes_sample']} bytes a sample; 2 h scaled, levels "
        + ("of a recorded H100" if args else "made up"))


wanted = set(os.environ.get("BENCH_IDS", "").split())
if not wanted or wanted & {"host_core_share", "node_exporter_ratio"}:
    bench_host()
if not wanted or "scrape_cpu_ms" in wanted:
    bench_scrape()
if not wanted or "telemetry_mb_day" in wanted:
    bench_day()
