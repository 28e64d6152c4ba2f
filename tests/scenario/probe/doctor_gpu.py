#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon doctor --gpu on the strict stand-in: every check, what follows for gpu.conf and for the probe; stand-ins that
crash, hang, lie and answer late, and a check that prints anything at all."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import aonschema
from aontest import BUILD, PATIENCE, ROOT, Daemon, Place, done, find, ok, wait_for
from cudatest import count, note, run, sim_env, start, stored

FIRST = ["env", "inject", "count", "neighbours", "graph", "cost"]
LONG = ["stride", "names", "time", "endure", "lateness", "deadlock", "fork", "memory", "nvml", "counters"]


def doctor(place, *args, aon=None, limit=60, **extra):
    """The command on the stand-in, at a small part of its work: its exit status, and its JSON or its text."""
    env = sim_env(place, CUDA_INJECTION64_PATH="", AON_GPU_SCALE=600, AON_GPU_LIMIT_S=limit,
                  AON_GPU_CONF=place.path / "gpu.conf", **extra)
    p = subprocess.run([aon or find("aon"), "doctor", "--gpu", *args], env=env, capture_output=True, text=True, timeout=280)
    out = json.loads(p.stdout) if "--json" in args else p.stdout
    return p.returncode, out, p.stderr


def one(name, *args, **extra):
    """One check: its result, and the whole answer."""
    with Place() as place:
        rc, out, err = doctor(place, "--json", *args, name, **extra)
        got = {c["id"]: c for c in out["checks"]}
        return {**got[name], "rc": rc, "all": out, "stderr": err}


def settings(place):
    return dict(line.split(" = ") for line in (place.path / "gpu.conf").read_text().splitlines() if line[0] != "#")


def whole():
    with Place() as place:
        rc, out, err = doctor(place, "--long", "--json")
        got = [c["id"] for c in out["checks"]]
        bad = [c for c in out["checks"] if c["result"] != ("unknown" if c["id"] == "nvml" else "pass")]
        ok(rc == 0 and not bad and sorted(got) == sorted(FIRST + LONG), "every check passes on the strict stand-in",
           f"{rc} {err} {json.dumps(bad, indent=1)}")
        ok(not aonschema.check(out), "as docs/json.md has it", aonschema.check(out))
        ok(out["verdict"].startswith("This node's GPU may be recorded at fidelity all; no setting must change. 1 check could not"),
           "the verdict is its first sentence", out["verdict"])
        conf = settings(place)
        ok(conf["cuda"] == "13040" and conf["graphs"] == "node" and conf["fidelity"] == "all" and conf["why"] == "-" and
           re.fullmatch(r"\d{4}-\d\d-\d\d", conf["date"]) and out["conf"]["written"],
           "gpu.conf has the versions and the date, and graphs at the level that is exact", conf)
        text = json.dumps(out)
        ok(os.uname().nodename not in text.split() and str(place.path) not in text, "it names no host and no folder", text)
        plain_doctor(place)
        probe_reads(place)


def plain_doctor(place):
    """aon doctor says whether the file holds for this driver."""
    conf = place.path / "gpu.conf"
    for old, new, word, status in (("", "", "for CUPTI 28", "ok"), ("driver = -", "driver = 1.2.3", "is ignored: it was proved for driver 1.2.3", "warn")):
        conf.write_text(conf.read_text().replace(old, new) if old else conf.read_text())
        p = subprocess.run([find("aon"), "doctor", "--json"], env={**os.environ, "AON_GPU_CONF": str(conf)}, capture_output=True, text=True)
        line = [c for c in json.loads(p.stdout)["checks"] if c["id"] == "gpu_conf"]
        ok(line and word in line[0]["text"] and line[0]["status"] == status, f"aon doctor: {word}", line)
    conf.write_text(conf.read_text().replace("driver = 1.2.3", "driver = -"))


