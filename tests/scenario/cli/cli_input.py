#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""Bad input to every command: one line that says what and what to do, exit 1 or 2, and nothing
changed on disk."""
import os
import socket
import sqlite3
import subprocess
import threading

from aontest import Place, done, find, ok, skip
from clitest import aon, env_for, fixture, state


def bad_stores(place):
    """Every kind of file that is no store to read. {what: (path, a word of the message)}"""
    d = place.path / "bad"
    d.mkdir()
    good = (place.path / "good.db").read_bytes()

    def put(name, data):
        (d / name).write_bytes(data)
        return d / name

    newer = put("newer.db", good[:60] + b"\0\0\0\x63" + good[64:])
    foreign = d / "foreign.db"
    with sqlite3.connect(foreign) as db:
        db.execute("create table t(a)")
    os.mkfifo(d / "fifo.db")
    (d / "dir.db").mkdir()
    (d / "loop.db").symlink_to("loop.db")
    return {
        "missing": (d / "missing.db", "No such file"),
        "empty": (put("empty.db", b""), "empty"),
        "text": (put("text.db", b"hello\n" * 100), "not an aon store"),
        "one byte": (put("one.db", b"S"), ""),
        "truncated": (put("cut.db", good[:len(good) // 2]), "cut short"),
        "cut in its head": (put("head.db", good[:50]), "cut short"),
        "another's SQLite": (foreign, "not an aon store"),
        "a newer version": (newer, "newer"),
        "a pipe": (d / "fifo.db", "not a file"),
        "a directory": (d / "dir.db", ""),
        "a link to itself": (d / "loop.db", ""),
        "a device": ("/dev/null", ""),
    }


def one_line(r, cmd):
    err = r.stderr.decode()
    return (err.count("\n") == 1 and err.endswith("\n") and err.startswith(f"aon {cmd}: ")
            and r.stdout == b"" and "\x1b" not in err)


def refuse(place, text, cmd, args, code, word="", **kw):
    """The command fails as it should, and the place is as it was."""
    before = state(place.path)
    r = aon(place, cmd, *args, **kw)
    same = state(place.path) == before
    ok(r.returncode == code and one_line(r, cmd) and word in r.stderr.decode() and same, text,
       f"aon {cmd} {args}: exit {r.returncode}, same {same}\n{r.stdout!r}\n{r.stderr!r}")


def stores(place):
    for what, (path, word) in bad_stores(place).items():
        other = "export" if word == "not an aon store" else word  # report reads traces, too
        refuse(place, f"report: {what}", "report", [path], 1, other)
        refuse(place, f"report --json: {what}", "report", [path, "--json"], 1, other)
        refuse(place, f"ps: {what}", "ps", ["--store", path], 1, word)
        refuse(place, f"top: {what}", "top", ["--once", "--store", path], 1, word)
        refuse(place, f"store stat: {what}", "store", ["stat", path], 1, word)
        refuse(place, f"store journal: {what}", "store", ["journal", path], 1, word)
        if what not in ("missing", "a device"):
            refuse(place, f"run -o: {what}", "run", ["-o", path, "--", "true"], 1, word)
        if what not in ("truncated", "cut in its head", "one byte"):
            refuse(place, f"store check: {what}", "store", ["check", path], 1)
            refuse(place, f"recover: {what}", "recover", [path, "-o", place.path / "new.db"], 1)


def unreadable(place):
    if os.geteuid() != 0:
        skip("a store of somebody else", "needs root to become another user")
        return
    path = place.path / "good.db"
    os.chmod(path, 0o600)
    for cmd, args in (("report", [path]), ("ps", ["--store", path]), ("store", ["stat", path]),
                      ("store", ["check", path]), ("recover", [path, "-o", "/tmp/aon-never.db"])):
        refuse(place, f"{cmd}: a store of somebody else", cmd, args, 1, "ermission denied",
               user=65534, group=65534, extra_groups=[])
    os.chmod(path, 0o644)


USAGE = [
    ("report", ["--nope"]), ("report", ["-z"]), ("report", ["a", "b", "--pid", "1"]), ("report", ["--by"]),
    ("report", ["--by", "colour"]), ("report", ["--pid", "x"]), ("report", ["--pid", "-1"]),
    ("report", ["--pid", "4294967296"]), ("report", ["--process", "1.5e99"]),
    ("report", ["--json=yes"]), ("ps", ["operand"]), ("ps", ["--store"]), ("top", ["--sort", "x"]),
    ("top", ["--delay", "0"]), ("top", ["--delay", "nan"]), ("top", ["operand"]),
    ("doctor", ["operand"]), ("doctor", ["--\x1b[31m"]), ("store", []), ("store", ["check"]),
    ("store", ["mend", "x"]), ("store", ["check", "a", "b"]), ("recover", []), ("recover", ["x"]),
    ("recover", ["-o", "y"]), ("version", ["operand"]), ("help", ["nope"]), ("help", ["run", "ps"]),
    ("help", ["--complete", "tcsh"]), ("run", []), ("run", ["--"]), ("run", ["--nope", "true"]),
    ("run", ["--name", "a b", "--", "true"]), ("run", ["--name", "", "--", "true"]),
    ("run", ["--name", "sixteen-letters-", "--", "true"]), ("run", ["-o", "", "--", "true"]),
]


HEADINGS = ["Record", "Look", "Live", "Node", "Cluster", "Models", "Help"]
ALIASES = ["why diagnose", "budget overhead", "lease yield", "serve open", "store recover", "cluster relay", "cluster ship",
           "cluster fleet", "node rack", "node validate", "node telemetry", "node audit"]


def usage(place):
    for cmd, args in USAGE:
        refuse(place, f"misuse: {cmd} {' '.join(map(ascii, args))}", cmd, args, 2)
    for args in (["nope"], ["--nope"], [""], ["\x1b[31m"]):
        r = aon(place, *args)
        ok(r.returncode == 2 and r.stderr.count(b"\n") == 1 and b"\x1b" not in r.stderr,
           f"misuse: aon {ascii(args[0])}", r)
    for cmd in ("run", "ps", "top", "report", "why", "doctor", "store", "version", "help"):
        r = aon(place, cmd, "--help")
        ok(r.returncode == 0 and r.stdout.startswith(b"usage: aon " + cmd.encode()) and not r.stderr,
           f"{cmd} --help", r)
    for title in ALIASES:
        both = [aon(place, *words, "--help") for words in (title.split(), title.split()[1:])]
        ok(both[0].stdout == both[1].stdout and both[0].stdout.startswith(f"usage: aon {title} ".encode()),
           f"aon {title}, or by its second word alone", both)
    for word, like in (("repotr", "report"), ("sotre", "store"), ("record", "run"), ("telemetri", "node telemetry"), ("zzzzzz", None)):
        r = aon(place, word)
        ok(r.returncode == 2 and (f"Did you mean: aon {like}?" in r.stderr.decode() if like else b"mean" not in r.stderr),
           f"aon {word}: did you mean {like}?", r)
    for arg, said in (("--runn", "did you mean --run?"), ("--p", "--process --pid"), ("--zzzzzz", "'--zzzzzz'. See")):
        r = aon(place, "report", arg, "x")
        ok(r.returncode == 2 and said in r.stderr.decode() and one_line(r, "report"), f"aon report {arg}: {said}", r)
    for args in ([], ["rake"]):
        r = aon(place, "node", *args)
        ok(r.returncode == 2 and r.stderr.startswith(b"aon node: "), f"misuse: node {args}", r)
    text = aon(place, "--help").stdout.decode()
    ok([x for x in text.splitlines() if x in HEADINGS] == HEADINGS and max(map(len, text.splitlines())) <= 80,
       "aon --help has its headings, within 80 columns", text)
    r = aon(place)
    ok(r.returncode == 0 and b"aon run" in r.stdout, "aon alone is help", r)


def mistaken(place):
    """An operand of the wrong kind, a place that is not there: what was expected."""
    good, pipe = place.path / "good.db", place.path / "pipe.json"
    os.mkfifo(pipe)
    for text, cmd, args, code, word in (
            ("a pipe that nobody writes to", "why", [pipe], 1, "is a pipe"),
            ("a store is no trace to import", "import", [good, "-o", place.path / "never.db"], 1, "is a store already"),
            ("the store before the query", "sql", [good, "select 1"], 2, "the query comes first"),
            ("the audit log of no store", "audit", [place.path / "no.db"], 1, "No such file"),
            ("a root that is not there", "validate", ["--root", place.path / "no"], 1, "No such file"),
            ("no aond", "lease", [], 1, "Start one"),
            ("a port above 65535", "serve", ["--listen", "127.0.0.1:99999", good], 1, "a port from 0 to 65535"),
            ("no path of a socket", "serve", ["--listen", "unix:", good], 1, "expected unix:PATH"),
            ("a number out of range", "report", [good, "--pid", "0"], 2, "from 1 to 4294967295"),
            ("a folder that is not there", "run", ["-o", place.path / "no/x.db", "--", "true"], 1, "its folder")):
        refuse(place, f"{cmd}: {text}", cmd, args, code, word)
    pipe.unlink()


def no_store(place):
    """No daemon and nothing here: a sentence with a way out."""
    empty = place.path / "nothing"
    empty.mkdir()
    if os.path.exists("/var/lib/aon/store.db"):
        skip("no store at all", "this machine has a node's store")
        return
    for cmd, args in (("report", []), ("ps", ["--root", empty]), ("top", ["--once"])):
        refuse(place, f"{cmd}: no store at all", cmd, args, 1, "aon run -- CMD", cwd=empty)


def serve(s, answer):
    """Takes every caller and answers it so, or never."""
    held = []
    while True:
        try:
            held.append(s.accept()[0])
            if answer is not None:
                held[-1].recv(100)
                held[-1].send(answer)
                held[-1].send(b"")
        except BrokenPipeError:
            continue
        except OSError:
            return


def sockets(place):
    """An admin socket that is none, refuses, is deaf, or lies."""
    good, sock = place.path / "good.db", place.run / "admin.sock"

    def still_works(text):
        before = state(place.path)
        r = aon(place, "doctor")
        ok(r.returncode == 0 and b"aond" in r.stdout and not r.stderr, f"doctor: {text}", r)
        r = aon(place, "report", good)
        ok(r.returncode == 0 and r.stdout, f"report of a named store: {text}", r)
        ok(state(place.path) == before, f"nothing changed: {text}")

    still_works("no socket")
    sock.write_text("not a socket\n")
    still_works("a file instead of the socket")
    sock.unlink()
    for text, answer in (("a socket that never answers", None), ("an empty answer", b""),
                         ("an answer of junk", b"\xff\0\x1b[31m store \n" * 100)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(str(sock))
            s.listen(16)
            threading.Thread(target=serve, args=(s, answer), daemon=True).start()
            still_works(text)
        sock.unlink()


def output(place):
    """A full disk under stdout is a failure, not a success that nobody saw."""
    if not os.path.exists("/dev/full"):
        skip("stdout is full", "no /dev/full")
        return
    for args in (["report", place.path / "good.db"], ["report", place.path / "good.db", "--json"],
                 ["doctor"], ["help"], ["version"]):
        with open("/dev/full", "wb") as full:
            r = subprocess.run([find("aon"), *map(str, args)], stdout=full, env=env_for(place),
                               stderr=subprocess.PIPE)
        ok(r.returncode == 1 and r.stderr.count(b"\n") == 1, f"{args[0]}: stdout is full", r)


with Place() as p:
    os.chmod(p.path, 0o777)
    fixture(p.path / "good.db")
    stores(p)
    unreadable(p)
    usage(p)
    mistaken(p)
    no_store(p)
    sockets(p)
    output(p)
done()
