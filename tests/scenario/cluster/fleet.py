# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""A cluster, read: rows of a made-up fleet in a real ClickHouse, and what aon fleet, report, diff and serve say of them, held
against what the rows' maker put there."""
import gzip
import json
import subprocess
import time

from aontest import Place, done, find, ok, skip_all
from clitest import aon, lab
from clustertest import Cluster, missing
from fleettest import Fleet
from servetest import Server

NODES, STEPS = 192, 30  # job-000 has 1,024 of the 1,536 GPUs here, job-001 the other 512
ENV = {}
NOW = int(time.time())
HOSTILE = "a'); DROP TABLE process --<script>\u202e"


def fill(fleet):
    for table in ("process", "name", "finding"):
        fleet.rows(table)
    fleet.rows("node", every=60, hours=2)
    fleet.rows("step", seconds=STEPS)
    fleet.rows("window", seconds=10, kernels=12)
    fleet.server.post("INSERT INTO aon.process (cluster, proc, host, job, user, rank, world, begin_ns, end_ns, day) VALUES "
                f"('sim', 7, 'evil', '{HOSTILE.replace(chr(39), chr(92) + chr(39))}', 'mallory', 0, 1, {NOW - 50}000000000, {NOW - 1}000000000, today())")


def say(place, *args, code=0):
    r = aon(place, *args, env=ENV)
    ok(r.returncode == code, f"aon {args[0]} exits {code}", (args, r.returncode, r.stderr[-400:]))
    return r


def near(a, b, part=0.01):
    return abs(a - b) <= part * abs(b)


def overview(place, url):
    f = json.loads(say(place, "fleet", "--cluster", url, "--json", "--since", "2h").stdout)
    jobs = {j["job"]: j for j in f["jobs"]}
    ok(set(jobs) == {"job-000", "job-001", HOSTILE}, "every job is there, whatever it is called", list(jobs))
    ok(jobs["job-000"]["gpus"] == 1024 and jobs["job-001"]["gpus"] == 512, "with its GPUs", [(j["job"], j["gpus"]) for j in f["jobs"]])
    ok(jobs["job-000"]["time"]["steps"] == 1024 * STEPS, "and the steps of its ranks", jobs["job-000"]["time"])
    slow = jobs["job-000"]["slow"]
    ok(slow["rank"] == 37 and slow["host"] == "node0004" and near(slow["over"], 0.08, 0.05), "the rank that others wait for is named", slow)
    # Of a step of 1.08 x 800 + 30 ms the slow rank waits 30 ms, all others 94.
    ok(near(jobs["job-000"]["time"]["lost_s"], 0.064 * 1023 * STEPS, 0.02), "and what was lost to it", jobs["job-000"]["time"])
    t = jobs["job-001"]["time"]
    ok(near(t["step_s"], t["busy_s"] + t["exposed_s"] + t["idle_s"], 1e-4), "a step is what it consists of", t)
    waited = [n["host"] for n in f["nodes"] if n["waited_s"]]
    ok("node0004" in waited, "the node is waited for", waited)
    text = say(place, "fleet", "--cluster", url, "--since", "2h").stdout.decode()
    ok("\x1b" not in text and "\u202e" not in text and "DROP" in text, "names of others are clean in a terminal", text)
    ok("others wait for rank" in text or "rank 37 is slow" in text, "a job says what is wrong", text)


def silent(place, url, server):
    server.post("INSERT INTO aon.node (cluster, host, rack, t_ns, day) VALUES "
                f"('sim', 'gone1', 'R99', {NOW - 3000}000000000, today())")
    f = json.loads(say(place, "fleet", "--cluster", url, "--json", "--since", "2h").stdout)
    first = f["nodes"][0]
    ok(f["silent_nodes"] >= 1 and any(n["host"] == "gone1" and n["silent"] for n in f["nodes"]) and first["silent"],
       "a silent node is listed, first", (f["silent_nodes"], first))


