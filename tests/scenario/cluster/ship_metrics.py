#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon ship's metrics, read by others: OTLP by OpenTelemetry's own classes, remote write by a real Prometheus."""
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from aontest import done, find, ok, skip
from slurmtest import free_ports

AON, STORE = find("aon"), find("ship_store")
OTLP = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "aon" / "otlp"
place = pathlib.Path(tempfile.mkdtemp(prefix="aon_metrics_"))
GPU = 'gpu="3",UUID="GPU-a3",pci_bus_id="0:3B",modelName="NVIDIA H100",DCGM_FI_DRIVER_VERSION="590.48"'
MEASURED = f"""DCGM_FI_DEV_GPU_UTIL|nvidia3|{GPU}|97
DCGM_FI_DEV_ENC_UTIL|nvidia3|{GPU}|5
DCGM_FI_DEV_POWER_USAGE|nvidia3|{GPU}|301.25
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION|nvidia3|{GPU}|5000000
DCGM_FI_DEV_GPU_TEMP|nvidia3|{GPU}|61
DCGM_FI_DEV_MEMORY_TEMP|nvidia3|{GPU}|70
DCGM_FI_DEV_FB_USED|nvidia3|{GPU}|1024
DCGM_FI_DEV_FB_USED|nvidia3|{GPU},GPU_I_ID="7"|512
DCGM_FI_DEV_ECC_DBE_VOL_TOTAL|nvidia3|{GPU}|2
node_cpu_scaling_frequency_hertz|0|-|3100000000
node_network_receive_bytes_total|eth0|-|1000
node_infiniband_port_data_received_bytes_total|mlx5_0|port="1"|4096
node_infiniband_port_data_received_bytes_total|mlx5_0|port="2"|8192
bmc_fan_rpm|Chassis/Fan_1|bmc="n1",rack="A"|9800
bmc_health|Chassis/PSU_1|bmc="n1",rack="A"|1
node_load1|-|-|3.5"""
want = json.loads(subprocess.run([STORE, place / "s.db", "2", "10", "30", "500"], capture_output=True, text=True,
                                 env={**os.environ, "SHIP_STORE_TELEMETRY": MEASURED}).stdout)


def ship(**more):
    """No server takes the batches; metrics go their own way."""
    conf = place / "ship.conf"
    conf.write_text(f"url = clickhouse://127.0.0.1:1/aon\nstore = {place}/s.db\nspool = {place}/{next(iter(more))}.spool\ncluster = c\n"
                    "host = n1\nrun_dir = \n" + "".join(f"{k} = {v}\n" for k, v in more.items()))
    return subprocess.run([AON, "ship", "--config", conf, "--once"], capture_output=True, text=True, timeout=60)


