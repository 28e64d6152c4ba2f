#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of sending for a node: 8 ranks, 150 kernels each, a store that grows as aond's does, into a real ClickHouse.

CPU of aon ship and bytes on the wire, both ways, from its second look on: the first also sends all names.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ["AON_BUILD"])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "scenario/lib"))
import clustertest as ct  # noqa: E402

SECONDS = int(os.environ.get("AON_LONG_S", "60"))
STEP_MS = 5000
AON, STORE = BUILD / "src/ui/cli/aon", BUILD / "tests/app/ship_store"


class Alone:
    profile, zk_port = "alone", 1
    remote = ct.Cluster.remote


def row(name, value, unit, bar, note):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": None if value is None else value <= bar, "note": note}),
          flush=True)


def skip(why):
    row("ship_core_share", None, "", 0.002, why)
    row("ship_bytes_s", None, "B/s", 5000, why)
    sys.exit(0)


def cpu(pid):
    f = pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(f[0]) / 1e9


def status(spool):
    try:
        return dict(line.split(" ", 1) for line in (spool / "status").read_text().splitlines())
    except (OSError, ValueError):
        return {}


def main():
    why = ct.missing()
    if why:
        skip(why)
    place = pathlib.Path(tempfile.mkdtemp(prefix="aon_ship_"))
    server = ct.ClickHouse(place / "ch", 0, [ct.free_ports(4)], Alone())
    children = []
    try:
        server.start()
        end = time.monotonic() + 60
        while not server.ready():
            if time.monotonic() > end:
                skip("clickhouse-server does not start here")
            time.sleep(0.2)
        cred = place / "cred"
        cred.write_text(f"user = {ct.USER}\npassword = {ct.PASSWORD}\n")
        cred.chmod(0o600)
        url = f"clickhouse://127.0.0.1:{server.port}/aon"
        subprocess.run([AON, "cluster", "init", "--url", url, "--credentials", cred], check=True, stdout=subprocess.DEVNULL)
        conf = place / "ship.conf"
        conf.write_text(f"url = {url}\ncredentials = {cred}\nstore = {place}/s.db\nspool = {place}/spool\nrun_dir = \nhost = n1\ncluster = c\n")
        children.append(subprocess.Popen([STORE, place / "s.db", "8", "150", str(SECONDS + 40), str(STEP_MS), "live"],
                                         stdout=subprocess.DEVNULL))
        while not (place / "s.db").exists():
            time.sleep(0.1)
        ship = subprocess.Popen([AON, "ship", "--config", conf], stderr=subprocess.DEVNULL)
        children.append(ship)
        spool = place / "spool"
        end = time.monotonic() + 60
        while int(server.one("SELECT count() FROM aon.window")) == 0 or "wire_bytes" not in status(spool):
            if time.monotonic() > end:
                raise SystemExit("ship.py: nothing arrives")
            time.sleep(0.5)
        time.sleep(2)
        c0, b0, r0, t0 = cpu(ship.pid), status(spool), int(server.one("SELECT count() FROM aon.window")), time.monotonic()
        time.sleep(SECONDS // 10 * 10)
        c1, b1, r1, t1 = cpu(ship.pid), status(spool), int(server.one("SELECT count() FROM aon.window")), time.monotonic()
        rows = (r1 - r0) / (t1 - t0)
        note = f"{rows:.0f} rows of windows a second and steps of {STEP_MS / 1000:g} s, in {t1 - t0:.0f} s; trouble: {b1.get('trouble', 'none')}"
        row("ship_core_share", (c1 - c0) / (t1 - t0), "core", 0.002, note)
        row("ship_bytes_s", (int(b1["wire_bytes"]) - int(b0["wire_bytes"])) / (t1 - t0), "B/s", 5000, note)
    finally:
        for c in children:
            c.kill()
            c.wait()
        server.end()
        shutil.rmtree(place, ignore_errors=True)


main()
