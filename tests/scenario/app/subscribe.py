# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""Consumers of live events: what they see is what the store has, none costs another, users are apart."""
import collections
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

from aontest import Daemon, Place, account_of, aon, app, app_env, balanced, done, emitted, find, ok, skip, wait_for

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
ASK = struct.pack("<IHH", 0x4d4e4f41, 5, 8)


class Consumer:
    """aon subscribe --json in the background, all its lines kept."""

    def __init__(self, place, *args, user=(), program=None):
        self.proc = subprocess.Popen([*user, program or find("aon"), "subscribe", "--json", *map(str, args)],
                                     env=app_env(place), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.events, self.lost = [], 0
        self.head = self.proc.stdout.readline()  # it is subscribed
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.proc.stdout:
            e = json.loads(line)
            self.lost += e.get("lost", 0)
            if "kind" in e:
                self.events.append(e)

    def stands_for(self, pid):
        return sum(e["weight"] for e in self.of(pid))

    def of(self, pid):
        return [e for e in self.events if e["pid"] == pid]

    def end(self, sig=signal.SIGINT):
        """Its exit status, and what it said on stderr."""
        if self.proc.poll() is None:
            self.proc.send_signal(sig)
        code = self.proc.wait(timeout=60)
        self.thread.join(timeout=60)
        err = self.proc.stderr.read()
        self.proc.stderr.close()
        self.proc.stdout.close()
        return code, err


def run(place, daemon, *args, **kw):
    """A program that emits, to its end; its pid and its own count."""
    proc = app(place, "emitter", "-j", 5000, *args, **kw)
    said = emitted(proc)
    wait_for(lambda: not daemon.session(proc.pid), 30)
    daemon.flush()
    return proc.pid, said


def sql(place, query):
    got = aon("sql", "--json", query, place.store)
    return json.loads(got.stdout)["rows"] if got.returncode == 0 else got.stderr


def same_as_the_store():
    with Place() as p, Daemon(p) as d:
        run(p, d, "-n", 10)  # its name is known before anybody subscribes
        ok(d.counter("consumer_events") == 0, "without consumers nothing is written for them")
        a, b, marks = Consumer(p), Consumer(p), Consumer(p, "--kind", "mark,kernel")
        ok(json.loads(a.head) == {"schema": "aon.subscribe/1"} and d.counter("consumers") == 3, "three subscribe", a.head)
        pid, said = run(p, d, "-n", 1000, "-k", "mark")
        steps, more = run(p, d, "-n", 500, "-k", "step")
        kernels, _ = run(p, d, "-n", 300, "-k", "kernel")
        for c in (a, b):
            wait_for(lambda: len(c.events) >= 1800, 30)
        wait_for(lambda: len(marks.events) >= 1300, 30)
        ok(len(a.of(pid)) == 1000 == said["emitted"] and len(a.of(steps)) == 500 == more["emitted"] / 2,
           "each event of a program comes once", (len(a.of(pid)), said, len(a.of(steps)), more))
        ok(a.events == b.events and len(a.events) == 1800 and not a.lost, "two consumers see the same", len(a.events))
        ok([e["seq"] for e in a.events] == list(range(a.events[0]["seq"], a.events[0]["seq"] + 1800)),
           "with numbers that have no gap")
        ok(collections.Counter(e["kind"] for e in marks.events) == {"mark": 1000, "kernel": 300}, "--kind chooses",
           collections.Counter(e["kind"] for e in marks.events))
        ok({e["name"] for e in a.of(kernels)} == {f"kernel_{i}" for i in range(20)}, "names are told",
           {e["name"] for e in a.of(kernels)})
        ok(d.counter("consumer_events") == 1800, "and each was written once for all of them", d.counter("consumer_events"))
        accounts = account_of(p.store, pid, steps, kernels)
        ok(sorted(x["stored"] for x in accounts) == [300, 1000, 1000] and all(map(balanced, accounts)),
           "the store has as many, and every record is accounted for", accounts)
        stored = sql(p, f"select ts, dur, name from kernel where pid = {kernels}")
        ok(sorted(map(tuple, stored)) == sorted((e["start_ns"], e["dur_ns"], e["name"]) for e in a.of(kernels)),
           "with the same times and names", str(stored)[:300])
        only = Consumer(p, "--pid", 2**22)
        run(p, d, "-n", 20)
        wait_for(lambda: len(a.events) >= 1820, 30)
        ok(not only.events, "--pid chooses, too", only.events)
        for c in (b, marks, only):
            ok(c.end() == (0, ""), "Ctrl-C ends one, and it alone")
        ok(wait_for(lambda: d.counter("consumers") == 1), "whose place is free again", d.counter("consumers"))
        d.stop()
        log = json.loads(aon("audit", "--json", p.store).stdout)["lines"]
        ok([(x["uid"], x["what"], x["text"].split(",")[0]) for x in log] == 4 * [(os.getuid(), "subscribe", "events of all processes")],
           "the log says who saw events of all", log)
        code, err = a.end()
        ok(code == 1 and "aond has ended" in err, "aond's end is told: exit 1", (code, err))


def stuck():
    """One stands still, one is killed: the third loses nothing by it."""
    with Place() as p, Daemon(p, {"subscribe_mib": 1}) as d:
        good, still, dead = Consumer(p), Consumer(p), Consumer(p)
        still.proc.send_signal(signal.SIGSTOP)
        stat = pathlib.Path(f"/proc/{still.proc.pid}/stat")
        wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
        for i in range(3):  # twice as much as the ring holds, with time to read it
            pid, said = run(p, d, "-n", 12000)
            wait_for(lambda: len(good.events) == 12000 * (i + 1), 60)
            if i == 0:
                dead.end(signal.SIGKILL)
        pid, said = run(p, d, "-n", 100, "-k", "step")
        wait_for(lambda: len(good.of(pid)) == 100, 30)
        ok(len(good.of(pid)) == 100 and not good.lost, "who reads loses nothing", (len(good.of(pid)), good.lost))
        still.proc.send_signal(signal.SIGCONT)
        wait_for(lambda: len(still.of(pid)) == 100, 30)
        ok(len(still.events) + still.lost == 36100 and still.lost > 36100 - 2**14,
           "who stood still lost what the ring could not hold, and knows how many", (len(still.events), still.lost))
        ok(wait_for(lambda: d.counter("consumers") == 2) and d.alive(), "who was killed is gone")
        accounts = account_of(p.store, pid)
        ok(accounts[0]["stored"] == said["emitted"] and balanced(accounts[0]), "the store has lost nothing", accounts)
        good.end()
        still.end()
        ok(wait_for(lambda: d.counter("consumers") == 0), "nobody is left")


def needs():
    """Rates, windows and priorities: each gets what it asked for, and aond writes no more than that."""
    with Place() as p, Daemon(p, {"subscribe_events": 50000}) as d:
        few, rolled = Consumer(p, "--rate", 20), Consumer(p, "--window", "--kind", "kernel")
        steps, low = Consumer(p, "--priority", "high", "--kind", "step"), Consumer(p, "--priority", "low", "--kind", "step")
        told = d.status()["consumers"]
        ok(sorted((c["what"], c["priority"], c["rate"]) for c in told) ==
           [("events", "high", 0), ("events", "low", 0), ("events", "normal", 20), ("windows", "normal", 0)],
           "aond says who consumes what", told)
        pid, said = run(p, d, "-n", 5000, "-k", "kernel")
        wait_for(lambda: few.stands_for(pid) + few.lost >= 5000, 30)
        ok(few.stands_for(pid) == 5000 and len(few.of(pid)) < 500 and not few.lost, "of a rate, few events stand for all",
           (few.stands_for(pid), len(few.of(pid)), few.lost))
        wait_for(lambda: sum(e["count"] for e in rolled.of(pid)) >= 5000, 30)
        ok(sum(e["count"] for e in rolled.of(pid)) == 5000 and {e["name"] for e in rolled.events} == {f"kernel_{i}" for i in range(20)},
           "windows have every call, by name", len(rolled.of(pid)))
        ok(all(e["min_ns"] <= e["p50_ns"] * 1.01 and e["p50_ns"] <= e["p99_ns"] <= e["max_ns"] * 1.01 for e in rolled.events),
           "with their quantiles", rolled.events[:2])
        ok(not steps.events and not low.events, "who needs steps gets no kernels")
        stepping, said = run(p, d, "-n", 20000, "-k", "step")
        wait_for(lambda: len(steps.of(stepping)) >= 20000 and len(low.of(stepping)) + low.lost >= 20000, 30)
        ok(len(steps.of(stepping)) == 20000 and not steps.lost, "high priority loses nothing", (len(steps.of(stepping)), steps.lost))
        ok(len(low.of(stepping)) + low.lost == 20000 and low.lost and d.counter("consumer_over") >= low.lost,
           "low priority is over its share of events, and is told how many", (len(low.of(stepping)), low.lost))
        for c in (few, rolled, steps, low):
            c.end()
    with Place() as p, Daemon(p) as d:
        proc = app(p, "emitter", "-j", 5000, "-n", 10, "-h", 600, stdin=subprocess.PIPE)
        wait_for(lambda: d.session(proc.pid))
        c = Consumer(p, "--detail", "--pid", proc.pid)
        ok(wait_for(lambda: (d.session(proc.pid) or {}).get("tier") == "full", 30), "who needs detail has it asked of the process",
           d.session(proc.pid))
        c.end(signal.SIGKILL)
        ok(wait_for(lambda: (d.session(proc.pid) or {}).get("tier") == "flight", 30), "until it is gone, however it went",
           d.session(proc.pid))
        proc.kill()
        proc.communicate()


def late():
    """Who comes late can ask what there was before: processes, their names and ends."""
    with Place() as p, Daemon(p) as d:
        first = app(p, "emitter", "-j", 5000, "-n", 10, "-h", 600, stdin=subprocess.PIPE)
        wait_for(lambda: d.session(first.pid))
        s, word, fds = guest(p)
        said = ask(s, "processes 0").split()
        ok(said[:3] == ["processes", "0", "ok"] and len(said) == 4, "who is here is told, though it says nothing", said)
        got = ask(s, f"process {said[3]}")
        ok(got.split("\t")[0].split() == ["process", said[3], "ok", str(first.pid), str(os.getuid()), "0", "0", "1"] and
           got.split("\t")[1] == "emitter", "and what it is", got)
        ok(ask(s, f"processes {int(said[3]) + 1}").split() == [*"processes".split(), str(int(said[3]) + 1), "ok"] and
           ask(s, "process 999") == "process 999 none", "there is no other")
        first.kill()
        first.communicate()
        wait_for(lambda: not d.session(first.pid), 30)
        ok(ask(s, f"process {said[3]}").split("\t")[0].endswith(" 0"), "one that has ended is known, as ended")
        began = time.monotonic()
        for i in range(12000):  # more than three seconds' worth
            s.send(b"name 1")
            if i % 50 == 49:
                for _ in range(50):
                    s.recv(64)
        ok((d.counter("consumer_deaf") or time.monotonic() - began > 2) and d.alive(),
           "who asks without pause is made to wait, unless it is slow anyway", d.counter("consumer_deaf"))
        s.close()
        os.close(fds[0])


def ask(sock, line):
    sock.send(line.encode())
    return sock.recv(16384).decode()


def guest(place):
    """A connection as any user has it: at the socket of processes."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect(str(place.run / "aond.sock"))
    s.send(ASK)
    s.send(b"subscribe")
    word, fds, _, _ = socket.recv_fds(s, 64, 1)
    return s, word, fds


def users():
    if os.getuid() or not shutil.which("setpriv"):
        skip("users are apart", "needs root and setpriv to become nobody")
        return
    with Place() as p, Daemon(p) as d:
        for name in ("aon", "emitter", "libaon.so.0"):
            shutil.copy(find(name), p.path / name)
        theirs = Consumer(p, user=NOBODY, program=p.path / "aon")
        mine = Consumer(p)
        pid, _ = run(p, d, "-n", 100, "-k", "kernel")
        env = {**app_env(p), "LD_LIBRARY_PATH": str(p.path)}
        other = subprocess.Popen([*NOBODY, p.path / "emitter", "-j", "5000", "-n", "50"], env=env,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = emitted(other)
        wait_for(lambda: len(theirs.events) >= 50 and len(mine.events) >= 150, 30)
        ok(said.get("emitted") == 50 and len(theirs.events) == 50 and {e["pid"] for e in theirs.events} == {other.pid},
           "a user sees his own processes", (said, len(theirs.events)))
        ok(len(mine.of(pid)) == 100 and len(mine.of(other.pid)) == 50, "the admin sees all", len(mine.events))
        theirs.end()
        mine.end()


def asks():
    with Place() as p, Daemon(p) as d:
        run(p, d, "-n", 10, "-k", "kernel")  # in the store, and in no ring
        s, word, fds = guest(p)
        ok(word == b"ring" and len(fds) == 1, "a guest gets a ring", word)
        ok(all(ask(s, f"name {i}") == f"name {i} none" and ask(s, f"lane {i}") == f"lane {i} none" for i in range(30)),
           "names and lanes that were in none of its events are not told")
        run(p, d, "-n", 10, "-k", "kernel")
        said = [wait_for(lambda: (a := ask(s, f"name {i}")) and not a.endswith("later") and a) for i in range(30)]
        ok(sum(" ok kernel_" in x for x in said) == 10, "those that were are", said)
        lanes = [wait_for(lambda: (a := ask(s, f"lane {i}")) and not a.endswith("later") and a) for i in range(30)]
        ok(sum(" ok " in x for x in lanes) == 2 and any(" ok 2 0 1 7 0" in x for x in lanes), "and their lanes", lanes)
        s.send(b"shout")
        ok(s.recv(64) == b"", "who asks something else is closed")
        s.close()
        os.close(fds[0])
        many, refused = [], 0
        for i in range(140):
            t, word, got = guest(p)
            if word == b"ring":
                many.append((t, got[0]))
            else:
                refused += 1
                t.close()
        ok(len(many) == 128 and refused == 12 and d.counter("consumers_refused") == 12,
           "a user has 128 consumers at most", (len(many), refused))
        for t, fd in many:
            t.close()
            os.close(fd)
        ok(wait_for(lambda: d.counter("consumers") == 0) and d.alive(), "and all can leave at once")
    with Place() as p, Daemon(p, {"subscribe_mib": 0}) as d:
        got = aon("subscribe", env={"AON_RUN_DIR": str(p.run)})
        ok(got.returncode == 1 and "subscribe_mib" in got.stderr, "where nobody may, it is said", got.stderr)
    with Place() as p:
        got = aon("subscribe", env={"AON_RUN_DIR": str(p.run)})
        ok(got.returncode == 1 and "no aond" in got.stderr, "without aond: exit 1, and what to do", got.stderr)
        for args in (["--kind", "nonsense"], ["--pid", "x"], ["now"], ["--rate", "0"], ["--rate", "-1"], ["--priority", "urgent"]):
            got = aon("subscribe", *args, env={"AON_RUN_DIR": str(p.run)})
            ok(got.returncode == 2 and args[-1] in got.stderr, f"misuse: {' '.join(args)}", got.stderr)


same_as_the_store()
stuck()
needs()
late()
users()
asks()
done()
