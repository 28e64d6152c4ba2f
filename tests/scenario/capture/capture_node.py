# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""aon capture by aond: past and future in one trace, ranks at the same steps, whatever goes wrong."""
import csv
import io
import json
import signal
import struct
import subprocess

import aonschema
from aontest import (Daemon, Place, account_of, accounts, aon, app, app_env, balanced, check, done,
                     find, ok, skip, wait_for, wait_joined)

MARKS = 20  # of a step
CALM = {"escalate_s": 0}  # no capture but ours


def ranks(p, n=2, seconds=60, *more):
    """Programs of n ranks, each with a step in 10 ms and MARKS marks in it; they are ended by us."""
    env = {"TORCHELASTIC_RUN_ID": "j9", "WORLD_SIZE": n}
    return [app(p, "app_cost", "-s", seconds, "-r", "-b", 1000, "-p", 9000, "-e", MARKS, *more, env={**env, "RANK": r})
            for r in range(n)]


def stop(procs):
    for x in procs:
        x.kill()
        x.communicate()


wrong = []  # what is not as docs/json.md says


def command(p, *args):
    return [find("aon"), "capture", *map(str, args)]


def capture(p, *args, **kw):
    """(exit status, JSON or {}, stderr)"""
    r = subprocess.run(command(p, "--json", *args), env=app_env(p), cwd=p.path, capture_output=True, text=True,
                       timeout=120, **kw)
    said = json.loads(r.stdout) if r.stdout else {}
    wrong.extend(aonschema.check(said) if said else [])
    return r.returncode, said, r.stderr


