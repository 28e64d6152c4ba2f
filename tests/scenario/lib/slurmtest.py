# SPDX-License-Identifier: Apache-2.0
"""Debian's Slurm on this machine alone: two nodes on the loopback device, or one in each network namespace of a
clustertest.Net, with a folder, a key and ports of their own. Nothing is left when it ends."""
import ctypes
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = "munged", "slurmctld", "slurmd", "srun", "sinfo"
NODES = "n1", "n2"
PR_SET_CHILD_SUBREAPER = 36
CONF = """ClusterName=aon
SlurmctldHost={host}({home})
SlurmctldPort={port}
AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool.%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/linear
ReturnToService=2
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# Of the machine itself: nowhere but at the address of its name. In namespaces nobody else is there.
HOME = "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n"
NODE = "NodeName={name} NodeHostname={host} NodeAddr={address} Port={port} CPUs=1\n"


def missing():
    """Why it cannot be: None if it can."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    lacks = [p for p in PROGRAMS if not shutil.which(p)]
    if lacks:
        return f"no {', '.join(lacks)}: tools/setup check installs slurmctld, slurmd, slurm-client and munge"
    return None if os.getuid() == 0 else "slurmd starts other people's jobs: it must be root's"


def free_ports(n):
    held = [socket.socket() for _ in range(n)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def adopt():
    """slurmstepd leaves its parent: whoever does becomes a child of this process."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children():
    """Of this process, by the parent that stands behind each name in parentheses."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                parent = int(f.read().rpartition(")")[2].split()[1])
        except OSError:  # it is gone
            continue
        if parent == os.getpid():
            found.append(int(pid))
    return found


class Slurm:
    """with Slurm(folder) as s: s.why is None, or why it did not start; s.env leads srun to it."""

    def __init__(self, folder, more="", net=None, nodes=NODES):
        """net: the i-th node lives in its i-th namespace, the controller in its hub; so must srun."""
        self.dir = folder
        self.more = more  # lines of slurm.conf
        self.net, self.nodes = net, nodes
        self.all = []
        self.why = None

    def start(self, *argv):
        log = open(self.dir / f"{len(self.all)}.log", "wb")
        self.all.append(subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         env=self.env, cwd=self.dir))
        log.close()

    def ready(self):
        r = subprocess.run(self.inside(None, "sinfo", "-h", "-o", "%D %t"), env=self.env, capture_output=True, text=True, timeout=20)
        return r.stdout.split() == [str(len(self.nodes)), "idle"]

    def inside(self, i, *argv):
        """That command at node i, or at the controller: None."""
        # Not by `ip netns exec`, whose own /sys has no cgroups.
        return [*(["nsenter", f"--net=/run/netns/{self.net.name(i)}"] if self.net else []), *map(str, argv)]

    def conf(self):
        host, ports = socket.gethostname().split(".")[0], free_ports(1 + len(self.nodes))
        address = self.net.address if self.net else lambda i: "127.0.0.1"
        return CONF.format(dir=self.dir, port=ports[0], user=getpass.getuser(), host=host, home=address(None)) + "".join(
            NODE.format(name=n, host=host, address=address(i), port=ports[1 + i]) for i, n in enumerate(self.nodes)) + ("" if self.net else HOME) + self.more

    def __enter__(self):
        adopt()
        for d in ("state", *(f"spool.{n}" for n in self.nodes)):
            (self.dir / d).mkdir(parents=True)
        (self.dir / "key").write_bytes(os.urandom(1024))
        (self.dir / "key").chmod(0o600)
        conf = self.dir / "slurm.conf"
        conf.write_text(self.conf())
        self.env = dict(os.environ, SLURM_CONF=str(conf))
        self.start("munged", "--force", "--foreground", f"--key-file={self.dir}/key",
                   f"--socket={self.dir}/munge.sock", f"--pid-file={self.dir}/munge.pid",
                   f"--log-file={self.dir}/munge.log", f"--seed-file={self.dir}/munge.seed")
        end = time.monotonic() + 60
        while not (self.dir / "munge.sock").exists() and time.monotonic() < end:
            time.sleep(0.05)
        self.start(*self.inside(None, "slurmctld", "-D", "-f", conf))
        for i, n in enumerate(self.nodes):
            self.start(*self.inside(i, "slurmd", "-D", "-N", n, "-f", conf))
        while not self.ready():
            if time.monotonic() > end or any(p.poll() is not None for p in self.all):
                self.why = "Slurm did not start here: " + " ".join(
                    f.read_text(errors="replace")[-200:] for f in sorted(self.dir.glob("*.log")))[:600]
                break
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        """They write nothing that is still wanted, and some of them take no notice of SIGTERM. First those whose
        children are then ours to end."""
        for p in self.all[::-1]:
            p.kill()
            p.wait(timeout=60)
        while True:
            orphans = children()
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            if not orphans:
                break
