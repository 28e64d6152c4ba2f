# SPDX-License-Identifier: Apache-2.0
# test: timeout=240
"""Samples of a sampler, here one in Python, are stored with their stacks; accounts add up whatever
dies; a sampler that lies is hung up on; no reader takes a sample for work."""
import json
import os
import signal
import subprocess
import sys
import time

from aontest import *
from samplekit import *

LOAD = [("load", "/job/data.py", 42), ("read", "/usr/lib/python3/io.py", 7, PYTHON, 0), ("load_batch", "/job/train.py", 9)]
COPY = [("memcpy", "libc.so.6", 0, NATIVE, 0), ("step", "/job/train.py", 77)]


def sql(place, text):
    r = aon("sql", "--json", text, place.store)
    return [json.loads(line) for line in r.stdout.splitlines()] if r.returncode == 0 else r.stderr


def rows(place, text):
    r = aon("sql", "--tsv", text, place.store)
    return [line.split("\t") for line in r.stdout.splitlines()][1:] if r.returncode == 0 else r.stderr


def stored():
    with Place() as place, alone(place) as d:
        s = Sampler(place)
        ok(s.hear(3.0) == [], "without processes there is nobody to sample", s.list)
        ok(s.budget == 15, "it is told its share of a CPU: 1.5 %", s.budget)
        d.ask("set sample_cpu_percent=3")
        ok(wait_for(lambda: s.hear(0.1) is not None and s.budget == 30), "and when that changes", s.budget)
        p = app(place, "steady", "-r", 500, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        ok(s.wait(lambda t: s.of(p.pid)), "a process that joined is to be sampled", s.list)
        t = s.of(p.pid)
        ok(t and t[0][2] == 4900, "at 49 Hz, as nothing is known of a GPU", t)
        ok(t and os.path.isdir(f"/proc/{p.pid}/task/{t[0][1]}"), "and the thread is one of its own", t)
        tid = t[0][1]
        a, b = s.stack(*LOAD), s.stack(*COPY)
        first = time.monotonic_ns()
        for i in range(40):
            s.say(samples([sample(p.pid, tid, a, state=IO, detail=17), sample(p.pid, tid, b, blame=1),
                           sample(p.pid, tid, 0, blame=NO_BLAME, state=GIL, detail=4711)]))
            time.sleep(0.005)
        s.say(status(cpu_ns=5_000_000, taken=120, missed=3, reason="pid 7: not permitted"))
        s.say(samples([sample(p.pid, 999999, a), sample(1, 1, a), sample(p.pid, tid, a, state=GIL, detail=tid)]))
        ok(wait_for(lambda: d.counter("samples") == 121), "121 samples are taken", d.counter("samples"))
        ok(wait_for(lambda: d.counter("samples_unknown") == 2), "those of strangers are not", d.counter("samples_unknown"))
        ok(d.counter("sample_stacks") == 2 and d.counter("samples_missed") == 3 and d.counter("sampler_cpu_ms") == 5,
           "stacks, misses and CPU are counted")
        st = d.status().get("sampler", {})
        ok(st.get("on") and st.get("why") == "pid 7: not permitted", "the status has the reason", st)
        ps = aon("ps", env={"AON_RUN_DIR": str(place.run)})
        ok("Sampling: pid 7: not permitted" in ps.stderr, "and so has aon ps", ps.stdout + ps.stderr)
        doctor = aon("doctor", env={"AON_RUN_DIR": str(place.run)}).stdout
        ok("sampling: pid 7: not permitted" in doctor, "and aon doctor", doctor)
        code = lambda: (json.loads(aon("top", "--once", "--json", env={"AON_RUN_DIR": str(place.run)}).stdout)["processes"] or [{}])[0].get("code")
        now = wait_for(lambda: (c := code()) and c["function"] != "?" and c)  # its name is stored within seconds
        ok(rows(place, "select count(*) from sample") == [["0"]] and now and now["samples"] and now["age_ns"] < 10e9,
           "aon top has what the process does now, long before that is stored", now)
        d.flush()
        e = finish(p)
        ok(wait_for(lambda: d.session(p.pid) is None), "the process ends")
        s.close()
        d.stop()
        got = rows(place, "select state, stack, blame, detail, weight, tid, count(*) from sample group by 1,2 order by 1,2")
        ok(got == [["gil", "", "", "4711", "20408163", str(tid), "40"],
                   ["gil", "1", "load (data.py:42)", str(tid), "20408163", str(tid), "1"],
                   ["io", "1", "load (data.py:42)", "17", "20408163", str(tid), "40"],
                   ["running", "2", "step (train.py:77)", "", "20408163", str(tid), "40"]], "SQL has the samples", got)
        got = rows(place, "select id, depth, frame, kind, function, file, line, user from stack order by 1,3")
        ok(got == [["1", "3", "0", "python", "load", "/job/data.py", "42", "1"],
                   ["1", "3", "1", "python", "read", "/usr/lib/python3/io.py", "7", "0"],
                   ["1", "3", "2", "python", "load_batch", "/job/train.py", "9", "1"],
                   ["2", "2", "0", "native", "memcpy", "libc.so.6", "", "0"],
                   ["2", "2", "1", "python", "step", "/job/train.py", "77", "1"]], "and the stacks", got)
        got = rows(place, f"select min(ts)>={first - 10_000}, max(ts)-min(ts)<60000000000 from sample")
        ok(got == [["1", "1"]], "times are those of the samples", got)
        got = rows(place, "select count(*) from event where kind='sample'") + rows(place, "select count(*) from window where kind='sample'") \
            + rows(place, "select count(*) from summary where kind='sample'")
        ok(got == [["0"]] * 3, "no event, window or sum is of a sample", got)
        by = "process, tid, state, coalesce(stack, 0)"
        raw = rows(place, f"select {by}, count(*), sum(weight) from sample group by 1,2,3,4 order by 1,2,3,4")
        got = rows(place, f"select {by}, sum(count), sum(weight) from sample_window group by 1,2,3,4 order by 1,2,3,4")
        ok(got == raw and len(raw) == 4, "the rollups of samples agree with them", (got, raw))
        got = rows(place, "select other, gpu, part, holder, count(*) from sample_window group by 1,2,3,4")
        parts = {r[2] for r in got}
        ok("data" in parts and parts <= {"data", "rest", "outside"} and {(r[0], r[1], r[3]) for r in got} == {("0", "", "0")},
           "by the part that a stack tells, without a GPU", got)
        got = rows(place, "select held_by, count(*) from sample_window where state='gil' group by 1 order by 1")
        ok(len(got) == 2 and got[0][0] == "" and got[1] == ["1", "1"], "a wait for the GIL has the stack of its holder", got)
        got = rows(place, f"select sum(count) from sample_window where ts > {first + 10**12}") + rows(place, f"select sum(count) from sample_window where ts <= {first + 10**12}")
        ok(got == [[""], ["121"]], "and at the time of their windows", got)
        acc = accounts(place.store)
        ok(len(acc) == 1 and balanced(acc[0]) and acc[0]["emitted"] == e["emitted"] + 121, "the account adds up with them", (acc, e))
        text = aon("report", place.store).stdout  # its first sentence may name the code
        ok("load" not in text[text.find("Where a step goes"):], "a report has no row of them", text)
        ok(check(place.store), "the store is sound", check_text(place.store))


def names():
    """More functions than there are names for samples: that is counted, and said."""
    with Place() as place, alone(place, {"names_max": 1000}) as d:
        p = app(place, "steady", "-r", 100, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        s = Sampler(place)
        s.wait(lambda t: s.of(p.pid))
        for i in range(200):
            a = s.stack((f"function{i}", "/job/made.py", i + 1))
        tid = s.of(p.pid)[0][1]
        s.say(samples([sample(p.pid, tid, a)]))
        ok(wait_for(lambda: d.counter("samples") == 1 and d.counter("sample_names_other") > 100), "names that are too many are counted",
           d.counter("sample_names_other"))
        d.flush()
        ps = aon("ps", env={"AON_RUN_DIR": str(place.run)})
        ok("(other)" in ps.stderr, "aon ps says it", ps.stderr)
        ok(rows(place, "select blame from sample") == [["(other)"]], "the sample is kept", rows(place, "select blame from sample"))
        finish(p)
        s.close()


def killed():
    """The sampler, aond, the program: killed in turn while samples come."""
    with Place() as place, alone(place) as d:
        p = app(place, "steady", "-r", 2000, "-w", stdin=subprocess.PIPE)
        q = app(place, "steady", "-r", 100, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid) and wait_joined(d, q.pid)

        def send(s, n):
            a = s.stack(*LOAD)
            for _ in range(n):
                s.say(samples([sample(t[0], t[1], a) for t in s.hear() or []]))
                time.sleep(0.002)

        s = Sampler(place)
        s.wait(lambda t: s.of(p.pid) and s.of(q.pid))
        send(s, 50)
        s.close()  # as if it had been killed
        ok(wait_for(lambda: d.counter("sampler_ends") == 1), "aond sees that the sampler is gone")
        s = Sampler(place)
        ok(s.wait(lambda t: s.of(p.pid)), "the next one gets the list")
        send(s, 50)
        d.flush()
        send(s, 200)  # of which the dying aond has not stored all
        d.kill()
        d.start()
        ok(wait_joined(d, p.pid) and wait_joined(d, q.pid), "both programs are back", d.text()[-1000:])
        s = Sampler(place)
        s.wait(lambda t: s.of(p.pid) and s.of(q.pid))
        send(s, 50)
        q.kill()
        q.wait()
        send(s, 50)
        ok(wait_for(lambda: not d.session(q.pid)), "a program that is killed is gone")
        ok(s.wait(lambda t: not s.of(q.pid)), "and is sampled no more", s.list)
        e = finish(p)
        wait_for(lambda: d.session(p.pid) is None)
        s.close()
        d.stop()
        acc = account_of(place.store, p.pid) + account_of(place.store, q.pid)
        ok(len(acc) == 2 and all(balanced(a) for a in acc), "both accounts add up", acc)
        ok(acc[0]["emitted"] >= e["emitted"] + 150, "samples are in them", (acc, e))
        n = int(rows(place, "select count(*) from sample")[0][0])
        ok(n >= 300, "and what was committed is there", n)
        ok(check(place.store), "the store is sound", check_text(place.store))


def hostile():
    with Place() as place, alone(place) as d:
        p = app(place, "steady", "-r", 100, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        far = time.monotonic_ns() + 10**12
        ok(os.stat(place.run / "sample.sock").st_mode & 0o777 == 0o600, "only aond's own user, and root, may say what programs do")
        lies = {
            "noise": os.urandom(200),
            "nothing but a head": head(SAMPLES, 5),
            "an unknown type": head(9, 0),
            "targets": head(TARGETS, 0),
            "a stack out of turn": stack(5, LOAD),
            "a sample of a stack that was not told": samples([sample(p.pid, p.pid, 3)]),
            "a time to come": samples([sample(p.pid, p.pid, 0, t_ns=far, blame=NO_BLAME)]),
            "a time long ago": samples([sample(p.pid, p.pid, 0, t_ns=1, blame=NO_BLAME)]),
            "a blame without a stack": samples([sample(p.pid, p.pid, 0, blame=3)]),
            "an impossible rate": samples([sample(p.pid, p.pid, 0, centihertz=0, blame=NO_BLAME)]),
            "a state that is none": samples([sample(p.pid, p.pid, 0, state=77, blame=NO_BLAME)]),
            "a message that is too long": head(SAMPLES, 2000) + b"\0" * 80000,
        }
        for n, (what, msg) in enumerate(lies.items(), 1):
            s = Sampler(place)
            s.say(msg)
            ok(wait_for(lambda: d.counter("sampler_bad") == n), f"{what}: hung up", d.counter("sampler_bad"))
            s.close()
        s = Sampler(place)
        s.say(status(cpu_ns=100))
        s.say(status(cpu_ns=50))
        ok(wait_for(lambda: d.counter("sampler_bad") == len(lies) + 1), "CPU that falls: hung up")
        s.close()
        s = Sampler(place)
        s.wait(lambda t: s.of(p.pid))
        second = Sampler(place)
        ok(second.gone(), "one sampler at a time")
        s.say(status(reason="\x1b[31mred\nline"))
        ok(wait_for(lambda: "red" in d.status()["sampler"]["why"]), "a reason comes")
        why = d.status()["sampler"]["why"]
        ok("\x1b" not in why and "\n" not in why, "and is made safe to print", why)
        for i in range(400):  # names without end
            s.stack((f"f{i}" * 60, f"/x/{i}.py", i))
        flood = samples([sample(p.pid, s.of(p.pid)[0][1], 1)] * 1500)
        s.sock.setblocking(False)
        end, sent = time.monotonic() + 1.5, 0
        while time.monotonic() < end:
            try:
                s.sock.send(flood)
                sent += 1
            except BlockingIOError:
                time.sleep(0.001)
        ok(d.counter("sampler_deaf") >= 1, "a flood is read with pauses", (sent, d.counter("sampler_deaf")))
        ok(d.ping(), "aond answers meanwhile")
        s.close()
        e = finish(p)
        wait_for(lambda: d.session(p.pid) is None)
        d.stop()
        acc = accounts(place.store)
        ok(all(balanced(a) for a in acc) and acc[0]["emitted"] > e["emitted"], "the account adds up", acc)
        ok(check(place.store), "the store is sound", check_text(place.store))


CHILD = f"""#!{sys.executable}
import os, socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[sys.argv.index("--run-dir") + 1] + "/sample.sock")
open(os.path.dirname(os.path.abspath(sys.argv[0])) + "/pid", "w").write(str(os.getpid()))
while s.recv(65536):
    pass
"""


def number_in(path):
    """It is there before it is written."""
    wait_for(lambda: path.exists() and path.read_text().strip(), 20)
    return int(path.read_text())


def child():
    with Place() as place, alone(place, child=CHILD) as d:
        pid = place.path / "bin" / "pid"
        time.sleep(1.5)
        ok(not pid.exists(), "without a process no aon-sample is started")
        p = app(place, "steady", "-r", 100, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        ok(wait_for(lambda: d.status()["sampler"]["on"], 20), "with one it is", d.text()[-500:])
        first = number_in(pid)
        os.kill(first, signal.SIGKILL)
        ok(wait_for(lambda: d.counter("sampler_starts") == 2 and d.status()["sampler"]["on"], 20), "killed, it is started again",
           d.status()["sampler"])
        d.ask("set sample=off")
        ok(wait_for(lambda: not d.status()["sampler"]["on"]) and "setting" in d.status()["sampler"]["why"], "a setting ends it",
           d.status()["sampler"])
        d.ask("set sample=on")
        ok(wait_for(lambda: d.status()["sampler"]["on"], 20), "and begins it again", d.status()["sampler"])
        last = number_in(pid)
        d.stop()
        ok(wait_for(lambda: not os.path.exists(f"/proc/{last}")), "it ends with aond")
        p.kill()
        p.communicate()


def missing():
    with Place() as place, alone(place) as d:
        p = app(place, "steady", "-r", 100, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        ok(wait_for(lambda: d.status()["sampler"]["why"] == "aon-sample is not installed", 5), "without the program the status says so",
           d.status()["sampler"])
        out = d.ask("budget") or ""
        ok("sample_cpu_percent" in out, "aon budget has its limit", out)
        p.kill()
        p.communicate()


stored()
names()
killed()
hostile()
child()
missing()
done()
