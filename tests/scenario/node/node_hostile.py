# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 needs=prlimit,fallocate
"""Processes that break every rule they can reach: aond ends their sessions and counts them, and
an honest program beside them loses nothing."""
import os
import socket
import struct
import subprocess
import time

from aontest import *
import aonraw
from aonraw import Raw, hello, head, memfd, record

NOBODY = 65534


def fds_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def quiet(d, n, seconds=4.0):
    """Is aond back at n descriptors?"""
    return wait_for(lambda: fds_of(d.pid) <= n, seconds)


class Witness:
    """An honest program that must not notice."""

    def __init__(self, place, d):
        self.place, self.d = place, d
        self.proc = app(place, "steady", "-r", 20000, "-k", "range", "-w", stdin=subprocess.PIPE)
        wait_joined(d, self.proc.pid)

    def end(self, text):
        e = finish(self.proc)
        self.d.flush()
        a = account_of(self.place.store, self.proc.pid)
        same(a, e, f"{text}: an honest program's count is exact")
        ok(a and lost(a[0]) == 0, f"{text}: and it lost nothing", a)


# --- messages ---

def messages(place, d):
    """name, what is sent after (or instead of) HELLO, whether the connection must be closed, the
    counter that must rise."""
    big = head(77, aonraw.MSG_MAX) + bytes(aonraw.MSG_MAX - 8)
    cases = [
        ("a wrong magic", [head(1, 96, 0x12345678) + bytes(88)], True, "messages_bad"),
        ("a short HELLO", [hello()[:40]], True, "messages_bad"),
        ("a size that is not the packet's", [head(1, 500) + bytes(88)], True, "messages_bad"),
        ("one byte", [b"A"], True, "messages_bad"),
        ("a packet over the limit", [head(1, 5000) + bytes(4992)], True, "messages_bad"),
        ("zeros", [bytes(96)], True, "messages_bad"),
        ("BELL before HELLO", [head(3, 8)], True, "messages_bad"),
        ("NOTE before HELLO", [head(4, 168) + bytes(160)], True, "messages_bad"),
        ("HELLO twice", [hello(), hello()], None, "messages_bad"),
        ("an offer without a pool", [hello(flags=1)], True, "offers_refused"),
        ("another version", [hello(version=99)], True, "refused_hello"),
        ("an unknown type", [hello(), head(77, 8)], False, "messages_unknown"),
        ("a long unknown type", [hello(), big], False, "messages_unknown"),
        ("a NOTE of noise", [hello(), head(4, 168) + b"\x1b[31m\xff\n\"" * 20], False, None),
    ]
    for name, packets, closes, counter in cases:
        before = d.counter(counter) if counter else 0
        r = Raw(place)
        try:
            for m in packets:
                r.say(m)
        except OSError:
            pass
        if counter:
            ok(wait_for(lambda: d.counter(counter) > before, 3), f"{name} is counted",
               d.status().get("counters"))
        if closes is not None:
            ok(r.closed(1.0 if closes else 0.2) == closes,
               f"{name}: " + ("the connection is closed" if closes else "the session goes on"))
        r.close()


def descriptors(place, d):
    """What comes with messages is closed, however much it is."""
    base = fds_of(d.pid)
    null = os.open("/dev/null", os.O_RDONLY)
    for name, data, n in (("253 with a HELLO", hello(), 253), ("253 with a BELL", head(3, 8), 253),
                          ("3 with a HELLO", hello(), 3), ("253 with noise", b"noise", 253)):
        for _ in range(20):
            r = Raw(place)
            try:
                r.say(data, [null] * n)
                r.closed(0.02)
            except OSError:
                pass
            r.close()
        ok(quiet(d, base), f"descriptors, {name}: none is left open", f"{fds_of(d.pid)} of {base}")
    os.close(null)


# --- offers ---

