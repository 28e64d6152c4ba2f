# SPDX-License-Identifier: Apache-2.0
"""Injects faults into real programs, all at once under one aond, and collects its reports of each. Shared by the
scenario alarms_real and bench/detect.py."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

from aontest import ROOT, BUILD, aon, app_env, find, wait_for

APPS = ROOT / "tests/app/python"
PACKAGE = ROOT / "python/aon/__init__.py"
CGROUP = pathlib.Path("/sys/fs/cgroup")
# What is done: what faulty.py does itself, and the alarms that say it.
SLOW = {"step_slower", "throughput_drop"}
FAULTS = {
    "cgroup throttle": ("none", SLOW),
    "SIGSTOP": ("none", {"hang"}),
    "slow dataloader": ("loader", SLOW),
    "GC storm": ("gc", SLOW),
    "memory leak": ("leak", {"memory_growth"}),
    "a part that sleeps": ("sleeps", SLOW),
}
# And what is none, though nothing moves for longer than a hang takes to be told.
CHECKPOINTS = {"a checkpoint, by its bytes": "writes", "a checkpoint, by its range": "saves"}


def package(place):
    """The Python package, as it would be installed."""
    path = place.path / "site" / "aon"
    path.mkdir(parents=True, exist_ok=True)
    for f in (PACKAGE, BUILD / "python/_aon.abi3.so"):
        shutil.copy(f, path)
    return {"PYTHONPATH": place.path / "site", "LD_LIBRARY_PATH": BUILD, "AON_JOIN_MS": 2000}


def alarms(place):
    said = aon("alarms", "--json", place.store).stdout
    return json.loads(said)["alarms"] if said else []


class Quota:
    """A cgroup with a hundredth of a CPU; None where there can be none."""

    def __init__(self):
        self.path = None
        cpu = CGROUP / "cpu"
        if os.geteuid() == 0 and (cpu / "cpu.cfs_quota_us").parent.is_dir() and (cpu / "cgroup.procs").exists():
            try:
                path = cpu / f"aon-test-{os.getpid()}"
                path.mkdir()
                self.path = path
                (path / "cpu.cfs_period_us").write_text("100000")
                (path / "cpu.cfs_quota_us").write_text("1000")
            except OSError:
                self.end()

    def take(self, pid):
        (self.path / "cgroup.procs").write_text(str(pid))

    def end(self):
        if self.path:
            try:
                self.path.rmdir()
            except OSError:
                pass
        self.path = None


class Rig:
    """Every fault in a process of its own, of a job of its own."""

    def __init__(self, place, faults, onset=500):
        self.place, self.quota = place, Quota()
        env = package(place)
        self.proc = {}
        for name in faults:
            if name == "cgroup throttle" and not self.quota.path:
                continue
            self.proc[name] = subprocess.Popen(
                [sys.executable, APPS / "faulty.py", CHECKPOINTS.get(name) or FAULTS[name][0], str(onset)], stdin=subprocess.PIPE, text=True,
                stdout=subprocess.PIPE, env=app_env(place, **env, TORCHELASTIC_RUN_ID=name.replace(" ", "-"), RANK=0))

    def stands(self):
        """Of programs that write a checkpoint: once each has, and aond has had the time to say what it takes it for."""
        for p in self.proc.values():
            p.stdout.readline()
        time.sleep(2)

    def run(self):
        """Waits until each has come to its fault, then does what comes from outside."""
        for name, p in self.proc.items():
            p.stdout.readline()
            if name == "cgroup throttle":
                self.quota.take(p.pid)
            elif name == "SIGSTOP":
                os.kill(p.pid, signal.SIGSTOP)

    def told(self):
        """By fault: whether one of its alarms was told of its process."""
        time.sleep(0.5)
        said = alarms(self.place)
        return {n: any(a["kind"] in FAULTS[n][1] and f"pid {p.pid}:" in a["text"] for a in said) for n, p in self.proc.items()}

    def wait(self, seconds):
        wait_for(lambda: all(self.told().values()), seconds)
        return self.told()

    def end(self):
        for p in self.proc.values():
            p.kill()
            p.wait()
            p.stdin.close()
            p.stdout.close()
        self.quota.end()


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ranks(place, python, seconds, timeout):
    """Two ranks of torch over gloo, the last late, then gone: which alarms were told of it, and where the ranks stood."""
    run = subprocess.Popen(
        [find("aon"), "run", "--no-report", "-o", place.path / "run.db", "--", python, APPS / "ranks.py", "2", str(port()),
         APPS / "torch_late.py", place.path, str(seconds)], cwd=place.path, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=app_env(place, TORCHELASTIC_RUN_ID="late", GLOO_SOCKET_IFNAME="lo", AON_RUN_DIR=place.path / "none"))

    def said():
        time.sleep(0.5)
        r = aon("alarms", "--json", place.path / "run.db")
        got = json.loads(r.stdout)["alarms"] if r.returncode == 0 else []
        stacks = {tuple(a["ranks"]): " ".join(a["frames"]) for a in got if a["kind"] == "hang_stacks"}
        return {"a rank that sleeps": any(a["kind"] == "straggler" and a["text"].startswith("rank 1,") for a in got),
                "a rank that does not come": any(a["kind"] == "hang" and a["text"].startswith("rank 1,") for a in got),
                "where it stands": "load_batch" in stacks.get((1,), "") and "load_batch" not in stacks.get((0,), "x")}
    try:
        wait_for(lambda: all(said().values()) or run.poll() is not None, timeout)
        return said()
    finally:
        (place.path / "come").touch()
        try:
            run.wait(30)
        finally:
            run.kill()
