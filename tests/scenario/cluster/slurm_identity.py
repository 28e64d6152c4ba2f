#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""Slurm on two nodes with aon's SPANK plugin: tasks find aond and are known by job, rank and node without a variable of
their own; the prolog notes jobs by GPU as dcgm-exporter reads them, and aond takes a job from there."""
import os
import subprocess

from aontest import ROOT, BUILD, Daemon, Place, app_env, done, find, ok, report, skip, skip_all
from slurmtest import Slurm, missing

SCRIPTS = ROOT / "deploy" / "slurm"
PLUGIN = BUILD / "src" / "app" / "spank" / "spank_aon.so"


def note(script, folder, **env):
    return subprocess.run([SCRIPTS / script], env={"PATH": os.environ["PATH"], "AON_HPC_DIR": str(folder),
                                                   **{k: str(v) for k, v in env.items()}}, capture_output=True, text=True)


def told(folder):
    return {f.name: f.read_text().split() for f in folder.glob("[0-9]*")}


def notes(p):
    folder = p.path / "hpc"
    runs = [note("prolog", folder, SLURM_JOB_ID=4711, SLURM_JOB_GPUS="0,3"), note("prolog", folder, SLURM_JOB_ID=4712, SLURM_JOB_GPUS="3"),
            note("prolog", folder, SLURM_JOB_ID=4711, SLURM_JOB_GPUS="0,3")]
    ok(all(r.returncode == 0 and not r.stderr for r in runs) and told(folder) == {"0": ["4711"], "3": ["4711", "4712"]},
       "the prolog notes each GPU's jobs, once", (told(folder), runs))
    bad = [note("prolog", folder, SLURM_JOB_ID="1;x", SLURM_JOB_GPUS="0"), note("prolog", folder, SLURM_JOB_ID=1, SLURM_JOB_GPUS="../x"),
           note("prolog", folder), note("epilog", folder, SLURM_JOB_ID="..")]
    ok(all(r.returncode == 0 for r in bad) and told(folder) == {"0": ["4711"], "3": ["4711", "4712"]},
       "what is no number changes nothing, and keeps no job from starting", told(folder))
    with Daemon(p, sets={"hpc_dir": folder}) as d:
        env = {k: v for k, v in app_env(p, AON_JOIN_MS=1000, LOCAL_RANK=0, RANK=0).items() if not k.startswith("SLURM")}
        a = subprocess.Popen([find("emitter"), "10"], env=env, stdout=subprocess.DEVNULL)
        a.wait(timeout=60)
        d.flush()
        x = [q for q in report(p.store, "--all")["processes"] if q["pid"] == a.pid]
        ok(x and x[0]["job"] == "4711", "aond takes a job from there for who names none", x)
        d.stop()
    note("epilog", folder, SLURM_JOB_ID=4711)
    ok(told(folder) == {"3": ["4712"]}, "the epilog takes it back", told(folder))


def tasks(p):
    folder = p.path / "slurm"
    folder.mkdir()
    stack = p.path / "plugstack.conf"
    stack.write_text(f"required {PLUGIN} run_dir={p.run} prefix=alpha-\n")
    for f in p.path.glob("store.db*"):
        f.unlink()
    with Slurm(folder, f"PlugStackConfig={stack}\n") as slurm, Daemon(p) as d:
        if slurm.why:
            skip("tasks of Slurm", slurm.why)
            return
        env = {k: v for k, v in slurm.env.items() if not k.startswith("AON_")}
        r = subprocess.run(["srun", "-N2", "-n2", find("emitter"), "10"], env={**env, "AON_JOIN_MS": "2000"}, capture_output=True,
                           text=True, stdin=subprocess.DEVNULL, timeout=120, cwd=p.path)
        ok(r.returncode == 0, "two tasks", r)
        again = subprocess.run(["srun", "-n1", find("emitter"), "10"], env={**env, "AON_JOIN_MS": "2000", "AON_JOB": "mine"},
                               capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, cwd=p.path)
        d.flush()
        got = [q for q in report(p.store, "--all")["processes"]]
        d.stop()
    two = sorted((q["rank"], q["world"], q["node"]) for q in got if (q["job"] or "").startswith("alpha-"))
    ok(two == [(0, 2, "n1"), (1, 2, "n2")], "each is known by job, rank and node, and found aond by the plugin alone", got)
    ok(again.returncode == 0 and [q["rank"] for q in got if q["job"] == "mine"] == [0], "what the user has set stays", got)


why = missing()
if why:
    skip_all(why)
if not PLUGIN.exists():
    skip_all("no plugin: tools/setup check installs libslurm-dev")
with Place() as place:
    notes(place)
    tasks(place)
done()
