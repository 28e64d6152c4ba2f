#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A made-up fleet (fleet_gen.c: 1,000 nodes of 8 GPUs, 30 jobs) in Debian's ClickHouse on this machine: do two replicas keep up with
it, and how long do aon fleet over a day aon report of 1,024 ranks over an
hour, and the page's map of 4,096 ranks take?"""
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ["AON_BUILD"])
sys.path.insert(0, str(ROOT / "tests/scenario/lib"))
from clustertest import PASSWORD, USER, Cluster, missing  # noqa: E402

GEN, AON = BUILD / "tests/scenario/fleet_gen", BUILD / "src/ui/cli/aon"
IDS = os.environ.get("BENCH_IDS", "ingest_margin fleet_s job1024_s heat4096_s").split()
BARS = {"ingest_margin": ("x", 1, True), "fleet_s": ("s", 1, False), "job1024_s": ("s", 2, False), "heat4096_s": ("s", 1, False)}
SECONDS = 20  # of the fleet that are sent as fast as they are taken
RELAYS, RELAY_ROWS = 10, 140000  # each of 100 nodes, and what it inserts at once
TABLES = "window", "step", "collective"
NOW = int(time.time())


def row(name, value, note):
    unit, bar, least = BARS[name]
    good = None if value is None else value >= bar if least else value <= bar
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "least": least, "ok": good, "note": note}), flush=True)


def make(path, table, **settings):
    with open(path, "wb") as f:
        subprocess.run([GEN, table, f"to={NOW}", *(f"{k}={v}" for k, v in settings.items())], stdout=f, check=True)
    return path


def send(server, table, path, kind="RowBinary", rows=1048576):
    """Streams a file in, so many rows an insert."""
    subprocess.run(["curl", "-sS", "--fail-with-body", "-T", path, "-H", f"X-ClickHouse-User: {USER}", "-H", f"X-ClickHouse-Key: {PASSWORD}",
                    f"http://127.0.0.1:{server.port}/?max_insert_block_size={rows}&query=INSERT%20INTO%20aon.%60{table}%60%20FORMAT%20{kind}"], check=True)


def cpu(pid):
    part = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(part[11]) + int(part[12])) / os.sysconf("SC_CLK_TCK")


def ingest(folder):
    """Relays send their parts at the same time, half of them to each of two replicas; over when both have all."""
    with Cluster(folder / "two", "replicas") as c:
        if c.why:
            sys.exit(c.why)
        init(folder, c)
        files = [[(t, make(folder / f"{t}{i}", t, seconds=SECONDS, part=i, of=RELAYS)) for t in TABLES] for i in range(RELAYS)]
        size, pids = sum(p.stat().st_size for part in files for _, p in part), [s.proc.pid for s in c.server] + [c.zk.proc.pid]
        used, begun = [cpu(p) for p in pids], time.monotonic()

        def relay(i):
            for table, path in files[i]:
                send(c.server[i % 2], table, path, rows=RELAY_ROWS)
                path.unlink()
        with concurrent.futures.ThreadPoolExecutor(RELAYS) as pool:
            list(pool.map(relay, range(RELAYS)))
        sent = time.monotonic() - begun
        if not c.settled("aon"):
            sys.exit("a replica does not come after")
        took = time.monotonic() - begun
        used = [cpu(p) - u for p, u in zip(pids, used)]
        rows = [sum(int(s.one(f"SELECT count() FROM aon.`{t}`")) for t in TABLES) for s in c.server]
        if rows[0] != rows[1]:
            sys.exit(f"replicas differ: {rows}")
    row("ingest_margin", round(SECONDS / took, 2),
        f"{SECONDS} s of 1,000 nodes, {rows[0]:,} rows ({rows[0] / SECONDS:,.0f} a second), {size >> 20} MiB, by {RELAYS} relays into two replicas, {RELAY_ROWS:,} rows an insert at most: sent in {sent:.1f} s, "
        f"on both in {took:.1f} s; CPU {used[0]:.1f} + {used[1]:.1f} s, ZooKeeper {used[2]:.1f} s")


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


def heat(server, env, tmp):
    """The map of 4,096 ranks x 1,000 steps, as the page asks for it: the newest steps, a column each."""
    for table in ("step", "process"):
        server.post(f"TRUNCATE TABLE aon.{table}")
    send(server, "process", make(tmp / "process", "process", first=4096))
    send(server, "step", make(tmp / "step", "step", first=4096, job=0, seconds=1000, rec=0))
    server.post("OPTIMIZE TABLE aon.step", timeout=300)
    serve = subprocess.Popen([AON, "serve", env["AON_CLUSTER"], "--json"], env=env, stdout=subprocess.PIPE, text=True)
    try:
        said, times, used = json.loads(serve.stdout.readline()), [], cpu(server.proc.pid)
        for measure in ("own", "dur", "comm", "idle", "own"):  # answers are kept: not the same question twice
            begun = time.monotonic()
            r = urllib.request.Request(f"{said['base']}api/v1/fleet/heat?job=job-000&newest=1&measure={measure}&w=480&h=192&order={'leaf' if times else 'rank'}",
                                       headers={"Authorization": f"Bearer {said['token']}"})
            with urllib.request.urlopen(r) as answer:
                size = len(answer.read())
            times.append(time.monotonic() - begun)
        used = (cpu(server.proc.pid) - used) / len(times)
    finally:
        serve.terminate()
        serve.wait()
    row("heat4096_s", round(statistics.median(times), 3),
        f"4,096 ranks, the newest of 1,000 steps, 480 x 192 cells, {size >> 10} KiB; median of 5, longest {max(times):.2f} s, {used:.2f} s of the server's CPU")


def init(folder, c):
    """Makes the tables; the environment to ask them with."""
    cred = folder / "cred"
    cred.write_text(f"user = {USER}\npassword = {PASSWORD}\n")
    cred.chmod(0o600)
    url = "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in c.server) + "/aon"
    subprocess.run([AON, "cluster", "init", "--url", url, "--credentials", cred], check=True, stdout=subprocess.DEVNULL)
    return {**os.environ, "AON_CREDENTIALS": str(cred), "AON_CLUSTER": url}


def main():
    why = missing()
    if why:
        for i in IDS:
            row(i, None, why)
        return
    with tempfile.TemporaryDirectory(prefix="aon-fleet-") as t:
        tmp = pathlib.Path(t)
        if "ingest_margin" in IDS:
            ingest(tmp)
        if set(IDS) == {"ingest_margin"}:
            return
        with Cluster(tmp / "one", "alone") as c:
            if c.why:
                sys.exit(c.why)
            server, env = c.server[0], init(tmp, c)
            if {"fleet_s", "job1024_s"} & set(IDS):
                fill(server, tmp)
            if "fleet_s" in IDS:
                mid, most, used = ask(server, env, "fleet")
                row("fleet_s", round(mid, 3), f"a day of 1,000 nodes, 30 jobs, 8.6 M heartbeats; median of 5, longest {most:.2f} s, {used:.2f} s of the server's CPU")
            if "job1024_s" in IDS:
                mid, most, used = ask(server, env, "report", "--cluster", env["AON_CLUSTER"], "--job", "job-000", "--since", "1h")
                row("job1024_s", round(mid, 3), f"an hour, 3.7 M steps; median of 5, longest {most:.2f} s, {used:.2f} s of the server's CPU")
            if "heat4096_s" in IDS:
                heat(server, env, tmp)


main()
