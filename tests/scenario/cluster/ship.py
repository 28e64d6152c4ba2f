#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""aon ship and aon cluster with a real ClickHouse: what a store has arrives, once, whatever ends on the way."""
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from aontest import done, find, ok, skip, skip_all
import clustertest as ct

AON, STORE = find("aon"), find("ship_store")
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "aon"
CHDB = {"chdb": "26.9", "chdb-24.8": "24.8", "chdb-23.6": "23.6"}  # releases as libraries


class Alone:
    """What the kit's server asks of its cluster, where there is none."""
    profile, zk_port = "alone", 1
    remote = ct.Cluster.remote


def run(*argv, **kw):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=120, **kw)


def wait(ready, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ready():
            return True
        time.sleep(0.1)
    return False


class Cut(threading.Thread):
    """A way to the server that loses the answers to its first inserts: they have arrived, and nobody says so."""

    def __init__(self, port, lose):
        super().__init__(daemon=True)
        self.to, self.lose, self.lost = port, lose, 0
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]

    def run(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(c,), daemon=True).start()

    def one(self, c):
        s = socket.create_connection(("127.0.0.1", self.to))
        state = {"insert": False}

        def up():
            while data := c.recv(65536):
                if b"INSERT" in data[:4000]:
                    state["insert"] = True
                s.sendall(data)
            s.close()
        threading.Thread(target=lambda: self.quiet(up), daemon=True).start()
        self.quiet(lambda: self.down(s, c, state))
        for x in (c, s):
            x.close()

    def down(self, s, c, state):
        while data := s.recv(65536):
            if state["insert"] and self.lost < self.lose:
                self.lost += 1
                return
            state["insert"] = False
            c.sendall(data)

    @staticmethod
    def quiet(fn):
        try:
            fn()
        except OSError:
            pass


why = ct.missing()
if why:
    skip_all(why)
place = pathlib.Path(tempfile.mkdtemp(prefix="aon_ship_"))
certs = ct.Certs(place / "certs")
certs.sign("server", server=True)
server = ct.ClickHouse(place / "ch", 0, [ct.free_ports(4)], Alone(), certs)
cred = place / "cred"
cred.write_text(f"user = {ct.USER}\npassword = {ct.PASSWORD}\n")
cred.chmod(0o600)
children = []


def up():
    server.start()
    return wait(server.ready)


def url(db="aon", port=None, more=""):
    return f"clickhouse://127.0.0.1:{port or server.port}/{db}{more}"


def cluster(what, *more, db="aon"):
    return run(AON, "cluster", what, "--url", url(db), "--credentials", cred, *more)


def ship(name, *more, db="aon", to=None, background=False):
    conf = place / f"{name}.conf"
    conf.write_text(f"url = {to or url(db)}\ncredentials = {cred}\nstore = {place}/{name}.db\nspool = {place}/{name}.spool\n"
                    f"cluster = c\nhost = n1\nrun_dir = \nuser = \ntimeout_s = 5\n")
    argv = [AON, "ship", "--config", str(conf), *more]
    if background:
        p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children.append(p)
        return p
    return run(*argv)


def make(name, ranks=4, kernels=50, seconds=95, step_ms=1000):
    return json.loads(run(STORE, place / f"{name}.db", ranks, kernels, seconds, step_ms).stdout)


def sums(db="aon"):
    w = server.ask(f"SELECT sum(count), sum(total_ns) FROM {db}.window")[0]
    s = server.ask(f"SELECT count(), sum(step_ns) FROM {db}.step")[0]
    return {"launches": int(w[0]), "total_ns": int(w[1]), "steps": int(s[0]), "step_ns": int(float(s[1]))}


def same(got, want):
    return all(got[k] == want[k] for k in ("launches", "total_ns", "steps")) and abs(got["step_ns"] - want["step_ns"]) < 1e-5 * want["step_ns"]


