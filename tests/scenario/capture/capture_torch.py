#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon capture --kineto of real PyTorch programs, unmodified: one by steps and by time, two ranks over gloo at
the same steps."""
import json
import re
import socket
import subprocess
import threading
import time

from aontest import Daemon, Place, done, find, ok, skip_all
from capturetest import capture, in_own_network, left, out
from clitest import aon, env_for
from torchtest import APPS, bare, torches


def torch_with_kineto():
    """Debian's torch is built without Kineto."""
    found = [(v, python) for v, python in torches() if int(v.split(".")[0]) >= 2]
    return found[0] if found else skip_all("no torch 2 of PyPI: tools/setup check installs it")


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Program:
    """Under `aon run --kineto` until it is told to end."""

    def __init__(self, p, name, *argv, ranks=1, **env):
        self.stop, self.ranks = p.path / f"{name}.stop", ranks
        self.err = open(p.path / f"{name}.err", "w+")
        self.proc = subprocess.Popen([find("aon"), "run", "--kineto", "--no-report", "--", *map(str, argv),
                                      APPS / "torch_capture.py", self.stop],
                                     env=env_for(p, **out(p), **env), cwd=p.path, stdout=subprocess.PIPE,
                                     stderr=self.err, text=True)

    def ready(self):
        """[(pid, loss of its fourth step)], once each of its processes trains."""
        return [(int(x[1]), x[2]) for x in (self.proc.stdout.readline().split() for _ in range(self.ranks))]

    def end(self):
        self.stop.touch()
        return self.proc.wait(timeout=90)


def iterations(file):
    """The numbers of the steps that a trace holds."""
    return sorted({int(x) for x in re.findall(r'"iteration (\d+)"', open(file).read())})


class Later(threading.Thread):
    """A capture of which the result is looked at later."""

    def __init__(self, fn, *args):
        super().__init__(target=lambda: setattr(self, "got", fn(*args)))
        self.start()

    def result(self):
        self.join()
        return self.got


def capture_one(p, prog):
    pid, loss = prog.ready()[0]
    steps = capture(p, "--pid", pid, "--steps", 5, "-o", p.path / "steps.db")
    return loss, steps, capture(p, "--pid", pid, "--duration", "1s", "-o", p.path / "time.db"), prog.end()


def capture_two(p, prog):
    pids = {x[0] for x in prog.ready()}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:  # until both have asked, and aond knows them
        mine = [x for x in capture(p, "--list")[1]["processes"] if x["job"] == "exp-7" and x["rank"] is not None]
        if {x["pid"] for x in mine} == pids:
            break
        time.sleep(0.5)
    for tries in range(1, 4):  # steps that get much faster meanwhile, as on a busy machine, are told, not cured
        got = capture(p, "--job", "exp-7", "--steps", 5, "-o", p.path / f"ranks{tries}.db")
        if got[0] or got[1]["together"]:
            break
    return got, tries, prog.end()


def check_one(p, version, steps, duration):
    rc, said, err = steps
    got = said["processes"][0] if said else {}
    if not ok(rc == 0 and got.get("captured") and got["events"] > 100, f"{version}: five steps of one process",
              (rc, said, err)):
        return
    numbers = iterations(got["trace"])
    ok(5 <= len(numbers) <= 7 and numbers == list(range(numbers[0], numbers[0] + len(numbers))),
       f"{version}: five steps are in it", numbers)
    text = open(got["trace"]).read()
    ok('"aten::addmm"' in text and '"Input Dims"' in text, f"{version}: operators with their shapes", text[:300])
    rc, said, err = duration
    got = said["processes"][0] if said else {}
    ok(rc == 0 and got.get("captured") and iterations(got["trace"]), f"{version}: a second of it", (rc, said, err))
    r = aon(p, "sql", "select count(*) from range where name like 'aten::%'", p.path / "time.db")
    ok(r.returncode == 0 and int(r.stdout.split()[-1]) > 10, f"{version}: its operators are in the store", r)


def check_two(p, version, captured):
    rc, said, err = captured
    got = said["processes"] if said else []
    if not ok(rc == 0 and [x["rank"] for x in got] == [0, 1] and all(x["captured"] for x in got),
              f"{version}: both ranks of a job", (rc, said, err)):
        return
    a, b = (iterations(x["trace"]) for x in got)
    ok(said["together"] and len(set(a) & set(b)) >= 5, f"{version}: at the same steps", (a, b, err))
    r = aon(p, "report", said["output"], "--json")
    ok(r.returncode == 0 and [x["rank"] for x in json.loads(r.stdout)["files"]] == [0, 1],
       f"{version}: aon report has both", r)


def main():
    in_own_network()
    version, python = torch_with_kineto()
    with Place() as p, Daemon(p, sets={"kineto_dir": p.path / "socks"}) as d:
        ranks = Program(p, "ranks", python, "-m", "torch.distributed.run", "--nproc-per-node", 2,
                        "--master-port", port(), ranks=2, AON_JOB="exp-7", GLOO_SOCKET_IFNAME="lo")
        two = Later(capture_two, p, ranks)
        single = Program(p, "single", python, KINETO_IPC_SOCKET_DIR=p.path / "socks")  # the ranks: abstract socket
        one = Later(capture_one, p, single)
        loss, steps, duration, code = one.result()
        check_one(p, version, steps, duration)
        r = bare(p, python, APPS / "torch_capture.py", p.path / "never", env={"STEPS": 5})
        ok(r.returncode == code == 7 and r.stdout.split()[2:] == [loss],
           f"{version}: the same result and exit status as without aon", (code, loss, r))
        captured, tries, code = two.result()
        check_two(p, version, captured)
        ok(code == 1, f"{version}: torchrun ends as its ranks make it end", code)
        c = d.status()["counters"]
        # More if Kineto dropped the one by time, which is told again.
        ok(c["kineto_orders"] >= 2 + 2 * tries and c["kineto_bad"] == 0, f"{version}: all was understood", c)
        ok(not left(p), "no directory is left", left(p))
        d.stop()
    done()


main()
