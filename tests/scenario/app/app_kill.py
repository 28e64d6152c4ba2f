# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""kill -9 of the program at any moment, stops, a debugger, a core; who the program is."""
import ctypes
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

from aontest import LONG, Daemon, Place, app, app_env, balanced, done, find, ok, skip, wait_for
from apptest import quiet, rows, told

SMALL = {"pool_kib": 512, "pool_small_kib": 512}


def begun_and_done(path, threads):
    """What the threads of app_pace had begun and finished when they died."""
    data = path.read_bytes() if path.exists() else b""
    words = [struct.unpack_from("QQ", data, 64 * i) for i in range(min(threads, len(data) // 64))]
    return sum(w[0] for w in words), sum(w[1] for w in words)


def kills():
    rounds, threads = (10000 if LONG else 200), 2
    rnd = random.Random(7)
    with Place() as p, Daemon(p, SMALL) as d:
        want = {}
        for i in range(0, rounds, 4):
            paths = [p.path / f"truth{i + k}" for k in range(4)]
            procs = [(app(p, "app_pace", "-s", 20, "-r", 0, "-t", threads, "-f", f), f)
                     for f in paths]
            time.sleep(rnd.random() * 0.08)
            for proc, path in procs:
                proc.kill()
                out, _ = proc.communicate()
                want[proc.pid] = (*begun_and_done(path, threads), '"joined":1' in out)
                path.unlink(missing_ok=True)
        gone = quiet(d, 2.0)
        ok(gone is not None, f"{rounds} programs killed: every session is gone and its pool reclaimed",
           d.status())
        ok(d.counter("pool_bytes") < (2 << 20), "pools are returned (one spare is kept)", d.status())
        d.flush()
        got = rows(p)
        bad = [q for q in got if not balanced(q["accounting"]) or q["accounting"]["lost_by"]["invalid"]]
        ok(not bad, "every account adds up, no record is corrupt", bad)
        wrong = []
        for q in got:
            n, (begun, finished, joined) = q["accounting"]["emitted"], want[q["pid"]]
            # Killed before it had heard aond's answer: then its records were never anywhere.
            if not (finished <= n <= begun or (n == 0 and not joined)):
                wrong.append((q["pid"], n, want[q["pid"]]))
        met = sum(q["accounting"]["emitted"] for q in got)
        ok(not wrong and len(got) > rounds // 2,
           f"what {len(got)} of them had emitted is accounted: {met} records", wrong[:10])
        ok(d.counter("sessions_lied") == 0, "none of them is taken for a liar", d.text()[-1000:])


def stays_while_stopped():
    """In two halves, so that others can work while it is stopped."""
    seconds = 5
    with Place() as p, Daemon(p) as d:
        proc = app(p, "app_pace", "-s", 20)
        wait_for(lambda: d.session(proc.pid))
        time.sleep(0.3)
        os.kill(proc.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        yield
        time.sleep(max(0, stopped + seconds - time.monotonic()))
        ok((d.session(proc.pid) or {}).get("socket"), f"stopped for {seconds} s: the session stays")
        os.kill(proc.pid, signal.SIGCONT)
        if shutil.which("gdb"):
            r = subprocess.run(["gdb", "-p", str(proc.pid), "-batch", "-ex", "shell sleep 0.5",
                                "-ex", "detach"], capture_output=True, text=True, timeout=60)
            ok(d.session(proc.pid), "a debugger comes and goes: the session stays", r.stderr[-500:])
        else:
            skip("a debugger comes and goes", "gdb is not installed")
        proc.stdout.close()
        proc.kill()
        proc.wait()
        ok(d.counter("sessions_opened") == 1, "and it never had to join again", d.status())


def core():
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    text = "a core dump does not hold the pool"
    if pattern.startswith("|") or "/" in pattern:
        skip(text, f"cores go to {pattern}")
        return

    def allow():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)

    with Place() as p, Daemon(p, {"pool_kib": 32768}):
        sizes = []
        for off in (1, 0):
            where = p.path / f"core{off}"
            where.mkdir()
            proc = app(p, "app_pace", "-s", 20, env={"AON_OFF": off}, cwd=where, preexec_fn=allow)
            time.sleep(0.5)
            proc.send_signal(signal.SIGABRT)
            proc.communicate(timeout=30)
            sizes.append(sum(f.stat().st_blocks * 512 for f in where.iterdir()))
        if not sizes[0]:
            skip(text, "no core was written")
            return
        ok(sizes[1] < sizes[0] + (1 << 20), f"{text}: {sizes[0]} bytes without aon, {sizes[1]} with",
           sizes)


def host_identity():
    text = "a client in namespaces of its own"
    if os.geteuid() != 0:
        skip(text, "needs root to become nobody")
        return
    with Place() as p, Daemon(p) as d:
        prog = p.path / "emitter"
        shutil.copy(find("emitter_static"), prog)
        cmd = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "-Urpf",
               str(prog), "-n", "1000", "-j", "2000", "-h", "2"]
        proc = subprocess.Popen(cmd, env=app_env(p), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)
        s = wait_for(lambda: d.status().get("sessions"), 5)
        kids = pathlib.Path(f"/proc/{proc.pid}/task/{proc.pid}/children").read_text().split()
        out, err = proc.communicate(timeout=30)
        if proc.returncode and not s:
            skip(text, err.strip() or "unshare failed")
            return
        ok(s and s[0]["uid"] == 65534 and [str(s[0]["pid"])] == kids,
           f"{text} is known by its host's pid and user", f"{s} {kids} {err}")
        ok(told(out).get("joined") == 1, "and it runs as always", out + err)


SPY = r"""
import glob, json, os, socket, sys
aond, app, run, store = sys.argv[1:]
def denied(fn):
    try:
        fn()
    except PermissionError:
        return True
    except OSError:
        return None
    return False
def admin():
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(run + "/admin.sock")
seen = {"admin socket": denied(admin), "store": denied(lambda: open(store, "rb"))}
for who, pid in (("aond", aond), ("the program", app)):
    for what in ("fd", "map_files"):
        seen[f"{what} of {who}"] = denied(lambda: os.listdir(f"/proc/{pid}/{what}"))
    seen[f"memory of {who}"] = denied(lambda: open(f"/proc/{pid}/mem", "rb"))
seen["door for writing"] = denied(lambda: open(run + "/gate", "r+b"))
print(json.dumps(seen))
"""


def others_may_not_look():
    """What another user may open: nothing of a program's records, and not what reads them."""
    if os.geteuid() != 0 or not shutil.which("python3", path="/usr/bin:/bin"):
        skip("another user looks", "needs root to become others, and a Python that they can run")
        return
    with Place() as p, Daemon(p) as d:
        prog = p.path / "emitter"
        shutil.copy(find("emitter_static"), prog)
        user = ["setpriv", "--clear-groups", "--reuid=65533", "--regid=65533"]
        proc = subprocess.Popen([*user, str(prog), "-n", "10", "-j", "2000", "-h", "3"],
                                env=app_env(p), stdout=subprocess.PIPE, text=True)
        ok(wait_for(lambda: d.session(proc.pid)), "a user's program has a session")
        r = subprocess.run(["setpriv", "--clear-groups", "--reuid=65534", "--regid=65534",
                            "/usr/bin/env", "python3", "-c", SPY, str(d.pid), str(proc.pid),
                            str(p.run), str(p.store)], capture_output=True, text=True,
                           env={**os.environ, "PATH": "/usr/bin:/bin"})
        seen = told(r.stdout)
        for what, no in seen.items():
            ok(no is True, f"another user is denied the {what}", r.stdout)
        ok(len(seen) == 9, "all of it was tried", r.stdout + r.stderr)
        proc.kill()
        proc.communicate()


class CloneArgs(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in
                ("flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack", "stack_size",
                 "tls", "set_tid", "set_tid_size", "cgroup")]


def run_as_pid(pid, argv, env):
    """Runs a program under a pid of our choice; its status, None when that is not possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    tid = ctypes.c_int(pid)
    args = CloneArgs(exit_signal=signal.SIGCHLD, set_tid=ctypes.addressof(tid), set_tid_size=1)
    sys.stdout.flush()
    got = libc.syscall(435, ctypes.byref(args), ctypes.sizeof(args))
    if got == 0:
        null = os.open("/dev/null", os.O_WRONLY)
        os.dup2(null, 1)
        os.execve(argv[0], argv, env)
    return os.waitpid(got, 0)[1] if got > 0 else None


def pid_reuse():
    text = "a pid that is used again"
    with Place() as p, Daemon(p) as d:
        argv, pid = [find("emitter"), "-n", "100", "-j", "2000"], 0
        first = app(p, "emitter", "-n", 100, "-j", 2000)
        first.communicate(timeout=30)
        pid = first.pid
        time.sleep(0.05)
        if run_as_pid(pid, argv, app_env(p)) != 0:
            skip(text, f"the kernel does not give pid {pid} again")
            return
        quiet(d)
        d.flush()
        got = [q for q in rows(p) if q["pid"] == pid]
        ok(len(got) == 2 and [q["accounting"]["emitted"] for q in got] == [100, 100],
           f"{text} is another process", got)


stopped = stays_while_stopped()
next(stopped)
core()
host_identity()
others_may_not_look()
pid_reuse()
next(stopped, None)
kills()
done()
