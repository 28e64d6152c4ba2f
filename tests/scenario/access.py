# SPDX-License-Identifier: Apache-2.0
"""Who may what: two users, the admin's group and root, at every door of aond; and the log of what they did."""
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess

from aontest import Daemon, Place, aon, app, app_env, done, find, finish, ok, skip_all, wait_for, wait_joined

ASK = struct.pack("<IHH", 0x4d4e4f41, 5, 8)
ALICE, BOB, CAROL = 40001, 40001 + 64, 40003  # nobody's numbers; equal modulo 64
STAFF = 40100  # aond's group in this test, of which Carol is

if os.getuid() or not shutil.which("setpriv"):
    skip_all("needs root and setpriv to become other users")


def become(uid, group=None):
    return ["setpriv", f"--reuid={uid}", f"--regid={group or uid}", "--clear-groups"]


USERS = {"alice": become(ALICE), "carol": become(CAROL, STAFF), "root": []}


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


log()
denied()
done()
