# SPDX-License-Identifier: Apache-2.0
"""Tests exactly-once delivery: nodes that send known rows, a relay, two replicas; every process is killed, at random
and at each place where a crash could hurt. Shared by the scenario cluster_once and bench/once.py."""
import json
import os
import random
import subprocess
import time

from aontest import find
from clustertest import Child, Relay, node, secret_of, target_of

# Where processes die, by AON_FAULT: before and after each thing that must be durable, or was said.
RELAY_POINTS = "hold.commit:9", "hold.committed:7", "relay.ack:5", "relay.insert:2", "relay.inserted", "relay.deleted"
NODE_POINTS = ("spool.write:8", "spool.half:20", "spool.sync:30", "spool.rename:10", "spool.folder:15", "spool.unlink:4", "node.made:6",
               "node.answered:9", "node.acked:3")

# The same of aon ship itself, early enough for what one store gives.
SHIP_POINTS = ("spool.write:2", "spool.half:3", "spool.sync:2", "spool.rename:2", "spool.folder:2", "spool.unlink:2", "ship.looked",
               "ship.answered:2", "ship.acked:3")


def fault(point):
    return {**os.environ, "AON_FAULT": point} if point else dict(os.environ)


class Shipper(Child):
    """aon ship --once of one store after the other, through one spool: what they held is known."""

    def __init__(self, folder, certs, name, url, stores):
        super().__init__(folder, [find("aon"), "ship", "--once", "--config", folder / "ship.conf"])
        self.name, self.left = name, stores
        self.conf = (f"url = {url}\nca = {certs.crt('ca')}\ncert = {certs.crt(name)}\nkey = {certs.key(name)}\nspool = {folder}/spool\n"
                     f"cluster = c1\nhost = {name}\nrun_dir = \nuser = \ntimeout_s = 20\n")
        self.made = {"launches": 0, "total_ns": 0, "steps": 0}

    def start(self):
        store = self.dir / f"{self.left}.db"
        if not store.exists():
            r = subprocess.run([find("ship_store"), store, "2", "20", "40", "2000"], capture_output=True, text=True, check=True)
            for k in self.made:
                self.made[k] += json.loads(r.stdout)[k]
            (self.dir / "ship.conf").write_text(self.conf + f"store = {store}\n")
        return super().start()

    def outcome(self, code):
        """What it has made, when all of it is sent; None: there is more to do."""
        if code == 0:
            self.left -= 1
        return self.made if not self.left else None

    def rows_of(self, server):
        w = server.ask(f"SELECT sum(count), sum(total_ns) FROM aon.window WHERE host = '{self.name}'")[0]
        n = server.one(f"SELECT count() FROM aon.step WHERE host = '{self.name}'")
        return {"launches": int(w[0]), "total_ns": int(w[1]), "steps": int(n)}