def probe_reads(place):
    """The probe uses the file with the versions that it names, and says why with others."""
    conf, path = place.path / "gpu.conf", str(place.path / "gpu.conf")
    with Daemon(place) as d:
        for level, word in (("129", "gpu.conf of 2"), ("128", "gpu.conf ignored: it was proved for another CUPTI")):
            p = start(place, "launches=100", "block=60", "storm", level=level, AON_GPU_CONF=path)
            wait_for(lambda p=p: "CUPTI" in note(d, p.pid), 10 * PATIENCE)
            ok(word in note(d, p.pid), f"aon ps: {word}", note(d, p.pid))
            p.kill()
            p.communicate()
        conf.write_text(conf.read_text().replace("graphs = node", "graphs = template"))
        for how, env in (("by template", {}), ("node by node", {"AON_CUDA_GRAPHS": "node"})):
            had = count(stored(d), "graph")
            r = run(place, "launches=100", "nodes=10", "graph", AON_GPU_CONF=path, SIM_STRICT=0, **env)
            n = count(stored(d), "graph") - had
            ok(r["rc"] == 0 and (n > 90) == (not env) and (n == 0) == bool(env), f"graphs = template {env or ''}: {how}, {n} whole graphs", r)
        before = count(stored(d), "kernel")
        conf.write_text(conf.read_text().replace("fidelity = all", "fidelity = heartbeat").replace("why = -", "why = count"))
        r = run(place, "launches=100", "storm", AON_GPU_CONF=path)
        ok(r["rc"] == 0 and count(stored(d), "kernel") == before, "fidelity heartbeat: CUPTI is left alone", r)
        conf.write_text("graphs = everything\n")
        run(place, "launches=100", "storm", AON_GPU_CONF=path)
        ok(count(stored(d), "kernel") == before + 100, "a file that is none changes nothing")


LIES = [
    # check, what the stand-in does, the line, a setting of gpu.conf
    ("count", {"SIM_LOSE": 1500}, r"399 records of 400 launches", ("fidelity", "heartbeat")),
    ("time", {"SIM_WRONG_NS": 50000}, r"times at most (4|5|6|7)\d\.\d us off", ("fidelity", "heartbeat")),
    ("lateness", {"SIM_LATE_MS": 300}, r"all records come, [34]\d\d ms after a flush", ("late_ms", None)),
    ("inject", {"SIM_ENABLE_MS": 100}, r"cuInit\(\) takes \d{3,} ms longer", ("fidelity", "all")),
    ("inject", {"SIM_SUBSCRIBE_ERROR": 35}, r"cuptiSubscribe.*no permission", ("fidelity", "heartbeat")),
    ("endure", {"SIM_DEVICE_RECORDS": 1000}, r"[1-9]\d* without times", ("graphs", "graph")),
    ("count", {"SIM_CRASH": "cuptiActivityFlushAll"}, r"it (crashed|ended with status)", ("fidelity", "heartbeat")),
    ("graph", {"SIM_HANG": "cuptiActivityFlushAll", "limit": 3}, r"it hung: ended after 3 s", ("fidelity", "heartbeat")),
]


def lie(row):
    name, env, line, (key, value) = row
    r = one(name, **env)
    got = r["all"]["conf"]["settings"]
    right = got[key] == value if value else int(got[key]) > 100
    text = " ".join(f"{k}={v}" for k, v in env.items())
    return (r["rc"] == 1 and r["result"] == "fail" and re.search(line, r["text"]) and r["fix"] and right,
            f"{name}, {text}: {r['text']}", json.dumps(r, indent=1))


def no_rights():
    r = one("counters", SIM_PM_ERROR=35)
    return (r["result"] == "unknown" and "no permission" in r["text"] and r["rc"] == 0,
            f"counters that root alone may read are no failure: {r['text']}", r)


def nvml():
    """The stand-in of NVML with two GPUs, under the name that the loader looks for."""
    with Place() as place:
        os.symlink(BUILD / "tests/sim/libsim-nvml.so", place.path / "libnvidia-ml.so.1")
        state = place.path / "state"
        state.write_text("- gpus 2\n- version 590.48\n* name GPU\n* uuid GPU-1\n* temp.0 40\n* power 70000\n")
        r = one("nvml", AON_NVML_STATE=state, LD_LIBRARY_PATH=f"{BUILD}/tests/sim/129:{place.path}")
        return (r["result"] == "pass" and "of 2 GPUs" in r["text"] and "DEV_GPU_TEMP" in json.dumps(r["facts"]),
                f"NVML: {r['text']}", json.dumps(r))


def of_python():
    """A runtime and a libcupti that pip has put where only Python finds them."""
    with Place() as place:
        sim, site = BUILD / "tests/sim/129", place.path / "site-packages" / "nvidia"
        for where, name in ((place.path / "driver", "libcuda.so.1"), (site / "cuda_runtime/lib", "libcudart.so.12"), (site / "cuda_cupti/lib", "libcupti.so.12"),
                            (place.path / "bin", "python3")):
            where.mkdir(parents=True)
            if name != "python3":
                shutil.copy(sim / name, where / name)
        (place.path / "bin/python3").write_text(f"#!/bin/sh\necho {site}/cuda_runtime/lib/libcudart.so.12\n")
        (place.path / "bin/python3").chmod(0o755)
        r = one("count", "--full", LD_LIBRARY_PATH=place.path / "driver", PATH=f"{place.path}/bin:{os.environ['PATH']}")
        facts = r["all"]["checks"][0]["facts"]
        return (r["result"] == "pass" and str(site) in facts["cupti_file"] and str(site) in facts["runtime_file"] and "6 ways" in r["text"],
                "pip's libcupti is found by way of python3", json.dumps(r))