def tables():
    r = cluster("status")
    ok(r.returncode == 1 and "aon cluster init" in r.stdout, "a database without tables is said to be one", r.stdout)
    r = cluster("init")
    ok(r.returncode == 0 and "is ready" in r.stdout, "aon cluster init makes the tables", r.stderr)
    r = cluster("init")
    ok(r.returncode == 0 and server.one("SELECT count() FROM aon.aon_schema") == "1", "once more changes nothing", r.stderr)
    j = json.loads(cluster("status", "--json").stdout)
    ok(j["servers"][0]["ok"] and j["servers"][0]["version"] == 18016, "status knows the server's version", j)
    cred.chmod(0o644)
    r = cluster("status")
    ok(r.returncode == 1 and "0600" in r.stderr, "credentials that others may read are refused", r.stderr)
    cred.chmod(0o600)
    keep = cred.read_text()
    cred.write_text("user = aon\npassword = wrong\n")
    r = cluster("status")
    ok(r.returncode == 1 and "user or password are wrong" in r.stdout, "wrong credentials are said to be wrong", r.stdout)
    cred.write_text(keep)


def versions():
    server.post("ALTER TABLE aon.node DROP COLUMN clock_err_us")
    r = cluster("init")
    ok(r.returncode == 0 and server.one("SELECT count() FROM system.columns WHERE database = 'aon' AND table = 'node' "
                                        "AND name = 'clock_err_us'") == "1",
       "a column that an older version did not have is added", r.stderr)
    server.post("CREATE DATABASE newer")
    server.post("CREATE TABLE newer.aon_schema (version UInt32, t_ns UInt64, by String) ENGINE = Log")
    server.post("INSERT INTO newer.aon_schema VALUES (99, 0, 'later')")
    r, s = cluster("init", db="newer"), cluster("status", db="newer")
    ok(r.returncode == 1 and "upgrade aon" in r.stderr, "tables of a newer version are left alone", r.stderr)
    ok(s.returncode == 1 and "upgrade aon" in s.stdout, "and status says so", s.stdout)
    want = make("newer", seconds=20)
    cluster("init", db="later")
    server.post("ALTER TABLE later.window ADD COLUMN shade UInt32 DEFAULT 7")
    server.post("INSERT INTO later.aon_schema (version, t_ns, by) VALUES (2, 1, 'later')")
    r = ship("newer", "--once", db="later")
    ok(r.returncode == 0 and same(sums("later"), want) and server.one("SELECT min(shade) FROM later.window") == "7",
       "tables that are one version newer take the rows of an older node", r.stderr)
    cluster("init", db="other")
    server.post("ALTER TABLE other.node MODIFY COLUMN processes String")
    r = cluster("init", db="other")
    ok(r.returncode == 1 and "expected UInt32" in r.stderr, "a column of another type is named", r.stderr)


def tidy():
    """18.16 forgets nothing by itself."""
    for table in ("event", "finding", "window"):
        for day in ("2020-01-01", time.strftime("%Y-%m-%d", time.gmtime())):
            server.post(f"INSERT INTO aon.{table} (cluster, day, t_ns) VALUES ('tidy', '{day}', 0)")
    server.post("INSERT INTO aon.node_hour (cluster, day) VALUES ('tidy', '2020-01-01')")
    r = cluster("tidy", "--dry-run")
    ok(r.returncode == 0 and "DROP PARTITION '2020-01-01'" in r.stdout and "DROP PARTITION 202001" in r.stdout,
       "tidy says what it would drop", r.stdout)
    r = cluster("tidy")
    left = server.ask("SELECT count(), min(day) > '2020-01-01' FROM (SELECT day FROM aon.event UNION ALL SELECT day FROM aon.finding "
                      "UNION ALL SELECT day FROM aon.window)")
    ok(r.returncode == 0 and left == [["3", "1"]], "and drops what is too old, and no more", f"{r.stdout} {r.stderr} {left}")
    sums = server.one("SELECT count() FROM (SELECT day FROM aon.node_hour UNION ALL SELECT day FROM aon.kernel_hour) WHERE day < '2021-01-01'")
    ok(int(sums or 0) == 0, "of roll-ups as well", sums)
    for table in ("event", "finding", "window"):
        server.post(f"TRUNCATE TABLE aon.{table}")
    server.post("TRUNCATE TABLE aon.kernel_hour")


