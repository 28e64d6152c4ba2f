# SPDX-License-Identifier: Apache-2.0
# test: timeout=600 sanitize=no long=yes
"""tools/cluster-up: from a training on nodes of their own to rows in ClickHouse, and nothing is left afterwards."""
import os
import subprocess

import clustertest
import slurmtest
from aontest import ROOT, BUILD, SANITIZED, done, ok, skip_all

TOOL = ROOT / "tools/cluster-up"


def main():
    why = clustertest.missing() or (None if os.getuid() == 0 else "network namespaces are root's to make")
    why = why or ("the tool takes what make has placed" if SANITIZED else None)
    if why:
        skip_all(why)
    with clustertest.Net(1) as net:
        if net.why:
            skip_all(net.why)
    before = set(os.listdir("/run/netns"))
    slurm = [] if slurmtest.missing() else ["--slurm"]
    r = subprocess.run([TOOL, BUILD, "--nodes", "3", "--ranks", "2", "--steps", "3000", "--check", *slurm], capture_output=True, text=True, timeout=500)
    ok(r.returncode == 0 and "node-2 is there" in r.stdout, f"three nodes and two ranks{', a job of Slurm,' if slurm else ''} tell ClickHouse what they do", r.stdout + r.stderr)
    ok(" 0 windows" not in r.stdout and "aon capture --cluster" in r.stdout, "and it says what to try", r.stdout)
    ok(set(os.listdir("/run/netns")) <= before, "no namespace is left", os.listdir("/run/netns"))
    done()


if __name__ == "__main__":
    main()