def one_job(place, url, server):
    r = json.loads(say(place, "report", "--cluster", url, "--job", "job-000", "--since", "2h", "--json").stdout)
    ok(r["schema"] == "aon.job/1" and r["verdict"].startswith("The others wait for rank 37 on node0004: 6"), "the verdict is a sentence", r["verdict"])
    ok([x["rank"] for x in r["ranks"]] == list(range(1024)), "every rank has its row", len(r["ranks"]))
    ok(near(r["step_p50_ns"], 894e6, 0.001) and r["steps"] == STEPS, "a step takes what it took", (r["step_p50_ns"], r["steps"]))
    total = int(server.one("SELECT sum(total_ns) FROM aon.window WHERE job = 'job-000'"))
    ok(sum(k["total_ns"] for k in r["kernels"]) + r["rest"]["total_ns"] == total, "kernels add up to the windows, to the nanosecond", total)
    want = server.ask("SELECT name, sum(count), sum(total_ns) AS t FROM aon.window WHERE job = 'job-000' GROUP BY name ORDER BY t DESC LIMIT 1")[0]
    text = server.one(f"SELECT any(text) FROM aon.name WHERE hash = {want[0]}")
    k = r["kernels"][0]
    ok((k["name"], k["count"], k["total_ns"]) == (text, int(want[1]), int(want[2])), "the first kernel is the longest, by its name", (k, want))
    ok(r["findings"] and r["findings"][0]["part"] == "rank:37", "what was diagnosed is told", r["findings"])
    ok(r["records"]["emitted"] == 1024 * 1000000, "and where records went", r["records"])
    bad = say(place, "report", "--cluster", url, "--job", "nobody's", code=1).stderr.decode()
    ok("no job 'nobody's'" in bad, "a job that is not there is said so", bad)


def as_a_store(place, url, server):
    at = f"{url}?job=job-000&rank=37"
    r = json.loads(say(place, "report", at, "--json").stdout)
    ok(len(r["processes"]) == 1 and len(r["steps"]) == STEPS, "a rank of a job is read as a store", (len(r["processes"]), len(r["steps"])))
    sums = {n: (int(c), int(t)) for n, c, t in server.ask("SELECT any(text), sum(count), sum(total_ns) FROM aon.window ANY LEFT JOIN "
            "(SELECT hash AS name, text FROM aon.name) USING (name) WHERE job = 'job-000' AND rank = 37 GROUP BY name")}
    ok({k["name"]: (k["count"], k["total_ns"]) for k in r["kernels"]} == sums, "with the same kernels, value by value", len(sums))
    ok("pid 1005" in say(place, "report", "--cluster", url, "--job", "job-000", "--rank", "37", "--since", "2h").stdout.decode(), "--rank asks for the same")


def compare(place, url, fleet):
    d = json.loads(say(place, "diff", "--cluster", url, "job-000", "job-001", "--since", "2h", "--json").stdout)
    ok(near(d["a"]["step_ns"], 894e6, 0.001) and near(d["b"]["step_ns"], 950e6, 0.001), "two jobs are compared", (d["a"], d["b"]))
    r = json.loads(say(place, "report", "--cluster", url, "--job", "job-001", "--since", "2h", "--json").stdout)
    ok(r["since"] is None, "of a job that goes on alike a report says nothing of it", r["since"])
    fleet.rows("rank_hour", kind="TabSeparated", hours=3, step_ms=500)
    d = json.loads(say(place, "diff", "--cluster", url, "job-000", "--at", "1m", "--since", "3h", "--json").stdout)
    ok(near(d["a"]["step_ns"], 447e6, 0.01) and near(d["b"]["step_ns"], 894e6, 0.01), "and one with itself, before and after an hour", (d["a"], d["b"]))
    text = say(place, "diff", "--cluster", url, "job-000", "--at", "1m", "--since", "3h").stdout.decode()
    ok("A step of B takes 894 ms, of A 447 ms: 100 % longer." in text, "in a sentence", text)
    r = json.loads(say(place, "report", "--cluster", url, "--job", "job-000", "--since", "3h", "--json").stdout)
    hour = NOW // 3600 * 3600
    ok(r["since"] and r["since"]["t_s"] >= hour - 3600 and near(r["since"]["before_ns"], 447e6, 0.01) and near(r["since"]["after_ns"], 894e6, 0.01), "a report says since when", (r["since"], hour, r["hours"]))
    text = say(place, "report", "--cluster", url, "--job", "job-000", "--since", "3h").stdout.decode()
    ok("UTC a step takes 894 ms, before it 447 ms: 100 % longer." in text and "aon diff job-000 --at" in text, "and how to see what changed", text)