def offers(place, d):
    base = fds_of(d.pid)
    sealed, full = 0x2 | 0x4, 0x2 | 0x4 | 0x8
    seg = fake_segment()
    pipe_r, pipe_w = os.pipe()
    kinds = {
        "a pipe": lambda: os.dup(pipe_r),
        "a directory": lambda: os.open("/", os.O_RDONLY),
        "/dev/zero": lambda: os.open("/dev/zero", os.O_RDWR),
        "a socket": lambda: os.dup(socket.socket().detach()),
        "an unsealed memfd": lambda: filled(seg, None),
        "a memfd sealed against growing only": lambda: filled(seg, 0x4),
        "a memfd sealed against writing": lambda: filled(seg, full),
        "an empty sealed memfd": lambda: memfd(0, sealed),
        "a memfd of 1 GiB": lambda: memfd(1 << 30, sealed),
        "a memfd of zeros": lambda: memfd(1 << 20, sealed),
        "a punched segment": lambda: punched(seg, sealed),
        "a file on disk": lambda: on_disk(place, seg),
        "a segment that says it is larger": lambda: filled(
            seg[:32] + struct.pack("<Q", 1 << 26) + seg[40:], sealed),
        "a segment of another process": lambda: filled(seg, sealed),
        "a hugetlb memfd": lambda: memfd(2 << 20, sealed, flags=3 | 4),
        "a read-only memfd": lambda: readonly(seg, sealed),
    }
    for name, make in kinds.items():
        try:
            fd = make()
        except OSError as e:
            skip(f"offer: {name}", str(e))
            continue
        before = d.counter("offers_refused")
        r = Raw(place)
        err = r.join(fds=[fd], flags=1, pool_id=struct.unpack_from("<QQ", seg, 16))
        ok(err and d.counter("offers_refused") == before + 1, f"offer: {name} is refused",
           f"error {err}")
        r.close()
        os.close(fd)
    os.close(pipe_r)
    os.close(pipe_w)
    ok(quiet(d, base), "offers: no descriptor is left open", f"{fds_of(d.pid)} of {base}")


def fake_segment(pid=1, chunks=64):
    table = 4 * chunks
    heap_off = (aonraw.PAGE + 2 * table + 4095) // 4096 * 4096
    chunk_off = heap_off + 65536
    total = chunk_off + chunks * 4096
    h = struct.pack("<QIIQQQIIIIIIIIQQQ", aonraw.SEG_MAGIC, 1, 4096, 7, 8, total, 4096, chunks,
                    aonraw.PAGE, aonraw.PAGE + table, heap_off, 65536, chunk_off, pid, 1, 0, 0)
    return h + bytes(total - len(h))


def filled(data, seals):
    fd = memfd(len(data))
    os.pwrite(fd, data, 0)
    if seals is not None:
        import fcntl
        fcntl.fcntl(fd, 1033, seals)
    return fd


def punched(seg, seals):
    fd = filled(seg, seals)
    subprocess.run(["fallocate", "-p", "-o", "0", "-l", "4096", f"/proc/self/fd/{fd}"],
                   pass_fds=[fd], check=True)
    return fd


def on_disk(place, seg):
    path = place.path / "seg"
    path.write_bytes(seg)
    return os.open(path, os.O_RDWR)


def readonly(seg, seals):
    fd = filled(seg, seals)
    ro = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    os.close(fd)
    return ro


def adopted_lie(place, d):
    """A pool that aond made itself, offered again after it was spoilt: the lie is met while the
    greeting is under way."""
    r = Raw(place)
    r.join(pool_kib=64)
    fd, pool_id = os.dup(r.fds[1]), r.pool_id
    d.kill()
    d.start()
    off = r.chunk_off
    r.put_u32(off + 8, 0xFFFFFF)
    r.put_u32(r.state_off, 2)
    before = d.counter("sessions_lied")
    s = Raw(place)
    s.say(hello(flags=1, pool_id=pool_id), [fd])
    try:
        s.say(head(3, 8))
    except BrokenPipeError:
        pass
    ok(s.closed(3), "a pool that lies when it is taken over: closed")
    ok(d.alive() and d.counter("sessions_lied") == before + 1, "and counted; aond lives",
       d.text()[-1500:])
    s.close()
    r.close()
    os.close(fd)


# --- pools ---

def scribblers(place, d, seconds):
    for i, part in enumerate(aonraw.PARTS):
        before = d.counter("sessions_lied")
        r = Raw(place)
        if not ok(r.join(pool_kib=256) == 0, f"{part}: the liar joins"):
            continue
        ended = aonraw.scribble(r, part, seconds, seed=i)
        lied = d.counter("sessions_lied") - before
        ok(d.alive() and d.ping(), f"{part}: aond lives", d.text()[-2000:])
        if part in ("states", "heads", "all"):
            ok(ended or lied, f"{part}: the liar's session is ended and counted",
               f"ended {ended} lied {lied}")
        r.close()
    ok(d.counter("accounts_wrong") == 0, "accounts add up even of liars", d.text()[-1500:])


