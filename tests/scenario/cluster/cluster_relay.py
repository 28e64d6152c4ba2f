# SPDX-License-Identifier: Apache-2.0
# test: timeout=600 sanitize=no long=yes
"""A relay among strangers, floods, full disks, cut and slow links and wrong clocks: two shards behind it."""
import json
import os
import pathlib
import shutil
import struct
import tempfile
import time

import clustertest
from aontest import SANITIZED, aon, done, find, ok, skip, skip_all, wait_for
from clustertest import Certs, Net, Relay, SmallDisk, node, target_of

NOWHERE = "clickhouse://aon@127.0.0.1:1/aon?replicated=yes"


def said(n, seconds=60):
    """What a node made, when it has sent all."""
    code = n.end(sig=0, wait=seconds)
    return json.loads(n.said().splitlines()[-1]) if code == 0 else {"failed": n.said()[-400:]}


def strangers(folder, relay, certs):
    other = Certs(folder / "other").sign("n1")
    certs.sign("n9", days=-1).sign("x1")
    shutil.copy(other.crt("n1"), certs.crt("fake"))
    shutil.copy(other.key("n1"), certs.key("fake"))
    for name, path, want, word in ((None, "/v1/status", 401, "Show"), ("fake", "/v1/status", 401, "not one of ours"),
                                   ("n9", "/v1/status", 401, "expired"), ("x1", "/v1/status", 403, "x1"),
                                   ("n1", "/v1/status", 403, "n1"), ("prom", "/v1/status", 200, "aon.relay"),
                                   ("prom", "/v1/nothing", 404, ""), ("prom", "/metrics", 200, "aon_relay_batches_total")):
        got = relay.ask(path, name)
        ok(got[0] == want and word in got[1], f"{name or 'nobody'} asks for {path}: {want}", got)
    got = relay.ask("/v1/batch?first=1", "n1", "POST", b"no batch")
    ok(got[0] == 400 and "damaged" in got[1], "what is no batch is refused for good", got)
    got = relay.ask("/v1/batch?first=1", "n1", "POST", bytes(8 << 20))
    ok(got[0] in (413, 0), "and what is too much, before it is there", got)


def shards(folder, relay, certs, cluster):
    a = node(folder / "n1", certs, "n1", relay.url(), 40, 50, "jobs=8").start()
    b = node(folder / "other1", certs, "other1", relay.url(), 10, 50, cluster="c2").start()
    made, of_b = said(a), said(b)
    wait_for(lambda: relay.held() == 0, 60)
    want = [["c1", "2000", str(made.get("sum"))], ["c2", "500", str(of_b.get("sum"))]]
    query = "SELECT cluster, count(), sum(total_ns) FROM aon.window GROUP BY cluster ORDER BY cluster"
    got = [s.ask(query) for s in cluster.server]
    ok(got == [want, want], "two shards, two clusters: through each server all of it, once", (got, made, of_b))
    local = [int(s.one("SELECT count() FROM aon.window_local")) for s in cluster.server]
    jobs = [{j for (j,) in s.ask("SELECT DISTINCT job FROM aon.window_local WHERE cluster = 'c1'")} for s in cluster.server]
    ok(all(local) and sum(local) == 2500 and not jobs[0] & jobs[1], "a job is in one shard", (local, jobs))
    c = said(node(folder / "wrong", certs, "other1", relay.url(), 2, 5, cert="other1", cluster="c1").start())
    aside = list((folder / "wrong" / "spool" / "aside").glob("*"))
    ok(c.get("left") == 0 and aside, "rows of another cluster than the node's are refused, and set aside at the node", (c, aside))
    d = node(folder / "n1", certs, "n1", relay.url(), 42, 50, "jobs=8", cert="n2").start()
    ok("failed" in said(d) and "another node" in d.said(), "a source is its node's: no other speaks for it", d.said())


def older_tables(folder, relay, certs, cluster):
    """The tables lack a column: only what is for them waits."""
    for s in cluster.server:
        s.post("ALTER TABLE aon.window DROP COLUMN variance")
        s.post("ALTER TABLE aon.window_local DROP COLUMN variance")
    before = relay.status()["counters"]["insert_retries"]
    said(node(folder / "n3", certs, "n3", relay.url(), 5, 10).start())
    ok(wait_for(lambda: relay.status()["counters"]["insert_retries"] > before, 30), "an older table does not take the rows")
    clustertest.make_tables(cluster)
    ok(wait_for(lambda: relay.held() == 0, 60), "aon cluster init brings the column, and they arrive", relay.said()[-600:])
    got = cluster.server[0].one("SELECT count() FROM aon.window WHERE host = 'n3'")
    ok(got == "50", "once", got)


