# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenarios of the aon command: a store whose numbers are known, a terminal of any width, and the state
of a directory before and after."""
import ctypes
import fcntl
import hashlib
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

from aontest import find


def fixture(path):
    """The store of tests/app/cli_fixture.c."""
    subprocess.run([find("cli_fixture"), str(path)], check=True)
    return path


def demangles():
    """Whether this machine has what aon reads names of C++ with."""
    try:
        return bool(ctypes.CDLL("libstdc++.so.6"))
    except OSError:
        return False


def env_for(place, **extra):
    """No node's daemon, no locale, colours or names of whoever runs the test."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("AON_", "LC_")) and k not in ("LANG", "NO_COLOR", "TERM")}
    env.update(AON_RUN_DIR=str(place.run), LC_ALL="C.UTF-8", TERM="xterm",
               XDG_RUNTIME_DIR=str(place.path), XDG_CONFIG_HOME=str(place.path))
    env.update({k: str(v) for k, v in extra.items()})
    return env


def aon(place, *args, program="aon", **kw):
    """aon with its standard streams in pipes; bytes in `stdin`."""
    env = env_for(place, **kw.pop("env", {}))
    return subprocess.run([find(program), *map(str, args)], env=env, capture_output=True,
                          cwd=kw.pop("cwd", place.path), timeout=kw.pop("timeout", 60), **kw)


def lab(place, *args, **kw):
    """aon-lab, the tool of developers, likewise."""
    return aon(place, *args, program="aon-lab", **kw)


def state(root):
    """Every file below with its kind, mode, time and content."""
    seen = {}
    for base, dirs, files in os.walk(root):
        for name in dirs + files:
            p = os.path.join(base, name)
            st = os.lstat(p)
            data = b""
            if os.path.isfile(p) and not os.path.islink(p):
                with open(p, "rb") as f:
                    data = hashlib.sha256(f.read()).digest()
            seen[p] = (st.st_mode, st.st_mtime_ns, st.st_size if data else 0, data)
    return seen


class Terminal:
    """A program on a terminal of its own, as the leader of a session."""

    def __init__(self, argv, columns, rows, env, cwd):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execve(argv[0], argv, env)
        self.out = b""
        self.status = None

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, data):
        os.write(self.fd, data)

    def read(self, seconds):
        """Reads for so long, or until the program's end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                break
            try:
                part = os.read(self.fd, 65536)
            except OSError:
                break
            if not part:
                break
            self.out += part
        return self.out

    def until(self, what, seconds=120):
        """Reads until `what` was printed; whether it was."""
        end = time.monotonic() + seconds
        while what not in self.out and time.monotonic() < end:
            before = len(self.out)
            self.read(0.2)
            if len(self.out) == before and self.ended():
                break
        return what in self.out

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def end(self, seconds=120):
        """Waits for the end; its wait status, or None after a kill."""
        limit = time.monotonic() + seconds
        while not self.ended() and time.monotonic() < limit:
            self.read(0.1)
        self.read(0.1)
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
        return self.status


def on_terminal(place, args, columns, rows=50, seconds=60, **env):
    """aon on a terminal, to its end: its output, and the wait status."""
    t = Terminal([find("aon"), *map(str, args)], columns, rows, env_for(place, **env), place.path)
    status = t.end(seconds)
    return t.out, status