class Counts(http.server.BaseHTTPRequestHandler):
    """Takes what comes."""
    n = 0

    def do_POST(self):
        Counts.n += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def day():
    """What may be sent in a day has been sent, says the file that an aon ship before has left."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counts)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    spool = place / "net_mib_day.spool"
    spool.mkdir(mode=0o700)
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    today = int(time.clock_gettime(time.CLOCK_MONOTONIC) // 86400)
    more = {"net_mib_day": 1, "otlp": f"http://127.0.0.1:{server.server_port}/v1/metrics"}
    netday = spool / "netday"
    netday.write_text(f"{boot} {today} {1 << 20} 0\n")
    r = ship(**more)
    ok(r.returncode == 1 and "net_mib_day" in r.stderr and Counts.n == 0, "over net_mib_day nothing is sent, and that is said",
       (Counts.n, r))
    st = json.loads(subprocess.run([AON, "ship", "status", "--spool", spool, "--json"], capture_output=True, text=True).stdout)
    ok(st["waiting_batches"] > 0 and st["day_bytes"] == st["day_limit_bytes"] == 1 << 20 and st["day_stops"] == 1 and
       "net_mib_day" in st["trouble"], "what is to be sent waits, and is counted", st)
    text = subprocess.run([AON, "ship", "status", "--spool", spool], capture_output=True, text=True).stdout
    ok("today" in text and "stopped 1 time" in text, "for people, too", text)
    netday.write_text(f"{boot} {today + 1} {1 << 20} 1\n")
    r = ship(**more)
    ok("net_mib_day" not in r.stderr and Counts.n == 1, "on another day it goes on", (Counts.n, r))
    st = json.loads(subprocess.run([AON, "ship", "status", "--spool", spool, "--json"], capture_output=True, text=True).stdout)
    ok(0 < st["day_bytes"] < 1 << 20 and netday.read_text().split()[2] == str(st["day_bytes"]), "and what is sent is kept", st)
    server.shutdown()


def otlp():
    if not (OTLP / "opentelemetry").is_dir():
        return skip("OTLP is read by OpenTelemetry", "opentelemetry-proto is not in the cache: tools/setup check")
    sys.path.insert(0, str(OTLP))
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    got = []

    class Take(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Take)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    r = ship(otlp=f"http://127.0.0.1:{server.server_port}/v1/metrics")
    server.shutdown()
    ok(len(got) == 1 and got[0][0] == "/v1/metrics" and got[0][1]["Content-Type"] == "application/x-protobuf",
       "one request goes to the address that was given", f"{[g[:2] for g in got]} {r.stderr}")
    m = ExportMetricsServiceRequest()
    m.ParseFromString(got[0][2])
    ok(m.SerializeToString() == got[0][2], "its bytes are what OpenTelemetry itself would write")
    rm = m.resource_metrics[0]
    who = {a.key: a.value.string_value for a in rm.resource.attributes}
    ok(who == {"service.name": "aon", "host.name": "n1", "aon.cluster": "c"}, "it says of whom", who)
    by = {x.name: x for x in rm.scope_metrics[0].metrics}
    points = by["aon_kernels_total"].sum
    ok(sum(p.as_double for p in points.data_points) == want["launches"] and points.is_monotonic and points.aggregation_temporality == 2,
       "launches of all ranks are counted, as a cumulative sum", points)
    ranks = sorted({a.key: a.value.string_value for a in p.attributes}["rank"] for p in points.data_points)
    ok(ranks == ["0", "1"], "by rank", ranks)
    sec = sum(p.as_double for p in by["aon_kernel_seconds_total"].sum.data_points)
    ok(abs(sec - want["total_ns"] / 1e9) < 1e-6 and by["aon_kernel_seconds_total"].unit == "s", "and their time, in seconds", sec)


    hardware(by)


def hardware(by):
    """Telemetry, under OpenTelemetry's own names for hardware."""
    def points(name, kind):
        return {p["hw.id"] + "".join(f" {p[k]}" for k in ("hw.gpu.task", "hw.state", "error.type", "network.io.direction") if k in p): (v, p)
                for v, p in ((x.as_double, {a.key: a.value.string_value for a in x.attributes}) for x in getattr(by[name], kind).data_points)}

    def values(name, kind="gauge"):
        return {k: v for k, (v, _) in points(name, kind).items()} if name in by else None

    got = values("hw.gpu.utilization")
    ok(got == {"GPU-a3 general": 0.97, "GPU-a3 encoder": 0.05} and by["hw.gpu.utilization"].unit == "1", "use of a GPU is hw.gpu.utilization, by task", got)
    who = points("hw.gpu.utilization", "gauge")["GPU-a3 general"][1]
    ok({k: who.get(k) for k in ("hw.type", "hw.name", "hw.model", "hw.driver_version")} ==
       {"hw.type": "gpu", "hw.name": "nvidia3", "hw.model": "NVIDIA H100", "hw.driver_version": "590.48"}, "with what it is", who)
    ok(values("hw.power") == {"GPU-a3": 301.25} and by["hw.power"].unit == "W" and values("hw.energy", "sum") == {"GPU-a3": 5000} and by["hw.energy"].unit == "J" and
       by["hw.energy"].sum.is_monotonic, "power and energy in watts and joules", (values("hw.power"), values("hw.energy", "sum")))
    got = points("hw.temperature", "gauge")
    ok({k: v[0] for k, v in got.items()} == {"GPU-a3/core": 61, "GPU-a3/memory": 70} and got["GPU-a3/core"][1]["hw.parent"] == "GPU-a3" and
       got["GPU-a3/memory"][1]["hw.sensor_location"] == "memory" and by["hw.temperature"].unit == "Cel", "temperatures are sensors of their GPU", got)
    used = by["hw.gpu.memory.usage"].sum
    ok(values("hw.gpu.memory.usage", "sum") == {"GPU-a3": 1 << 30, "GPU-a3/7": 1 << 29} and not used.is_monotonic and used.aggregation_temporality == 2 and
       by["hw.gpu.memory.usage"].unit == "By", "memory in bytes, of a part of a GPU as well, may fall", used)
    ok(values("hw.errors", "sum") == {"GPU-a3 uncorrected": 2}, "errors by type", values("hw.errors", "sum"))
    ok(values("hw.cpu.speed") == {"cpu0": 3.1e9} and values("hw.network.io", "sum") == {"eth0 receive": 1000, "mlx5_0/1 receive": 4096, "mlx5_0/2 receive": 8192},
       "cores and networks, each port", (values("hw.cpu.speed"), values("hw.network.io", "sum")))
    ok(values("hw.fan.speed") == {"n1/Chassis/Fan_1": 9800} and values("hw.status", "sum") ==
       {"n1/Chassis/PSU_1 ok": 0, "n1/Chassis/PSU_1 degraded": 1, "n1/Chassis/PSU_1 failed": 0}, "what a BMC measured, and health as a state", values("hw.status", "sum"))
    ok(by["DCGM_FI_DEV_POWER_USAGE"].gauge.data_points[0].as_double == 301.25 and by["DCGM_FI_DEV_GPU_TEMP"].unit == "Cel" and "node_load1" in by,
       "and all of it under its own name, in UCUM's units", [m for m in by if m.startswith("DCGM")])


