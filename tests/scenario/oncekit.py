# SPDX-License-Identifier: Apache-2.0
"""Exactly once, put to the test: nodes that make up known rows, a relay, two replicas, and whatever can be killed is,
at random and at each place where a crash hurts. Shared by the scenario cluster_once and bench/once.py."""
import json
import os
import random
import time

from clustertest import Relay, make_tables, node, target_of

# Where processes die, by AON_FAULT: before and after each thing that must be durable, or was said.
RELAY_POINTS = "hold.commit:9", "hold.committed:7", "relay.ack:5", "relay.insert:2", "relay.inserted", "relay.deleted"
NODE_POINTS = ("spool.write:8", "spool.half:20", "spool.sync:30", "spool.rename:10", "spool.folder:15", "spool.unlink:4", "node.made:6",
               "node.answered:9", "node.acked:3")


def fault(point):
    return {**os.environ, "AON_FAULT": point} if point else dict(os.environ)


class Once:
    """Runs until every node has sent all that it made, and the relay has brought it on."""
    known = set()  # sources of runs before this one

    def __init__(self, folder, cluster, certs, names, batches, rows, seed=1, relay_words=("--age", "0.3", "--rows", "500"),
                 points=True, words=("twice=5", "ahead=7", "jobs=3")):
        self.cluster, self.dir, self.rand = cluster, folder, random.Random(seed)
        self.batches, self.rows, self.kills = batches, rows, {}
        self.relay_points = list(RELAY_POINTS) if points else []
        self.node_points = {n: list(NODE_POINTS) if points else [] for n in names}
        self.relay = Relay(folder / "relay", certs, target_of(cluster), *relay_words)
        self.node = {n: node(folder / n, certs, n, self.relay.url(), batches, rows, *words) for n in names}
        self.said, self.failed = {}, []

    def count(self, what):
        self.kills[what] = self.kills.get(what, 0) + 1

    def tend(self):
        """Starts again what has died."""
        if not self.relay.alive():
            point = self.relay_points.pop(0) if self.relay_points else None
            if self.relay.proc is not None and self.relay.proc.returncode == -9:
                self.count("relay")
            self.relay.env = fault(point)
            self.relay.start()
        for name, n in self.node.items():
            if name in self.said or n.alive():
                continue
            code = n.proc.returncode if n.proc else None
            if code == 0:
                self.said[name] = json.loads(n.said().splitlines()[-1])
                continue
            if code == -9:
                self.count("node")
            elif code is not None:
                self.failed.append(n.said()[-300:])
            points = self.node_points[name]
            n.env = fault(points.pop(0) if points else None)
            n.start()

    def run(self, seconds, chaos=None):
        """chaos(self) is called now and then, and kills what it likes."""
        end = time.monotonic() + seconds
        while len(self.said) < len(self.node) and time.monotonic() < end and not self.failed:
            self.tend()
            if chaos:
                chaos(self)
            time.sleep(0.05)
        self.relay_points = []
        self.cluster.zk.go_on()
        return self.drain(seconds)

    def drain(self, seconds):
        """Until the relay holds nothing, and both replicas have all."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.tend()
            for s in self.cluster.server:
                if not s.alive():
                    s.start()
            try:
                if len(self.said) == len(self.node) and self.relay.held() == 0:
                    break
            except (OSError, ValueError):
                pass
            time.sleep(0.3)
        self.cluster.wait(60)
        return self.cluster.settled("aon", 120)

    def errors(self):
        """Rows that are missing or twice, and sums that differ, over both replicas; and what differs."""
        wrong, told = 0, []
        for i, s in enumerate(self.cluster.server):
            got = {int(src): (int(n), int(total), int(values)) for src, n, total, values in s.ask(
                "SELECT src, count(), sum(total_ns), uniqExact(total_ns) FROM aon.window GROUP BY src")}
            drops = {int(src): int(n) for src, n in s.ask(
                "SELECT of, sum(rows) FROM aon.drop WHERE what = 'window' GROUP BY of")}
            for name, said in self.said.items():
                n, total, values = got.pop(said["src"], (0, 0, 0))
                dropped = drops.get(said["src"], 0)
                off = abs(n + dropped - said["rows"]) + (n - values) + abs(dropped - said["dropped_rows"])
                if not dropped and total != said["sum"]:
                    off += 1
                if off:
                    told.append(f"server {i}, {name}: {n} rows, {values} of them distinct, {dropped} told as dropped, sum {total}; "
                                f"made {said}")
                wrong += off
            for src, (n, *_) in got.items():
                if src in self.known:
                    continue
                wrong += n
                told.append(f"server {i}: {n} rows of {src}, which is nobody's")
        self.known.update(said["src"] for said in self.said.values())
        return wrong + len(self.failed), told + self.failed

    def errors_at_last(self, seconds=60):
        """A replica that came back late fetches what it lacks; what is there twice stays."""
        end = time.monotonic() + seconds
        while True:
            wrong, told = self.errors()
            if not wrong or time.monotonic() > end:
                return wrong, told
            time.sleep(1)

    def end(self):
        for p in (*self.node.values(), self.relay):
            if p.proc:
                p.end()


class Chaos:
    """Kills servers, relay and nodes at random, and stops ZooKeeper once for a while."""

    def __init__(self, every_s, zookeeper_s, first_s=2.0):
        self.every, self.zookeeper_s, self.next = every_s, zookeeper_s, time.monotonic() + first_s
        self.resume = None
        self.stopped = False

    def __call__(self, once):
        now = time.monotonic()
        if self.resume and now > self.resume:
            once.cluster.zk.go_on()
            self.resume = None
        for s in once.cluster.server:
            if not s.alive():
                s.start()
        if now < self.next:
            return
        self.next = now + once.rand.uniform(0.5, 1.5) * self.every
        if not self.stopped:
            self.stopped = True
            once.cluster.zk.pause()
            self.resume = now + self.zookeeper_s
            once.count("zookeeper stopped")
            return
        what = once.rand.choice(["server", "relay", "relay", "node", "node", "node"])
        if what == "server":
            # Not the second while the first is away, and none that could not load its tables without ZooKeeper: that
            # is ClickHouse's, not ours.
            s = once.rand.choice(once.cluster.server)
            if not self.resume and all(x.ready() for x in once.cluster.server) and once.cluster.has_keeper():
                s.end()
                once.count("server")
        elif what == "relay" and once.relay.alive():
            once.relay.end()
        elif what == "node":
            alive = [n for name, n in once.node.items() if n.alive() and name not in once.said]
            if alive:
                once.rand.choice(alive).end()
