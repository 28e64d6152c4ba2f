#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A made-up fleet (fleet_gen.c: 1,000 nodes of 8 GPUs, 30 jobs) in Debian's ClickHouse on this machine: does one server keep up with
it, and how long do aon fleet over a day and aon report of 1,024 ranks over an hour take?"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ["AON_BUILD"])
sys.path.insert(0, str(ROOT / "tests/scenario"))
from clustertest import PASSWORD, USER, Cluster, missing  # noqa: E402

GEN, AON = BUILD / "tests/scenario/fleet_gen", BUILD / "src/cli/aon"
IDS = os.environ.get("BENCH_IDS", "ingest_margin fleet_s job1024_s").split()
BARS = {"ingest_margin": ("x", 1, True), "fleet_s": ("s", 1, False), "job1024_s": ("s", 2, False)}
SECONDS = 20  # of the fleet that are sent as fast as they are taken
NOW = int(time.time())


def row(name, value, note):
    unit, bar, least = BARS[name]
    good = None if value is None else value >= bar if least else value <= bar
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "least": least, "ok": good, "note": note}), flush=True)


def make(path, table, **settings):
    with open(path, "wb") as f:
        subprocess.run([GEN, table, f"to={NOW}", *(f"{k}={v}" for k, v in settings.items())], stdout=f, check=True)
    return path


def send(server, table, path, kind="RowBinary"):
    """Streams a file in; seconds that it took."""
    begun = time.monotonic()
    subprocess.run(["curl", "-sS", "--fail-with-body", "-T", path, "-H", f"X-ClickHouse-User: {USER}", "-H", f"X-ClickHouse-Key: {PASSWORD}",
                    f"http://127.0.0.1:{server.port}/?query=INSERT%20INTO%20aon.%60{table}%60%20FORMAT%20{kind}"], check=True)
    return time.monotonic() - begun


def cpu(pid):
    part = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(part[11]) + int(part[12])) / os.sysconf("SC_CLK_TCK")


def ingest(server, tmp):
    files = [(t, make(tmp / t, t, seconds=SECONDS)) for t in ("window", "step", "collective")]
    used, took = cpu(server.proc.pid), 0.0
    for table, path in files:
        took += send(server, table, path)
    used = cpu(server.proc.pid) - used
    rows = sum(int(server.one(f"SELECT count() FROM aon.`{t}`")) for t, _ in files)
    size = sum(p.stat().st_size for _, p in files)
    for _, path in files:
        path.unlink()
    row("ingest_margin", round(SECONDS / took, 2),
        f"{SECONDS} s of 1,000 nodes, {rows:,} rows ({rows / SECONDS:,.0f} a second), {size >> 20} MiB, in {took:.1f} s; {used:.1f} s of CPU, one server")


def fill(server, tmp):
    """A day in roll-ups, processes and heartbeats; an hour of steps of the job of 1,024."""
    for table, kind, settings in (("process", "RowBinary", {}), ("name", "RowBinary", {}), ("finding", "RowBinary", {}),
                                  ("rank_hour", "TabSeparated", {}), ("kernel_hour", "TabSeparated", {}), ("node", "RowBinary", {"every": 10}),
                                  ("step", "RowBinary", {"job": 0, "seconds": 3600, "rec": 0})):
        path = make(tmp / table, table, **settings)
        send(server, table, path, kind)
        path.unlink()
    for table in ("rank_hour", "node", "step"):  # as it is some minutes later
        server.post(f"OPTIMIZE TABLE aon.`{table}`", timeout=300)


def ask(server, env, *args):
    times, used = [], cpu(server.proc.pid)
    for _ in range(5):
        begun = time.monotonic()
        subprocess.run([AON, *args, "--json"], env=env, check=True, stdout=subprocess.DEVNULL)
        times.append(time.monotonic() - begun)
    return statistics.median(times), max(times), (cpu(server.proc.pid) - used) / len(times)


def main():
    why = missing()
    if why:
        for i in IDS:
            row(i, None, why)
        return
    with tempfile.TemporaryDirectory(prefix="aon-fleet-") as t, Cluster(pathlib.Path(t) / "ch", "alone") as c:
        if c.why:
            sys.exit(c.why)
        server, tmp = c.server[0], pathlib.Path(t)
        cred = tmp / "cred"
        cred.write_text(f"user = {USER}\npassword = {PASSWORD}\n")
        cred.chmod(0o600)
        url = f"clickhouse://127.0.0.1:{server.port}/aon"
        env = {**os.environ, "AON_CREDENTIALS": str(cred), "AON_CLUSTER": url}
        subprocess.run([AON, "cluster", "init", "--url", url, "--credentials", cred], check=True, stdout=subprocess.DEVNULL)
        if "ingest_margin" in IDS:
            ingest(server, tmp)
        if {"fleet_s", "job1024_s"} & set(IDS):
            fill(server, tmp)
        if "fleet_s" in IDS:
            mid, most, used = ask(server, env, "fleet")
            row("fleet_s", round(mid, 3), f"a day of 1,000 nodes, 30 jobs, 8.6 M heartbeats; median of 5, longest {most:.2f} s, {used:.2f} s of the server's CPU")
        if "job1024_s" in IDS:
            mid, most, used = ask(server, env, "report", "--cluster", url, "--job", "job-000", "--since", "1h")
            row("job1024_s", round(mid, 3), f"an hour, 3.7 M steps; median of 5, longest {most:.2f} s, {used:.2f} s of the server's CPU")


main()