def remote_write():
    if not shutil.which("prometheus"):
        return skip("remote write is taken by Prometheus", "prometheus is not installed")
    port = free_ports(1)[0]
    (place / "prom.yml").write_text("global:\n  scrape_interval: 1h\n")
    p = subprocess.Popen(["prometheus", f"--config.file={place}/prom.yml", f"--storage.tsdb.path={place}/tsdb",
                          f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver", "--log.level=warn"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(query):
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(url, timeout=10) as a:
            return json.load(a)["data"]["result"]

    try:
        end, up = time.monotonic() + 90, False
        while time.monotonic() < end and not up:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5) as a:
                    up = a.status == 200
            except OSError:
                time.sleep(0.3)
        if not up:
            return skip("remote write is taken by Prometheus", "prometheus does not start here")
        r = ship(remote_write=f"http://127.0.0.1:{port}/api/v1/write")
        got = ask('sum(aon_kernels_total{cluster="c",host="n1",job="train7"})')
        ok(got and float(got[0]["value"][1]) == want["launches"], "Prometheus takes what is written, and sums it up right", f"{got} {r.stderr}")
        got = ask("count(node_infiniband_port_data_received_bytes_total)")
        ok(got and float(got[0]["value"][1]) == 2, "ports of a device are series apart", got)
        ok(not ask('{__name__=~"hw.*"}'), "names of OpenTelemetry go to OpenTelemetry alone")
        got = ask("aon_steps_total or aon_processes")
        ok(got and got[0]["metric"]["host"] == "n1", "with the node's name", got)
        r = ship(remote_write=f"http://127.0.0.1:{port}/api/v1/wrong", spool=f"{place}/w.spool")
        ok("metrics to 127.0.0.1" in r.stderr and "404" in r.stderr, "what does not get through is said", r.stderr)
        r = ship(remote_write="http://prometheus.example:9090/api/v1/write")
        ok(r.returncode == 1 and "https" in r.stderr, "metrics leave the machine over TLS alone", r.stderr)
    finally:
        p.kill()
        p.wait()


try:
    day()
    otlp()
    remote_write()
finally:
    shutil.rmtree(place, ignore_errors=True)
done()