def arrives():
    want = make("one")
    r = ship("one", "--once")
    got = sums()
    ok(r.returncode == 0 and same(got, want), "what the store has arrives, to the last launch and nanosecond", f"{got} {want} {r.stderr}")
    r = ship("one", "--once")
    ok(r.returncode == 0 and same(sums(), want), "sent again, nothing comes twice", sums())
    names = server.ask("SELECT count(), uniqExact(name), sum(has(n, name)) FROM (SELECT name, (SELECT groupArray(hash) FROM aon.name) AS n "
                       "FROM aon.window GROUP BY name)")[0]
    ok(names == ["50", "50", "50"], "every name of a window has its text", names)
    rows = server.ask("SELECT comm, job, rank, world, host, cluster FROM aon.process ORDER BY rank LIMIT 1")
    ok(rows[0] == ["python3", "train7", "0", "4", "n1", "c"], "a process is known with its job and rank", rows)
    rows = server.ask("SELECT rack, leaf > 0, boot, user, local_rank, pid, pod, namespace, container, gpu_uuid, gpu_model, mig, nic, driver, framework "
                      "FROM aon.process ORDER BY rank LIMIT 1")[0]
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    ok(rows == ["r7", "1", boot, "ann", "0", "1000", "train-0", "research", "c0ffee", "GPU-1", "NVIDIA H100", "MIG-2", "mlx5_0", "595.10", "torch-2.15"],
       "and with all that is known of it: rack to framework", rows)
    ok(server.one("SELECT count() FROM aon.collective") == str(3 * want["steps"]), "collectives of all steps are there")
    hour = server.ask("SELECT sum(calls), sum(busy_ns) FROM aon.kernel_hour")[0]
    ok([int(x) for x in hour] == [want["launches"], want["total_ns"]], "the sums by hour are the same", hour)
    st = json.loads(run(AON, "ship", "status", "--spool", place / "one.spool", "--json").stdout)
    ok(st["waiting_batches"] == 0 and st["sent_rows"] > 0 and not st["drops"], "status says that nothing waits", st)
    return want


def hours(db="aon"):
    """What the views have summed, and what the rows give: by job and hour, integers."""
    of = "intDiv(t_ns, 3600000000000) AS h"
    have = [server.ask(q) for q in (
        f"SELECT job, intDiv(hour_ns, 3600000000000) AS h, sum(calls), sum(busy_ns) FROM {db}.kernel_hour GROUP BY job, h ORDER BY job, h",
        f"SELECT job, intDiv(hour_ns, 3600000000000) AS h, sum(steps), sum(lost_sum) FROM {db}.rank_hour GROUP BY job, h ORDER BY job, h",
        f"SELECT job, intDiv(hour_ns, 3600000000000) AS h, sum(steps), sum(lost_sum) FROM {db}.job_hour GROUP BY job, h ORDER BY job, h")]
    steps = server.ask(f"SELECT job, {of}, count(), sum(lost) FROM {db}.step GROUP BY job, h ORDER BY job, h")
    want = [server.ask(f"SELECT job, {of}, sum(count), sum(total_ns) FROM {db}.window GROUP BY job, h ORDER BY job, h"), steps, steps]
    return have, want


