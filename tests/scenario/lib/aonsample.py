# SPDX-License-Identifier: Apache-2.0
"""What aon-sample says (src/node/sample/wire.h), read."""
import collections
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

from aontest import ROOT, find

Frame = collections.namedtuple("Frame", "kind flags name file line")
Sample = collections.namedtuple("Sample", "t_ns pid tid stack centihertz blame state flags zero detail")
Status = collections.namedtuple("Status", "cpu_ns samples missed reason")
STATES = {int(n): w for n, w in re.findall(r'^STATE\( *(\d+), *\w+, *"([^"]*)"', (ROOT / "src/data/model/sample.tbl.h").read_text(), re.M)}
GC, UNCERTAIN, HOLDER, CUT = 1, 2, 4, 8
USER = 1
TARGETS, STACK, SAMPLES, STATUS, BUDGET = 1, 2, 3, 4, 5


def targets(rows):
    """A message that names (pid, tid, Hz)."""
    return struct.pack("<IBBH", 0x734e4f41, TARGETS, 1, len(rows)) + b"".join(struct.pack("<IIII", p, t, round(hz * 100), 0) for p, t, hz in rows)


def budget(permille):
    """A message that says how much of a CPU it may use."""
    return struct.pack("<IBBHII", 0x734e4f41, BUDGET, 1, 0, permille, 0)


class Said:
    """All messages so far."""

    def __init__(self):
        self.stacks, self.samples, self.status = {}, [], []

    def take(self, msg):
        magic, kind, version, n = struct.unpack_from("<IBBH", msg)
        assert magic == 0x734e4f41 and version == 1, msg[:16]
        at = 8
        if kind == STACK:
            (number,), at, frames = struct.unpack_from("<I", msg, at), at + 4, []
            for _ in range(n):
                what, flags, name, file, _, line = struct.unpack_from("<BBHHHI", msg, at)
                at += 12
                frames.append(Frame(what, flags, msg[at:at + name].decode(), msg[at + name:at + name + file].decode(), line))
                at += name + file
            assert number not in self.stacks, number
            self.stacks[number] = frames
        elif kind == SAMPLES:
            for _ in range(n):
                self.samples.append(Sample(*struct.unpack_from("<QIIIIIBBHI", msg, at)))
                at += 40
        elif kind == STATUS:
            self.status.append(Status(*struct.unpack_from("<QQQ", msg, at), msg[at + 24:].decode()))
            at = len(msg)
        assert at == len(msg), (kind, at, len(msg))

    def names(self, s, kind=0):
        """Of the Python frames of a sample, outermost first."""
        return [f.name for f in reversed(self.stacks.get(s.stack, [])) if f.kind == kind]

    def state(self, s):
        return STATES[s.state]

    def blame(self, s):
        return self.stacks[s.stack][s.blame] if s.blame != 0xffffffff else None


def stream(data):
    said, at = Said(), 0
    while at + 4 <= len(data):
        n = struct.unpack_from("<I", data, at)[0]
        assert at + 4 + n <= len(data), "a message is cut"
        said.take(data[at + 4:at + 4 + n])
        at += 4 + n
    return said


def attach(pid, *args, hz=200, seconds=2.0):
    """Runs aon-sample on a process and reads what it says."""
    p = subprocess.Popen([find("aon-sample"), "--pid", str(pid), "--hz", str(hz), "--seconds", str(seconds), "--cpu-percent", "100", "--stream",
                          *map(str, args)], stdout=subprocess.PIPE)
    with p.stdout:
        said = stream(p.stdout.read())
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    assert p.returncode == 0, p.returncode
    said.rss_kib = usage.ru_maxrss
    return said