def whose_fault(place, url, fleet):
    """A job of the simulator with a fault that is known: its records go to the cluster, and are diagnosed from there."""
    lab(place, "corpus", "-o", "corpus", "--ranks", "64", "--cases", "1", "--kinds", "F1", "--seed", "3")
    steps = next((place.path / "corpus").glob("*.steps"))
    truth = json.loads(steps.with_suffix(".truth.json").read_text())
    with open(steps, "rb") as records:
        fleet.rows("corpus", into="step", given=records)
    fleet.server.post("INSERT INTO aon.process (cluster, proc, host, job, user, rank, world, begin_ns, end_ns, day) SELECT 'sim', proc, any(host), 'corpus', "
                "'ann', rank, 64, min(t_ns), max(t_ns), today() FROM aon.step WHERE job = 'corpus' GROUP BY proc, rank")
    d = json.loads(say(place, "why", "--cluster", url, "--job", "corpus", "--since", "2h", "--all", "--json").stdout)
    bad = {e["component"] for e in truth["events"]}
    ok(d["steps"] == truth["steps"] and d["findings"] and d["findings"][0]["parts"][0] in bad, "the place of the fault is the first finding", (bad, d["findings"][:2]))
    text = say(place, "why", "--cluster", url, "--job", "corpus", "--since", "2h", "--all").stdout.decode()
    ok("rank " in text and " on sim" in text and "expect" in text, "in words, with its node", text)
    ok("reported by diagnose: rank 37" in say(place, "why", "--cluster", url, "--job", "job-000", "--since", "2h").stdout.decode(), "and what was told before")


def same_as_the_file(place, url, cred):
    """A node's store, read as a file, and what aon ship sent of it, read from the cluster: value by value."""
    subprocess.run([find("ship_store"), place.path / "node.db", "4", "20", "30", "500"], check=True, stdout=subprocess.DEVNULL)
    conf = place.path / "ship.conf"
    conf.write_text(f"url = {url}\ncredentials = {cred}\nstore = {place.path}/node.db\nspool = {place.path}/spool\ncluster = sim\n")
    say(place, "ship", "--config", conf, "--once")
    mine = json.loads(say(place, "report", place.path / "node.db", "--json").stdout)
    job = mine["processes"][0]["job"]
    there = json.loads(say(place, "report", f"{url}?job={job}", "--json").stdout)
    by = lambda r: {p["process"]: p["rank"] for p in r["processes"]}
    ok(len(by(mine)) == 4 and sorted(by(mine).values()) == sorted(by(there).values()), "the same ranks", (by(mine), by(there)))
    keys = "count", "total_ns", "min_ns", "max_ns"
    rows_of = lambda r: sorted((by(r)[k["process"]], k["name"], *(k[x] for x in keys)) for k in r["kernels"])
    ok(rows_of(mine) == rows_of(there) and len(rows_of(mine)) >= 80, "the same kernels of each, value by value", (rows_of(mine)[:2], rows_of(there)[:2]))
    p50 = lambda r: {(by(r)[k["process"]], k["name"]): (k["p50_ns"], k["p99_ns"]) for k in r["kernels"]}
    ok(p50(mine) == p50(there), "and quantiles of the same sketches")


