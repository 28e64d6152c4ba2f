# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 needs=strace,pgrep
"""The disk fails or fills, or the store is not one when aond starts: aond goes on, counts what the
disk refused, and is itself again when the disk is."""
import itertools
import os
import signal
import sqlite3
import subprocess
import time

from aontest import *


# --- a disk that is really full ---

def full_disk():
    with Place() as place:
        disk = place.path / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", disk],
                          capture_output=True).returncode:
            return skip("a full disk", "may not mount a tmpfs")
        try:
            place.store = disk / "store.db"
            with Daemon(place) as d:
                full_disk_in(place, disk, d)
        finally:
            subprocess.run(["umount", "-l", disk])


def full_disk_in(place, disk, d):
    p = app(place, "steady", "-r", 100000, "-k", "range", "-w", stdin=subprocess.PIPE)
    wait_joined(d, p.pid)
    filler = disk / "filler"
    with open(filler, "wb") as f:
        try:
            while True:
                f.write(bytes(65536))
                f.flush()
        except OSError:
            pass
    ok(wait_for(lambda: d.counter("store_errors"), 15), "a full disk is noticed and counted",
       d.text()[-1500:])
    ok(d.alive() and d.ping(), "aond lives and answers on a full disk")
    filler.unlink()
    n = d.counter("commits")
    ok(wait_for(lambda: d.counter("commits") > n + 1, 40), "it writes again when there is space",
       d.text()[-1500:])
    e = finish(p)
    d.flush()
    a = accounts(place.store)
    same(a, e, "full disk: emitted is exact")
    ok(sum(lost(x, "store") for x in a) > 0, "what the disk refused is counted as store", a)
    ok(d.stop() == 0 and check(place.store), "the store is whole afterwards",
       check_text(place.store))


# --- a call of the writer fails ---

FAULTS = [("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fdatasync", "EIO"), ("write", "ENOSPC"),
          ("fallocate", "ENOSPC"), ("ftruncate", "EIO"), ("mmap", "ENOMEM"), ("fsync", "EIO"),
          ("openat", "EMFILE")]
READS = [("pread64", "EIO")]


def failing_calls(seconds, faults, whens):
    """One program throughout; each aond has one fault: once, or from then on. LeakSanitizer and
    strace do not go together."""
    env = {"ASAN_OPTIONS": "detect_leaks=0"}
    ends = []
    with Place() as place, Daemon(place) as d:
        p = app(place, "steady", "-r", 20000, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        ok(d.stop() == 0, "an aond before the faults ends well")
        end, n = time.monotonic() + seconds, 0
        for when, more, (call, err) in itertools.product(whens, ("", "+"), faults):
            if time.monotonic() > end:
                break
            n += 1
            f = Daemon(place, start=False, env=env,
                       wrap=("strace", "-f", "-qq", "-o", "/dev/null", "-e",
                             f"inject={call}:error={err}:when={when}{more}"))
            before = f.text()
            f.start(wait=0.8)
            time.sleep(0.9)
            if f.alive():
                wait_for(lambda: f.pid != f.proc.pid or not f.alive(), 5)  # strace has begun it
                os.kill(f.pid, signal.SIGTERM)
            try:
                code = f.proc.wait(timeout=30)
            except subprocess.TimeoutExpired:
                code = "hangs"
                f.kill_all()
            # It may refuse to start without a store, or end because of it: in words, never by a
            # signal. Before aond has said anything 127 and SIGSEGV are the loader's.
            began = "level=" in f.text()[len(before):]
            if code not in (0, 1) and (began or code not in (127, -11)):
                ends.append((call, err, f"{when}{more}", code))
        what = ", ".join(sorted({c for c, _ in faults}))
        ok(not ends, f"{n} faults of {what}: aond ends by itself, in words", ends)
        d.start()
        ok(wait_joined(d, p.pid), "the program is back when the disk is well", d.text()[-1500:])
        e = finish(p)
        d.flush()
        aside = list(place.path.glob("store.db.bad-*"))
        # What cannot be read is as good as damaged; what cannot be written is not.
        ok(faults is READS or not aside, "a good store is not put aside because a write failed",
           f"{aside}\n{d.text()}")
        same(accounts(place.store), e, "failing calls: emitted is exact")
        ok(d.stop() == 0 and check(place.store), "the store is whole afterwards",
           check_text(place.store))


def failing_commits(seconds):
    """The n-th write of a commit fails, for each n: aond says so, counts, and recovers alone."""
    hits, hung = 0, []
    with Place() as place, Daemon(place) as d:
        p = app(place, "steady", "-r", 20000, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        end = time.monotonic() + seconds
        live = {(c, e, m) for c, e in COMMIT for m in ("", "+")}
        for n in range(1, 200):
            for f in sorted(live):
                if time.monotonic() > end:
                    break
                if not fail_one(d, *f, n):
                    live.discard(f)  # no commit makes so many
                    continue
                hits += 1
                if not wait_for(lambda: (d.flush() or "").startswith("ok"), 35):
                    hung.append((f, n, d.text()[-300:]))
        ok(hits > 3 and not hung, f"{hits} commits failed: aond recovered from each alone", hung)
        ok(d.counter("store_errors") >= hits, "each is counted", d.status()["counters"])
        e = finish(p)
        d.flush()
        a = accounts(place.store)
        same(a, e, "failing commits: emitted is exact")
        ok(lost(a[0], "store") > 0 and lost(a[0]) == lost(a[0], "store"),
           "what they held is counted as store, and nothing else is lost", a)
        ok(d.stop() == 0 and check(place.store), "the store is whole afterwards",
           check_text(place.store))


COMMIT = [("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fdatasync", "EIO"), ("ftruncate", "EIO")]


def fail_one(d, call, err, more, n):
    """Did the commit fail?"""
    s = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-e",
                          f"inject={call}:error={err}:when={n}{more}", "-p", str(d.pid)],
                         stderr=subprocess.PIPE, text=True)
    s.stderr.readline()
    answer = d.flush() or ""
    s.send_signal(signal.SIGINT)
    s.wait(10)
    s.stderr.close()
    return answer.startswith("error")