def newer_rows(folder, relay, certs):
    """A node was upgraded before its relay: it keeps what the relay cannot read yet."""
    n = node(folder / "n2", certs, "n2", relay.url(), 3, 10, "schema=2", "for=2").start()
    made = said(n)
    ok(made.get("left") == 3 and "newer" in n.said() and not list((folder / "n2" / "spool" / "aside").glob("*")),
       "rows of a newer version wait at the node, which is told why", (made, n.said()))
    n.argv[-2:] = []
    made = said(n.start())
    ok(made.get("left") == 0, "a relay that knows them takes them", made)


def full_server(folder, relay, certs, cluster):
    if cluster.small is None or cluster.small.why:
        skip("a server whose disk is full", cluster.small.why if cluster.small else "no small disk")
        return
    ballast = cluster.small.fill()
    before = relay.status()["counters"]["insert_retries"]
    made = said(node(folder / "n4", certs, "n4", relay.url(), 20, 50, "jobs=8").start())
    ok(made.get("left") == 0, "a server whose disk is full: the nodes go on", made)
    ok(wait_for(lambda: relay.status()["counters"]["insert_retries"] > before, 60), "the relay tries again")
    ballast.unlink()
    ok(wait_for(lambda: relay.held() == 0, 90), "and has room: all arrives", relay.said()[-600:])
    got = cluster.server[0].ask("SELECT count(), sum(total_ns) FROM aon.window WHERE host = 'n4'")
    ok(got == [["1000", str(made.get("sum"))]], "once", got)


def full_relay(folder, certs):
    with SmallDisk(folder / "small", "14m") as disk:
        if disk.why:
            skip("a relay whose disk is full", disk.why)
            return
        relay = Relay(folder / "full", certs, NOWHERE, "--dir", disk.path / "hold").start()
        n = node(folder / "n5", certs, "n5", relay.url(), 60, 20000).start()
        try:
            ok(wait_for(lambda: relay.status()["counters"]["no_room"] > 0, 90), "a relay whose disk is full says so, and lives",
               relay.said()[-300:] + n.said()[-300:])
            disk.resize("200m")
            made = said(n, 120)
            ok(made.get("left") == 0 and relay.status()["open_rows"] + relay.status()["insert_rows_waiting"] == made["rows"],
               "then it has room, and holds all that was made, once", (made, relay.status()))
        finally:
            n.end()
            relay.end()


def flood(folder, certs):
    """ClickHouse is away, too: nodes do not notice."""
    relay = Relay(folder / "flood", certs, NOWHERE, "--node-rate", "16").start()
    loud = node(folder / "n6", certs, "n6", relay.url(), 100, 30000).start()
    try:
        ok(wait_for(lambda: relay.status()["counters"]["held_back"] > 0, 120), "a node that floods is held back", relay.said()[-300:])
        t = time.monotonic()
        quiet = said(node(folder / "n7", certs, "n7", relay.url(), 20, 10).start())
        ok(quiet.get("left") == 0, f"another is not: 20 batches in {time.monotonic() - t:.1f} s", quiet)
        by = {n["name"]: n for n in relay.status()["nodes"]}
        ok(by["n6"]["held_back"] > 0 and by["n7"]["held_back"] == 0, "the status says who", by)
        got = [relay.ask("/v1/trace?order=1&part=r0", "n8", "POST", bytes(6 << 20))[0] for _ in (1, 2)]
        ok(got[0] == 404 and got[1] in (0, 429), "a trace of more than a node may send at once is taken, and paid for afterwards", got)
        wait_for(lambda: "n7" in aon("relay", "status", "--dir", relay.hold).stdout, 20)
        r = aon("relay", "status", "--dir", relay.hold)
        ok(r.returncode == 0 and "held_back" in r.stdout and "n7" in r.stdout, "aon relay status", r.stdout + r.stderr)
    finally:
        loud.end()
        relay.end()
    text = (relay.hold / "status.json").read_text()
    was = json.loads(text)["wall_ns"]
    (relay.hold / "status.json").write_text(text.replace(str(was), str(was - 60 * 10**9)))
    r = aon("relay", "status", "--dir", relay.hold, "--json")
    ok(r.returncode == 1 and json.loads(r.stdout)["schema"] == "aon.relay/1", "and of one that has ended what it said last", r.stderr)


