#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""DDP over gloo between two network namespaces, each with an aond of its own, the second one's clock ten minutes
ahead: the stores together say by how much the clocks differ, and line up by it; each node and process says who it is."""
import json
import os
import shutil
import struct
import subprocess

import aonschema
from aontest import Daemon, Place, done, find, ok, skip_all
from clitest import aon, env_for
from torchtest import APPS, torches

STEPS, AHEAD = 60, 600
SPACES = [f"aon{os.getpid()}{x}" for x in "ab"]
ADDR = ["10.231.7.1", "10.231.7.2"]


def ip(*argv):
    return subprocess.run(["ip", *argv], capture_output=True, text=True)


def spaces():
    """Two of them with a wire between; why not, or None."""
    if os.geteuid() or not shutil.which("ip"):
        return "needs root and ip"
    for s in SPACES:
        r = ip("netns", "add", s)
        if r.returncode:
            return f"no network namespaces here: {r.stderr.strip()}"
    ip("link", "add", SPACES[0], "type", "veth", "peer", "name", SPACES[1])
    for s, a in zip(SPACES, ADDR):
        ip("link", "set", s, "netns", s)
        for argv in (["addr", "add", f"{a}/24", "dev", s], ["link", "set", s, "up"], ["link", "set", "lo", "up"]):
            r = ip("-n", s, *argv)
            if r.returncode:
                return f"no wire between namespaces here: {r.stderr.strip()}"
    return None


def records(path):
    data, at, out = path.read_bytes() if path.exists() else b"", 0, []
    while at < len(data):
        size, = struct.unpack_from("<H", data, at + 6)
        rank, world, step, host, leaf = struct.unpack_from("<IIIII", data, at + 32)
        off, err = struct.unpack_from("<iI", data, at + 56)
        out.append({"rank": rank, "step": step, "host": host, "leaf": leaf, "off": off, "err": err})
        at += size
    return out


def train(places, python):
    apps = []
    for i, p in enumerate(places):
        env = env_for(p, RANK=i, WORLD_SIZE=2, LOCAL_RANK=0, MASTER_ADDR=ADDR[0], MASTER_PORT=29571, AON_JOB="clocks",
                      GLOO_SOCKET_IFNAME=SPACES[i], OMP_NUM_THREADS=1, AON_JOIN_MS=2000, SLOW_MS=60, POD_NAME=f"train-{i}",
                      POD_NAMESPACE="a\nb" if i else "research", SLURM_JOB_ACCOUNT="x" * 10000 if i else "physics",
                      CUDA_VISIBLE_DEVICES="\xff\xfe" if i else "GPU-1234,MIG-5")
        apps.append(subprocess.Popen(["ip", "netns", "exec", SPACES[i], find("aon"), "run", "--no-report", "--", python,
                                      str(APPS / "torch_ddp.py"), str(STEPS)], env=env, cwd=p.path,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    return [(a.communicate(timeout=150), a.returncode) for a in apps]


def identity(places):
    told = []
    for p in places:
        r = aon(p, "ps", "--all", "--json", "--store", p.store)
        told.append(json.loads(r.stdout) if r.returncode == 0 else {"why": r.stderr})
    a, b = told
    ok([t.get("node", {}).get("host") for t in told] == ["node-a", "node-b"] and a["node"].get("rack") == "ra" and
       a["node"].get("cluster") == "test" and a["node"].get("leaf") == "leaf-a" and a["node"].get("boot"),
       "each store says what its node is, with the site's words", [t.get("node") for t in told])
    x, y = ([q for q in t["processes"] if q["rank"] is not None][0] for t in told)
    ok((x["job"], x["rank"], x["world"], x["local_rank"]) == ("clocks", 0, 2, 0) and x["identity"].get("user") == "root" and
       {k: x["identity"].get(k) for k in ("pod", "namespace", "account", "gpu_uuid", "mig", "nic")} ==
       {"pod": "train-0", "namespace": "research", "account": "physics", "gpu_uuid": "GPU-1234", "mig": "MIG-5", "nic": "mlx5_0"},
       "each process says who it is", x)
    ok(y["identity"].get("pod") == "train-1" and not {"namespace", "account", "gpu_uuid", "mig"} & set(y["identity"]),
       "what is no name is nothing", y)


def clocks(places):
    stores = [p.store for p in places]
    r = json.loads(aon(places[0], "report", *stores, "--by", "rank", "--json").stdout)
    ok(not aonschema.check(r), "as docs/json.md has it", aonschema.check(r)[:5])
    x = r["ranks"][1]
    off, err = x["clock_offset_ns"], x["clock_error_ns"]
    ok(r["ranks"][0]["clock_offset_ns"] == 0 and off and err and abs(off - AHEAD * 1e9) < err + 20e6 and err < 50e6,
       f"the second clock is {AHEAD} s ahead: {off} +- {err} ns", r)
    text = aon(places[0], "report", *stores, "--by", "rank").stdout.decode()
    ok("ahead of the first node's" in text and "node-b" in text, "and said so", text)
    out = places[0].path / "job.steps"
    e = aon(places[0], "export", "-o", out, *stores)
    got = records(out)
    ok(e.returncode == 0 and {g["rank"] for g in got} == {0, 1} and len({g["host"] for g in got}) == 2 and
       len({g["leaf"] for g in got}) == 2, "records of both nodes in one file, by host and leaf", (e, got[:4]))
    ok(all(g["off"] == 0 for g in got if g["rank"] == 0) and
       all(abs(g["off"] - AHEAD * 1e6) < g["err"] + 20e3 for g in got if g["rank"] == 1), "with the clock's difference", got[:4])
    e = aon(places[0], "export", "-o", places[0].path / "x.pftrace", *stores)
    ok(e.returncode == 0 and b"Clocks of the nodes differ by up to" in e.stderr, "a merged trace is brought together", e)


with Place() as one, Place() as two:
    version, python = torches()[0]
    try:
        why = spaces()
        if why:
            skip_all(why)
        site = one.path / "site.conf"
        site.write_text("cluster test\nhost node-* rack=r{1} leaf=leaf-{1} nics=mlx5_0,mlx5_1\n")
        step = two.path / "step"
        step.write_bytes(struct.pack("<q", AHEAD))
        shift = {"LD_PRELOAD": find("wallclock.so"), "WALLCLOCK": str(step)}
        with Daemon(one, sets={"site": site}, env={"NODE_NAME": "node-a"}) as d, \
                Daemon(two, sets={"site": site}, env={"NODE_NAME": "node-b", **shift}) as e:
            ends = train((one, two), python)
            for x in (d, e):
                x.flush()
                x.stop()
        ok(all(rc == 0 for _, rc in ends), f"{version}: two ranks in two namespaces", ends)
        identity((one, two))
        clocks((one, two))
    finally:
        for s in SPACES:
            ip("netns", "del", s)
done()