def sums_by_hour():
    """A server that dies between an insert and its views has rows without sums; one that was sent too much has too many."""
    have, want = hours()
    ok(have == want, "sums by hours are those of the rows", (have, want))
    day, ns = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86400)), int(time.time() - 86400) * 10**9
    for view in ("kernel_hour", "rank_hour", "job_hour", "node_hour"):
        server.post(f"DROP TABLE aon.{view}_view")
    server.post(f"INSERT INTO aon.window (cluster, day, job, name, t_ns, count, total_ns) VALUES ('c', '{day}', 'lost', 7, {ns}, 3, 300), "
                f"('c', '{day}', 'lost', 8, {ns}, 5, 500)")
    server.post(f"INSERT INTO aon.step (cluster, day, job, rank, step, t_ns, step_ns, lost) VALUES ('c', '{day}', 'lost', 1, 1, {ns}, 1.5, 2)")
    server.post(f"INSERT INTO aon.node (cluster, day, host, t_ns, version) VALUES ('c', '{day}', 'lost', {ns}, 'new'), ('c', '{day}', 'lost', {ns - 1}, 'old')")
    cluster("init")
    server.post(f"INSERT INTO aon.kernel_hour (cluster, day, job, kind, name, hour_ns, calls, busy_ns) VALUES "
                f"('c', '{day}', 'lost', 0, 7, {ns // 3600 // 10**9 * 3600 * 10**9}, 10, 10)")
    old = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 40 * 86400))
    server.post(f"INSERT INTO aon.kernel_hour (cluster, day, job, kind, name, hour_ns, calls, busy_ns) VALUES "
                f"('c', '{old}', 'old', 0, 7, {(ns // 10**9 - 39 * 86400) // 3600 * 3600 * 10**9}, 10, 10)")
    r = cluster("repair", "--dry-run", "--since", "400d", "--until", "0s")
    ok(r.returncode == 0 and "-- sums of 4 hours differ" in r.stdout and hours()[0] != hours()[1], "repair says what it would do", r.stdout + r.stderr)
    r = cluster("repair", "--since", "400d", "--until", "0s")
    have, want = hours()
    kept = have[0].pop([x[0] for x in have[0]].index("old"))
    ok(r.returncode == 0 and "4 hours differed" in r.stdout and have == want,
       "sums that lack rows, and those that have too much, are put right", f"{r.stdout} {r.stderr} {have} {want}")
    ok(kept[2] == "10", "those whose rows are gone are left alone", have)
    real = server.one("SELECT sum(all_ns) FROM aon.rank_hour WHERE job = 'lost'")
    ok(real == "1.5", "times that are no integers, too", real)
    last = server.ask("SELECT host, seen_ns, version FROM aon.node_hour WHERE host = 'lost'")
    ok(last == [["lost", str(ns), "new"]], "and the newest row of those that keep it", last)
    for verb in ("repair", "tidy"):
        r = cluster(verb, "--since", "400d", "--until", "0s")
        ok(r.returncode == 0 and "agree with their rows" in r.stdout and hours()[0][1:] == have[1:], f"{verb}: once more changes nothing", r.stdout + r.stderr)
    for table in ("kernel_hour", "rank_hour", "job_hour", "node_hour", "window", "step", "node"):
        server.post(f"ALTER TABLE aon.{table} DROP PARTITION " + (day.replace("-", "")[:6] if "hour" in table else f"'{day}'"))
    server.post(f"ALTER TABLE aon.kernel_hour DROP PARTITION {old.replace('-', '')[:6]}")


def doubt():
    """Answers are lost after the insert was made: a plain table of 18.16 cannot tell a repetition by itself."""
    cluster("init", db="doubt")
    want = make("doubt", seconds=40)
    cut = Cut(server.port, 3)
    cut.start()
    for _ in range(12):
        if ship("doubt", "--once", to=url("doubt", cut.port)).returncode == 0:
            break
        time.sleep(0.3)
    got = sums("doubt")
    ok(same(got, want) and cut.lost == 3, "inserts whose answer was lost come once", f"{got} {want} {cut.lost}")
    cut.sock.close()


def kills():
    cluster("init", db="kills")
    want = make("kills", seconds=60, kernels=200)
    rng = random.Random(3)
    for i in range(4):
        p = ship("kills", "--once", db="kills", background=True)
        time.sleep(rng.uniform(0.02, 0.4))
        if i % 2:
            p.kill()
            p.wait()
        else:
            server.end()
            p.wait(60)
            up()
    for _ in range(20):
        r = ship("kills", "--once", db="kills")
        if r.returncode == 0:
            break
        time.sleep(0.5)
    got = sums("kills")
    ok(same(got, want), "server and shipper killed in turn, everything comes once", f"{got} {want} {r.stderr}")


def poison():
    cluster("init", db="poison")
    want = make("poison", seconds=20, step_ms=0)
    server.post("DROP TABLE poison.node")
    server.post("CREATE TABLE poison.node (" + ", ".join(
        f"`{c}` {'FixedString(300)' if c == 'version' else t}" for c, t in server.ask(
            "SELECT name, type FROM system.columns WHERE database = 'aon' AND table = 'node'")) +
        ") ENGINE = MergeTree() ORDER BY t_ns")
    ship("poison", "--once", db="poison")
    st = json.loads(run(AON, "ship", "status", "--spool", place / "poison.spool", "--json").stdout)
    ok(len(st["aside"]) == 1 and st["aside"][0]["table"] == "node" and "Code" in st["aside"][0]["reason"],
       "a batch that the server cannot read is set aside with its words", st)
    ship("poison", "--once", db="poison")
    rows = server.ask("SELECT what, reason, batches, rows FROM poison.drop")
    ok(["node", "poison", "1", "1"] in rows, "and that is told in a row", rows)
    got = server.ask("SELECT sum(count) FROM poison.window")[0]
    ok(int(got[0]) == want["launches"], "all others arrive", got)


