#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A 72-GPU rack's BMCs: the recorded GB300 node 18 times over TLS, and a 19th that is dead, asked every 10 s.

What the collector takes of a core is measured once all resources were found and those that do not change are known
to (SETTLE looks), over whole intervals; what finding them takes is in the note. Values and times of reports change
every 5 s, so that nothing of them is left out for being the same.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["AON_BUILD"])
sys.path.insert(0, str(HERE / "../tests/scenario/lib"))
import bmctest  # noqa: E402

BMCS, INTERVAL, SETTLE, LOOKS = 18, 10, 12, 16 # what does not change is asked every 16 looks
TICK = os.sysconf("SC_CLK_TCK")


def children(pid):
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[1] == str(pid):
                    yield int(name)
        except OSError:
            pass


def cpu_s(pids):
    total = 0
    for pid in filter(lambda p: os.path.exists(f"/proc/{p}"), pids):
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / TICK
    return total


def peak_mib(pids):
    total = 0
    for pid in filter(lambda p: os.path.exists(f"/proc/{p}"), pids):
        with open(f"/proc/{pid}/status") as f:
            total += next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024
    return total


def states(folder, n):
    got = []
    for i in range(n):
        try:
            got.append(json.loads((folder / f"n{i}.json").read_text()))
        except (OSError, ValueError):
            pass
    return got


def measure(folder):
    serve = subprocess.Popen([sys.executable, str(HERE / "../tests/scenario/lib/bmctest.py"), str(BMCS), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        while not (folder / "bmc.json").exists() and serve.poll() is None:
            time.sleep(0.1)
        said = json.loads((folder / "bmc.json").read_text())
        (folder / "login").write_text(f"{said['user']}:{said['password']}\n")
        (folder / "login").chmod(0o600)
        conf = f"login = {folder}/login\nca = {said['cert']}\ninterval = {INTERVAL}\nrack = A1\n"
        conf += "".join(f"[n{i}]\nurl = {url}\nposition = {i + 1}\n" for i, url in enumerate(said["urls"]))
        conf += "[dead]\nurl = https://127.0.0.1:9\nposition = 19\n"
        (folder / "bmc.conf").write_text(conf)
        (folder / "run").mkdir()
        aond = subprocess.Popen([os.environ["AOND"], "--run-dir", str(folder / "run"), "--store", str(folder / "store.db")], stderr=subprocess.DEVNULL)
        time.sleep(1)
        collect = subprocess.Popen([str(BUILD / "src/node/collect/aon-collect"), "--run-dir", str(folder / "run"), f"redfish={folder}/bmc.conf,{folder}"])
        try:
            return watch(folder, collect)
        finally:
            collect.terminate()
            collect.wait(20)
            aond.terminate()
            aond.wait(20)
    finally:
        serve.stdin.close()
        serve.wait(20)


def aond_has(folder):
    """What was measured is in the store."""
    return (folder / "store.db").exists() and (folder / "store.db").stat().st_size > 0


def watch(folder, collect):
    began = time.monotonic()
    while time.monotonic() - began < 600 and sum(s["complete"] for s in states(folder, BMCS)) < BMCS:
        time.sleep(2)
    found_s = time.monotonic() - began
    pids = [collect.pid, *children(collect.pid)]
    time.sleep(SETTLE * INTERVAL)
    found_cpu = cpu_s(pids)
    before, t0 = states(folder, BMCS), time.monotonic()
    time.sleep(LOOKS * INTERVAL)
    share = (cpu_s(pids) - found_cpu) / (time.monotonic() - t0)
    after = states(folder, BMCS)
    requests = sum(s["requests"] for s in after) - sum(s["requests"] for s in before)
    ages = max(s["age_s"] for s in after)
    same = pids == [collect.pid, *children(collect.pid)] # one that was killed and started again finds everything anew
    well = same and len(after) == BMCS and all(s["up"] and s["complete"] for s in after) and requests >= BMCS * LOOKS and ages < 2 * INTERVAL and aond_has(folder)
    return share, peak_mib(pids), requests / LOOKS / BMCS, ages, found_s, found_cpu, well


def main():
    if bmctest.recorded() is None:
        print(json.dumps({"id": "rack_core_share", "value": None, "unit": "of a core", "bar": 0.01, "ok": None, "note": "../shared/data is not there"}))
        return
    with tempfile.TemporaryDirectory(prefix="aon-rack-") as folder:
        share, mib, requests, age, found_s, found_cpu, well = measure(pathlib.Path(folder))
    print(json.dumps({"id": "rack_core_share", "value": round(share, 5) if well else None, "unit": "of a core", "bar": 0.01, "ok": well and share <= 0.01,
                      "note": f"{BMCS} BMCs and one dead, {requests:.0f} requests each a look, {mib:.0f} MiB at most, the oldest {age:.0f} s old; "
                              f"found in {found_s:.0f} s with {found_cpu:.1f} s of CPU" + ("" if well else "; not all were measured")}))


main()