def listed(place, url, fleet):
    """aon ps, alarms, overhead, telemetry and sql of the whole cluster, against its tables."""
    server = fleet.server

    def rows(*args, code=0):
        r = json.loads(say(place, *args, "--json", code=code).stdout)
        return [dict(zip(r["columns"], x)) for x in r["rows"]]
    ps = rows("ps", "--cluster", url, "--job", "job-001")
    ok([p["rank"] for p in ps] == list(range(512)) and ps[7]["host"] == "node0128" and {p["state"] for p in ps} <= {"live", "silent"},
       "aon ps: every rank with its node", ps[:2])
    ok(len(rows("ps", "--store", f"{url}?job=job-001")) == 512 and len(rows("ps", "--cluster", url, "--all")) >= 1536, "by an address, and all of them")
    ok("job-000" in say(place, "ps", "--cluster", url).stdout.decode(), "for people, too")
    a = rows("alarms", "--cluster", url)
    ok([(x["job"], x["rank"], x["source"]) for x in a] == [("job-000", 37, "diagnose")], "aon alarms: what was told", a)
    say(place, "overhead", "--cluster", url, code=3)
    server.post("INSERT INTO aon.overhead (cluster, job, rank, proc, t_ns, day, pairs, slowdown, lo, hi, accounted, rung) SELECT 'sim', job, rank, proc, "
                f"toUInt64({fleet.now - 9 + 3}000000000) + rank, today(), 5 * rank, 0.004, 0.001, 0.007, 0.002, 0 FROM aon.process WHERE job = 'job-000' AND rank < 2")
    o = rows("overhead", f"{url}?job=job-000")
    ok([(x["rank"], x["slowdown_pct"], x["hi_pct"], x["accounted_pct"]) for x in o] == [(0, None, None, 0.2), (1, 0.4, 0.7, 0.2)] and o[0]["host"] == "node0000",
       "aon overhead: measured or not, with its node", o)
    say(place, "telemetry", "--cluster", url, "--metric", "temp", code=3)
    server.post("INSERT INTO aon.telemetry (cluster, host, device, metric, t_ns, day, value, unit) VALUES "
                + ", ".join(f"('sim', 'node0001', 'gpu0', 'aon_gpu_temperature', {int(time.time()) - 5 + i}000000000, today(), {60 + i}, 'C')" for i in range(3)))
    t = rows("telemetry", "--cluster", url, "--metric", "TEMP", "--job", "job-000")
    ok(len(t) == 1 and (t[0]["last"], t[0]["least"], t[0]["mean"], t[0]["most"]) == (62, 60, 61, 62), "aon telemetry: of a job's nodes", t)
    say(place, "telemetry", "--cluster", url, "--metric", "TEMP", "--job", "job-001", code=3)
    q = rows("sql", "SELECT job, count() AS n FROM process WHERE rank >= 0 GROUP BY job ORDER BY n DESC -- mine", "--cluster", url)
    ok(q[0] == {"job": "job-000", "n": 1024}, "aon sql asks ClickHouse", q[:2])
    bad = say(place, "sql", "DROP TABLE aon.name", url, code=1).stderr.decode()
    ok("yntax error" in bad and int(server.one("SELECT count() FROM aon.name")) > 0, "and nothing but selects", bad)
    many = say(place, "sql", "SELECT number FROM system.numbers LIMIT 30000", url, "--csv")
    ok(len(many.stdout.splitlines()) == 10001 and b"first 10000 rows" in many.stderr, "of which so many rows are shown", many.stderr)
    ok(any(x["table"] == "node_hour" and "seen_ns" in x["columns"] for x in rows("sql", "--tables", "--cluster", url)), "its tables are listed")
    ok("one" in rows("sql", "SELECT 'one' AS x", f"{url}?job=job-000&rank=1")[0].values(), "of a job's address they are those of a store")
    for args in (("top", "--store", url), ("store", "check", f"{url}?job=j"), ("audit", url), ("recover", url, "-o", "x.db"), ("import", url, "-o", "x.db")):
        ok("not of a cluster" in say(place, *args, code=2).stderr.decode(), f"aon {args[0]} says that it is of a node")
    ok("is of a cluster" in say(place, "ps", "--job", "x", code=2).stderr.decode(), "and options of a cluster need one")