def events():
    """Alarms are findings; what a capture kept comes event by event, if told. Over a slow link, too."""
    cluster("init", db="events")
    os.environ["SHIP_STORE_KEPT"] = "1"
    want = make("events", seconds=20)
    del os.environ["SHIP_STORE_KEPT"]
    conf = place / "events.conf"
    ship("events", "--once", to="clickhouse://127.0.0.1:1/events")
    shutil.rmtree(place / "events.spool")
    conf.write_text(conf.read_text().replace(":1/", f":{server.port}/") + "events = raised\nnet_kib_s = 16\n")
    begin = time.monotonic()
    r = run(AON, "ship", "--config", conf, "--once")
    took = time.monotonic() - begin
    ok(r.returncode == 0 and same(sums("events"), want) and took > 0.5, "a link of 16 KiB/s takes its time, and all arrives",
       f"{took} {sums('events')} {want} {r.stderr}")
    rows = server.ask("SELECT kind, job, rank, level, part, proc != 0 AND proc IN (SELECT proc FROM events.process WHERE rank = 0), source FROM events.finding ORDER BY t_ns")
    host = server.one("SELECT any(host) FROM events.finding")
    ok(rows[:1] == [["step_slower", "train7", "0", "rank", "rank:0", "1", "aond"]], "an alarm is a finding, of its rank and process", rows)
    ok(rows[1:] == [["hang", "", "-1", "host", host, "0", "aond"], ["hang_stacks", "train7", "-1", "job", "job", "0", "aond"],
                    ["xid", "", "-1", "host", host, "0", "aond"]], "of its job, or of its node alone; a job's name fools nobody", rows)
    rows = server.ask("SELECT count(), sum(dur_ns), uniqExact(capture), any(rank), any(device) FROM events.event")
    ok(rows == [["1000", "500000", "1", "0", "0"]], "the capture that it raised comes event by event", rows)


def tls():
    base = f"clickhouse://127.0.0.1:{server.https}/aon?tls=yes"
    r = run(AON, "cluster", "status", "--url", base, "--credentials", cred, "--ca", certs.crt("ca"))
    ok(r.returncode == 0, "over TLS, with the CA that signed it", r.stdout + r.stderr)
    r = run(AON, "cluster", "status", "--url", base, "--credentials", cred)
    ok(r.returncode == 1 and "certificate" in r.stdout, "a certificate of an unknown CA is refused", r.stdout)
    server.end()
    certs.sign("server", server=True, days=-1)
    up()
    r = run(AON, "cluster", "status", "--url", base, "--credentials", cred, "--ca", certs.crt("ca"))
    ok(r.returncode == 1 and "expired" in r.stdout, "so is one that has expired, and it says that", r.stdout)
    r = run(AON, "cluster", "status", "--url", "clickhouse://aon:pw@127.0.0.1:1/aon")
    ok(r.returncode == 2 and "password" in r.stderr, "a password in the address is refused", r.stderr)


def full():
    want = make("full", seconds=60)
    server.end()
    conf = place / "full.conf"
    ship("full", "--once")
    small = run(AON, "ship", "status", "--spool", place / "full.spool", "--json")
    ok(json.loads(small.stdout)["waiting_batches"] > 3, "with no server, batches wait", small.stdout)
    target = place / "tiny"
    target.mkdir()
    if run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", target).returncode:
        skip("a spool on a full disk", "no right to mount a small one")
    else:
        try:
            conf.write_text(conf.read_text().replace(f"{place}/full.spool", f"{target}/spool"))
            r = run(AON, "ship", "--config", conf, "--once")
            ok(r.returncode == 1 and "space" in r.stderr, "a full disk is said to be full", r.stderr)
            run("mount", "-o", "remount,size=8m", target)
            up()
            cluster("init", db="full")
            conf.write_text(conf.read_text().replace("/aon\n", "/full\n"))
            r = run(AON, "ship", "--config", conf, "--once")
            got = sums("full")
            ok(r.returncode == 0 and same(got, want), "with room again all of it comes, once", f"{got} {want} {r.stderr}")
        finally:
            run("umount", target)


def modern():
    """The same batches, each in the dialect of a release after 18.16; the last is ClickHouse as it is now."""
    want = make("modern", seconds=30)
    ship("modern", "--once", to="clickhouse://127.0.0.1:1/aon")
    for name, version in CHDB.items():
        if (CACHE / name / "chdb").is_dir():
            release(name, version, want)
        else:
            skip(f"ClickHouse {version} takes the same batches", f"{name} is not in the cache: tools/setup check")


