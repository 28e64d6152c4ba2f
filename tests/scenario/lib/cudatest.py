# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenarios of the CUDA probe: programs on the stand-in GPU, under a daemon."""
import json
import os
import subprocess

from aontest import BUILD, SANITIZED, app_env, find, report, skip, skip_all

LEVELS = [p.name for p in sorted((BUILD / "tests" / "sim").glob("[0-9]*")) if p.is_dir()]

try:
    APP, PROBE = find("cuda_app"), os.path.realpath(find("libaon-cuda.so"))
except FileNotFoundError:
    skip_all("no stand-in GPU in this build")


def sim_env(place, level="129", **extra):
    """The environment of a program on the stand-in with CUPTI of that level, and the probe. The
    stand-in is strict; SIM_STRICT=1 has the real one's costs, too."""
    env = app_env(place, CUDA_INJECTION64_PATH=PROBE, SIM_STRICT=2,
                  LD_LIBRARY_PATH=BUILD / "tests" / "sim" / level, AON_JOIN_MS=1000)
    if "address" in SANITIZED:  # programs leave what they made to the driver's end
        env["ASAN_OPTIONS"] = "detect_leaks=0"
    env.update({k: str(v) for k, v in extra.items()})
    return {k: v for k, v in env.items() if v != ""}


def start(place, *args, level="129", program=None, **extra):
    return subprocess.Popen([program or APP, *map(str, args)], env=sim_env(place, level, **extra),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def said(proc, timeout=120):
    """What the program says that it did; its exit status and its other words with it."""
    out, err = proc.communicate(timeout=timeout)
    r = json.loads(out.splitlines()[-1]) if out.strip() else {}
    return {**r, "rc": proc.returncode, "stderr": err}


def run(place, *args, **kw):
    return said(start(place, *args, **kw))


def clean(r):
    """It did all it wanted, and nobody printed anything."""
    return r["rc"] == 0 and not r["stderr"] and not r.get("error")


def rows(rep, *keys):
    """{(kind, name): count} of the tables, all processes together."""
    got = {}
    for key in keys or ("kernels", "graphs", "calls", "marks"):
        for row in rep.get(key, []):
            k = (row["kind"], row["name"])
            got[k] = got.get(k, 0) + row["count"]
    return got


def count(rep, kind):
    return sum(n for (k, _), n in rows(rep).items() if k == kind)


def lost_by(rep):
    return {k: v for k, v in rep.get("accounting", {}).get("lost_by", {}).items() if v}


def events(store, *kinds):
    out = subprocess.run([find("store_dump"), str(store)], capture_output=True, text=True,
                         check=True).stdout
    ev = [json.loads(line) for line in out.splitlines()]
    return [e for e in ev if not kinds or e["kind"] in kinds]


def stored(daemon, *args):
    """The report of what the daemon has by now."""
    daemon.flush()
    return report(daemon.place.store, "--all", *args)


def no_python(text):
    """A sanitizer's runtime must be the first library of a program: Python does not have it."""
    if SANITIZED:
        skip(text, "not in a Python of another build")
    return bool(SANITIZED)


def note(daemon, pid):
    return (daemon.session(pid) or {}).get("note") or ""
