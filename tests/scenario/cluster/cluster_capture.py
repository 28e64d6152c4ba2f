# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""A job on two nodes is captured at the same steps through their relay; who may not is refused, a node that is down is named."""
import csv
import io
import json
import pathlib
import shutil
import subprocess
import tempfile

import clustertest
from aontest import BUILD, Daemon, Place, app, done, find, ok, skip_all, wait_for
from clustertest import Child, Relay

NOWHERE = "clickhouse://aon@127.0.0.1:1/aon?replicated=yes"
JOB = "alice-7"


def ship(folder, p, certs, name, relay):
    conf = p.path / "ship.conf"
    conf.write_text(f"url = {relay.url()}\nca = {certs.crt('ca')}\ncert = {certs.crt(name)}\nkey = {certs.key(name)}\n"
                    f"store = {p.store}\nspool = {p.path}/spool\ncluster = c1\nhost = {name}\nrun_dir = {p.run}\n")
    return Child(folder / name, [find("aon"), "ship", "--config", conf])


def rank(p, r):
    return app(p, "app_cost", "-s", 300, "-r", "-b", 1000, "-p", 19000, "-e", 10,
               env={"TORCHELASTIC_RUN_ID": JOB, "WORLD_SIZE": 2, "RANK": r})


def capture(folder, relay, certs, user, *args):
    r = subprocess.run([find("aon"), "capture", "--cluster", relay.url(), "--ca", str(certs.crt("ca")), "--cert", str(certs.crt(user)),
                        "--key", str(certs.key(user)), *map(str, args)], cwd=folder, capture_output=True, text=True, timeout=150)
    return r.returncode, r.stdout, r.stderr


def both(folder, relay, certs):
    rc, out, err = capture(folder, relay, certs, "alice", "--job", JOB, "--steps", 5, "-o", "both.csv")
    ok(rc == 0, "alice captures five steps of her job on both nodes", (rc, out, err, relay.said()[-300:]))
    if rc:
        return
    rows = list(csv.DictReader(io.StringIO((folder / "both.csv").read_text())))
    steps = {r: sorted({int(e["value"]) for e in rows if e["kind"] == "step" and e["rank"] == str(r)}) for r in (0, 1)}
    ok(len(steps[0]) == 5 and steps[0] == steps[1], "one file, two ranks, the same five steps", steps)
    marks = [sum(e["kind"] == "mark" and e["rank"] == str(r) for e in rows) for r in (0, 1)]
    ok(marks == [50, 50], "with all that is in them", marks)
    rc, out, err = capture(folder, relay, certs, "alice", "--job", JOB, "--rank", 1, "--steps", 3, "-o", "rank1.csv")
    rows = list(csv.DictReader(io.StringIO((folder / "rank1.csv").read_text()))) if rc == 0 else []
    ok(rc == 0 and {r["rank"] for r in rows if r["kind"] == "step"} == {"1"}, "or of one rank alone, wherever it is", (rc, out, err, len(rows)))


def limits(folder, relay, certs):
    for user, args, word in (("alice", ["--job", "bob-1", "--steps", 5], "may not"), ("alice", ["--job", JOB, "--steps", 50], "10 steps"),
                             ("prom", ["--job", JOB, "--steps", 5], "access list"), ("root", ["--job", "nobody", "--steps", 5], "No node")):
        rc, out, err = capture(folder, relay, certs, user, *args, "-o", "no.csv")
        ok(rc == 1 and word in err, f"refused: {user}, {' '.join(map(str, args))}", (rc, err))
    audit = (relay.hold / "audit.log").read_text()
    ok("\talice\tcapture\tok\t" in audit and "\talice\tcapture\tdenied\tjob bob-1" in audit, "the audit log has both", audit)
    for args in (["--steps", "5"], ["--job", JOB, "--steps", "5", "--pid", "1"]):
        ok(capture(folder, relay, certs, "alice", *args)[0] == 2, f"misuse: {' '.join(args)}")


def main():
    why = clustertest.missing()
    if why:
        skip_all(why)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="aon-capture-"))
    relay, ships, procs = None, [], []
    try:
        certs = clustertest.make_certs(folder / "certs", "n1", "n2")
        relay = Relay(folder / "relay", certs, NOWHERE).start()
        with Place() as a, Place() as b, Daemon(a, {"escalate_s": 0}) as da, Daemon(b, {"escalate_s": 0}) as db:
            procs = [rank(a, 0), rank(b, 1)]
            ok(wait_for(lambda: all(JOB in (d.ask("capture jobs") or "") and int(d.ask("capture jobs").split("\t")[3]) for d in (da, db)), 60),
               "both aonds know how far the job is")
            ships = [ship(folder, a, certs, "n1", relay).start(), ship(folder, b, certs, "n2", relay).start()]
            ok(wait_for(lambda: relay.status()["polling"] == 2, 60), "both nodes wait for orders", relay.status())
            both(folder, relay, certs)
            limits(folder, relay, certs)
            db.kill()
            rc, out, err = capture(folder, relay, certs, "root", "--job", JOB, "--steps", 3, "-o", "one.csv")
            ok(rc == 1 and "n2 gave no trace" in err and (folder / "one.csv").exists(),
               "a node that is down is named, what the other gave is kept", (rc, err))
    finally:
        for p in procs:
            p.kill()
            p.communicate()
        for p in (*ships, relay):
            if p and p.proc:
                p.end()
        shutil.rmtree(folder, ignore_errors=True)
    done()


if __name__ == "__main__":
    main()
