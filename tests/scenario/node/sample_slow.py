#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=180
"""aon-sample beside programs whose memory hangs whoever reads it, or is slow: it goes on with the others, says which process it
leaves alone, and aond notices nothing else."""
import contextlib
import socket
import subprocess
import sys
import time

import aonsample
from aonsample import Program, targets
from aontest import Place, done, find, ok, skip

CHUNK = {11: 296, 12: 232, 13: 232}  # of a thread's state: where its frames are
# Its frames seem to be in pages that userfaultfd makes: after argv[1] seconds each, 0: never.
HANGS = """
import ctypes, fcntl, mmap, os, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.syscall(323, os.O_CLOEXEC)
if fd < 0: sys.exit(77)
fcntl.ioctl(fd, 0xc018aa3f, bytearray(struct.pack("<QQQ", 0xaa, 0, 0)))
SIZE = 1 << 20
area = mmap.mmap(-1, SIZE)
at = ctypes.addressof(ctypes.c_char.from_buffer(area))
fcntl.ioctl(fd, 0xc020aa00, bytearray(struct.pack("<QQQQ", at, SIZE, 1, 0)))
def serves(seconds):
    page = ctypes.create_string_buffer(4096)
    struct.pack_into("<QQQ", page, 0, at + 8192, 4096, 8)  # a chunk, and behind it the next
    while True:
        address = struct.unpack_from("<QQQQ", os.read(fd, 32))[2] & ~4095
        time.sleep(seconds)
        try:
            fcntl.ioctl(fd, 0xc028aa03, bytearray(struct.pack("<QQQQq", address, ctypes.addressof(page), 4096, 0, 0)))
        except OSError:  # it is there already
            fcntl.ioctl(fd, 0x8010aa02, bytearray(struct.pack("<QQ", address, 4096)))
        libc.madvise(ctypes.c_void_p(at), SIZE, 4)  # all anew
if float(sys.argv[1]):
    threading.Thread(target=serves, args=(float(sys.argv[1]),), daemon=True).start()
ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
me = ctypes.pythonapi.PyThreadState_Get()
print("there", flush=True)
ctypes.c_void_p.from_address(me + int(sys.argv[2])).value = at
while True: time.sleep(0.05)
"""
WORKS = """
import time
def works():
    while True: time.sleep(0.01)
print("there", flush=True)
works()
"""


@contextlib.contextmanager
def sampler(place):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(place.run / "sample.sock"))
        listener.listen(1)
        listener.settimeout(60)
        p = subprocess.Popen([find("aon-sample"), "--run-dir", str(place.run), "--cpu-percent", "100"])
        try:
            with listener.accept()[0] as sock:
                sock.settimeout(60)
                yield p, sock
        finally:
            p.kill()
            p.wait()


def hear(sock, said, enough, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not enough():
        said.take(sock.recv(65536))
    return enough()


def beside(pause, what):
    """A process whose memory hangs, or takes long, and a healthy one."""
    chunk = CHUNK.get(sys.version_info[1])
    if chunk is None:
        return skip(what, "where this Python has its frames is not known to the test")
    with Place() as place, Program(WORKS) as good, Program(HANGS, str(pause), str(chunk)) as bad:
        if bad.p.poll() is not None:
            return skip(what, "no userfaultfd for this user")
        with sampler(place) as (proc, sock):
            said = aonsample.Said()
            sock.send(targets([(good.pid, good.pid, 50)]))

            def of(pid, since=0):
                return [s for s in said.samples if s.pid == pid and s.t_ns > since]
            ok(hear(sock, said, lambda: len(of(good.pid)) > 20 and said.status, 60), f"{what}: before, the healthy one is sampled")
            sock.send(targets([(good.pid, good.pid, 50), (bad.pid, bad.pid, 50)]))
            if not pause:  # of slow memory a look may get something in time
                told = hear(sock, said, lambda: f"pid {bad.pid}: " in said.status[-1].reason, 60)
                ok(told and "too slowly" in said.status[-1].reason, f"{what}: it is left alone, and the reason is said", said.status[-1:])
            else:
                ok(hear(sock, said, lambda: said.status[-1].missed > 0, 60), f"{what}: looks at it are given up", said.status[-1:])
            since = time.monotonic_ns()
            took = time.monotonic()
            ok(hear(sock, said, lambda: len(of(good.pid, since)) >= 100, 60), f"{what}: the other is sampled as before")
            rate = len(of(good.pid, since)) / (time.monotonic() - took)
            ok(rate > 15, f"{what}: at {rate:.0f} of 50 Hz", said.status[-1])
            numbers = [s.samples for s in said.status]
            ok(numbers == sorted(numbers) and all(s.stack in said.stacks for s in said.samples if s.stack) and
               [s.cpu_ns for s in said.status] == sorted(s.cpu_ns for s in said.status), f"{what}: aond sees one sampler: sums go on, no number is given twice")
            missed = [s.missed for s in said.status]
            ok(missed[-1] > 0 and missed == sorted(missed), f"{what}: what is left out is counted", missed)
            ok(proc.poll() is None and bad.p.poll() is None, f"{what}: all are still there")
            sock.close()
            ok(proc.wait(60) == 0, f"{what}: and it ends when aond does")
    return None


beside(0, "memory that hangs")
beside(0.06, "memory that is slow")
done()