def captured(place, url, fleet):
    """Events of a capture that nodes sent, read back."""
    fleet.rows("event", job=0, kernels=6, nodes=1)  # 8 ranks
    of = "SELECT count(), sum(dur_ns) FROM aon.event WHERE kind = 8"
    n, ns = map(int, fleet.server.ask(of)[0])
    at = ("--cluster", url, "--job", "job-000", "--capture", "raised-1")
    r = json.loads(say(place, "report", *at, "--json").stdout)
    ok(sum(k["count"] for k in r["kernels"]) == n == 480 and sum(k["total_ns"] for k in r["kernels"]) == ns, "aon report --capture adds up its kernels, to the nanosecond", (n, ns, r["kernels"][:1]))
    say(place, "export", *at, "-o", "ranks/", "-f", "kineto")
    files = sorted((place.path / "ranks").iterdir())
    all_events = [e for f in files for e in json.loads(gzip.open(f).read() if f.suffix == ".gz" else f.read_text())["traceEvents"]]
    kernels = [e for e in all_events if e.get("cat") == "kernel"]
    ok(len(files) == 8 and len(kernels) == n and near(sum(e["dur"] for e in kernels), ns / 1e3, 1e-6), "aon export --capture: every kernel, a file a rank", (len(files), len(kernels)))
    say(place, "export", *at, "--rank", "3", "-o", "one.pftrace")
    ok((place.path / "one.pftrace").stat().st_size > 1000, "or one rank for Perfetto")
    say(place, "why", *at)
    bad = say(place, "export", *at[:-1], "nope", "-o", "x.pftrace", code=1).stderr.decode()
    ok("there are: raised-1" in bad, "another name is answered with those that there are", bad)
    ok("--capture C" in say(place, "export", "--cluster", url, "--job", "job-000", "-o", "x.pftrace", code=2).stderr.decode(), "without one it is asked for")
    ok("steps alone" in say(place, "roofline", f"{url}?job=job-000&rank=1").stderr.decode(), "what has no events says why")


def failures(place, url, server):
    def said(*args):
        return say(place, "fleet", *args, code=1).stderr.decode()
    ok("Couldn't connect" in said("--cluster", "clickhouse://127.0.0.1:1/aon"), "a server that is not there")
    bad = place.path / "bad.cred"
    bad.write_text("user = aon\npassword = wrong\n")
    bad.chmod(0o600)
    ok("password is not taken" in said("--cluster", url, "--credentials", bad), "a wrong password")
    ok("aon cluster init" in said("--cluster", url.replace("/aon", "/default")), "a database without tables")
    server.post("CREATE DATABASE old")
    server.post("CREATE TABLE old.aon_schema (version UInt32) ENGINE = Log")
    server.post("INSERT INTO old.aon_schema VALUES (0)")
    ok("aon needs" in said("--cluster", url.replace("/aon", "/old")), "tables that are older")
    server.post("INSERT INTO aon.aon_schema (version, t_ns, by) VALUES (999, 1, 'tomorrow')")
    say(place, "fleet", "--cluster", url, "--since", "2h")
    server.post("INSERT INTO aon.process (cluster, proc, host, job, rank, begin_ns, end_ns, day) VALUES ('west', 9, 'w', 'w', 0, 1, 2, today())")
    ok("?fleet=NAME (sim, west)" in said("--cluster", url), "two clusters in one database")
    say(place, "fleet", "--cluster", url + "?fleet=west", "--since", "2h")


