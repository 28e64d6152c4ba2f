# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon diagnose --follow on a real ClickHouse: records of simulated jobs come in bit by bit, what is wrong with them is in the table
`finding`, each once, whatever happens to the service meanwhile; the end of a finding is reported."""
import http.server
import json
import os
import pathlib
import signal
import ssl
import subprocess
import threading
import time
import urllib.parse

from aontest import Place, done, find, ok, skip_all, wait_for
from clitest import aon, lab
from clustertest import PASSWORD, USER, Certs, Cluster, missing

GEN = pathlib.Path(os.environ["AON_BUILD"]) / "tests/scenario/fleet_gen"
NOW = int(time.time())
ENV = {}


def case(place, kinds, ranks, fits):
    """The first simulated job whose only fault is as wanted: its records, and the truth."""
    for seed in range(1, 60):
        folder = place.path / f"corpus-{kinds}-{seed}"
        lab(place, "corpus", "-o", folder, "--ranks", ranks, "--cases", "8", "--kinds", kinds, "--seed", str(seed))
        for t in sorted(folder.glob("*.truth.json")):
            truth = json.loads(t.read_text())
            if len(truth["events"]) == 1 and not truth["packed"] and not truth["routed"] and fits(truth["events"][0]):
                return t.with_name(t.name.replace(".truth.json", ".steps")), truth["events"][0]
    raise AssertionError(f"no such case of {kinds}")


class Job:
    """Records of a case, sent to the cluster step by step, as nodes would."""

    def __init__(self, server, number, steps, ranks):
        self.server, self.number, self.steps, self.name = server, number, steps, f"corpus-{number}"
        self.proc = 1000 * number  # the table has one row of a process: no two jobs may share one
        server.post("INSERT INTO aon.process (cluster, proc, host, job, user, rank, world, begin_ns, end_ns, live, day) "
                    f"SELECT 'sim', number + {self.proc}, "
                    f"concat('node', toString(intDiv(number, 8))), '{self.name}', 'ann', number, {ranks}, {NOW - 600}000000000, {NOW}000000000, 1, today() "
                    f"FROM system.numbers LIMIT {ranks}")

    def send(self, first, last, **settings):
        made = subprocess.run([GEN, "corpus", f"to={NOW}", f"job={self.number}", f"first={first}", f"last={last}",
                               *(f"{k}={v}" for k, v in settings.items())], stdin=open(self.steps, "rb"), stdout=subprocess.PIPE, check=True).stdout
        self.server.post("INSERT INTO aon.step FORMAT RowBinary", made)

    def found(self, where="1"):
        return self.server.ask("SELECT kind, level, part, host, rank, proc, act, until_ns, t_ns, source FROM aon.finding "
                               f"WHERE job = '{self.name}' AND act = 1 AND {where} ORDER BY seq, until_ns")


class Service:
    def __init__(self, place, url):
        self.place, self.url, self.proc, self.more = place, url, None, []

    def start(self):
        with open(self.place.path / "follow.log", "ab") as log:
            self.proc = subprocess.Popen([find("aon"), "diagnose", "--cluster", self.url, "--follow", "--every", "0.2", "--patience", "2", "--spool",
                                          self.place.path / "follow", *self.more], env={**os.environ, **ENV}, stdout=log, stderr=log)
        return self

    def end(self, sig=signal.SIGKILL):
        self.proc.send_signal(sig)
        return self.proc.wait(30)

    def said(self):
        return (self.place.path / "follow.log").read_text()[-1500:]


def slow_and_well_again(place, server, service, url):
    steps, e = case(place, "F4,F1", "8", lambda e: e["course"] == "sudden"
                    and 60 < e["from_step"] and e["end_step"] < 150 and e["gain"] > 0.05)
    job, rank = Job(server, 1, steps, int("".join(filter(str.isdigit, steps.name.split("-")[1].split(".")[0])))), int(e["component"].split(":")[1])
    job.send(0, e["from_step"] - 1)
    time.sleep(1)
    ok(not job.found(), "nothing is made up of a job that is well", job.found())
    service.end()  # kill -9, and what it knew is to be had again from the cluster
    service.start()
    for at in range(e["from_step"], e["from_step"] + 20, 5):
        job.send(at, at + 4)
        time.sleep(0.3)
    wait_for(lambda: job.found(), 20)
    rows = job.found()
    want = [e["component"], f"node{rank // 8}", str(rank), str(job.proc + rank), "1", "0"]
    ok(rows and rows[0][2:8] == want and rows[0][1] == "rank" and rows[0][9] == "diagnose", "the rank that is slow is told, with its node and process", (rows, want, service.said()))
    service.end()
    service.start()
    job.send(e["from_step"] + 20, e["end_step"] - 1)
    time.sleep(1.5)
    ok(len(job.found()) == 1, "once, also after a restart", job.found())
    job.send(e["end_step"], 1000)
    wait_for(lambda: job.found("until_ns != 0"), 20)
    rows = job.found()
    ok(len(rows) == 2 and rows[1][:7] == rows[0][:7] and rows[1][8] == rows[0][8] and int(rows[1][7]) > int(rows[1][8]), "that it is well again is told, of the same finding", rows)
    until = (int(rows[1][7]) - (NOW - 600) * 10**9) / 1e9
    ok(e["end_step"] - 2 <= until <= e["end_step"] + 20, "and since when", (until, e["end_step"]))
    ok(service.end(signal.SIGTERM) == 0, "told to end, it ends in order", service.said())
    service.start()
    time.sleep(1)
    ok(len(job.found()) == 2, "and says nothing twice", job.found())
    f = json.loads(aon(place, "fleet", "--cluster", url, "--json", "--since", "2h", env=ENV).stdout)
    ok(f"Rank {rank}:" in next(j for j in f["jobs"] if j["job"] == job.name)["finding"], "aon fleet says it of the job", f["jobs"])
    w = aon(place, "why", "--cluster", url, "--job", job.name, "--since", "2h", env=ENV).stdout.decode()
    ok(f"reported by diagnose: Rank {rank}:" in w, "so does aon why", w)
    r = aon(place, "diagnose", "--cluster", url, "--job", job.name, "--since", "2h", "--json", env=ENV)
    d = json.loads(r.stdout)["recordings"][0]
    ok(d["findings"][0]["component"] == [e["component"]] and d["steps"] == 192, "asked once it finds the same, and writes nothing", (d["findings"][:1], d["steps"]))
    ok(len(job.found()) == 2, "indeed", job.found())


class Relay(threading.Thread):
    """What aon capture asks of a relay, and answers as if nobody had anything: which ranks were wanted."""

    def __init__(self, certs):
        super().__init__(daemon=True)
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                asked.append(urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query))
                self.say(b"id 1\nnodes 1\nfrom 7\n")

            def do_GET(self):
                self.say(b"state done\n")

            def say(self, body):
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certs.crt("relay"), certs.key("relay"))
        tls.load_verify_locations(certs.crt("ca"))
        tls.verify_mode = ssl.CERT_REQUIRED
        self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_port}"

    def run(self):
        self.server.serve_forever()


def escalation(place, server, service):
    """A new act has three ranks captured: who it is, one that is well, one that waits; so many an hour."""
    certs = Certs(place.path / "certs").sign("relay", server=True).sign("diagnose")
    relay = Relay(certs)
    relay.start()
    service.end()
    bad = subprocess.run([find("aon"), "diagnose", "--cluster", service.url, "--follow", "--escalate", relay.url], capture_output=True, text=True)
    ok(bad.returncode == 2 and "--cert" in bad.stderr, "who asks a relay must say who it is", bad.stderr)
    service.more = ["--escalate", relay.url, "--cert", certs.crt("diagnose"), "--key", certs.key("diagnose"), "--ca", certs.crt("ca"),
                    "--captures", place.path / "captures", "--hourly", "1"]
    service.start()
    steps, e = case(place, "F4,F1", "8", lambda e: e["course"] == "sudden" and 60 < e["from_step"] and e["gain"] > 0.05)
    first, second = Job(server, 4, steps, 8), Job(server, 5, steps, 8)
    server.post("OPTIMIZE TABLE aon.process FINAL")  # what merges would do at any time
    first.send(0, 1000)
    wait_for(lambda: first.found() and relay.asked, 40)
    ranks = relay.asked[0]["ranks"][0].split(",") if relay.asked else []
    ok(len(set(ranks)) == 3 and ranks[0] == e["component"].split(":")[1] and relay.asked[0]["steps"] == ["3"], "three steps of the culprit and of two others are asked for",
       (relay.asked, first.found(), service.said()))
    second.send(0, 1000)
    wait_for(lambda: "no capture" in service.said(), 40)
    ok(len(relay.asked) == 1 and "no capture" in service.said(), "once an hour, as it was told", (relay.asked, second.found(), service.said()))


def hangs(place, server, service):
    steps, e = case(place, "F27", "8", lambda e: e["code"] == "F27")
    gone, silent = Job(server, 2, steps, 8), Job(server, 3, steps, 8)
    gone.send(0, 1000)
    silent.send(0, 1000, without=e["first_rank"])
    wait_for(lambda: gone.found() and silent.found(), 30)
    rows = gone.found()
    ok(len(rows) == 1 and rows[0][:3] == ["F27", "rank", e["component"]] and rows[0][7] == "0", "the rank that is gone is the hang's cause", (rows, service.said()))
    rows = silent.found()
    ok(len(rows) == 1 and rows[0][:3] == ["silent", "rank", e["component"]], "one whose records stop is, if nobody else can be", (rows, service.said()))
    service.end()
    service.start()
    time.sleep(1.5)
    ok(len(gone.found()) == 1 and len(silent.found()) == 1, "each once, also after a restart", (gone.found(), silent.found()))


def away(service, server):
    server.pause()
    time.sleep(1)
    server.go_on()
    ok(service.proc.poll() is None, "a server that does not answer for a while ends nothing", service.said())


def main():
    why = missing()
    if why:
        skip_all(why)
    if not GEN.exists():
        skip_all("fleet_gen was not built")
    with Place() as place, Cluster(place.path / "ch", "alone") as c:
        if c.why:
            skip_all(c.why)
        server = c.server[0]
        cred = place.path / "cred"
        cred.write_text(f"user = {USER}\npassword = {PASSWORD}\n")
        cred.chmod(0o600)
        ENV["AON_CREDENTIALS"] = str(cred)
        url = f"clickhouse://127.0.0.1:{server.port}/aon?fleet=sim"
        aon(place, "cluster", "init", "--url", url.split("?")[0], "--credentials", cred)
        service = Service(place, url).start()
        try:
            slow_and_well_again(place, server, service, url)
            hangs(place, server, service)
            away(service, server)
            escalation(place, server, service)
        finally:
            service.end()
    done()


main()
