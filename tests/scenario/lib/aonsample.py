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
TARGETS, STACK, SAMPLES, STATUS = 1, 2, 3, 4


def targets(rows):
    """A message that names (pid, tid, Hz)."""
    return struct.pack("<IBBH", 0x734e4f41, TARGETS, 1, len(rows)) + b"".join(struct.pack("<IIII", p, t, round(hz * 100), 0) for p, t, hz in rows)


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
    for minor in minors:
        for exe in (sys.executable, shutil.which(f"python3.{minor}"), *kept.glob(f"3.{minor}.*/bin/python3.{minor}")):
            if exe and subprocess.run([exe, "-c", f"import sys; sys.exit(sys.version_info[:2] != (3, {minor}))"],
                                      capture_output=True).returncode == 0:
                yield minor, exe
                break