# --- slow, silent, loud ---

def odd_manners(place, d):
    base = fds_of(d.pid)
    mute, slow = Raw(place), Raw(place)
    deaf = Raw(place)
    deaf.say(hello())
    t = time.monotonic()
    slow.say(b"A")
    ok(slow.closed(1), "one byte that is no message ends the connection")
    ok(mute.closed(5) and 1.5 < time.monotonic() - t < 4.5, "who says nothing is closed after 2 s",
       time.monotonic() - t)
    loud = Raw(place)
    loud.join()
    rang, end = 0, time.monotonic() + 1.5
    loud.sock.setblocking(False)
    while time.monotonic() < end:
        try:
            loud.sock.send(head(3, 8))
            rang += 1
        except BlockingIOError:
            time.sleep(0.001)
    ok(d.counter("bells_ignored") > 0 and d.ping(),
       f"{rang} bells: who rings too often is not heard",
       d.status().get("counters"))
    for r in (mute, slow, deaf, loud):
        r.close()
    # The raw process lives on, so its sessions do; only the sockets are gone.
    ok(quiet(d, base + 3 * 4), "who never reads costs nothing but its session", fds_of(d.pid))


# --- descriptors run out ---

def flood_as_nobody(place, n, hold):
    pid = os.fork()
    if pid:
        return pid
    code = 0
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        socks = []
        for _ in range(n):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.settimeout(1.0)
            try:
                s.connect(str(place.run / "aond.sock"))
                s.send(hello(pool_kib=64))
                socks.append(s)
            except OSError:
                pass
        time.sleep(hold)
    except BaseException:
        code = 1
    os._exit(code)


def exhaustion():
    if os.geteuid() != 0:
        return skip("a flood by another user", "needs root")
    with Place() as place:
        with Daemon(place, sets={"sessions_per_uid": 6},
                    wrap=("prlimit", "--nofile=64:64")) as d:
            w = Witness(place, d)
            pids = [flood_as_nobody(place, 300, 3) for _ in range(2)]
            time.sleep(1.5)
            ok(d.ping(), "64 descriptors, 600 connections: the owner is still answered",
               d.text()[-1500:])
            c = d.status()["counters"]
            ok(c["refused_uid"] > 0 or c["refused_full"] > 0, "the flood is refused and counted", c)
            p = app(place, "steady", "-n", 1000, stdin=subprocess.PIPE)
            e = emitted(p)
            ok(e["joined"], "another user's program is let in meanwhile", e)
            for pid in pids:
                os.waitpid(pid, 0)
            w.end("flood")
            ok(wait_for(lambda: fds_of(d.pid) < 32, 5), "the descriptors come back", fds_of(d.pid))
            ok(d.stop() == 0, "and aond ends well")
        with Daemon(place, wrap=("prlimit", "--nofile=32:32")) as d:
            socks = []
            for _ in range(200):
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                s.settimeout(1.0)
                try:
                    s.connect(str(place.run / "aond.sock"))
                    socks.append(s)
                except OSError:
                    s.close()
            time.sleep(0.5)
            cpu = cpu_ms(d.pid)
            time.sleep(1)
            ok(cpu_ms(d.pid) - cpu < 300, "out of descriptors: aond does not spin",
               cpu_ms(d.pid) - cpu)
            for s in socks:
                s.close()
            e = wait_for(lambda: emitted(app(place, "steady", "-n", 100, stdin=subprocess.PIPE))
                         .get("joined"), 8)
            ok(e, "and lets in again when there are some", d.text()[-1000:])


def cpu_ms(pid):
    f = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(f[11]) + int(f[12])) * 1000 // os.sysconf("SC_CLK_TCK")


with Place() as place, Daemon(place) as d:
    w = Witness(place, d)
    scribblers(place, d, 20 if LONG else 0.8)
    messages(place, d)
    descriptors(place, d)
    offers(place, d)
    odd_manners(place, d)
    w.end("hostile neighbours")
    ok(d.stop() == 0, "aond ends well after all of them", d.text()[-1500:])
    ok("ERROR: AddressSanitizer" not in d.text() and "runtime error" not in d.text(),
       "no sanitizer has spoken", d.text()[-3000:])
with Place() as place, Daemon(place) as d:
    adopted_lie(place, d)
exhaustion()
done()
