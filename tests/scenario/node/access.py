# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 needs=root,setpriv
"""Who may what: two users, the admin's group and root, at every socket of aond; and the log of what they did."""
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys

from aontest import Daemon, Place, app_env, done, find, ok, wait_for, wait_joined

ASK = struct.pack("<IHH", 0x4d4e4f41, 5, 8)
ALICE, BOB, CAROL = 40001, 40001 + 64, 40003  # nobody's numbers; equal modulo 64
STAFF = 40100  # aond's group in this test, of which Carol is

def become(uid, group=None):
    return ["setpriv", f"--reuid={uid}", f"--regid={group or uid}", "--clear-groups"]


USERS = {"alice": become(ALICE), "bob": become(BOB), "carol": become(CAROL, STAFF), "root": []}


class Node(Place):
    """An aond whose admin socket and files are of a group, and programs that anybody can start."""

    def __init__(self):
        super().__init__()
        for name in ("aon", "emitter", "libaon.so.0"):
            shutil.copy(find(name), self.path / name)
        self.env = {**app_env(self), "LD_LIBRARY_PATH": str(self.path)}

    def aon(self, user, *args):
        return subprocess.run([*USERS[user], str(self.path / "aon"), *map(str, args)], env=self.env, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)

    def program(self, uid):
        """One that stays until its stdin is closed."""
        return subprocess.Popen([*become(uid), str(self.path / "emitter"), "-j", "5000", "-n", "100", "-k", "kernel", "-h", "600"],
                                env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def audited(place, user="root"):
    got = place.aon(user, "audit", "--json", place.store)
    return json.loads(got.stdout)["lines"] if got.returncode == 0 else []


def start(place, **sets):
    d = Daemon(place, sets)
    os.chown(place.run / "admin.sock", 0, STAFF)
    return d


def log():
    with Node() as p, start(p) as d:
        got = p.aon("root", "audit", "--json", p.store)
        ok(got.returncode == 0 and json.loads(got.stdout)["lines"] == [], "at first nobody has asked for anything", got)
        ok(not os.path.exists(f"{p.store}.audit"), "and there is no file")
        ok(p.aon("root", "budget", "cpu_percent=90").returncode == 0, "root changes a budget")
        ok(p.aon("alice", "budget", "cpu_percent=80").returncode == 1, "Alice may not")
        d.flush()
        lines = audited(p)
        ok([(x["uid"], x["what"], x["outcome"], x["text"]) for x in lines][:1] == [(0, "set", "ok", "cpu_percent=90")],
           "the log says who changed what", lines)
        st = os.stat(f"{p.store}.audit")
        ok(st.st_mode & 0o777 == 0o640, "it is for its owner and group", oct(st.st_mode))
        got = p.aon("alice", "audit", p.store)
        ok(got.returncode == 1 and "group" in got.stderr and not got.stdout, "Alice cannot read it", (got.stdout, got.stderr))
        os.chown(f"{p.store}.audit", 0, STAFF)
        ok(audited(p, "carol") == lines, "Carol, of its group, can")
        text = p.aon("root", "audit").stdout
        ok("cpu_percent=90" in text and "uid 0" in text, "without a store: of the node's aond", text)
        open(f"{p.store}.audit", "a").write("not a line\n")
        got = p.aon("root", "audit")
        ok(got.returncode == 1 and "1 lines are damaged" in got.stderr and "cpu_percent=90" in got.stdout,
           "what is damaged in it is told, the rest shown", got.stderr)
    with Node() as p, start(p, audit_kib=1) as d:
        for i in range(60):
            d.ask(f"set cpu_percent={50 + i % 40}")
        d.flush()
        sizes = [os.path.getsize(f"{p.store}{x}") for x in (".audit", ".audit.1")]
        lines = audited(p)
        ok(all(0 < s <= 1024 for s in sizes) and 10 < len(lines) < 60, "it is bounded: the newest, and one before", sizes)
        ok([x["text"] for x in lines] == [f"cpu_percent={50 + i % 40}" for i in range(60)][-len(lines):],
           "without a gap between them", lines[:3])
        d.stop()
        with start(p, audit_kib=1) as d:
            d.ask("reload")
            d.flush()
            ok([x["what"] for x in audited(p)][-1] == "reload", "a new aond writes on in it")
    with Node() as p, start(p, audit_kib=0) as d:
        d.ask("set cpu_percent=70")
        d.flush()
        ok(not list(pathlib.Path(p.path).glob("*.audit*")), "audit_kib = 0 keeps none")


def guest(place):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect(str(place.run / "aond.sock"))
    s.send(ASK)
    return s


def denied():
    """What a guest asks beyond what is for everybody is refused, and kept."""
    with Node() as p, start(p) as d:
        with guest(p) as s:
            s.send(b"set cpu_percent=1")
            said = s.recv(4096)
        d.flush()
        lines = audited(p)
        ok(said.startswith(b"error") and [(x["what"], x["outcome"]) for x in lines] == [("set", "denied")],
           "a guest's attempt is refused, and in the log", (said, lines))
        ok(lines and lines[0]["pid"] == os.getpid(), "with the process that it was", lines)


# Says one word to aond as aon does: at the admin socket, or else as a guest.
SAY = f"""
import socket, sys
def at(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(20)
    s.connect(sys.argv[1] + "/" + name)
    return s
try:
    s = at("admin.sock")
except PermissionError:
    s = at("aond.sock")
    s.send({ASK!r})
s.send(sys.argv[2].encode())
print(s.recv(65536).decode().split(chr(10))[0])
"""

# What each may with a program of Alice's: a word that the answer begins with.
NO, NOT_HIS = "error: that is for the node's admin", "error: no session"
MATRIX = [
    # request                        alice      bob        carol      root
    ("ping",                         "pong",    "pong",    "pong",    "pong"),
    ("status",                       NO,        NO,        "{",       "{"),
    ("info",                         NO,        NO,        "version", "version"),
    ("flush",                        NO,        NO,        "ok",      "ok"),
    ("capture {pid} 100",            "number",  NOT_HIS,   NOT_HIS,   "number"),
    ("yield {pid} 600000",             "number",  "error: another", "error: another", "error: another"),
    ("lease release cupti {pid}",    "ok",      "error: it is not", "error: it is not", "error: it is not"),
    ("lease take cupti {pid} 600000 0 t", "ok", "error: uid", "error: uid", "error: uid"),
    ("lease take pm 0 600000 0 t",    "error: not", "error: not", "ok", "error: uid"),
    ("lease take dcgm 0 600000 0 t",  "error: not", "error: not", "ok", "error: uid"),
    ("lease release pm 0",           "error: not", "error: not", "ok", "error: it is not"),
    ("lease release dcgm 0",         "error: not", "error: not", "ok", "error: it is not"),
    ("budget pid {pid}",             "pid",     "error",   "pid",   "pid"),
    ("budget",                       "error",   "error",        "max_slowdown", "max_slowdown"),
    ("tier {pid} rollup",            NO,        NO,        "ok",      "ok"),
    ("set cpu_percent=95",           NO,        NO,        "ok",      "ok"),
    ("reload",                       NO,        NO,        "ok",      "ok"),
]


def say(place, user, word):
    got = subprocess.run([*USERS[user], sys.executable, "-c", SAY, str(place.run), word], capture_output=True, text=True, timeout=60,
                         stdin=subprocess.DEVNULL)
    return (got.stdout + got.stderr).strip()


def matrix():
    with Node() as p, start(p) as d:
        prog = p.program(ALICE)
        wait_joined(d, prog.pid)
        for word, *want in MATRIX:
            said = [say(p, user, word.format(pid=prog.pid)) for user in ("alice", "bob", "carol", "root")]
            ok(all(s.startswith(w) for s, w in zip(said, want)), f"{word.format(pid='PID')}: {' '.join(w.split(':')[0] for w in want)}",
               list(zip(said, want)))
        d.flush()
        lines = audited(p)
        seen = {(x["uid"], x["what"], x["outcome"]) for x in lines}
        ok({(ALICE, "capture", "ok"), (BOB, "capture", "none"), (CAROL, "capture", "none"), (0, "capture", "ok"), (BOB, "lease", "busy"),
            (ALICE, "lease", "denied"), (CAROL, "lease", "ok"), (0, "lease", "busy"), (ALICE, "set", "denied"), (BOB, "tier", "denied"),
            (CAROL, "set", "ok"), (0, "reload", "ok")} <= seen, "the log has who did what, and who was refused", sorted(seen))
        os.chown(f"{p.store}.audit", 0, STAFF)
        ok([p.aon(u, "audit", p.store).returncode for u in ("alice", "bob", "carol", "root")] == [1, 1, 0, 0], "which the admin reads")
        prog.kill()
        prog.communicate()


def sees():
    """Live events of two users' programs, through aond's sockets and through the server's."""
    with Node() as p, start(p) as d:
        sock = p.path / "http.sock"
        serve = subprocess.Popen([find("aon"), "serve", "--json", "--listen", f"unix:{sock}", str(p.store)], env=p.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, text=True, cwd=p.path)
        serve.stdout.readline()
        users = ("alice", "bob", "carol", "root")
        watch = {u: subprocess.Popen([*USERS[u], str(p.path / "aon"), "subscribe", "--json"], env=p.env, stdout=subprocess.PIPE, text=True)
                 for u in users}
        if shutil.which("curl"):
            watch.update({f"{u} by HTTP": subprocess.Popen([*USERS[u], "curl", "-sN", "--unix-socket", str(sock),
                                                            "http://localhost/api/v1/stream"], stdout=subprocess.PIPE, text=True) for u in users})
        dead = [subprocess.Popen([*USERS["bob"], str(p.path / "aon"), "subscribe", "--json"], env=p.env, stdout=subprocess.DEVNULL)
                for _ in range(10)]
        wait_for(lambda: d.counter("consumers") == len(watch) + 10, 30)
        for x in dead:  # all at once, in the midst of it
            x.kill()
        progs = {"alice": p.program(ALICE), "bob": p.program(BOB)}
        pids = {u: x.pid for u, x in progs.items()}
        for who, proc in watch.items():
            user = who.split()[0]
            want = {pids[user]} if user in pids else set(pids.values())
            got = {}
            while sum(got.values()) < 100 * len(want) and (line := proc.stdout.readline()):
                e = json.loads(line.removeprefix("data: ")) if line[0] == "{" or line.startswith("data: ") else {}
                if "kind" in e:
                    got[e["pid"]] = got.get(e["pid"], 0) + 1
            ok(got == {x: 100 for x in want}, f"{who} sees {'all' if len(want) > 1 else 'the own program'}, whole", (got, pids))
        for x in dead:
            x.wait()
        ok(wait_for(lambda: d.counter("consumers") == len(watch), 30), "consumers that were killed are gone", d.counter("consumers"))
        for x in (*watch.values(), *progs.values()):
            x.kill()
            x.communicate()
        serve.terminate()
        serve.communicate()
        ok(wait_for(lambda: d.counter("consumers") == 0, 30) and d.alive(), "and at last all are")


log()
denied()
matrix()
sees()
done()
