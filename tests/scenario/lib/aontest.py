# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenarios: a private aond, programs under test, the store's accounts, TAP.

A scenario is a script: it starts real processes, lets something happen to them, and prints
TAP. AON_BUILD names the build directory. No test touches /run/aon or another daemon.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("AON_BUILD", "build")).resolve()
SANITIZED = os.environ.get("AON_SANITIZED", "").replace("none", "")
PATIENCE = 6  # the machine may be busy: waits end by what they wait for
LONG = bool(os.environ.get("AON_LONG"))  # every case, however long it takes

_count = 0
_failed = 0


def ok(cond, text, detail=""):
    """One TAP line; `detail` is printed when it fails."""
    global _count, _failed
    _count += 1
    text = str(text).splitlines()[0]  # a line is a point
    print(f"{'ok' if cond else 'not ok'} {_count} - {text}", flush=True)
    if not cond:
        _failed += 1
        for line in str(detail).splitlines()[:40]:
            print("#", line, flush=True)
    return bool(cond)


def skip(text, why):
    global _count
    _count += 1
    print(f"ok {_count} - {text} # SKIP {why}", flush=True)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def done():
    print(f"1..{_count}", flush=True)
    sys.exit(1 if _failed else 0)


def again(*args):
    """The command that runs this scenario a second time, with arguments."""
    return [sys.executable, str(ROOT / "tests/scenario/run"), sys.argv[0], *args]


def data():
    """Recorded traces beside the source tree, or None: they are not part of it."""
    root = ROOT.parent / "shared" / "data"
    return root if root.is_dir() else None


def find(name):
    """A program of the build, wherever Meson put it."""
    for p in (BUILD / name, BUILD / "tests" / "app" / name, BUILD / "src" / "node" / "daemon" / name,
              BUILD / "src" / "ui" / "cli" / name, BUILD / "src" / "node" / "collect" / name, BUILD / "src" / "node" / "stacks" / name, BUILD / "src" / "node" / "sample" / name, BUILD / "src" / "app" / "client" / name,
              BUILD / "src" / "app" / "probe" / "nvtx" / name, BUILD / "src" / "app" / "probe" / "cuda" / name,
              BUILD / "src" / "app" / "probe" / "nccl" / name, BUILD / "bench" / "lab" / name):
        if p.is_file():
            return str(p)
    raise FileNotFoundError(f"{name} is not in {BUILD}")


