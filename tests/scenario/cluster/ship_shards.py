#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""aon cluster and aon ship where rows are replicated, and where they are in two shards: ZooKeeper and two servers."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import time

from aontest import done, find, ok, skip, skip_all
import clustertest as ct

AON, STORE = find("aon"), find("ship_store")


def run(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=240)


def wait(ready, seconds=90):
    end = time.monotonic() + seconds
    while not ready() and time.monotonic() < end:
        time.sleep(0.3)
    return ready()


def sums(server):
    try:
        return [int(x) for x in server.ask("SELECT sum(count), sum(total_ns) FROM aon.window")[0]]
    except (RuntimeError, OSError):
        return None


def half_made(c, to):
    """A server whose ZooKeeper went away while it made a table: ZooKeeper knows the replica, the server no table."""
    if c.profile != "replicas":
        return
    c.server[1].end()
    (c.server[1].dir / "data/metadata/aon/overhead.sql").unlink()
    shutil.rmtree(c.server[1].dir / "data/data/aon/overhead")
    c.server[1].start()
    c.wait(120)
    r = run(AON, "cluster", "init", *to)
    ok(r.returncode == 0 and c.server[1].one("SELECT count() FROM aon.overhead") == "0", "a table whose making was broken off is made by init", r.stderr)


def profile(name, separator, more):
    place = pathlib.Path(tempfile.mkdtemp(prefix="aon_shards_"))
    cred = place / "cred"
    cred.write_text(f"user = {ct.USER}\npassword = {ct.PASSWORD}\n")
    cred.chmod(0o600)
    try:
        with ct.Cluster(place / "cluster", name) as c:
            if c.why:
                return skip(f"{name}", c.why)
            url = "clickhouse://" + separator.join(f"127.0.0.1:{s.port}" for s in c.server) + "/aon" + more
            to = ("--url", url, "--credentials", cred)
            r = run(AON, "cluster", "init", *to)
            ok(r.returncode == 0, f"{name}: tables are made on both servers", r.stderr)
            again = run(AON, "cluster", "init", *to)
            ok(again.returncode == 0, f"{name}: once more is no harm", again.stderr)
            half_made(c, to)
            want = json.loads(run(STORE, place / "s.db", 4, 50, 30, 1000).stdout)
            send = (AON, "ship", "--once", *to, "--store", place / "s.db", "--spool", place / "spool")
            if name == "replicas":
                c.server[0].end()
            r = run(*send)
            if name == "replicas":
                ok(r.returncode == 0, "with a replica away, the other takes all", r.stderr)
                c.server[0].start()
                c.wait(120)
            good = wait(lambda: all(sums(s) == [want["launches"], want["total_ns"]] for s in c.server))
            ok(good, f"{name}: both servers tell all of it, each row once", f"{[sums(s) for s in c.server]} {want} {r.stderr}")
            r = run(AON, "fleet", "--cluster", url, "--credentials", cred, "--since", "3650d", "--json")
            seen = json.loads(r.stdout)["jobs"] if r.returncode == 0 else []
            ok([j["ranks"] for j in seen] == [4], f"{name}: aon fleet reads it, too", (r.stderr, seen))
            if name == "shards":
                held = [int(s.one("SELECT count() FROM aon.window_local")) for s in c.server]
                ok(min(held) == 0 and max(held) > 0, "a job's rows are in one shard", held)
                bad = run(AON, "cluster", "init", "--url", url.replace("cluster=aon", "cluster=nobody"), "--credentials", cred)
                ok(bad.returncode == 1 and "remote_servers" in bad.stderr, "a cluster that the servers do not know is said", bad.stderr)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def through_a_relay():
    """aon ship to aon relay, by certificate, to two replicas; the relay is killed on the way."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="aon_relayed_"))
    relay = None
    try:
        certs = ct.make_certs(place / "certs", "n1")
        with ct.Cluster(place / "cluster", "replicas") as c:
            if c.why:
                return skip("through a relay", c.why)
            ct.make_tables(c)
            relay = ct.Relay(place / "relay", certs, ct.target_of(c)).start()
            want = json.loads(run(STORE, place / "s.db", 4, 50, 30, 1000).stdout)
            conf = place / "ship.conf"
            conf.write_text(f"url = {relay.url()}\nca = {certs.crt('ca')}\ncert = {certs.crt('n1')}\nkey = {certs.key('n1')}\n"
                            f"store = {place}/s.db\nspool = {place}/spool\ncluster = c1\nhost = n1\nrun_dir = \ntimeout_s = 10\n")
            send = (AON, "ship", "--once", "--config", conf)
            relay.end()
            r = run(*send)
            ok(r.returncode == 1 and "wait" in r.stderr, "with no relay, batches wait", r.stderr)
            relay.start()
            r = run(*send)
            ok(r.returncode == 0, "and go to it when it is back", r.stderr)
            relay.end()
            for crt, whose in (("relay", "relay's"), ("n1", "node's")):
                keep = {f: f.read_bytes() for f in (certs.crt(crt), certs.key(crt))}
                certs.sign(crt, days=-1, server=crt == "relay")
                relay.start()
                r = run(*send)
                ok(r.returncode == 1 and "expired" in r.stderr and "wait" in r.stderr, f"the {whose} certificate has expired: it says so, and waits", r.stderr)
                relay.end()
                for f, data in keep.items():
                    f.write_bytes(data)
            relay.start()
            r = run(*send)
            ok(r.returncode == 0, "with new ones all goes on", r.stderr)
            relay.end()
            relay.start()
            good = wait(lambda: all(sums(s) == [want["launches"], want["total_ns"]] for s in c.server))
            ok(good, "killed before it has inserted all, everything is there once", f"{[sums(s) for s in c.server]} {want} {relay.said()[-500:]}")
            st = json.loads(run(AON, "ship", "status", "--spool", place / "spool", "--json").stdout)
            ok(st["waiting_batches"] == 0 and abs(st.get("clock_off_us", 10**9)) < 5 * 10**6 and st["clock_err_us"] > 0,
               "the node knows its clock against the relay's", st)
    finally:
        if relay:
            relay.end()
        shutil.rmtree(place, ignore_errors=True)


why = ct.missing()
if why:
    skip_all(why)
profile("replicas", ",", "")
profile("shards", ";", "?cluster=aon&replicated=yes")
through_a_relay()
done()
