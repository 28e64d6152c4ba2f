# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of `aon capture --kineto`: a network of their own, and the command."""
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys

from aontest import ROOT, again, find, skip_all
from clitest import env_for

FAKE = ROOT / "tests/app/python" / "fake_kineto.py"


def in_own_network():
    """This script again, in network and mount namespaces of its own."""
    if os.environ.get("AON_OWN_NETWORK"):
        with socket.socket() as s:  # and its loopback is up
            fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
        return
    if subprocess.run(["unshare", "-nm", "true"], capture_output=True).returncode:
        skip_all("unshare -nm is not possible")
    os.environ["AON_OWN_NETWORK"] = "1"
    os.execvp("unshare", ["unshare", "-nm", *again()])


class Fake:
    def __init__(self, place, how="write", user=(), script=FAKE, **env):
        self.proc = subprocess.Popen([*user, sys.executable, script, how], env=env_for(place, **env), text=True,
                                     stdout=subprocess.PIPE, cwd=place.path)
        self.said = self.proc.stdout.readline().split()  # it has asked
        self.pid = self.proc.pid

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()


def out(p):
    """Where traces are written: not in /tmp, where others write theirs."""
    (p.path / "out").mkdir(exist_ok=True)
    os.chmod(p.path / "out", 0o1777)
    return {"KINETO_ONDEMAND_TRACE_DIR": p.path / "out"}


def capture(p, *args, user=(), **env):
    """(exit status, what it says as JSON or None, stderr)"""
    program = p.path / "aon" if user else find("aon")
    r = subprocess.run([*user, program, "capture", "--kineto", "--json", *map(str, args)],
                       env=env_for(p, **{**out(p), **env}), cwd=p.path, capture_output=True, text=True, timeout=120)
    return r.returncode, json.loads(r.stdout) if r.stdout else None, r.stderr


def left(p):
    return sorted((p.path / "out").iterdir())
