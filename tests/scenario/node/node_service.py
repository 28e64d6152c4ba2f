# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aond as a service: its settings, its manager, its signals, and the clocks it lives by."""
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from aontest import *


# --- settings ---

def aond(*args, **kw):
    return subprocess.run([find("aond"), *map(str, args)], capture_output=True, text=True,
                          timeout=10, **kw)


def table():
    """The settings as aond --help tells them: key -> line."""
    rows = {}
    text = (ROOT / "src/node/daemon/core/param.tbl.h").read_text()
    for m in re.finditer(r'^PARAM\((\w+),\s*(\w+),\s*"([^"]*)",\s*(-?\d+),\s*([^,]+),', text, re.M):
        low, high = int(m[4]), eval(m[5], {"__builtins__": {}})
        rows[m[1]] = (m[2], m[3], low, high)
    return rows


def settings():
    rows = table()
    ok(len(rows) >= 15, f"the table has {len(rows)} settings", rows)
    h = aond("--help")
    ok(h.returncode == 0 and all(k in h.stdout for k in rows), "aond --help lists every setting",
       h.stdout)
    with Place() as place:
        conf = place.path / "aond.conf"

        def check_conf(text):
            conf.write_bytes(text if isinstance(text, bytes) else text.encode())
            return aond("-n", "-c", conf)

        bad = []
        together = "pool_small_kib = 64\npools_mib = 65536\n"  # so that one alone may be large
        for key, (kind, _, low, high) in rows.items():
            if kind == "NUM":
                good = [low, high]
                wrong = [low - 1, high + 1, "", "x", "1x", "0x10", "9" * 30, "1.5"]
                if key in ("pool_kib", "pool_small_kib", "pools_mib", "chunk_bytes"):
                    good = []  # tied to each other: tried below
            elif kind == "PATH":
                good = ["/a" * (high // 2)] + ([""] if low == 0 else [])
                wrong = ["relative", "/" + "a" * high] + ([] if low == 0 else [""])
            else:
                good, wrong = [], ["", "maybe", "off|on", "FLIGHT"]
            for v in good:
                r = check_conf(f"{key} = {v}\n")
                if r.returncode:
                    bad.append((key, v, "refused", r.stderr))
            for v in wrong:
                r = check_conf(f"# a comment\n\n{key} = {v}\n")
                one = r.stderr.strip().splitlines()
                if r.returncode not in (1, 2) or len(one) != 1 or f"{conf}:3:" not in one[0] \
                        or key not in one[0]:
                    bad.append((key, v, r.returncode, r.stderr))
        ok(not bad, "every setting: its ends are taken, what is beyond them is named by file:line",
           "\n".join(map(str, bad)))
        files = {
            "an empty file": ("", 0), "comments": ("# x\n\n  # y\n", 0),
            "no newline at the end": ("rows_max = 100", 0), "DOS lines": ("rows_max = 100\r\n", 0),
            "all pools large": (together + "pool_kib = 32768\n", 0),
            "an unknown key": ("no_such = 1\n", 1), "no equals": ("rows_max 100\n", 1),
            "a NUL": (b"rows_max = 1\x000\n", 1), "a line of 5,000 bytes": ("a" * 5000, 1),
            "a file of 70,000 bytes": ("# " + "x" * 70000, 1),
            "escapes": (b"\x1b[31m = \x1b[2J\n", 1),
            "not a power of two": ("chunk_bytes = 3000\n", 1),
            "a small pool larger than the pool": ("pool_kib = 64\npool_small_kib = 128\n", 1),
            "less memory than one pool": ("pools_mib = 2\n", 1),
        }
        for name, (text, want) in files.items():
            r = check_conf(text)
            ok((r.returncode != 0) == bool(want) and r.returncode < 3 and
               len(r.stderr.strip().splitlines()) == want and "\x1b" not in r.stderr,
               f"{name}: {'refused in one line' if want else 'taken'}",
               f"{r.returncode} {r.stderr!r}")
        r = aond("-n", "-c", place.path / "none")
        ok(r.returncode in (1, 2) and "none" in r.stderr, "a file that is not there is named",
           r.stderr)
        for args in (("--no-such",), ("--set", "x"), ("extra",), ("-c",)):
            r = aond(*args)
            ok(r.returncode == 2 and r.stderr, f"misuse: {' '.join(args)}",
               f"{r.returncode} {r.stderr}")


def reload():
    with Place() as place:
        conf = place.path / "aond.conf"
        conf.write_text("tier = flight\n")
        with Daemon(place, start=False) as d:
            d.wrap = ()
            d.extra = ["-c", str(conf)]
            d.start()
            conf.write_text("tier = heartbeat\nno_such = 1\n")
            os.kill(d.pid, signal.SIGHUP)
            ok(wait_for(lambda: d.counter("reloads_failed") == 1, 5),
               "SIGHUP with an error is counted", d.text())
            ok(f"{conf}:2:" in d.text() and "kept" in d.text(),
               "and says where, and that the old stay", d.text())
            ok(tier_of_new(place, d) == "flight", "the old settings are in force")
            a = d.ask("reload") or ""
            ok(a.startswith("error") and "no_such" in a, "an admin's reload is told", a)
            conf.write_text("tier = heartbeat\nnames_max = 500\n")
            os.kill(d.pid, signal.SIGHUP)
            ok(wait_for(lambda: d.counter("reloads") == 1, 5), "SIGHUP without one is counted",
               d.text())
            ok(tier_of_new(place, d) == "heartbeat", "the new settings are in force")
            ok("names_max" in d.text(), "what cannot change while aond runs is named",
               d.text()[-500:])
            conf.unlink()
            os.kill(d.pid, signal.SIGHUP)
            ok(wait_for(lambda: d.counter("reloads_failed") == 3, 5) and d.ping(),
               "a file that has gone is an error, too", d.text()[-500:])


def tier_of_new(place, d):
    p = app(place, "steady", "-r", 100, "-w", stdin=subprocess.PIPE)
    wait_joined(d, p.pid)
    tier = (d.session(p.pid) or {}).get("tier")
    finish(p)
    return tier


# --- the manager ---

class Manager:
    """Hears what aond says on NOTIFY_SOCKET."""

    def __init__(self, place):
        self.path = str(place.path / "notify")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.path)
        self.said = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                text = self.sock.recv(4096).decode()
            except OSError:
                return
            self.said += [(time.monotonic(), x) for x in text.splitlines()]

    def heard(self, word):
        return [t for t, x in self.said if x.startswith(word)]


def manager():
    with Place() as place:
        m = Manager(place)
        env = {"NOTIFY_SOCKET": m.path, "WATCHDOG_USEC": "3000000"}
        with Daemon(place, env=env) as d:
            ok(wait_for(lambda: m.heard("READY=1"), 5), "READY=1 is said", m.said)
            ok(d.ping(), "and is true")
            ok(wait_for(lambda: len(m.heard("WATCHDOG=1")) >= 3, 6), "keep-alives come", m.said)
            t = m.heard("WATCHDOG=1")
            ok(all(b - a < 2.5 for a, b in zip(t, t[1:])), "in less than the watchdog's time", t)
            os.kill(d.pid, signal.SIGHUP)
            ok(wait_for(lambda: m.heard("RELOADING=1") and len(m.heard("READY=1")) == 2, 5),
               "a reload is told and ended", m.said)
            ok(m.heard("MONOTONIC_USEC="), "with its time")
            os.kill(d.pid, signal.SIGSTOP)
            time.sleep(0.2)
            n = len(m.heard("WATCHDOG=1"))
            time.sleep(1.5)
            ok(len(m.heard("WATCHDOG=1")) == n, "a stopped aond says nothing, so it would act")
            os.kill(d.pid, signal.SIGCONT)
            ok(d.stop() == 0, "SIGTERM ends it with 0", d.text())
            ok(wait_for(lambda: m.heard("STOPPING=1"), 2), "STOPPING=1 is said", m.said)
        with Daemon(place, env={"NOTIFY_SOCKET": "/no/such/socket"}) as d:
            ok(d.ping(), "a manager that is not there is no trouble")


def activation():
    """Sockets made by the manager, with a program that connected before aond ran."""
    with Place() as place:
        socks = []
        for name in ("aond.sock", "admin.sock"):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.bind(str(place.run / name))
            s.listen(16)
            socks.append(s)
        inode = os.stat(place.run / "aond.sock").st_ino
        early = app(place, "steady", "-r", 1000, "-w", stdin=subprocess.PIPE)
        time.sleep(0.2)
        fds = [s.fileno() for s in socks]
        code = ("import os,sys\n"
                f"a,b={fds}\n"
                "x,y=os.dup(a),os.dup(b)\nos.dup2(x,3); os.dup2(y,4)\n"
                "os.set_inheritable(3,True); os.set_inheritable(4,True)\n"
                "os.environ.update(LISTEN_PID=str(os.getpid()),LISTEN_FDS='2',"
                "LISTEN_FDNAMES='aond:admin')\nos.execv(sys.argv[1],sys.argv[1:])\n")
        with Daemon(place, start=False) as d:
            d.proc = subprocess.Popen(
                [sys.executable, "-c", code, find("aond"), "--run-dir", str(place.run), "--store",
                 str(place.store)], pass_fds=fds, stdout=open(d.log, "ab"),
                stderr=subprocess.STDOUT)
            ok(wait_for(d.ping, 5), "aond answers on the sockets it was given", d.text())
            ok(os.stat(place.run / "aond.sock").st_ino == inode, "and made none of its own")
            ok(wait_joined(d, early.pid), "who connected before it ran is served", d.text())
            e = finish(early)
            d.flush()
            same(accounts(place.store), e, "activation: emitted is exact")
            ok(d.stop() == 0 and (place.run / "aond.sock").exists(),
               "at its end it leaves the manager's sockets alone")
        for s in socks:
            s.close()


def ends():
    for sig in (signal.SIGTERM, signal.SIGINT):
        with Place() as place, Daemon(place) as d:
            p = app(place, "steady", "-r", 50000, "-w", stdin=subprocess.PIPE)
            wait_joined(d, p.pid)
            time.sleep(0.5)
            os.kill(d.pid, sig)
            code = d.proc.wait(10)
            ok(code == 0, f"{sig.name} under load: ends with 0", code)
            ok(not (place.run / "aond.sock").exists(), f"{sig.name}: its sockets are gone")
            a = accounts(place.store)
            ok(a and balanced(a[0]) and lost(a[0]) == 0 and a[0]["stored"] > 10000,
               f"{sig.name}: what was there is stored", a)
            d.start()
            ok(wait_joined(d, p.pid), f"{sig.name}: the program goes on with the next aond")
            e = finish(p)
            d.flush()
            a = accounts(place.store)
            same(a, e, f"{sig.name}: emitted is exact over both")
            ok(lost(a[0], "crash") == 0, f"{sig.name}: an orderly end loses nothing", a)


# --- clocks ---

def negative(store):
    """Rows of a report whose times cannot be."""
    rep = report(store, "--all")
    rows = [r for k in ("rows", "ranges", "steps", "names") for r in rep.get(k, [])
            if isinstance(r, dict)]
    return rows, [r for r in rows if not 0 <= r.get("min_ns", 0) <= r.get("max_ns", 0) < 60e9]


def clocks():
    with Place() as place, Daemon(place) as d:
        # A program in a time namespace: its CLOCK_MONOTONIC is a day ahead of aond's.
        r = subprocess.run(["unshare", "-T", "--monotonic", "86400", "true"], capture_output=True)
        if r.returncode:
            skip("a program in a time namespace", "unshare -T is not possible")
        else:
            p = subprocess.Popen(["unshare", "-T", "--monotonic", "86400", find("steady"), "-n",
                                  "20000", "-k", "range"], env=app_env(place), text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
            e = emitted(p)
            d.flush()
            same(accounts(place.store), e, "time namespace: emitted is exact")
            rows, wrong = negative(place.store)
            ok(rows and not wrong, "time namespace: no duration is negative or a day long", wrong)
    with Place() as place:
        step = place.path / "step"
        step.write_bytes(struct.pack("<q", 0))
        env = {"LD_PRELOAD": find("wallclock.so"), "WALLCLOCK": str(step),
               "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
        with Daemon(place, env=env) as d:
            p = app(place, "steady", "-r", 20000, "-k", "range", "-w", stdin=subprocess.PIPE)
            wait_joined(d, p.pid)
            for s in (86400, -86400, 0):
                step.write_bytes(struct.pack("<q", s))
                time.sleep(1.1)
            e = finish(p)
            d.flush()
            ok("T" in d.text() and d.ping(), "a wall clock that steps by days: aond lives")
            same(accounts(place.store), e, "wall clock steps: emitted is exact")
            rows, wrong = negative(place.store)
            ok(rows and not wrong, "wall clock steps: durations stay what they were", wrong)


def reused_pids():
    """In a pid namespace of our own, where the next pid can be chosen."""
    r = subprocess.run(["unshare", "-pf", "--mount-proc", *again("--pids")],
                       capture_output=True, text=True)
    out = r.stdout.strip().splitlines()
    if not out or out[-1] == "no":
        return skip("two processes of one pid", "the next pid cannot be chosen here")
    ok(out[-1] == "ok", "two processes of one pid, one after the other, are two",
       r.stdout + r.stderr)


def reused_pids_inside():
    with Place() as place, Daemon(place) as d:
        pids, es = [], []
        for _ in range(2):
            try:
                with open("/proc/sys/kernel/ns_last_pid", "w") as f:
                    f.write("4000")
            except OSError:
                return "no"
            p = app(place, "steady", "-n", 1000, stdin=subprocess.PIPE)
            pids.append(p.pid)
            es.append(emitted(p)["emitted"])
        d.flush()
        a = account_of(place.store, pids[0])
        print(pids, es, a)
        if pids[0] != pids[1]:
            return "no"
        return "ok" if sorted(x["emitted"] for x in a) == es and all(map(balanced, a)) else "bad"


if "--pids" in sys.argv:
    print(reused_pids_inside())
    sys.exit()
settings()
reload()
manager()
activation()
ends()
clocks()
reused_pids()
done()
