#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exactly_once_error: rows that are missing, twice or wrong on either replica, of tables and of sums, after 10,000 batches (AON_LONG; else 1,200) while
servers, relay and shippers (aon ship among them) are killed at random and at each write, answer and unlink, ZooKeeper is stopped for 20 s, a server parted."""
import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/scenario/lib"))

import clustertest  # noqa: E402
from aontest import LONG  # noqa: E402
from oncekit import Chaos, Once  # noqa: E402


def row(value, ok, note):
    print(json.dumps({"id": "exactly_once_error", "value": value, "unit": "rows", "bar": 0, "ok": ok, "note": note}), flush=True)


def main():
    why = clustertest.missing()
    if why:
        row(None, None, why)
        return
    nodes, batches = (8, 1250) if LONG else (4, 300)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="aon-once-"))
    names, ships = [f"n{i}" for i in range(nodes)], ["nship0", "nship1"]
    try:
        certs = clustertest.make_certs(folder / "certs", *names, *ships, "nfull")
        with clustertest.Cluster(folder / "cluster", "replicas") as cluster:
            if cluster.why:
                row(None, None, cluster.why)
                return
            clustertest.make_tables(cluster)
            once = Once(folder / "run", cluster, certs, names, batches, 100, seed=int(os.environ.get("SEED", "1")),
                        ships=ships, stores=60 if LONG else 15)
            full = Once(folder / "full", cluster, certs, ["nfull"], 400, 50, points=False, words=("max=20000", "for=8"))
            try:
                once.run(3000, Chaos(4, 20, server_s=150 if LONG else 6))
                wrong, told = once.errors_at_last()
                n = full.node["nfull"]
                n.start().end(sig=0, wait=120)
                n.proc, n.argv[-1] = None, "for=0"
                full.run(300)
                wrong_full, told_full = full.errors_at_last()
            finally:
                cluster.go_on()
                once.end()
                full.end()
            for line in told + told_full:
                print(line, file=sys.stderr)
            kills = ", ".join(f"{k} {v}" for k, v in sorted(once.kills.items()))
            dropped = full.said.get("nfull", {}).get("dropped", 0)
            ran = len(once.said) == nodes + len(ships) and dropped
            row(wrong + wrong_full, wrong + wrong_full == 0 and bool(ran),
                f"{nodes * batches} batches and two aon ship; killed: {kills}; {dropped} batches dropped by a full spool and told"
                + ("" if LONG else "; AON_LONG=1: 10000 batches"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