class Place:
    """A directory of its own for a run directory, a store, and whatever a test needs."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="aon-test-"))
        os.chmod(self.path, 0o755)
        self.run = self.path / "run"
        self.run.mkdir(mode=0o755)
        self.store = self.path / "store.db"

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        shutil.rmtree(self.path, ignore_errors=True)


class Daemon:
    """An aond of our own in a Place. Restart it, kill it, ask it."""

    def __init__(self, place, sets=None, wrap=(), env=None, start=True):
        self.place, self.sets, self.wrap, self.env = place, dict(sets or {}), tuple(wrap), env
        self.log = place.path / "aond.log"
        self.extra = []  # further arguments
        self.exe = None  # another aond than the build's
        self.proc = None
        if start:
            self.start()

    def start(self, wait=60.0):
        args = [*self.wrap, self.exe or find("aond"), "--run-dir", str(self.place.run), "--store",
                str(self.place.store), *self.extra]
        # Left out steps are a test's own business, and so are samples, which are records of no program.
        # And on machines that are busy, or under a sanitizer, aond takes what it takes.
        for k, v in {"measure": "off", "sample": "off", "cpu_percent": 100, **self.sets}.items():
            args += ["--set", f"{k}={v}"]
        env = {**os.environ, **(self.env or {})}
        self.proc = subprocess.Popen(args, stdin=subprocess.DEVNULL,
                                     stdout=open(self.log, "ab"), stderr=subprocess.STDOUT, env=env)
        end = time.monotonic() + wait
        while time.monotonic() < end:
            if self.proc.poll() is not None or self.ping():
                break
            time.sleep(0.02)
        return self

    @property
    def pid(self):
        """Of aond itself, also below a wrapper such as strace."""
        if not self.wrap:
            return self.proc.pid
        out = subprocess.run(["pgrep", "-P", str(self.proc.pid), "aond"], capture_output=True,
                             text=True).stdout.split()
        return int(out[0]) if out else self.proc.pid

    def ask(self, line, timeout=120.0):
        """One admin request: the answer's text, or None when nobody answers."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
                s.settimeout(timeout)
                s.connect(str(self.place.run / "admin.sock"))
                s.send(line.encode())
                parts = []
                while True:
                    part = s.recv(65536)
                    if not part:
                        return b"".join(parts).decode()
                    parts.append(part)
        except OSError:
            return None

    def ping(self):
        return self.ask("ping", 1.0) is not None

    def status(self):
        return json.loads(self.ask("status") or "{}")

    def flush(self):
        return self.ask("flush")

    def alive(self):
        return self.proc.poll() is None

    def stop(self):
        """SIGTERM; returns the exit code."""
        if self.alive():
            os.kill(self.pid, signal.SIGTERM)
        return self.proc.wait(timeout=180)

    def kill(self):
        if self.alive():
            os.kill(self.pid, signal.SIGKILL)
        self.proc.wait(timeout=180)

    def kill_all(self):
        """aond and what it runs under, whichever of them live."""
        if self.alive():
            pid = self.pid
            if pid != self.proc.pid:
                os.kill(pid, signal.SIGKILL)
                time.sleep(0.01)
            if self.alive():
                self.proc.kill()
        self.proc.wait(timeout=180)

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def counter(self, name):
        return self.status().get("counters", {}).get(name, 0)

    def session(self, pid):
        """The status of that process's session, or None."""
        return next((s for s in self.status().get("sessions", []) if s["pid"] == pid), None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.proc and self.alive():
            self.kill()


def app_env(place, **extra):
    env = {k: v for k, v in os.environ.items() if not k.startswith("AON_")}
    env["AON_RUN_DIR"] = str(place.run)
    env.update({k: str(v) for k, v in extra.items()})
    return env


def app(place, name, *args, **kw):
    """Start a program of tests/app under the place's daemon. kw: env=dict, others to Popen."""
    env = app_env(place, **kw.pop("env", {}))
    return subprocess.Popen([find(name), *map(str, args)], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **kw)


def emitted(proc, timeout=600):
    """Waits for a program of tests/app; its own count of what it emitted."""
    out, err = proc.communicate(timeout=timeout)
    return json.loads(out.strip().splitlines()[-1]) if out.strip() else {"error": err}


class Lateness:
    """How late the machine lets a sleeper run meanwhile, at worst: limits on seconds grow by it."""

    def __enter__(self):
        self.worst, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _look(self):
        last = time.monotonic()
        while not self.over.wait(0.01):
            now = time.monotonic()
            self.worst, last = max(self.worst, now - last - 0.01), now


def wait_for(cond, seconds=10.0):
    """Waits until cond() is true; its last value. `seconds` are those of an idle machine."""
    end = time.monotonic() + seconds * PATIENCE
    while not (v := cond()) and time.monotonic() < end:
        time.sleep(0.02)
    return v


def wait_joined(daemon, pid, seconds=10.0):
    """Waits until that process has a session with its socket."""
    return wait_for(lambda: (daemon.session(pid) or {}).get("socket"), seconds)


def finish(proc, timeout=300):
    """Closes the stdin of a program that stays until then; its own count."""
    return emitted(proc, timeout)


def aon(*args, env=None, **kw):
    return subprocess.run([find("aon"), *map(str, args)], capture_output=True, text=True,
                          env={**os.environ, **(env or {})}, **kw)


def report(store, *args):
    """`aon report --json` of a store, as a dict ({} when it failed)."""
    r = aon("report", str(store), "--json", *args)
    return json.loads(r.stdout) if r.returncode == 0 and r.stdout else {"failed": r.stderr}


def accounts(store):
    """The accounts of all processes in a store, from its own tables by way of the report."""
    return [p["accounting"] for p in report(store, "--all").get("processes", [])]


def account_of(store, *pids):
    """The accounts of these processes alone."""
    return [p["accounting"] for p in report(store, "--all").get("processes", [])
            if p["pid"] in pids]


def total(accts, word):
    return sum(a.get(word, 0) for a in accts)


def lost(a, why=None):
    return a["lost_by"].get(why, 0) if why else sum(a["lost_by"].values())


def balanced(a):
    return a["emitted"] == a["stored"] + a["overwritten"] + a["in_flight"] + lost(a)


def same(accts, e, text):
    """The program's own count is the store's, to the record, and every account adds up."""
    return ok(total(accts, "emitted") == e.get("emitted") and all(map(balanced, accts)) and accts,
              text, f"program {e}\nstore {accts}")


def check(store):
    return aon("store", "check", store).returncode == 0


def check_text(store):
    r = aon("store", "check", store)
    return r.stdout + r.stderr
