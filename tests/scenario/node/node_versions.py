# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""Processes and daemons of other builds meet ours: what is longer is read by its known part, what
is unknown is skipped and counted, what cannot work says so."""
import array
import mmap
import os
import socket
import struct
import subprocess
import threading
import time

from aontest import *
import aonraw
from aonraw import Raw, head, hello, memfd, record


def own(place):
    """Accounts of this very process."""
    return account_of(place.store, os.getpid())


def other_processes(place, d):
    r = Raw(place)
    ok(r.join(features=0xFF00FF00FF00FF00, extra=b"\x55" * 64) == 0,
       "a HELLO with more fields and features is understood")
    r.say(head(200, 8))
    r.say(head(65535, 64) + bytes(56))
    n = r.emit([record(a=i) for i in range(100)])
    n += r.emit([record(kind=aonraw.UNKNOWN, units=1 + i % 5) for i in range(100)])
    n += r.emit([record(kind=aonraw.MARK, units=1, a=i) for i in range(100)])
    d.flush()
    a = own(place)
    same(a, {"emitted": n}, "records of kinds and lengths to come: emitted is exact")
    ok(lost(a[0], "unknown") == 100 and a[0]["stored"] == 200,
       "the unknown ones are skipped by their length and counted", a)
    ok(d.counter("messages_unknown") == 2, "unknown messages are skipped and counted")
    r.close()

    r = Raw(place)
    before = d.counter("refused_hello")
    err = r.join(version=2)
    ok(err == -71 and d.counter("refused_hello") == before + 1,
       "a process of another version is told EPROTO", err)
    r.close()
    r = Raw(place)
    r.say(hello()[:88])  # as if an older HELLO had been shorter
    ok(r.closed(2), "a HELLO shorter than the first version is no HELLO")
    r.close()


# --- libaon with a daemon of another build ---

class Fake:
    """A daemon that answers HELLO as it is told. `answers` is a function of the connection."""

    def __init__(self, place, answer):
        self.place, self.answer, self.heard = place, answer, []
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.bind(str(place.run / "aond.sock"))
        self.sock.listen(8)
        door = struct.pack("<QII", 0x31524F4F44414F4E, 1, 1) + bytes(48) + struct.pack(
            "<64I", *(0x7F if i == 1 else 0 for i in range(64)))
        (place.run / "gate").write_bytes(door + bytes(4096 - len(door)))
        self.keep = []
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            self.keep.append(c)
            m = c.recv(2048)
            self.heard.append(m)
            self.answer(self, c)

    def close(self):
        self.sock.close()


def segment(chunks=64):
    table = 4 * chunks
    heap_off = (4096 + 2 * table + 4095) // 4096 * 4096
    chunk_off = heap_off + 65536
    size = chunk_off + chunks * 4096
    fd = memfd(size)
    m = mmap.mmap(fd, size)
    struct.pack_into("<QIIQQQ8I", m, 0, aonraw.SEG_MAGIC, 1, 4096, 5, 6, size, 4096, chunks, 4096,
                     4096 + table, heap_off, 65536, chunk_off, 0)
    struct.pack_into("<I", m, 256 + 12, 64)
    return fd, m, size, chunk_off


def gate_page(want=0x7F):
    fd = memfd(4096)
    os.pwrite(fd, struct.pack("<QII", aonraw.GATE_MAGIC, want, 0), 0)
    return fd


def welcome(error=0, size=0, extra=b"", kind=aonraw.WELCOME, magic=aonraw.MAGIC, version=1):
    body = struct.pack("<IiIIQQQ", version, error, 0, 0, 0xFFFF0000, 1, size)
    return head(kind, 8 + len(body) + len(extra), magic) + body + extra


def send(c, data, fds=()):
    anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    try:
        c.sendmsg([data], anc)
    except OSError:
        pass


def good(data_of):
    """An answer with a gate and a pool."""
    def answer(fake, c):
        fd, m, size, off = segment()
        fake.map, fake.chunk_off = m, off
        send(c, data_of(size), [gate_page(), fd])
    return answer


def other_daemons():
    """name, the answer, joined?"""
    null = os.open("/dev/null", os.O_RDONLY)
    cases = [
        ("a longer WELCOME with unknown features",
         good(lambda n: welcome(size=n, extra=b"\xAA" * 100)), True),
        ("a later version in WELCOME, same layout", good(lambda n: welcome(size=n, version=2)),
         True),
        ("an unknown error", lambda f, c: send(c, welcome(error=-12345)), False),
        ("a positive error", lambda f, c: send(c, welcome(error=7)), False),
        ("a refusal: EPERM", lambda f, c: send(c, welcome(error=-1)), False),
        ("a refusal: EPROTO", lambda f, c: send(c, welcome(error=-71)), False),
        ("a short WELCOME", lambda f, c: send(c, welcome()[:20]), False),
        ("an unknown message instead", lambda f, c: send(c, welcome(kind=99)), False),
        ("another magic", lambda f, c: send(c, welcome(magic=1)), False),
        ("a WELCOME without descriptors", lambda f, c: send(c, welcome(size=1 << 20)), False),
        ("descriptors that are no memory",
         lambda f, c: send(c, welcome(size=1 << 20), [null, null]), False),
        ("a pool that is smaller than it says", good(lambda n: welcome(size=n * 2)), False),
        ("ten descriptors", lambda f, c: send(c, welcome(size=4096), [null] * 10), False),
        ("nothing but closing", lambda f, c: c.close(), False),
        ("silence", lambda f, c: None, False),
    ]
    for name, answer, joined in cases:
        with Place() as place:
            f = Fake(place, answer)
            t = time.monotonic()
            p = app(place, "steady", "-n", 2000, "-s", 2, stdin=subprocess.PIPE)
            e = emitted(p)
            ok(p.returncode == 0 and e.get("joined") == int(joined),
               f"{name}: the program " + ("joins" if joined else "runs on without a daemon"), e)
            ok(time.monotonic() - t < 3.5, f"{name}: nobody waits for it")
            if joined:
                n = sum(struct.unpack_from("<I", f.map, f.chunk_off + i * 4096 + 8)[0]
                        for i in range(64))
                ok(n == e["emitted"] == 2000, f"{name}: its records are in the pool", f"{n} {e}")
            f.close()
    os.close(null)


with Place() as place, Daemon(place) as d:
    other_processes(place, d)
    ok(d.stop() == 0, "aond ends well", d.text()[-1000:])
other_daemons()
done()