class Once:
    """Runs until every node has sent all that it made, and the relay has brought it on."""
    known = set()  # sources of runs before this one

    def __init__(self, folder, cluster, certs, names, batches, rows, seed=1, relay_words=("--age", "0.3", "--rows", "500"),
                 points=True, words=("twice=5", "ahead=7", "jobs=3"), ships=(), stores=10):
        """ships: names of nodes that are aon ship itself."""
        self.cluster, self.dir, self.rand = cluster, folder, random.Random(seed)
        self.batches, self.rows, self.kills = batches, rows, {}
        self.relay_points = list(RELAY_POINTS) if points else []
        self.node_points = {n: list(NODE_POINTS) if points else [] for n in names}
        self.relay = Relay(folder / "relay", certs, target_of(cluster), *relay_words)
        self.node = {n: node(folder / n, certs, n, self.relay.url(), batches, rows, *words) for n in names}
        self.ship = {n: Shipper(folder / n, certs, n, self.relay.url(), stores) for n in ships}
        self.node.update(self.ship)
        self.node_points.update({n: list(SHIP_POINTS) for n in ships})
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
            made = self.outcome(name, n, code)
            if made:
                self.said[name] = made
                continue
            if code == -9:
                self.count("aon ship" if name in self.ship else "node")
                self.node_points[name][:1] = []
            elif code is not None and name not in self.ship:
                self.failed.append(n.said()[-300:])
            points = self.node_points[name]
            n.env = fault(points[0] if points else None)
            n.start()

    def outcome(self, name, n, code):
        if name in self.ship:
            return n.outcome(code)
        return json.loads(n.said().splitlines()[-1]) if code == 0 else None

    def run(self, seconds, chaos=None):
        """chaos(self) is called now and then, and kills what it likes."""
        end = time.monotonic() + seconds
        while len(self.said) < len(self.node) and time.monotonic() < end and not self.failed:
            self.tend()
            if chaos:
                chaos(self)
            time.sleep(0.05)
        self.relay_points = []
        self.cluster.go_on()
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
                "SELECT src, count(), sum(total_ns), uniqExact(total_ns) FROM aon.window WHERE job != 'train7' GROUP BY src")}
            drops = {int(src): int(n) for src, n in s.ask(
                "SELECT of, sum(rows) FROM aon.drop WHERE what = 'window' GROUP BY of")}
            for name, said in self.said.items():
                if name in self.ship:
                    have = self.ship[name].rows_of(s)
                    wrong += sum(abs(have[k] - said[k]) for k in said)
                    told += [f"server {i}, {name}: {have}; made {said}"] if have != said else []
                    continue
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
            sums = self.hours(s)
            wrong += abs(sums[0] - sums[1])
            told += [f"server {i}: rows count {sums[0]}, hours {sums[1]}"] if sums[0] != sums[1] else []
        self.known.update(said["src"] for said in self.said.values() if "src" in said)
        return wrong + len(self.failed), told + self.failed

    @staticmethod
    def hours(server):
        """Counts of the rows, and those of the sums by hours."""
        return [int(server.one(q)) for q in ("SELECT sum(count) FROM aon.window", "SELECT sum(calls) FROM aon.kernel_hour")]

    def repair(self):
        """Sums by hours that a killed server left short."""
        short = self.hours(self.cluster.server[0])
        if short[0] != short[1]:
            self.count("sums repaired")
        r = subprocess.run([find("aon"), "cluster", "repair", "--url", target_of(self.cluster), "--credentials", secret_of(self.dir), "--since", "2d",
                            "--until", "0s"], capture_output=True, text=True)
        if r.returncode:
            self.failed.append(r.stdout + r.stderr)

    def errors_at_last(self, seconds=60):
        """A replica that came back late fetches what it lacks; what is there twice stays."""
        end = time.monotonic() + seconds
        self.repair()
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
    """Kills servers, relay and nodes at random, stops ZooKeeper once for a while, and a server: as if a network had
    parted them, so that an insert may go to one replica while the other still has it in hand."""

    def __init__(self, every_s, zookeeper_s, first_s=2.0, server_s=5):
        self.every, self.zookeeper_s, self.next = every_s, zookeeper_s, time.monotonic() + first_s
        self.server_s, self.parted = server_s, None
        self.resume = None
        self.first = ["zookeeper stopped", "server", "server parted"]

    def did(self, once, what):
        once.count(what)
        if self.first:
            self.first.pop(0)

    def __call__(self, once):
        now = time.monotonic()
        if self.resume and now > self.resume:
            once.cluster.zk.go_on()
            self.resume = None
        if self.parted and now > self.parted[1]:
            self.parted[0].go_on()
            self.parted = None
        for s in once.cluster.server:
            if not s.alive():
                s.start()
        if now < self.next:
            return
        self.next = now + once.rand.uniform(0.5, 1.5) * self.every
        what = self.first[0] if self.first else once.rand.choice(["server", "relay", "relay", "node", "node", "node"])
        if what == "zookeeper stopped":
            once.cluster.zk.pause()
            self.resume = now + self.zookeeper_s
            self.did(once, what)
        elif what.startswith("server"):
            # Not the second while the first is away, and none that could not load its tables without ZooKeeper: that
            # is ClickHouse's, not ours.
            s = once.rand.choice(once.cluster.server)
            if self.resume or self.parted or not all(x.ready() for x in once.cluster.server) or not once.cluster.has_keeper():
                return
            if what == "server":
                s.end()
            else:
                s.pause()
                self.parted = s, now + self.server_s
            self.did(once, what)
        elif what == "relay" and once.relay.alive():
            once.relay.end()
        elif what == "node":
            alive = [n for name, n in once.node.items() if n.alive() and name not in once.said]
            if alive:
                once.rand.choice(alive).end()