def release(name, version, want):
    ddl = run(AON, "cluster", "init", "--url", url(), "--dry-run", "--dialect", version).stdout
    (place / "ddl.sql").write_text(ddl)
    code = """
import pathlib, struct, sys
sys.path.insert(0, sys.argv[1])
from chdb import session
place = pathlib.Path(sys.argv[2])
s = session.Session(str(place / sys.argv[3]))
if not str(s.query("SELECT version()", "TSV")).startswith(sys.argv[4]):
    sys.exit("this is ClickHouse " + str(s.query("SELECT version()", "TSV")))
for one in (place / "ddl.sql").read_text().split(";\\n"):
    if one.strip():
        s.query(one)
for f in sorted((place / "modern.spool").glob("*.batch")):
    data = f.read_bytes()
    table = data[8:24].rstrip(b"\\0").decode()
    (place / "rows.zst").write_bytes(data[88:])
    token = f"{struct.unpack_from('<Q', data, 40)[0]:016x}-{struct.unpack_from('<Q', data, 48)[0]}"
    for again in range(2):
        s.query(f"INSERT INTO aon.`{table}` SELECT * FROM file('{place}/rows.zst', 'RowBinary') "
                f"SETTINGS insert_deduplication_token = '{token}', deduplicate_blocks_in_dependent_materialized_views = 1")
print(s.query("SELECT sum(count), sum(total_ns) FROM aon.window", "TSV"), end="")
print(s.query("SELECT count(), toUInt64(sum(step_ns)) FROM aon.step", "TSV"), end="")
print(s.query("SELECT sum(calls), sum(busy_ns) FROM aon.kernel_hour", "TSV"), end="")
"""
    r = run(sys.executable, "-c", code, CACHE / name, place, f"data-{version}", version)
    got = [int(float(x)) for x in r.stdout.split()]
    ok(got[:3] == [want["launches"], want["total_ns"], want["steps"]] and got[4:] == got[:2],
       f"ClickHouse {version} takes its dialect and the same batches; twice sent is once there, in the sums, too", r.stdout + r.stderr[-1500:])


def unnamed():
    """aon ship as it is after a boot: before aond has made the store, which knows the node's name."""
    cluster("init", db="unnamed")
    make("early", seconds=20)
    conf = place / "unnamed.conf"
    conf.write_text(f"url = {url('unnamed')}\ncredentials = {cred}\nstore = {place}/unnamed.db\nspool = {place}/unnamed.spool\nrun_dir = \nuser = \n")
    children.append(subprocess.Popen([AON, "ship", "--config", str(conf)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    return children[-1]


def live():
    """As a service: windows that end are there within seconds; SIGTERM ends it in order."""
    cluster("init", db="live")
    writer = subprocess.Popen([STORE, str(place / "live.db"), "2", "20", "14", "500", "live"], stdout=subprocess.PIPE, text=True)
    children.append(writer)
    wait((place / "live.db").exists)
    p = ship("live", db="live", background=True)
    q = unnamed()
    want = json.loads(writer.communicate(timeout=60)[0])
    arrived = wait(lambda: sums("live")["launches"] == want["launches"], 60)
    ok(arrived, "a service sends windows as they end", f"{sums('live')} {want}")
    beats = server.ask("SELECT host, rack, spool_batches < 100 FROM live.node")
    ok(beats and beats[0][::2] == ["n1", "1"], "and that the node lives", beats)
    shutil.copy(place / "early.db", place / "unnamed.db")
    ok(wait(lambda: server.one("SELECT any(concat(cluster, ' ', host, ' ', rack)) FROM unnamed.node") == "default n1 r7", 60),
       "one that is told no names, and is there before the store, has those of the store", server.ask("SELECT cluster, host, rack FROM unnamed.node"))
    q.kill()
    p.send_signal(signal.SIGTERM)
    ok(p.wait(30) == 0, "told to end, it ends in order")


try:
    if not up():
        skip_all(f"clickhouse-server does not start here: {server.said()[-300:]}")
    for part in (tables, versions, tidy, arrives, sums_by_hour, doubt, kills, poison, events, live, modern, tls, full):
        part()
finally:
    for c in children:
        if c.poll() is None:
            c.kill()
            c.wait()
    server.end()
    shutil.rmtree(place, ignore_errors=True)
done()