def begin(p, *args):
    """The same, not waited for."""
    return subprocess.Popen(command(p, *args), env=app_env(p), cwd=p.path, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


def tiers(d, procs):
    return {(d.session(x.pid) or {}).get("tier") for x in procs}


def steps_seen(d, procs, n):
    """Until aond has seen n steps of each."""
    return wait_for(lambda: all((d.session(x.pid) or {}).get("emitted", 0) > n * (MARKS + 1)
                                for x in procs), 60)


def new_steps(d, procs, n):
    """Until aond has seen n more steps of each than it has of any now."""
    return steps_seen(d, procs, n + max(d.session(x.pid)["emitted"] for x in procs) // (MARKS + 1))


def past_and_future(p, d, procs):
    steps_seen(d, procs, 60)
    rc, said, err = capture(p, "--job", "j9", "--steps", 10, "--before", "500ms", "-o", "a.csv")
    got = said.get("processes", [])
    ok(rc == 0 and len(got) == 2 and not err, "two ranks are captured with their past", (rc, said, err))
    ok(len({(x["first_step"], x["last_step"]) for x in got}) == 1 and got[0]["last_step"] - got[0]["first_step"] > 10,
       "their traces begin and end with the same steps, of which the past is a part", got)
    events = rows(p.path / "a.csv")
    for x in got:
        mine = [e for e in events if e["rank"] == str(x["rank"])]
        numbers = sorted(int(e["value"]) for e in mine if e["kind"] == "step")
        marks = sorted((int(e["start_ns"]), int(e["correlation"] or 0)) for e in mine if e["kind"] == "mark")
        ok(numbers == list(range(x["first_step"], x["last_step"] + 1)) and
           [i for _, i in marks] == list(range(MARKS)) * len(numbers),
           f"rank {x['rank']}: every step and every mark of it is there once: no gap, no duplicate",
           (x, numbers, len(marks)))
    ok(all(x["lost"] == 0 and x["emitted"] >= 10 * (MARKS + 1) for x in got), "nothing of it was lost", got)
    ok(wait_for(lambda: tiers(d, procs) == {"flight"}), "afterwards they are where they were", tiers(d, procs))
    text = aon("store", "journal", p.store).stdout
    ok("number 1, 10 steps and 500 ms before, for user" in text and f"{procs[0].pid}" in text,
       "the journal says who captured what", text)


def ends(p, d, procs):
    rc, said, err = capture(p, "--rank", 1, "--duration", "200ms", "-o", "b.pftrace")
    got = said.get("processes", [])
    ok(rc == 0 and [x["rank"] for x in got] == [1] and got[0]["to_ns"] - got[0]["from_ns"] == 200_000_000,
       "one rank by time", (rc, said, err))
    rc, said, err = capture(p, "--pid", procs[0].pid, "--steps", 3, "-o", "c.json")
    ok(rc == 0 and said["format"] == "kineto" and said["files"][0]["events"] == 3 * (MARKS + 1),
       "three steps are three steps, in another format", (rc, said, err))
    rc, said, err = capture(p, "--steps", 3, "-o", "d.json")
    ok(rc == 2 and "-o DIR/" in err and not (p.path / "d.json").exists(),
       "a format of one rank is refused before two are captured", (rc, err))
    rc, said, err = capture(p, "--steps", 3, "-o", "each/", "--format", "kineto")
    ok(rc == 0 and len(list((p.path / "each").iterdir())) == 2, "in a folder each has a file", (rc, said, err))
    rc, said, err = capture(p, "--steps", 3, "-o", "c.json")
    ok(rc == 1 and "exists already" in err, "nothing is written over", err)
    rc, said, err = capture(p, "--pid", 1, "--steps", 3)
    ok(rc == 1 and "no such process" in err, "a process that aond does not know", err)
    for args in (["--steps", "0"], ["--duration", "5"], ["--steps", "2", "--duration", "1s"], ["--rank", "x"],
                 ["--store", p.store, "--steps", "2"], ["--from-step", "7"], ["--kineto", "--before", "1s"], ["now"], ["--cancel", "x"]):
        ok(capture(p, *args)[0] == 2, f"misuse: {' '.join(map(str, args))}")


def two_at_once(p, d, procs):
    a = begin(p, "--duration", "1500ms", "-o", "t1.csv")
    wait_for(lambda: tiers(d, procs) == {"full"})
    rc, said, err = capture(p, "--steps", 2, "-o", "t2.csv")
    ok(rc == 0 and len(said["processes"]) == 2, "a second capture beside the first", (rc, err))
    ok(a.poll() is not None or tiers(d, procs) == {"full"}, "ends without ending the first", tiers(d, procs))
    out, err = a.communicate(timeout=60)
    ok(a.returncode == 0 and rows(p.path / "t1.csv"), "which has its own trace", (out, err))
    ok(wait_for(lambda: tiers(d, procs) == {"flight"}), "then both are over", tiers(d, procs))


def cancelled(p, d, procs):
    for how in ("SIGINT", "SIGKILL", "--cancel"):
        c = begin(p, "--duration", "60s", "-o", f"{how}.csv")
        up = wait_for(lambda: tiers(d, procs) == {"full"})
        listed = json.loads(aon("capture", "--list", "--json", env=app_env(p)).stdout)
        wrong.extend(aonschema.check(listed))
        listed = listed["captures"]
        if how == "--cancel":
            r = aon("capture", "--cancel", listed[0]["id"], env=app_env(p))
            ok(r.returncode == 0, "a capture can be cancelled by its number", r)
        else:
            c.send_signal(getattr(signal, how))
        err = c.communicate(timeout=60)[1]
        ok(up and len(listed) == 1 and listed[0]["processes"] == 2, f"{how}: before, it is listed", listed)
        ok(wait_for(lambda: tiers(d, procs) == {"flight"}) and not (p.path / f"{how}.csv").exists(),
           f"{how}: nothing is left of it", tiers(d, procs))
        if how != "SIGKILL":
            ok(c.returncode == 1 and ("interrupted" in err or "was cancelled" in err), f"{how}: and it says so", err)
    r = aon("capture", "--cancel", 4711, env=app_env(p))
    ok(r.returncode == 1 and "no capture 4711" in r.stderr, "what is not there cannot be cancelled", r)


def app_dies(p, d, procs):
    c = begin(p, "--steps", 100000, "-o", "dies.csv")
    wait_for(lambda: tiers(d, procs) == {"full"})
    new_steps(d, procs, 5)  # of which the capture has some
    for x in procs:
        x.kill()
    err = c.communicate(timeout=60)[1]
    ok(c.returncode == 1 and err.count("ended during the capture") == 2 and rows(p.path / "dies.csv"),
       "programs that are killed: what they did until then is there", err)
    rc, said, err = capture(p, "--before", "300s", "--duration", "1ms", "-o", "after.csv")
    ok(rc == 1 and err.count("its past alone is in the trace") == 2 and rows(p.path / "after.csv"),
       "of programs that have ended, the past is", err)
    rc, said, err = capture(p, "--duration", "1ms", "-o", "gone.csv")
    ok(rc == 1 and "no such process" in err, "and nothing else", err)


def aond_dies():
    with Place() as p, Daemon(p, CALM) as d:
        procs = ranks(p)
        steps_seen(d, procs, 20)
        c = begin(p, "--duration", "60s", "-o", "x.csv")
        wait_for(lambda: tiers(d, procs) == {"full"})
        d.kill()
        err = c.communicate(timeout=60)[1]
        ok(c.returncode == 1 and "aond has ended during the capture" in err and not (p.path / "x.csv").exists(),
           "aond is killed: the capture says so", err)
        ok(check(p.store), "what it had stored is whole")
        d.start()
        ok(all(wait_joined(d, x.pid, 30) for x in procs) and tiers(d, procs) == {"flight"},
           "with the next one the programs are in no capture", tiers(d, procs))
        rc, said, err = capture(p, "--steps", 2, "-o", "y.csv")
        ok(rc == 0 and len(rows(p.path / "y.csv")) == 2 * 2 * (MARKS + 1), "and can be captured", (rc, said, err))
        stop(procs)
        d.flush()
        ok(all(map(balanced, accounts(p.store))), "every account adds up", accounts(p.store))


def no_steps(p, d):
    x = app(p, "emitter", "-t", 1, "-n", 100, "-h", 60)
    wait_joined(d, x.pid)
    rc, said, err = capture(p, "--pid", x.pid, "--steps", 2, "--timeout", 1, "-o", "n.csv")
    ok(rc == 1 and "has no steps" in err, "of a program without steps none can be captured, which is said", err)
    x.kill()
    x.communicate()


def ring():
    """A recorder that is too small for the time that is asked for."""
    with Place() as p, Daemon(p, {**CALM, "store_max_mib": 8}) as d:
        x = app(p, "emitter", "-k", "noise", "-n", 1000000, "-r", 300000, "-j", 20000, "-h", 120)
        wait_for(lambda: d.flush() and overwritten(p), 90)
        rc, said, err = capture(p, "--duration", "10ms", "--before", "600s", "-o", "r.csv")
        got = said.get("processes", [{}])[0]
        # The store itself is as small: while a slow reader holds its log, it may take no more for a moment, which is said, too.
        ok((rc == 0 or "store could not take" in err) and "no longer holds the first" in err and got.get("held_from_ns", 0) > got["from_ns"],
           "what the recorder no longer holds is said", (rc, said, err))
        x.kill()
        x.communicate()
        d.flush()
        rc, said, err = capture(p, "--before", "600s", "-o", "s.csv")
        held = account_of(p.store, x.pid)[0]["stored"]
        ok(rc == 0 and said["files"][0]["events"] == held == len(rows(p.path / "s.csv")),
           "what it holds is in the trace, to the record", (held, said, err))


def disk_full():
    with Place() as p:
        small = p.path / "small"
        small.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", small], capture_output=True).returncode:
            skip("a disk that fills up during a capture", "mount is not possible")
            return
        p.store = small / "store.db"
        try:
            with Daemon(p, CALM) as d:
                fills_up(p, d, small / "filler")
        finally:
            subprocess.run(["umount", "-l", small])


def fills_up(p, d, filler):
    procs = ranks(p)
    steps_seen(d, procs, 20)
    c = begin(p, "--duration", "2500ms", "-o", "full.csv")
    wait_for(lambda: tiers(d, procs) == {"full"})
    with open(filler, "wb", buffering=0) as f:
        try:
            while f.write(b"x" * 65536):
                pass
        except OSError:
            pass
    err = c.communicate(timeout=60)[1]
    ok(c.returncode == 1 and "could not take all records: No space left" in err, "the disk is full: it says so", err)
    ok(d.alive() and wait_for(lambda: tiers(d, procs) == {"flight"}), "and nothing goes on", d.text())
    filler.unlink()
    ok(wait_for(lambda: d.flush() == "ok\n", 60), "with room again aond stores again", d.text())
    # What gathered meanwhile is drained: the steps of the capture are new ones.
    new_steps(d, procs, 20)
    rc, said, err = capture(p, "--steps", 2, "-o", "room.csv")
    ok(rc == 0 and len(rows(p.path / "room.csv")) == 2 * 2 * (MARKS + 1), "and captures", (rc, said, err))
    stop(procs)
    d.flush()
    ok(check(p.store) and all(map(balanced, accounts(p.store))), "what is stored is whole, every account adds up",
       accounts(p.store))


def clock_steps():
    """The wall clock is set while a capture runs: it goes by another one."""
    with Place() as p:
        step = p.path / "step"
        step.write_bytes(struct.pack("<q", 0))
        env = {"LD_PRELOAD": find("wallclock.so"), "WALLCLOCK": str(step),
               "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
        with Daemon(p, CALM, env=env) as d:
            procs = ranks(p)
            steps_seen(d, procs, 60)
            c = begin(p, "--steps", 250, "--before", "300ms", "--json", "-o", "w.csv")
            wait_for(lambda: tiers(d, procs) == {"full"})
            for s in (3600, -3600):
                step.write_bytes(struct.pack("<q", s))
                seen = d.text().count("wall clock moved")
                wait_for(lambda: d.text().count("wall clock moved") > seen or c.poll() is not None, 30)
            out, err = c.communicate(timeout=60)
            got = json.loads(out)["processes"]
            events = rows(p.path / "w.csv")
            ok(c.returncode == 0 and not err and "wall clock moved" in d.text() and
               all(sum(e["kind"] == "step" and e["rank"] == str(x["rank"]) for e in events) ==
                   x["last_step"] - x["first_step"] + 1 > 250 for x in got),
               "a wall clock that steps by an hour, there and back, changes nothing", (out, err))
            stop(procs)


def overwritten(p):
    return sum(a["overwritten"] for a in accounts(p.store))


def from_step(p, d):
    procs = ranks(p)
    steps_seen(d, procs, 20)
    at = int(d.ask("capture jobs").split("\t")[2]) + 60
    rc, said, err = capture(p, "--steps", 3, "--from-step", at, "-o", "from.csv")
    ok(rc == 0 and {(x["first_step"], x["last_step"]) for x in said["processes"]} == {(at, at + 2)},
       "steps that are still to come, by their number", (rc, at, said, err))
    stop(procs)


def main():
    with Place() as p, Daemon(p, CALM) as d:
        procs = ranks(p)
        past_and_future(p, d, procs)
        ends(p, d, procs)
        two_at_once(p, d, procs)
        cancelled(p, d, procs)
        app_dies(p, d, procs)
        stop(procs)
        no_steps(p, d)
    aond_dies()
    disk_full()
    clock_steps()
    ring()
    with Place() as p, Daemon(p, CALM) as d:
        from_step(p, d)
    ok(not wrong, "what captures say is as docs/json.md has it", wrong)
    done()


if __name__ == "__main__":
    main()
