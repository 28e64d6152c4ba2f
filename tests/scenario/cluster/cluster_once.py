# SPDX-License-Identifier: Apache-2.0
# test: timeout=600 sanitize=no long=yes
"""Every row arrives once, on both replicas, whatever is killed; what was dropped is reported to the row."""
import pathlib
import shutil
import tempfile

import clustertest
from aontest import LONG, done, ok, skip_all
from oncekit import SHIP_POINTS, Chaos, Once


def killed(folder, cluster, certs):
    once = Once(folder / "killed", cluster, certs, ["n1", "n2", "n3"], 1000 if LONG else 90, 50, ships=["n5"],
                stores=60 if LONG else 12)
    try:
        chaos = Chaos(4 if LONG else 2, 20 if LONG else 4, first_s=1, server_s=150 if LONG else 5)
        once.run(1800 if LONG else 150, chaos)
        cluster.go_on()
        wrong, told = once.errors_at_last()
        ok(wrong == 0, f"rows and sums of both replicas are those that were made; killed: {once.kills}", "\n".join(told))
        ok(once.kills.get("relay", 0) >= 3 and once.kills.get("node", 0) >= 10, "and much was killed meanwhile", once.kills)
        ok(once.kills.get("aon ship", 0) >= len(SHIP_POINTS), "aon ship at each write, answer and unlink", once.kills)
        s = once.relay.status()
        ok(s["aside_kept"] == 0 and s["counters"]["bad_batches"] == 0, "nothing was taken for broken", s)
        ok(s["disk_bytes"] < 1 << 20, "what was sent is gone from the relay's disk", s)
    finally:
        cluster.go_on()
        once.end()


def full(folder, cluster, certs):
    """While the relay is away the spool is too small."""
    once = Once(folder / "full", cluster, certs, ["n4"], 200, 50, points=False, words=("max=20000", "for=6"))
    try:
        n = once.node["n4"]
        n.start().end(wait=60, sig=0)
        n.proc, n.argv[-1] = None, "for=0"
        once.run(60)
        wrong, told = once.errors_at_last()
        said = once.said.get("n4", {})
        ok(wrong == 0, "what a spool that was full dropped is told in rows, to the row", "\n".join(told))
        ok(said.get("dropped_rows", 0) > 0, "and it did drop", said)
    finally:
        once.end()


def main():
    why = clustertest.missing()
    if why:
        skip_all(why)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="aon-once-"))
    try:
        certs = clustertest.make_certs(folder / "certs", "n1", "n2", "n3", "n4", "n5")
        with clustertest.Cluster(folder / "cluster", "replicas") as cluster:
            if cluster.why:
                skip_all(cluster.why)
            clustertest.make_tables(cluster)
            killed(folder, cluster, certs)
            full(folder, cluster, certs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    done()


if __name__ == "__main__":
    main()