def clocks(folder, relay, certs):
    if SANITIZED:
        return skip("a node whose clock is 10 minutes ahead learns of it", "a library that moves its clock comes before ASan's")
    (folder / "ahead").write_bytes(struct.pack("q", 600))
    env = {**os.environ, "LD_PRELOAD": find("wallclock.so"), "WALLCLOCK": str(folder / "ahead")}
    made = said(node(folder / "n8", certs, "n8", relay.url(), 5, 10, env=env).start())
    off = made.get("clock_off_ns", 0) / 1e9
    ok(abs(off + 600) <= 1 + made.get("clock_err_ns", 0) / 1e9, f"a node whose clock is 10 minutes ahead learns of it: {off:.3f} s", made)


def credentials(folder, certs, cluster):
    relay = Relay(folder / "secret", certs, target_of(cluster), "--age", "0.2")
    (relay.dir / "secret").write_text("user = aon\npassword = wrong\n")
    relay.start()
    made = said(node(folder / "n10", certs, "n10", relay.url(), 5, 10).start())
    ok(wait_for(lambda: "user or password" in relay.said(), 30) and made.get("left") == 0,
       "a wrong password: nodes go on, the relay holds, and says why", relay.said()[-400:])
    relay.end()
    clustertest.secret_of(relay.dir)
    relay.start()
    ok(wait_for(lambda: relay.held() == 0, 60) and
       cluster.server[0].one("SELECT count() FROM aon.window WHERE host = 'n10'") == "50", "the right one: all arrives")
    relay.end()


def links(folder, certs):
    with Net(2) as net:
        if net.why:
            skip("cut and slow links", net.why)
            return
        certs.sign("relay", server=True, san="IP:127.0.0.1,IP:10.87.0.1")
        relay = Relay(folder / "links", certs, NOWHERE, listen=net.address(None), wrap=net.exec(None))
        relay.start()
        slow = net.slow(0, "tbf", "rate", "200kbit", "burst", "16kbit", "latency", "400ms")
        begin = time.monotonic()
        nodes = [node(folder / f"l{i}", certs, f"n{i + 11}", relay.url(), 60, 300, wrap=net.exec(i)).start() for i in (0, 1)]
        try:
            net.cut(1)
            time.sleep(2)
            net.cut(1, False)
            made = [said(n, 120) for n in reversed(nodes)]
            took, sent = time.monotonic() - begin, net.sent(0)
            if slow:
                skip("a link of 200 kbit/s was as slow as that", slow)
            else:
                ok(took > 0.9 * sent * 8 / 200e3 > 0, f"a link of 200 kbit/s was as slow as that: {sent:,} bytes in {took:.1f} s")
            ok(all(m.get("left") == 0 for m in made), "a link that was cut, and a slow one: all arrives", made)
        finally:
            for p in (*nodes, relay):
                p.end()
        relay = Relay(folder / "links", certs, NOWHERE).start()
        s = relay.status()
        ok(s["open_rows"] + s["insert_rows_waiting"] == sum(m.get("rows", 0) for m in made), "once", s)
        relay.end()


def main():
    why = clustertest.missing()
    if why:
        skip_all(why)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="aon-relay-"))
    names = [f"n{i}" for i in range(1, 13) if i != 9]
    relay = None
    try:
        certs = clustertest.make_certs(folder / "certs", *names, "other1")
        with clustertest.Cluster(folder / "cluster", "shards", disk=(1, "96m")) as cluster:
            if cluster.why:
                skip_all(cluster.why)
            clustertest.make_tables(cluster)
            relay = Relay(folder / "relay", certs, target_of(cluster), "--age", "0.2").start()
            strangers(folder, relay, certs)
            shards(folder, relay, certs, cluster)
            older_tables(folder, relay, certs, cluster)
            newer_rows(folder, relay, certs)
            full_server(folder, relay, certs, cluster)
            clocks(folder, relay, certs)
            relay.end()
            credentials(folder, certs, cluster)
        full_relay(folder, certs)
        flood(folder, certs)
        links(folder, certs)
    finally:
        if relay:
            relay.end()
        shutil.rmtree(folder, ignore_errors=True)
    done()


if __name__ == "__main__":
    main()
