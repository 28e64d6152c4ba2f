# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 long=yes
"""Detectors tell what goes wrong while it does, once, and raise a short capture."""
import json
import os
import re
import socket
import struct
import subprocess
import time

import aonschema
from aontest import Daemon, Place, aon, app, done, emitted, find, ok, report, wait_for, wait_joined


def every(place):
    return json.loads(aon("alarms", "--json", place.store).stdout)["alarms"]


def alarms(place):
    """All but lost throughput: others on a busy machine really take time from a program, now and then."""
    return [a for a in every(place) if a["kind"] != "throughput_drop"]


def kinds(place):
    return [a["kind"] for a in alarms(place)]


def slower():
    with Place() as p, Daemon(p, {"escalate_s": 3}) as d:
        proc = app(p, "app_cost", "-s", 5, "-N", 4000, "-x", 0, "-j", 1500)
        tiers = set()

        def full():
            tiers.add((d.session(proc.pid) or {}).get("tier"))
            return "full" in tiers
        wait_for(full, 60)
        said = emitted(proc)
        d.flush()
        got = alarms(p)
        ok([a["kind"] for a in got] == ["step_slower"] and f"pid {proc.pid}" in got[0]["text"]
           and re.search(r"steps take 1[45]\.\d ms instead of (9\.\d+|10\.\d) ms", got[0]["text"]),
           "steps that take half as long again are told, with both times", f"{got} {said['steps']}")
        journal = aon("store", "journal", p.store).stdout
        ok("full" in tiers and "tier full for 3 s" in journal, "and recorded in full for a moment",
           f"{tiers} {journal}")
        text = aon("alarms", p.store)
        ok(text.returncode == 0 and "step_slower" in text.stdout, "as lines for people", text.stdout)
        ok(d.counter("alarms") == len(every(p)) and d.counter("captures_raised") == 1, "each is counted")


def collector(place, *events):
    """Says what a collector would: a HELLO, then events of the kernel's log."""
    def frame(kind, body):
        return struct.pack("<4sBBHI", b"AONt", kind, 1, 1, len(body)) + body
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(str(place.run / "telemetry.sock"))
    s.send(frame(1, struct.pack("<I", 1000) + b"test"))
    for word, line in events:
        s.send(frame(4, struct.pack("<QH", time.monotonic_ns(), len(word)) + word.encode() + line.encode()))
    return s


def faults():
    """An Xid becomes an alarm of the process that it names, once, and a capture."""
    with Place() as p, Daemon(p, {"escalate_s": 3}) as d:
        proc = app(p, "app_cost", "-s", 60, "-x", 0)
        wait_joined(d, proc.pid)
        line = f"NVRM: Xid (PCI:0000:3b:00): 79, pid={proc.pid}, name=app_cost, GPU has fallen off the bus."
        s = collector(p, ("xid", line), ("xid", line), ("ecc", "GPU 1: 2 uncorrected errors"), ("oom", "Out of memory: x"))
        wait_for(lambda: d.counter("telemetry_events") == 4)
        full = wait_for(lambda: (d.session(proc.pid) or {}).get("tier") == "full")
        d.flush()
        got = [a for a in every(p) if a["kind"] in ("xid", "ecc")]
        ok([a["kind"] for a in got] == ["xid", "ecc"], "an Xid and an error of memory are told, each once", got)
        ok(f"pid {proc.pid}" in got[0]["text"] and "0000:3b:00" in got[0]["text"] and "fallen off the bus" in got[0]["text"],
           "with the GPU, what it means and whose process it was", got)
        ok(full and d.counter("captures_raised") == 1, "that process is recorded in full for a moment")
        s.close()
        proc.kill()
        proc.communicate()


