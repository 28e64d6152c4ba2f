# SPDX-License-Identifier: Apache-2.0
"""A process that speaks to aond without libaon, so that it can be old, new, wrong or hostile.

Layouts are those of src/abi, written down a second time on purpose: a change that breaks
processes of another build breaks these tests.
"""
import array
import ctypes
import mmap
import os
import random
import socket
import struct
import time

MAGIC, VERSION, MSG_MAX = 0x4D4E4F41, 1, 1024
HELLO, WELCOME, BELL, NOTE = 1, 2, 3, 4
OFFER, KEEP = 1, 1
SEG_MAGIC = 0x314C4F4F504E4F41
GATE_MAGIC = 0x3145544147414F4E
PAGE, UNIT = 4096, 32
FREE, OWNED, FULL = 0, 1, 2
MARK, POP, UNKNOWN = 5, 2, 60
WELCOME_BYTES, HELLO_BYTES = 48, 96
SEALS = 0x2 | 0x4  # shrink, grow


def head(kind, size, magic=MAGIC):
    return struct.pack("<IHH", magic, kind, size)


def hello(version=VERSION, flags=0, features=0, pool_id=(0, 0), pool_kib=0, extra=b"",
          library=b"raw", run=b""):
    body = struct.pack("<IIQQQII32s16s", version, flags, features, *pool_id, pool_kib, 0, library,
                       run)
    return head(HELLO, 8 + len(body) + len(extra)) + body + extra


