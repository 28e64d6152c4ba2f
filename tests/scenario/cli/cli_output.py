#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 long=yes
"""What aon prints: the right numbers, nothing that wraps or that a name could have planted,
JSON that is JSON, and a live screen that leaves the terminal as it was."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unicodedata

from aontest import Daemon, Place, app, done, find, ok, skip
from clitest import Terminal, aon, demangles, env_for, fixture, on_terminal, state

SGR = re.compile(rb"\x1b\[[0-9]*m")
MS = 1000000


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1
               for c in line)


def numbers(place, store):
    """Every number of the fixture, by hand."""
    r = json.loads(aon(place, "report", store, "--json").stdout)
    ok(r["schema"] == "aon.report/1" and len(r["processes"]) == 2, "the report's schema")
    row = {x["name"]: x for x in r["ranges"] + r["kernels"]}
    want = {"work": (40, 320, 120), "load": (40, 120, 120), "only": (1, 1, 1)}
    for name, (count, total, own) in want.items():
        x = row[name]
        ok((x["count"], x["total_ns"], x["self_ns"]) == (count, total * MS, own * MS),
           f"{name}: count, total and self time", x)
    ok(row["batch"]["span"] and row["batch"]["self_ns"] is None,
       "a started range is a span, with no self time", row["batch"])
    k = row["kernel_07"]
    ok(k["count"] == 40 and k["total_ns"] == 4 * MS and
       k["min_ns"] == k["max_ns"] == k["p50_ns"] == k["p99_ns"] == MS // 10,
       "a kernel: quantiles stay within what was seen", k)
    ok(len(r["kernels"]) == 14 and len(r["steps"]) == 40 and
       r["steps"][3]["dur_ns"] == 10 * MS and r["steps"][3]["step"] == 3, "kernels and steps")
    a = r["accounting"]
    ok(a["emitted"] == a["stored"] + a["lost"] + a["overwritten"] + a["in_flight"] == 1008 and
       a["lost_by"]["pool_full"] == 6, "the accounts of all processes add up", a)
    text = aon(place, "report", store).stdout.decode()
    step = [line.split()[-4:-1] for line in text.splitlines() if line.startswith("    ")][:4]
    ok([s[1:] for s in step] == [["3.0", "30"], ["3.0", "30"], ["2.0", "20"], ["2.0", "20"]],
       "a step is taken apart: 3 + 3 + 2 ms in ranges, 2 ms in none", text)
    ok("+ 4 more, 29 % together (--all)" in text, "what is folded is said", text)
    ok("more" not in aon(place, "report", store, "--all").stdout.decode(), "--all folds nothing")
    ok("1,000 emitted = 1,000 stored + 0 lost" in text and
       "8 emitted = 2 stored + 6 lost" in text and "6 pool_full" in text,
       "the accounting line is spelled out", text)
    lanes = json.loads(aon(place, "report", store, "--json", "--by", "lane").stdout)  # the word until 0.1
    ok({x["lane"] for x in lanes["kernels"]} == {"GPU 0 stream 7"} and
       {x["lane"] for x in lanes["ranges"]} == {"thread 100", "thread 200"},
       "--by lane names threads and streams")
    ok(b"4242" in aon(place, "report", store, "--by", "process").stdout, "--by process")
    one = json.loads(aon(place, "report", store, "--json", "--pid", "4343").stdout)
    ok([p["pid"] for p in one["processes"]] == [4343] and not one["kernels"], "--pid chooses")
    r = aon(place, "report", store, "--run", "none")
    ok(r.returncode == 1 and b"no run 'none'" in r.stderr, "a run that is not there", r)


SHOW = [["report"], ["report", "--all"], ["report", "--by", "track"], ["report", "--by", "process"]]


def commands(store):
    for args in SHOW:
        yield [args[0], store, *args[1:]]
    yield ["ps", "--all", "--store", store]
    yield ["top", "-1", "--all", "--store", store]
    yield ["store", "stat", store]
    yield ["store", "check", store]
    yield ["store", "journal", store]
    yield ["doctor"]
    yield ["help"]
    yield ["run", "--help"]


def widths(place, store):
    """On a terminal no line is wider than it; elsewhere names are whole."""
    for columns in (80, 100, 132, 60, 40):
        for args in commands(store):
            if columns < 80 and args[0] in ("help", "run"):
                continue
            out, _ = on_terminal(place, args, columns)
            lines = SGR.sub(b"", out).decode().replace("\r\n", "\n").split("\n")
            over = [x for x in lines if width(x) > min(columns, 100)]
            ok(lines and not over, f"{args[0]} {' '.join(map(str, args[2:]))}: fits {columns} columns",
               "\n".join(over))
    ok("long long long long" in aon(place, "report", store).stdout.decode(),
       "names are whole when stdout is not a terminal")
    listed = re.findall(r"^  (\w+(?: \w+)?)  ", aon(place, "help").stdout.decode(), re.M)
    over = [x for c in listed for x in aon(place, "help", *c.split()).stdout.decode().split("\n") if width(x) > 80]
    ok(len(listed) > 30 and not over, "what each command says of itself fits 80 columns", over)
    out, _ = on_terminal(place, ["report", store], 80)
    ok("…" in out.decode(), "names give way in their middle on a terminal", out)


def colours(place, store):
    out, _ = on_terminal(place, ["report", store], 80)
    ok(SGR.search(out), "colours on a terminal")
    for text, args, env in (("--no-color", ["--no-color"], {}), ("NO_COLOR", [], {"NO_COLOR": 1}),
                            ("TERM=dumb", [], {"TERM": "dumb"})):
        out, _ = on_terminal(place, ["report", store, *args], 80, **env)
        ok(b"\x1b" not in out and b"kernel_00" in out, f"{text}: none", out)
    ok(not SGR.search(aon(place, "report", store).stdout), "none in a pipe")
    for text, args, env in (("--ascii", ["--ascii"], {}), ("LC_ALL=C", [], {"LC_ALL": "C"})):
        r = aon(place, "report", store, *args, env=env)
        ok(r.stdout.isascii() and b"us" in r.stdout, f"{text}: ASCII only", r.stdout)


def hostile(place, store):
    """Names from a store plant nothing: no control byte, no bad UTF-8, no line of their own."""
    for args in commands(store):
        r = aon(place, *args)
        text = r.stdout.decode("utf-8", "strict")
        bad = [c for c in text if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f" or c == "\u202e"]
        ok(not bad and r.returncode == 0, f"{args[0]} {' '.join(map(str, args[1:2]))}: "
           "nothing planted in the text", repr(text))
    for args in (["report", store], ["ps", "--all", "--store", store], ["doctor"],
                 ["top", "--all", "--store", store], ["store", "stat", store],
                 ["store", "check", store], ["store", "journal", store], ["version"]):
        r = aon(place, *args, "--json")
        try:
            j = json.loads(r.stdout.decode("utf-8", "strict"))
        except ValueError as e:
            j = {"bad": str(e)}
        ok(r.returncode == 0 and str(j.get("schema", "")).startswith("aon.") and
           r.stdout.count(b"\n") == 1, f"{args[0]} --json is one valid object", r.stdout[:500])
    j = json.loads(aon(place, "report", store, "--json").stdout)
    ok(any("\x1b[2J" in x["name"] and "<script>" in x["name"] and "\ufffd" in x["name"]
           for x in j["ranges"]), "JSON keeps the name, escaped")
    d = json.loads(aon(place, "doctor", "--json").stdout)
    ok(all(c["status"] == "ok" or (c.get("consequence") and c.get("remedy")) for c in d["checks"]),
       "every line of doctor that is not ok has a consequence and a remedy", d)
    ok("host" not in d and "uid" not in d and os.uname().nodename not in
       json.dumps([c["text"] for c in d["checks"]]).split(), "doctor --json names nobody")


def unchanged(place, store):
    before = state(place.path)
    for args in commands(store):
        aon(place, *args)
    ok(state(place.path) == before, "reading changes nothing on disk",
       set(state(place.path)) ^ set(before))


def live(place):
    """top on a terminal: draws, answers keys, and leaves no trace."""
    with Daemon(place) as d:
        p = app(place, "emitter", "-j", 2000, "-k", "range", "-r", 2000, "-n", 60000)
        time.sleep(4)
        d.flush()
        r = aon(place, "ps")
        ok(r.returncode == 0 and b"emitter" in r.stdout and b"normal" in r.stdout,
           "ps shows who is connected", r)
        ps = json.loads(aon(place, "ps", "--json").stdout)["processes"]
        ok(len(ps) == 1 and ps[0]["pid"] == p.pid and ps[0]["connected"] and
           1500 < ps[0]["events_per_s"] < 2500, "ps --json: pid and rate of events", ps)
        t = Terminal([find("aon"), "top", "--delay", "0.5"], 80, 24, env_for(place), place.path)
        drawn = t.until(b"emitter") and t.until(b"[s] sort: total")
        ok(drawn and t.out.startswith(b"\x1b[?1049h"), "top draws on a screen of its own", t.out)
        t.send(b"s")
        ok(t.until(b"[s] sort: count"), "s changes the order", t.out)
        t.send(b"?")
        ok(t.until(b"next order"), "? helps", t.out)
        t.send(b"?/nothing-like-this\n")
        ok(t.until(b"No name contains"), "/ filters", t.out)
        t.read(1.5)
        before = len(t.out)
        t.read(2.2)
        each = (len(t.out) - before) / 4
        ok(each < 600, "a look writes only lines that changed", each)
        t.resize(60, 12)
        os.kill(t.pid, signal.SIGWINCH)
        t.read(1)
        rows = [int(x) for x in re.findall(rb"\x1b\[(\d+);1H", t.out[t.out.rfind(b"\x1b[2J"):])]
        ok(rows and max(rows) <= 12, "never more than one screen", rows)
        t.send(b"q")
        st = t.end()
        ok(st == 0 and t.out.endswith(b"\x1b[?25h\x1b[?1049l"), "q gives the terminal back", t.out[-80:])
        t = Terminal([find("aon"), "top"], 80, 24, env_for(place), place.path)
        t.until(b"emitter")
        os.kill(t.pid, signal.SIGTERM)
        st = t.end()
        ok(st is not None and os.WIFSIGNALED(st) and t.out.endswith(b"\x1b[?1049l"),
           "SIGTERM gives it back, too", (st, t.out[-80:]))
        j = json.loads(aon(place, "top", "--once", "--json").stdout)
        ok(j["processes"][0]["pid"] == p.pid and j["names"], "top --once --json", j)
        p.kill()
        p.wait()


def recover(place):
    """Pools of a node that died: what was committed comes back, to the record."""
    pools = place.path / "pools"
    pools.mkdir()
    with Daemon(place, {"pool_dir": pools}) as d:
        p = app(place, "emitter", "-j", 2000, "-k", "range", "-n", 1000, "-h", 60)
        time.sleep(1)
        os.kill(d.pid, signal.SIGSTOP)
        q = app(place, "emitter", "-k", "range", "-n", 1, "-h", 1)
        left = [x for x in os.listdir(pools) if x.endswith(".pool")]
        for x in (p, q):
            x.kill()
            x.wait()
        d.kill()
    if not left:
        skip("pools in files", "this aond made none")
        return
    pool = pools / left[0]
    before = pool.read_bytes()
    r = aon(place, "recover", pool, "-o", "saved.db", "--json")
    j = json.loads(r.stdout)["files"][0]
    ok(r.returncode == 0 and j["kind"] == "pool" and j["records"] == j["stored"] + j["lost"],
       "a left pool is read, and its numbers add up", r)
    ok(pool.read_bytes() == before, "the pool itself is only read")
    ok(aon(place, "store", "check", "saved.db").returncode == 0, "what was saved is a sound store")
    (pools / "cut.pool").write_bytes(before[:len(before) // 2])
    r = aon(place, "recover", pools / "cut.pool", "-o", "cut.db")
    ok(r.returncode == 0 and b"early" in r.stdout, "a pool that was cut: the rest is saved", r)
    (pools / "bad.pool").write_bytes(before[:8] + b"\xff" * 4088)
    r = aon(place, "recover", pools / "bad.pool", "-o", "bad.db")
    ok(r.returncode == 1 and r.stderr.count(b"\n") == 1 and not (place.path / "bad.db").exists(),
       "a pool with a bad head: one line, no file", r)


def demangled(place, store):
    """The store has the name that the compiler made, whoever reads it gets what was written."""
    if not demangles():
        skip("names of C++", "no libstdc++ here")
        return
    want = "void flash::run_kernel<512, at::native::Tile<float> >(at::native::Tile<float>)"
    r = json.loads(aon(place, "report", store, "--json").stdout)
    got = {k["name"]: k["class"] for k in r["kernels"]}
    ok(want in got and not any(n.startswith("_Z") for n in got), "report --json: names as they were written", got)
    ok(got.get(want) == "attention", "and the class, which only such a name tells", got)
    for args in (["report", "--all"], ["report", "--by", "kernel", "--all"], ["top", "--once", "--all", "--store"]):
        out = aon(place, *args, store).stdout.decode()
        ok("void flash::run_kernel<" in out and "_ZN" not in out, f"aon {' '.join(args)}: so, too", out)
    out = aon(place, "report", "--by", "class", store).stdout.decode()
    ok("attention" in out, "aon report --by class: so, too", out)
    for args in (["export", "--format", "kineto"], ["export", "--format", "csv"], ["diff", "--json", store]):
        out = aon(place, *args, store).stdout.decode()
        ok(want in out and "_ZN" not in out, f"aon {' '.join(map(str, args[:3]))}: so, too", out[-2000:])


def completions(place):
    script = place.path / "aon.bash"
    script.write_bytes(aon(place, "help", "--complete", "bash").stdout)

    def complete(*words):
        line = (f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; "
                "_aon; echo ${COMPREPLY[@]}")
        return subprocess.run(["bash", "-c", line], capture_output=True, text=True).stdout.split()

    ok(complete("aon", "rep") == ["report"] and "recover" not in complete("aon", "re"), "bash completes commands")
    ok("recover" in complete("aon", "store", "re") and complete("aon", "node", "ra") == ["rack"], "and their second words")
    ok(complete("aon", "node", "validate", "--hea") == ["--health"] == complete("aon", "validate", "--hea"), "and what those take, by either name")
    ok(complete("aon", "report", "--js") == ["--json"], "bash completes options")
    ok(complete("aon", "report", "--by", "t") == ["track"], "bash completes values")
    ok(complete("aon", "store", "ch") == ["check"], "bash completes operands")
    for shell, flag in (("zsh", "-n"), ("fish", "--no-execute")):
        path = place.path / f"aon.{shell}"
        path.write_bytes(aon(place, "help", "--complete", shell).stdout)
        if shutil.which(shell):
            r = subprocess.run([shell, flag, str(path)], capture_output=True)
            ok(r.returncode == 0 and not r.stderr, f"{shell} can read its completions", r)
        else:
            ok(b"report" in path.read_bytes(), f"there are completions for {shell}")


with Place() as p:
    s = fixture(p.path / "fixture.db")
    numbers(p, s)
    widths(p, s)
    colours(p, s)
    hostile(p, s)
    demangled(p, s)
    unchanged(p, s)
    completions(p)
    live(p)
with Place() as p:
    recover(p)
done()
