# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""Names come from programs: too many of them cost nothing, and bad ones come out clean."""
import json
import os
import re
import subprocess

from aontest import *
from aonraw import Raw, record

TABLES, QUEUE, POOL = 24, 16, 10  # MiB: what 20,000 names may cost, and the budgets beside it


def many():
    n = 1000000 if LONG else 300000
    with Place() as place, Daemon(place, sets={"names_max": 20000, "pool_kib": 8192,
                                               "pool_small_kib": 1024}) as d:
        base = d.status()["memory"]["rss_kib"]
        e = emitted(app(place, "steady", "-k", "name", "-n", n, "-s", 60, stdin=subprocess.PIPE))
        d.flush()
        s = d.status()
        same(accounts(place.store), e, f"{n} names of libaon: emitted is exact")
        # libaon's own table is full long before: the rest are (other) from the start.
        raw_names(place, d, 200000)
        s = d.status()
        names = json.loads(aon("store", "stat", place.store, "--json").stdout)["names"]
        ok(1000 < names <= 20000, "distinct names stay under names_max", names)
        ok(s["counters"]["names_other"] > 0, "what is over it reads (other), and is counted")
        grown = (s["memory"]["rss_kib"] - base) / 1024
        ok(SANITIZED or grown < TABLES + QUEUE + POOL, f"memory is bounded: {grown:.1f} MiB more",
           s["memory"])
        d.flush()
        text = aon("report", place.store, "--all", "--json").stdout
        ok("(other)" in text, "the report has a row (other)")
        ok(d.stop() == 0 and check(place.store), "the store is whole", check_text(place.store))


def raw_names(place, d, n):
    """A peer that writes new names over its heap again and again."""
    r = Raw(place, timeout=30)
    r.join()
    total_, made = 0, 0
    while made < n:
        start, batch = 64, []
        used = start
        while used + 64 < r.heap_bytes and len(batch) < 12000:
            name_id = r.name(b"n-%x" % made, at=used)
            batch.append(record(name=name_id))
            made += 1
            used += 16
        total_ += r.emit(batch)
        d.flush()
    same(account_of(place.store, os.getpid()), {"emitted": total_},
         f"{made} names of a peer that reuses its heap: emitted is exact")
    r.close()


EVIL = {
    "escapes": b"\x1b[31mred\x1b]0;title\x07\x9b2J",
    "newlines": b"one\ntwo\r\nthree\tfour",
    "a NUL": b"be\x00hind",
    "bad UTF-8": b"\xff\xfe\xc0\xaf\xed\xa0\x80 \xf8\x88\x80\x80\x80",
    "markup": b"<script>alert(1)</script>&amp;\"'",
    "quotes": b"\"},{\"evil\":1,\"x\":\"\\",
    "a format": b"%s%n%1000000d",
    "SQL": b"'); DROP TABLE name;--",
    "C1": "\u009b2J\u0085".encode(),
    "direction": "\u202ereversed\u2066".encode(),
    "the longest": b"L" * 2047,
    "one byte": b".",
    "blank": b"   ",
}
TURNS = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # never, in JSON either
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f" + TURNS + "]")


def evil():
    with Place() as place, Daemon(place) as d:
        r = Raw(place)
        r.join(run=b"\x1b[31m\xff<b>", library=b"\n\x1b[2J\xfe")
        n = r.emit([record(name=r.name(t)) for t in EVIL.values()])
        r.say(b"AONM\x04\x00\xa8\x00" + b"\x1b[31mcuda\xff\n".ljust(16) + b"on".ljust(16) +
              b"\x1b]0;x\x07<script>".ljust(128))
        d.flush()
        text = d.ask("status")
        ok(json.loads(text), "aond's status parses")
        ok(not RAW.search(text.rstrip("\n")), "and is clean", repr(text[:600]))
        for cmd in (["report", place.store, "--all"], ["report", place.store, "--all", "--wide"],
                    ["ps", "--store", place.store, "--wide"], ["store", "stat", place.store],
                    ["top", "--once", "--store", place.store, "--all"]):
            words = " ".join(str(c) for c in cmd if c != place.store)
            t = aon(*cmd)
            ok(t.returncode == 0 and not CONTROL.search(t.stdout), f"aon {words}: text is clean",
               repr(CONTROL.findall(t.stdout)) + t.stdout[:1500] + t.stderr)
            j = aon(*cmd, "--json")
            try:
                json.loads(j.stdout)
                good = j.returncode == 0 and not RAW.search(j.stdout.rstrip("\n"))
            except ValueError as e:
                good = False
                j.stderr += str(e)
            ok(good, f"aon {words} --json: parses, clean",
               repr(RAW.findall(j.stdout)) + repr(j.stdout[:600]) + j.stderr)
        a = accounts(place.store)
        same(a, {"emitted": n}, "emitted is exact")
        ok(a[0]["stored"] == n == len(EVIL), "all of them are stored", a)
        names = json.dumps(report(place.store, "--all"))
        ok("<script>" in names or "\\u003cscript" in names, "markup stays what it is in JSON text")
        log = d.text()
        ok(not CONTROL.search(log), "the log is clean", repr(log[-800:]))
        r.close()


evil()
many()
done()