def slow_enable():
    r = one("graph", SIM_ENABLE_MS=100, SIM_STRICT=0)
    return (r["result"] == "pass" and "takes too long" in r["text"] and r["all"]["conf"]["settings"]["graphs"] == "node",
            f"a level that takes long to change is not changed: {r['text']}", r)


def kind_level():
    r = one("graph", SIM_STRICT=0)
    return (r["result"] == "pass" and r["all"]["conf"]["settings"]["graphs"] == "template",
            f"exact when the level changes: templates are unlocked: {r['text']}", r)


def garbage():
    """A check that prints anything."""
    with Place() as place:
        shutil.copy(find("aon"), place.path / "aon")
        fake = place.path / "aon-gpu-check"
        for text, what in (("head -c 200000 /dev/urandom", "noise"), ("echo say hello; echo result pass; echo more", "more than a result"),
                           ("echo say half", "no result"), ("printf 'result pass'; exit 3", "an unfinished line")):
            fake.write_text(f"#!/bin/sh\n{text}\n")
            fake.chmod(0o755)
            rc, out, err = doctor(place, "--json", "inject", aon=place.path / "aon")
            bad = [c for c in out["checks"] if c["result"] != "fail" or not c["text"]]
            yield rc == 1 and not bad and not out["conf"]["written"], f"output that is {what} is a failure", f"{rc} {out} {err}"


def nothing():
    """Without a GPU: one line, and no file."""
    with Place() as place:
        env = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        env["AON_GPU_CONF"] = str(place.path / "gpu.conf")
        p = subprocess.run([find("aon"), "doctor", "--gpu"], env=env, capture_output=True, text=True)
        here = "No GPU was checked" in p.stdout
        ok(p.returncode == 3 and here and not (place.path / "gpu.conf").exists() or not here, "no GPU: it says so", p)
        for args in (["--long"], ["--write", "x"], ["--gpu", "nonsense"]):
            q = subprocess.run([find("aon"), "doctor", *args], env=env, capture_output=True, text=True)
            ok(q.returncode == 2 and q.stderr.count("\n") <= 2, f"doctor {' '.join(args)} is refused", q)


def real_libraries():
    """make check-gpu where nothing is there: every part is skipped, with the reason."""
    if any(list(pathlib.Path(d).glob("libcuda.so*")) for d in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64")):
        return
    env = {**os.environ, "AON_GPU": "1", "PATH": "/nonexistent", "LD_LIBRARY_PATH": "", "CUDA_VISIBLE_DEVICES": ""}
    p = subprocess.run([sys.executable, ROOT / "tests/scenario/run", "real_gpu"], env=env, capture_output=True, text=True)
    lines = re.findall(r"^ok \d - (\w+) on real libraries # SKIP (\S.+)$", p.stdout, re.M)
    yield (p.returncode == 0 and [name for name, _ in lines] == ["CUDA", "torch", "JAX", "NCCL", "NVML", "DCGM"],
       f"make check-gpu skips what is not there: {'; '.join(why for _, why in lines)}", p.stdout + p.stderr)


def text():
    """What people read: the verdict first."""
    with Place() as place:
        rc, out, err = doctor(place, "count", "--write", str(place.path / "none" / "gpu.conf"), SIM_LOSE=1500)
        first = " ".join(out.split("\n\n")[0].split())
        yield (rc == 1 and first == "This node's GPU may be recorded at fidelity heartbeat; 1 setting must change: fidelity=heartbeat.",
           first, out + err)
        yield (str(place.path) not in out and ".../gpu.conf was written" in out and (place.path / "none" / "gpu.conf").exists(),
           "paths are short, and the file was written", out)


def main():
    nothing()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        others = [pool.submit(lie, row) for row in LIES] + [pool.submit(f) for f in (slow_enable, kind_level, no_rights, nvml, of_python)]
        more = [pool.submit(lambda f=f: list(f())) for f in (text, garbage, real_libraries)]
        whole()
        for r in [f.result() for f in others] + [r for f in more for r in f.result()]:
            ok(*r)
    done()


if __name__ == "__main__":
    main()
