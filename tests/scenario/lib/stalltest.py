# SPDX-License-Identifier: Apache-2.0
"""The time that a capture adds to the steps of a PyTorch program, by the program's own clock."""
import json
import socket
import statistics
import subprocess

from aontest import find
from clitest import env_for
from torchtest import APPS

WALL, CPU, OWN = 1, 2, 3  # OWN: by the clock, less what it waited for a core


class Training:
    """tests/app/python/torch_stall.py under `aon run`; trains until it is ended."""

    def __init__(self, p, python, wrap=(), others=()):
        """wrap: around the training, as taskset; others: around aon and aond."""
        self.p, self.out, self.others = p, p.path / "steps.json", others
        self.proc = subprocess.Popen([*others, find("aon"), "run", "--no-report", "-o", p.path / "stall.db", "--", *wrap, python,
                                      APPS / "torch_stall.py", self.out],
                                     env=env_for(p, AON_RUN_DIR=""), cwd=p.path, text=True, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pid = int(self.proc.stdout.readline().split()[1])
        # Captures are ours alone, and what is recorded else stays as it is, whatever the machine does.
        for word in ("escalate_s=0", "max_slowdown=0", "measure=off"):
            self.set(word)

    def set(self, word):
        """A setting of the aond of its run."""
        env = dict(x.split("=", 1) for x in open(f"/proc/{self.pid}/environ").read().split("\0") if "=" in x)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(20)
            s.connect(f"{env['AON_RUN_DIR']}/admin.sock")
            s.send(f"set {word}".encode())
            if s.recv(999) != b"ok\n":
                raise RuntimeError(word)

    def tell(self, line):
        """A word to it; when it had done that, on its clock."""
        self.proc.stdin.write(line + "\n")
        self.proc.stdin.flush()
        return int(self.proc.stdout.readline().split()[1])

    def capture(self, n, name):
        """n steps of it: what aon capture says of them."""
        r = subprocess.run([*self.others, find("aon"), "capture", "--json", "--pid", str(self.pid), "--steps", str(n), "-o", name],
                           env=env_for(self.p), cwd=self.p.path, capture_output=True, text=True, timeout=120)
        got = json.loads(r.stdout) if r.stdout else {}
        return got and {"begin": got["begin_ns"], "from": got["processes"][0]["from_ns"],
                        "to": got["processes"][0]["to_ns"], "events": got["files"][0]["events"]} or r.stderr

    def end(self):
        """All of its steps: [begin, time, CPU time, time less waiting for a core]."""
        self.proc.stdin.close()
        self.proc.stdout.read()
        err = self.proc.stderr.read()
        if self.proc.wait(timeout=120):
            raise RuntimeError(err)
        return [[b, e - b, c, e - b - w] for b, e, c, w in json.load(open(self.out))]


def between(steps, lo, hi):
    return [s for s in steps if lo <= s[0] and s[0] + s[WALL] <= hi]


def median(steps, what):
    return statistics.median(s[what] for s in steps)


def around(steps, lo, hi, n=60):
    """n steps before a time and n after it."""
    before = [s for s in steps if s[0] + s[WALL] < lo][-n:]
    after = [s for s in steps if s[0] > hi][:n]
    return before, after


def edges(steps, c, what):
    """Steps in which a capture begins or ends and those that follow: what each took beyond those before it and those
    within it, in ms. Always as many, in the same order: a stall is at the same place each time, noise is not."""
    before, _ = around(steps, c["begin"], c["to"])
    usual = max(median(before, what), median(between(steps, c["from"], c["to"])[1:-1], what))
    at = []
    for moment, n in ((c["begin"], 3), (c["from"], 2), (c["to"] - 1, 4)):
        first = next(i for i, s in enumerate(steps) if s[0] + s[WALL] > moment)
        at += steps[first:first + n]
    return [(s[what] - usual) / 1e6 for s in at]


def stall(steps, captures, what):
    """The place where captures add most, in ms: of each the median over all of them."""
    return max(statistics.median(x) for x in zip(*(edges(steps, c, what) for c in captures)))


def residual(steps, c, what):
    """A step after a capture by one before it."""
    before, after = around(steps, c["begin"], c["to"] + 50_000_000)
    return median(after, what) / median(before, what)