def served(place, url, server):
    with Server(place, url + "?fleet=sim", env=ENV) as s:
        f = s.get("fleet?since=7200")
        ok(s.get("runs")["fleet"].endswith("/aon") and any(j["job"] == HOSTILE for j in f["jobs"]), "the page is told of the cluster")
        h = s.get("fleet/heat?job=job-000&w=20&h=16")
        worst = [max(range(16), key=lambda i: h["worst"][i][c]) for c in range(20)]
        ok(h["ranks_n"] == 1024 and h["steps_n"] == STEPS and set(worst) == {0}, "ranks x steps: the row of rank 37 stands out in every column", worst)
        ok(all(75 <= h["worst"][0][c] <= 90 for c in range(20)) and h["slowest"][0]["rank"] == 37, "by what it is slower", h["worst"][0])
        want = {int(r): float(v) for r, v in server.ask("SELECT step, step_ns - exposed_ns FROM aon.step WHERE job = 'job-000' AND rank = 37")}
        ok(set(h["who"][0]) == {37} and all(near(h["us"][0][c] * 1e3, want[h["when"][0][c]], 1e-4) for c in range(20)),
           "a cell of 64 ranks names the one, its step and how long that was", (h["who"][0][:3], h["us"][0][:3]))
        for by, key in (("host", lambda r: (r["host"], r["rank"])), ("leaf", lambda r: (r["rack"], r["leaf"], r["rank"])), ("slow", None)):
            o = s.get(f"fleet/heat?job=job-000&w=20&h=16&order={by}")
            rows = o["rows"]
            ok(sum(r["ranks"] for r in rows) == 1024 and (rows == sorted(rows, key=key) if key else rows[0]["rank"] == 37), f"ranks are ordered by {by}", rows[:3])
            ok([w for row in o["who"] for w in row].count(37) == 20, "and the slow one is in one cell of every column", by)
        few = s.get("fleet/heat?job=job-000&s0=5&s1=9&measure=dur")
        ok(few["steps"] == [5, 6, 7, 8, 9] and few["steps_all"] == 5 and len(few["rows"]) == 128, "some steps alone", few["steps"])
        r = s.get("fleet/rank?job=job-000&rank=37&limit=10")
        ok([x["step"] for x in r["steps"]] == list(range(STEPS - 10, STEPS)) and near(r["steps"][0]["exposed_comm_ns"], 30e6, 0.3), "the newest steps of a rank", r["steps"][:2])
        ok(s.ask("/api/v1/fleet/rank?job=job-000")[0] == 400 and s.ask("/api/v1/fleet/heat?job=job-000&order=up")[0] == 400, "and what is wrong")
        r = s.get("fleet/job?job=job-000&since=7200")
        ok(len(r["ranks"]) == 1024 and {x["rack"] for x in r["ranks"]} == {"R00", "R01", "R02", "R03"}, "ranks know their racks", {x["rack"] for x in r["ranks"]})
        d = s.get("fleet/diff?job=job-001&vs=job-000&since=7200")
        ok(d["b"]["job"] == "job-001" and d["a"]["job"] == "job-000", "two jobs are compared", (d["a"]["job"], d["b"]["job"]))
        ok("changes" in s.get("fleet/versions?since=7200"), "versions are asked for")
        ok(s.ask("/api/v1/fleet/job?job=nope")[0] == 404 and s.ask("/api/v1/fleet/job")[0] == 400 and s.ask("/api/v1/fleet?since=0")[0] == 400,
           "what is not there, and what is wrong")


def main():
    why = missing()
    if why:
        skip_all(why)
    with Place() as place, Cluster(place.path / "ch", "alone") as c:
        if c.why:
            skip_all(c.why)
        server = c.server[0]
        fleet = Fleet(place, server, NOW, nodes=NODES)
        url, cred = fleet.url, fleet.cred
        ENV.update(fleet.env)
        fleet.init()
        fill(fleet)
        overview(place, url)
        silent(place, url, server)
        one_job(place, url, server)
        as_a_store(place, url, server)
        whose_fault(place, url, fleet)
        served(place, url, server)
        compare(place, url, fleet)
        listed(place, url, fleet)
        captured(place, url, fleet)
        same_as_the_file(place, url, cred)
        failures(place, url, server)
    done()


main()