class Raw:
    """One connection. say() and hear() are packets; join() is the whole greeting."""

    def __init__(self, place, timeout=5.0):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(timeout)
        self.sock.connect(str(place.run / "aond.sock"))
        self.fds = []
        self.pool = None

    def say(self, data, fds=()):
        anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.sock.sendmsg([data], anc)

    def hear(self):
        """The next packet; b"" when aond has closed its end. Descriptors go to self.fds."""
        try:
            data, anc, _, _ = self.sock.recvmsg(4096, socket.CMSG_SPACE(16 * 4))
        except ConnectionError:
            return b""
        for level, kind, raw in anc:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self.fds += array.array("i", raw[:len(raw) - len(raw) % 4])
        return data

    def closed(self, seconds=3.0):
        """Has aond closed its end (within that time)?"""
        self.sock.settimeout(seconds)
        try:
            while self.hear():
                pass
            return True
        except socket.timeout:
            return False

    def join(self, fds=(), **kw):
        """HELLO, WELCOME, mappings. Returns WELCOME's error: 0 when joined."""
        self.say(hello(**kw), fds)
        m = self.hear()
        if len(m) < WELCOME_BYTES:
            return None
        self.error, self.flags = struct.unpack_from("<iI", m, 12)
        self.pool_bytes, = struct.unpack_from("<Q", m, 40)
        if self.error == 0 and len(self.fds) > 1:
            self.map(self.fds[1], self.pool_bytes)
        return self.error

    def map(self, fd, size):
        self.pool = mmap.mmap(fd, size)
        h = self.pool
        (self.chunk_bytes, self.chunk_count, self.state_off, self.consumed_off, self.heap_off,
         self.heap_bytes, self.chunk_off) = struct.unpack_from("<7I", h, 40)
        self.pool_id = struct.unpack_from("<QQ", h, 16)
        self.clock = struct.unpack_from("<QQQ", h, 96)
        self.next = self.seq = 0

    def tsc(self):
        """What the processor's counter says now, by the moment that aond wrote down."""
        base, ns, hz = self.clock
        return base + (time.monotonic_ns() - ns) * hz // 1000000000

    # --- as libaon would ---

    def put_u32(self, off, v):
        struct.pack_into("<I", self.pool, off, v)

    def get_u32(self, off):
        return struct.unpack_from("<I", self.pool, off)[0]

    def emit(self, records):
        """Commits whole records (bytes each) in chunks of their own; returns how many."""
        n, left = 0, list(reversed(records))
        while left:
            i = self.free_chunk()
            off, at, count, tsc = self.chunk_off + i * self.chunk_bytes, 1, 0, self.tsc()
            self.seq += 1
            struct.pack_into("<IIII", self.pool, off, os.getpid(), self.seq, 0, tsc >> 32)
            while left and at * UNIT + len(left[-1]) <= self.chunk_bytes:
                r = struct.pack("<I", tsc & 0xFFFFFFFF) + left.pop()[4:]
                self.pool[off + at * UNIT:off + at * UNIT + len(r)] = r
                at += len(r) // UNIT
                count += 1
            self.put_u32(off + 8, at - 1)
            self.put_u32(self.state_off + 4 * i, FULL)
            n += count
        return n

    def free_chunk(self):
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for _ in range(self.chunk_count):
                i, self.next = self.next, (self.next + 1) % self.chunk_count
                if self.get_u32(self.state_off + 4 * i) == FREE:
                    self.put_u32(self.state_off + 4 * i, OWNED)
                    return i
            time.sleep(0.05)
        raise TimeoutError("no chunk came free")

    def name(self, text, at=None):
        """Puts a name (any bytes) into the heap; its id."""
        used = at or self.get_u32(256 + 12)
        self.pool[self.heap_off + used + 4:self.heap_off + used + 4 + len(text)] = text
        struct.pack_into("<HBB", self.pool, self.heap_off + used, len(text), 1, 0)
        self.put_u32(256 + 12, used + (4 + len(text) + 7) // 8 * 8)
        return used // 8

    def close(self):
        self.sock.close()
        for fd in self.fds:
            os.close(fd)
        self.fds = []


def record(kind=MARK, units=1, name=0, a=0, b=0):
    """A HOST record; emit() stamps it."""
    return (struct.pack("<IHBBIIQQ", 0, kind, units, 0, name, 0, a, b) +
            bytes(UNIT * (units - 1)))


PARTS = ("constants", "words", "states", "consumed", "heads", "records", "heap", "all", "holes")
EDGES = (0, 1, 2, 3, 126, 127, 128, 255, 4096, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def scribble(raw, part, seconds, seed=1):
    """Changes that part of the pool as fast as it can while aond reads it; ends early when
    aond has ended the session."""
    rnd = random.Random(seed)
    libc = ctypes.CDLL(None, use_errno=True)
    span = {"constants": (0, 256), "words": (256, PAGE - 256),
            "states": (raw.state_off, 4 * raw.chunk_count),
            "consumed": (raw.consumed_off, 4 * raw.chunk_count),
            "heap": (raw.heap_off, raw.heap_bytes), "all": (0, raw.pool_bytes)}.get(part)
    raw.sock.setblocking(False)
    end = time.monotonic() + seconds
    bell = head(BELL, 8)
    good = b"".join(record(rnd.choice((MARK, POP, 1, 32, 33, UNKNOWN)), name=rnd.choice(EDGES))
                    for _ in range(raw.chunk_bytes // UNIT - 1))
    while time.monotonic() < end:
        chunk = raw.chunk_off + rnd.randrange(raw.chunk_count) * raw.chunk_bytes
        try:
            raw.sock.send(bell)
        except BlockingIOError:
            pass
        except OSError:
            return True
        for _ in range(8):  # something to read
            i = rnd.randrange(raw.chunk_count)
            off = raw.chunk_off + i * raw.chunk_bytes
            raw.pool[off + UNIT:off + UNIT + len(good)] = good
            raw.put_u32(off + 8, len(good) // UNIT)
            raw.put_u32(raw.state_off + 4 * i, FULL)
        for _ in range(200):
            v = rnd.choice(EDGES) if rnd.random() < 0.5 else rnd.getrandbits(32)
            if part == "holes":
                libc.fallocate(raw.fds[1], 3, ctypes.c_long(chunk // PAGE * PAGE),
                               ctypes.c_long(PAGE))
                break
            at, size = span or ((chunk, UNIT) if part == "heads" else
                                (chunk + UNIT, raw.chunk_bytes - UNIT))
            raw.put_u32(at + rnd.randrange(size // 4) * 4, v)
    return False


def memfd(size=0, seals=None, flags=3):
    fd = os.memfd_create("aon-test", flags)
    if size:
        os.ftruncate(fd, size)
    if seals is not None:
        import fcntl
        fcntl.fcntl(fd, 1033, seals)  # F_ADD_SEALS
    return fd
