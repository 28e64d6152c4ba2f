# SPDX-License-Identifier: Apache-2.0
"""samplekit - a sampler in Python: it speaks to aond as aon-sample does (src/node/sample/wire.h)."""
import os
import shutil
import socket
import struct
import time

from aontest import Daemon, find

MAGIC, VERSION = 0x734E4F41, 1
TARGETS, STACK, SAMPLES, STATUS, BUDGET = 1, 2, 3, 4, 5
RUNNING, GIL, IO = 1, 4, 6
NO_BLAME = 0xFFFFFFFF
PYTHON, NATIVE = 0, 1
USER = 1


def head(kind, count):
    return struct.pack("<IBBH", MAGIC, kind, VERSION, count)


def stack(number, frames):
    """frames, innermost first: (function, file, line[, kind, flags])."""
    body = struct.pack("<I", number)
    for function, file, line, *more in frames:
        kind, flags = more or (PYTHON, USER)
        a, b = function.encode(), file.encode()
        body += struct.pack("<BBHHHI", kind, flags, len(a), len(b), 0, line) + a + b
    return head(STACK, len(frames)) + body


def sample(pid, tid, number, t_ns=None, centihertz=4900, blame=0, state=RUNNING, flags=0, detail=0):
    t_ns = time.monotonic_ns() if t_ns is None else t_ns
    return struct.pack("<QIIIIIBBHII", t_ns, pid, tid, number, centihertz, blame, state, flags, 0, detail, 0)


def samples(rows):
    return head(SAMPLES, len(rows)) + b"".join(rows)


def status(cpu_ns=0, taken=0, missed=0, reason=""):
    return head(STATUS, 0) + struct.pack("<QQQ", cpu_ns, taken, missed) + reason.encode()


class Sampler:
    """A connection at sample.sock."""

    def __init__(self, place, wait=10.0):
        end = time.monotonic() + wait
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        while True:
            try:
                self.sock.connect(str(place.run / "sample.sock"))
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        self.list = None  # the last targets: (pid, tid, centihertz)
        self.budget = None  # permille of a CPU
        self.stacks = 0

    def hear(self, seconds=0.0):
        """Takes the targets that have come; the last list."""
        self.sock.settimeout(max(seconds, 0.001))
        try:
            while True:
                msg = self.sock.recv(65536)
                if not msg:
                    return None
                magic, kind, version, count = struct.unpack_from("<IBBH", msg)
                assert (magic, version) == (MAGIC, VERSION) and kind in (TARGETS, BUDGET), msg[:8]
                if kind == BUDGET:
                    self.budget = struct.unpack_from("<I", msg, 8)[0]
                    continue
                rows = list(struct.iter_unpack("<IIII", msg[8:]))
                assert len(rows) == count
                self.list = [r[:3] for r in rows]
                self.sock.settimeout(0.001)
        except (TimeoutError, BlockingIOError):
            pass
        except ConnectionError:
            return None
        return self.list

    def wait(self, cond, seconds=15.0):
        """Waits until cond(list) is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.hear(0.1) is not None and cond(self.list):
                return True
        return False

    def of(self, pid):
        return [t for t in self.list or [] if t[0] == pid]

    def say(self, msg):
        """False: aond has hung up."""
        self.sock.settimeout(10)
        try:
            self.sock.send(msg)
            return True
        except OSError:
            return False

    def stack(self, *frames):
        self.stacks += 1
        self.say(stack(self.stacks, frames))
        return self.stacks

    def gone(self, seconds=5.0):
        """Whether aond has ended the connection."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.hear(0.05) is None and self.list is not None or self._eof():
                return True
        return False

    def _eof(self):
        self.sock.settimeout(0.01)
        try:
            return self.sock.recv(65536) == b""
        except (TimeoutError, BlockingIOError):
            return False
        except OSError:
            return True

    def close(self):
        self.sock.close()


def alone(place, sets=None, child=None):
    """An aond that has no aon-sample beside it, or `child`, a text, in its place."""
    folder = place.path / "bin"
    folder.mkdir(exist_ok=True)
    shutil.copy(find("aond"), folder / "aond")
    if child:
        (folder / "aon-sample").write_text(child)
        os.chmod(folder / "aon-sample", 0o755)
    d = Daemon(place, sets={"sample": "on", **(sets or {})}, start=False)
    d.exe = str(folder / "aond")
    return d.start()