# --- not a store, or a damaged one, at the start ---

def damage(good):
    """name: (bytes to start with, is there something to recover?)."""
    page = 4096
    mid = len(good) // page // 2 * page
    yield "an empty file", b"", False
    yield "text", b"not a store\n" * 500, False
    yield "another SQLite file", foreign(), False
    yield "a newer version", good[:60] + (999).to_bytes(4, "big") + good[64:], False
    yield "a store cut in half", good[:mid], True
    yield "a store cut in its head", good[:50], False
    yield "a page of zeros", good[:mid] + bytes(page) + good[mid + page:], True
    yield "a damaged schema", good[:100] + bytes(200) + good[300:], True
    yield "noise behind the head", good[:100] + os.urandom(len(good) - 100), False


def foreign():
    with Place() as place:
        db = sqlite3.connect(place.store)
        db.execute("create table t(x)")
        db.execute("insert into t values(1)")
        db.commit()
        db.close()
        return place.store.read_bytes()


def good_store():
    with Place() as place, Daemon(place) as d:
        p = app(place, "steady", "-n", 60000, "-k", "name", "-s", 9, stdin=subprocess.PIPE)
        emitted(p)
        d.flush()
        d.stop()
        return place.store.read_bytes()


def bad_stores():
    good = good_store()
    for name, data, some in damage(good):
        with Place() as place:
            place.store.write_bytes(data)
            with Daemon(place) as d:
                up = ok(d.ping(), f"{name}: aond starts", d.text())
                aside = sorted(place.path.glob("store.db.bad-*"))
                used = not aside  # a page that nothing reads at the start is found by `check`
                if not used:
                    ok(aside[0].read_bytes() == data, f"{name}: it is put aside as it was")
                    ok(aside[0].name in d.text(), f"{name}: the log says where and why", d.text())
                    d.flush()
                    j = aon("store", "journal", place.store)
                    ok(aside[0].name in j.stdout, f"{name}: the journal says so",
                       j.stdout + j.stderr)
                else:
                    ok(some or name == "an empty file", f"{name}: it is used as it is", d.text())
                if up:
                    p = app(place, "steady", "-n", 500, stdin=subprocess.PIPE)
                    e = emitted(p)
                    d.flush()
                    same(account_of(place.store, p.pid), e, f"{name}: the next program is recorded")
            if some:
                out = place.path / "saved.db"
                r = aon("recover", aside[0] if aside else place.store, "-o", out)
                ok(r.returncode == 0 and check(out), f"{name}: aon recover saves the good part",
                   r.stdout + r.stderr)


bad_stores()
full_disk()
failing_commits(1200 if LONG else 12)
failing_calls(3600 if LONG else 9, FAULTS, range(1, 120) if LONG else (12, 3))
failing_calls(600 if LONG else 4, READS, range(1, 60) if LONG else (7, 12))
done()
