#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Telemetry joined with kernels: aon why names what made them slower, of simulated jobs and of a real one on CPUs that its
cgroup's quota stops; of healthy ones nothing."""
import json
import os
import pathlib
import subprocess
import time

import joinkit
from aontest import BUILD, SANITIZED, Daemon, Place, aon, app, done, find, finish, ok, skip, wait_for
from servetest import Server

AON = find("aon")
LAYER = BUILD / "src/app/probe/opencl/libaon-opencl.so"
CGROUP = pathlib.Path("/sys/fs/cgroup/cpu")
SEED = "make check"
# Of the drawn cases, by their numbers: one of each part that can be slow.
CASES = (3, 8, 9, 20, 22)


def simulated(place):
    for case in CASES:
        which = joinkit.FAULTS[case]
        job = joinkit.draw_fault(joinkit.rng(SEED, case), AON, place.path, which)
        worth, right, said = joinkit.judge(AON, job, place.path)
        ok(not worth or right, f"{which[0]}, {which[1]}: the cause is named, and no other", f"{job.faults} {said}")
    for case in range(2):
        job = joinkit.draw_healthy(joinkit.rng(SEED, f"healthy {case}"), AON, place.path)
        ok(joinkit.judge(AON, job, place.path)[1], f"healthy job {case}: no cause is named", f"{job.set} {job.faults}")


def shown(place):
    """One as people and programs see it."""
    store = place.path / "hot.db"
    fault = "thermal_throttle:rank=3,by=1.3,from=90,every=5,how=fan"
    size = "layers=2,hidden=8192,heads=64,kv_heads=64,ffn=22016,seq=4096,micro_batch=4"
    r = aon("sim", "--layout", "dp=8", "--steps", "200", "--set", size, "--fault", fault, "-o", str(store))
    ok(r.returncode == 0, "a job with telemetry is made", r.stderr)
    r = aon("why", str(store))
    ok("Rank 3's GPU 3 is throttled for temperature, and its cooling is abnormal" in r.stdout and "slowest fan" in r.stdout and "gemm_" in r.stdout,
       "aon why says where, what, which kernels", r.stdout)
    why = json.loads(aon("why", "--json", str(store)).stdout)
    got = [f for f in why["findings"] if f["family"] == "fan_or_inlet"]
    truth = json.loads(pathlib.Path(f"{store}.truth.json").read_text())["faults"][0]
    e = got[0]["evidence"] if got else {}
    ok(got and abs(e["slowdown"] / 1.3 - 1) < 0.05 and abs(e["since_ns"] - truth["onset_ns"]) < 6e9,
       "with how much longer they take and since when", f"{e} {truth}")
    ok(got and 0.5 < got[0]["cost_ns"] * 200 / truth["cost_ns"] < 1.5, "and what it costs", f"{got and got[0]['cost_ns'] * 200} {truth['cost_ns']}")
    late = [f["action"] for f in why["findings"] if f["family"] == "straggler"]
    ok(late and "Rank 3's GPU 3 is throttled" in late[0] and "imbalance" not in [f["family"] for f in why["findings"]],
       "the late rank is told why, and is not said to have more work", late)
    ok({c["family"]: c["possible"] for c in why["checked"]}["pcie_degraded"], "what else was looked at is said")
    with Server(place, str(store)) as s:
        page = s.get(f"run/{s.run()}/findings")
        ok("fan_or_inlet" in [f["family"] for f in page["findings"]], "the page has it", [f["family"] for f in page["findings"]])


class Group:
    """A job's cgroup, as Slurm makes them, and its quota."""

    def __init__(self, number):
        self.path = CGROUP / f"slurm/uid_{os.getuid()}/job_{number}"
        self.path.mkdir(parents=True)
        for p in (self.path, self.path.parent, self.path.parent.parent):
            (p / "cpu.shares").write_text("262144")  # its quota stops it, not the machine's other load

    def quota(self, share):
        (self.path / "cpu.cfs_quota_us").write_text(str(int(share * 100000) if share else -1))

    def add(self, pid):
        (self.path / "cgroup.procs").write_text(str(pid))

    def end(self):
        for p in (self.path, self.path.parent, self.path.parent.parent):
            try:
                p.rmdir()
            except OSError:
                return


def real(place):
    """OpenCL kernels on CPUs; from the middle on the job may use a fiftieth of one."""
    text = "a job that its quota stops"
    if SANITIZED:
        return skip(text, "sanitizers take the time that the quota would: the plain build tries it")
    if not (BUILD / "tests/app/cl_loop").exists() or not list(pathlib.Path("/etc/OpenCL/vendors").glob("*.icd")):
        return skip(text, "no OpenCL here")
    try:
        group = Group(os.getpid())
    except OSError as e:
        return skip(text, f"no cgroup with a quota can be made: {e}")
    collect = None
    try:
        with Daemon(place) as d:
            collect = subprocess.Popen([BUILD / "src/node/collect/aon-collect", "--run-dir", place.run, "--all", "host"], stderr=subprocess.DEVNULL)
            proc = app(place, "cl_loop", "heavy", 240, env={"OPENCL_LAYERS": LAYER, "AON_JOIN_MS": 2000, "SLURM_JOB_ID": os.getpid(), "POCL_MAX_PTHREAD_COUNT": 1})
            group.add(proc.pid)
            wait_for(lambda: (d.flush(), "grind" in aon("report", str(place.store)).stdout)[1], 30)  # PoCL has compiled it
            time.sleep(9)
            group.quota(0.02)  # so little that it shows on a busy machine, too
            finish(proc)
            wait_for(lambda: "aon_cgroup_cpu_throttled" in aon("telemetry", str(place.store), "--metric", "throttled_seconds").stdout, 15)
            d.flush()
        r = aon("why", str(place.store), "--all")
        ok("is stopped by its CPU quota" in r.stdout and "grind" in r.stdout and "cpu.max" in r.stdout, "real kernels on CPUs: the quota that stops them is named, with them", r.stdout + r.stderr)
    finally:
        if collect:
            collect.terminate()
            collect.wait(20)
        group.end()


def main():
    for part in (shown, real, simulated):
        with Place() as place:
            part(place)
    done()


main()