def pythons(minors=(10, 11, 12, 13, 14, 15)):
    """Of the versions whose structures are known, those that run here: (minor, program)."""
    kept = pathlib.Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))) / "versions"
    unpacked = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon/pythons/bin"  # tools/setup bench
    for minor in minors:
        for exe in (sys.executable, shutil.which(f"python3.{minor}"), *kept.glob(f"3.{minor}.*/bin/python3.{minor}"), *unpacked.glob(f"python3.{minor}")):
            if exe and subprocess.run([exe, "-c", f"import sys; sys.exit(sys.version_info[:2] != (3, {minor}))"],
                                      capture_output=True).returncode == 0:
                yield minor, exe
                break


class Program:
    """Runs until its block ends; .said has the words that it said before "there"."""

    def __init__(self, code, *args, exe=sys.executable, wrap=()):
        self.p = subprocess.Popen([*wrap, exe, "-c", code, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.pid, self.said = self.p.pid, {}
        for line in self.p.stdout:
            if line.strip() == "there":
                break
            word, number = line.split()
            self.said[word] = int(number)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.p.kill()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()


def last(name):
    return name.rsplit(".", 1)[-1]


# Two families of calls that alternate, with generators, exceptions, and C between lines of Python.
FAMILIES = """
def a_leaf(n):
    return n + 1
def a_mid(n):
    s = 0
    for i in range(n): s += a_leaf(i)
    return s
def a_gen(n):
    for i in range(n):
        yield a_mid(i)
def a_raise(n):
    if n: return a_raise(n - 1)
    raise KeyError(n)
def a_top(n):
    s = 0
    for x in a_gen(n): s += x
    try: a_raise(n)
    except KeyError: pass
    return s
def b_leaf(n, k=0, *, z=1):
    return n * 2 + k
def b_call(v):
    return b_leaf(v)
def b_inner(n):
    return sum(map(b_call, range(n)))
def b_gen2(n):
    for i in range(n):
        yield b_inner(i)
def b_gen(n):
    yield from b_gen2(n)
def b_sort(n):
    return sorted(range(n), key=b_key)
def b_key(v):
    return -b_leaf(v)
def b_exit():
    return True
class Context:
    def __enter__(self): b_leaf(1)
    def __exit__(self, *a): return b_exit()
def b_top(n):
    with Context():
        for x in b_gen(n): pass
        b_sort(n)
        raise ValueError
def main():
    i = 0
    while True:
        a_top(1 + i % 7)
        b_top(1 + i % 5)
        i += 1
print("there", flush=True)
main()
"""
# Who may call whom.
CALLS = {"<module>": {"main"}, "main": {"a_top", "b_top"}, "a_top": {"a_gen", "a_raise"}, "a_gen": {"a_mid"}, "a_mid": {"a_leaf"},
         "a_raise": {"a_raise"}, "b_top": {"b_gen", "b_sort", "__enter__", "__exit__"}, "b_gen": {"b_gen2"}, "b_gen2": {"b_inner"},
         "b_inner": {"b_call"}, "b_call": {"b_leaf"}, "b_sort": {"b_key"}, "b_key": {"b_leaf"}, "__enter__": {"b_leaf"}, "__exit__": {"b_exit"}}
ENOUGH = 500  # samples, of which 1 % is 5


def families(exe, enough=ENOUGH):
    """Samples of that program: how many, those that cannot be, how many reach the outermost frame, how many say that they
    are uncertain, and the innermost frames."""
    with Program(FAMILIES, exe=exe) as p:
        stacks, uncertain = [], 0
        for _ in range(30):
            said = attach(p.pid, hz=400, seconds=1.5)
            stacks += [[last(n) for n in said.names(s)] for s in said.samples]
            uncertain += sum(bool(s.flags & UNCERTAIN) for s in said.samples)
            if len(stacks) >= enough:
                break
    impossible = [s for s in stacks if any(b not in CALLS.get(a, ()) for a, b in zip(s, s[1:]))]
    whole = sum(s[:2] == ["<module>", "main"] for s in stacks)
    return len(stacks), impossible, whole, uncertain, {s[-1] for s in stacks if s}
