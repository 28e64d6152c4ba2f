# SPDX-License-Identifier: Apache-2.0
# test: timeout=180 sanitize=no
"""A real Slurm with deploy/slurm/health as its HealthCheckProgram: a node whose GPU loses PCIe lanes is drained, with the reason."""
import os
import subprocess

from aontest import ROOT, BUILD, Place, done, find, ok, skip_all, wait_for
from nvmlkit import write_state
from slurmtest import Slurm, missing

why = missing()
if why:
    skip_all(why)
HEALTH = ROOT / "deploy/slurm/health"
GOOD = ["- gpus 1", "0 name NVIDIA H100 80GB HBM3", "0 maxwidth 16", "0 maxgen 5", "0 gen 5", "0 pstate 0"]

with Place() as p:
    state, bin = p.path / "state", p.path / "bin"
    bin.mkdir()
    write_state(state, GOOD + ["0 width 16"])
    (bin / "aon").write_text(f"#!/bin/sh\ncmd=$1\nshift\nexec {find('aon')} $cmd --root {p.path} \"$@\"\n")
    (bin / "health").write_text(f"#!/bin/sh\nexport SLURM_CONF={p.path}/slurm/slurm.conf PATH={bin}:{os.environ['PATH']} AON_GOLDEN=/nonexistent AON_NVML={BUILD}/tests/sim/libsim-nvml.so AON_NVML_STATE={state}\n"
                                f"echo $SLURMD_NODENAME >> {p.path}/asked\nexec {HEALTH}\n")
    for x in bin.iterdir():
        x.chmod(0o755)
    folder = p.path / "slurm"
    folder.mkdir(mode=0o755)
    with Slurm(folder, f"HealthCheckProgram={bin}/health\nHealthCheckInterval=2\nHealthCheckNodeState=ANY\n") as s:
        if s.why:
            skip_all(s.why)

        def sinfo(what):
            return subprocess.run(["sinfo", "-h", "-N", "-o", what], env=s.env, capture_output=True, text=True).stdout

        def asked():
            f = p.path / "asked"
            return f.read_text().split() if f.exists() else []

        ok(wait_for(lambda: len(asked()) >= 4, 60) and sinfo("%t").split() == ["idle", "idle"], "nodes that are well stay as they are", (asked(), sinfo("%N %t %E")))
        write_state(state, GOOD + ["0 width 8"])
        ok(wait_for(lambda: set(sinfo("%t").split()) <= {"drain", "drng", "drained"}, 60), "a GPU that lost lanes drains its node", sinfo("%N %t %E"))
        ok("aon: gpu_pcie is 1 (GPU 0), expected 0" in sinfo("%E"), "with what is wrong as the reason", sinfo("%E"))
done()