def kernel_log():
    """From a line of the kernel's log to the trace of what it did: aon-collect on a log that the test writes."""
    with Place() as p, Daemon(p, {"escalate_s": 1}) as d:
        root = p.path / "root"
        for name in ("dev", "proc", "sys"):
            (root / name).mkdir(parents=True)
        os.mkfifo(root / "dev/kmsg")
        log = os.open(root / "dev/kmsg", os.O_RDWR)
        proc = app(p, "app_cost", "-s", 60, "-x", 0)
        wait_joined(d, proc.pid)
        collect = subprocess.Popen([find("aon-collect"), "--run-dir", p.run, "--root", root, "--interval", "100", "host"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: d.counter("collectors") == 1)
            for n, line in enumerate(("usb 1-1: new device", f"NVRM: Xid (PCI:0000:3b:00): 31, pid={proc.pid}, name=app_cost, Ch 8, MMU Fault")):
                os.write(log, f"6,{n},5140900,-;{line}\n".encode())
                time.sleep(0.3)
            got = wait_for(lambda: [a for a in every(p) if a["kind"] == "xid"], 30) or []
            ok(len(got) == 1 and f"pid {proc.pid}" in got[0]["text"] and "Xid 31" in got[0]["text"] and "PCI:0000:3b:00" in got[0]["text"],
               "a line of the kernel's log is an alarm of the process that it names", got)
            wait_for(lambda: (d.session(proc.pid) or {}).get("tier") != "full")
            d.flush()
            rc, said, err = raised(p, "list")
            ok(rc == 0 and [(c["pid"], c["alarm"]) for c in said["captures"]] == [(proc.pid, "xid")], "and raised a capture", (rc, said, err))
            rc, said, err = raised(p, 1, "-o", "xid.csv")
            ok(rc == 0 and said["files"][0]["events"] > 0, "which is read as any other", (rc, said, err))
        finally:
            for x in (collect, proc):
                x.kill()
                x.wait()
            os.close(log)


def raised(p, *args):
    r = aon("capture", "--raised", *args, "--json", "--store", p.store, cwd=p.path)
    said = json.loads(r.stdout) if r.stdout else {}
    if args == ("list",):
        ok(not aonschema.check(said), "raised captures are listed as docs/json.md has it", aonschema.check(said))
    return r.returncode, said, r.stderr


def kept():
    """What an alarm's capture is of, and what was before it, outlives what comes after it, and aond's end."""
    with Place() as p, Daemon(p, {"escalate_s": 1, "store_max_mib": 8}) as d:
        proc = app(p, "app_cost", "-s", 5, "-N", 4000, "-x", 0, "-j", 1500)
        wait_for(lambda: d.counter("captures_raised"), 60)
        emitted(proc)
        d.flush()
        rc, said, err = raised(p, "list")
        got = said.get("captures", [{}])[0]
        ok(rc == 0 and got.get("alarm") in ("step_slower", "throughput_drop") and got["pid"] == proc.pid and
           got["to_ns"] - got["from_ns"] == 11 * 10**9, "captures that alarms raised are listed", (rc, said, err))
        rc, said, err = raised(p, 1, "-o", "before.csv")
        whole = said["files"][0]["events"]
        ok(rc == 0 and said["processes"][0]["first_step"] < 1500 < said["processes"][0]["last_step"],
           "what was before the alarm and after it is one trace", (rc, said, err))
        d.stop()
        d.start()
        emitted(app(p, "emitter", "-k", "noise", "-n", 1000000, "-r", 400000, "-j", 20000))
        d.flush()
        over = {x["pid"]: x["accounting"]["overwritten"] for x in report(p.store, "--all")["processes"]}
        rc, said, err = raised(p, 1, "-o", "after.csv")
        ok(sum(over.values()) > 0 and rc == 0 and said["files"][0]["events"] == whole,
           "it is kept while the recorder is written over, and through aond's end", (over, whole, said, err))
        rc, said, err = raised(p, 7, "-o", "none.csv")
        ok(rc == 1 and "there are 1 captures" in err, "one that is not there", err)


def bounded():
    """A second alarm within ten minutes raises no second capture, and escalate_s 0 none."""
    with Place() as p, Daemon(p, {"escalate_s": 0}) as d:
        emitted(app(p, "app_cost", "-s", 4, "-N", 4000, "-j", 1500))
        d.flush()
        ok(kinds(p) == ["step_slower"] and d.counter("captures_raised") == 0,
           "where captures are not wanted an alarm raises none", kinds(p))


def healthy():
    with Place() as p, Daemon(p) as d:
        emitted(app(p, "app_cost", "-s", 4, "-N", 4000, "-n", 30))
        d.flush()
        ok(not alarms(p), "a healthy program raises none", alarms(p))
        text = aon("alarms", p.store)
        ok(text.returncode == 0 and ("No alarm" in text.stderr) == (not every(p)), "which is said", (text, every(p)))


def hang():
    """Of two ranks one does not come, and none goes on until it was told: who waits for whom."""
    with Place() as p, Daemon(p, {"escalate_s": 0}) as d:
        env = {"TORCHELASTIC_RUN_ID": "j9", "WORLD_SIZE": 2}
        hold, let_go = os.pipe()
        procs = [app(p, "app_cost", "-s", 6, "-H", h, env={**env, "RANK": r}, stdin=hold)
                 for r, h in ((0, 501), (1, 500))]
        told = wait_for(lambda: kinds(p).count("hang") == 2 and alarms(p), 60)
        texts = [a["text"] for a in told or []]
        late = [t for t in texts if t.startswith("rank 1")]
        waits = [t for t in texts if t.startswith("rank 0")]
        ok(late and "has not come to collective 501" in late[0] and "step 500" in late[0],
           "the rank that does not come is named", texts)
        ok(waits and "waits in collective 501 for 1 of 2 ranks here: rank 1" in waits[0],
           "and who waits for it", texts)
        ok(all(t.endswith(", last launch the_last_kernel") for t in texts), "with what each launched last", texts)
        stacks = wait_for(lambda: [a for a in alarms(p) if a["kind"] == "hang_stacks"], 60) or [{}]
        ok("aon-stacks is not installed" in str(stacks) or
           stacks[0].get("ranks") == [0, 1] and any("(app_cost)" in f for f in stacks[0]["frames"]),
           "both stand at the same place, which is told once", stacks)
        ok(procs[0].poll() is None and procs[1].poll() is None, "while they still hang")
        os.close(let_go)
        for x in procs:
            emitted(x)
        d.flush()
        ok(kinds(p).count("hang_over") == 2, "that it is over is told, too", kinds(p))


def killed():
    """Of two ranks one is killed: the record of its last step says that it is gone, and the diagnosis names it."""
    with Place() as p, Daemon(p, {"escalate_s": 0, "hang_stacks": "off"}) as d:
        env = {"TORCHELASTIC_RUN_ID": "j10", "WORLD_SIZE": 2}
        hold, let_go = os.pipe()
        procs = [app(p, "app_cost", "-s", 6, "-H", h, "-x", 0, env={**env, "RANK": r}, stdin=hold) for r, h in ((0, 401), (1, 400))]

        def records(where):
            d.flush()
            r = aon("sql", "--json", f"select rank, gone, partial from step_record where {where}", p.store)
            return json.loads(r.stdout)["rows"] if r.returncode == 0 else []
        wait_for(lambda: (d.session(procs[1].pid) or {}).get("step", 0) or records("rank = 1"), 60)
        wait_for(lambda: len(records("rank = 1 and step >= 384")) > 0, 60)
        procs[1].kill()
        procs[1].wait()
        gone = wait_for(lambda: records("gone"), 60)
        ok(gone == [[1, 1, 1]] or gone == [[1, True, True]], "a rank that was killed is gone in its last record, when another waits", (gone, records("partial")))
        steps = p.path / "job.steps"
        aon("export", "-o", steps, p.store)
        r = aon("diagnose", "--json", steps)
        f = json.loads(r.stdout)["recordings"][0]["findings"] if r.returncode == 0 else r.stderr
        ok(f and f[0]["kind"] == "crash" and f[0]["component"] == ["rank:1"], "and named as the cause of the hang", f)
        os.close(let_go)
        emitted(procs[0])


slower()
kept()
bounded()
healthy()
hang()
killed()
faults()
kernel_log()
done()
