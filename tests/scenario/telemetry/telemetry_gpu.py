#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""The nvml collector on the stand-in: what nvidia-smi said on real GPUs, idle and loaded; and what goes wrong."""
import os
import re
import subprocess
import tempfile
import time
import pathlib

from aontest import BUILD, done, ok, skip, wait_for
from nvmlkit import COLUMNS, captures, number, query, state_of, write_state

COLLECT = BUILD / "src/node/collect/aon-collect"
NVML = BUILD / "tests/sim/libsim-nvml.so"
DCGM = BUILD / "tests/sim/libsim-dcgm.so"
METRIC = {"clock.1": "SM_CLOCK", "clock.2": "MEM_CLOCK", "clock.3": "VIDEO_CLOCK", "maxclock.1": "MAX_SM_CLOCK",
          "maxclock.2": "MAX_MEM_CLOCK", "temp.0": "GPU_TEMP", "field.82": "MEMORY_TEMP", "power": "POWER_USAGE",
          "limit": "POWER_MGMT_LIMIT", "limit_def": "POWER_MGMT_LIMIT_DEF", "limit_enf": "ENFORCED_POWER_LIMIT",
          "reasons": "CLOCKS_EVENT_REASONS", "pstate": "PSTATE", "fan": "FAN_SPEED", "gen": "PCIE_LINK_GEN",
          "width": "PCIE_LINK_WIDTH", "maxgen": "PCIE_MAX_LINK_GEN", "maxwidth": "PCIE_MAX_LINK_WIDTH",
          "util": "GPU_UTIL", "memutil": "MEM_COPY_UTIL", "enc": "ENC_UTIL", "dec": "DEC_UTIL", "mem.total": "FB_TOTAL",
          "mem.used": "FB_USED", "mem.free": "FB_FREE", "mem.reserved": "FB_RESERVED",
          "ecc.0.0": "ECC_SBE_VOL_TOTAL", "ecc.0.1": "ECC_SBE_AGG_TOTAL", "ecc.1.0": "ECC_DBE_VOL_TOTAL",
          "ecc.1.1": "ECC_DBE_AGG_TOTAL", "field.142": "CORRECTABLE_REMAPPED_ROWS",
          "field.143": "UNCORRECTABLE_REMAPPED_ROWS", "field.29": "RETIRED_SBE", "field.30": "RETIRED_DBE"}


def values(text):
    out = {}
    for m in re.finditer(r'^(\w+)\{device="(\w+)",(.*)\} (\S+)$', text, re.M):
        out[m[1], m[2], "GPU_I_ID" in m[3] and re.search(r'GPU_I_ID="(\d+)"', m[3])[1]] = float(m[4])
    return out


class Run:
    """aon-collect --print on a state that can be changed while it runs."""

    def __init__(self, place, lines, *args, name="nvml", library=None, variable="AON_NVML_STATE"):
        self.state = pathlib.Path(place) / "state"
        write_state(self.state, lines)
        env = dict(os.environ, **{variable: str(self.state)})
        self.out = open(pathlib.Path(place) / "out", "w+")
        self.p = subprocess.Popen([COLLECT, "--print", "--all", "--interval", "50", *args, f"{name}={library or NVML}"], env=env,
                                  stdout=self.out, stderr=subprocess.STDOUT)

    def text(self):
        return pathlib.Path(self.out.name).read_text()

    def end(self):
        self.p.kill()
        self.p.wait()
        self.out.close()


def once(lines):
    with tempfile.TemporaryDirectory() as d:
        r = Run(d, lines, "--polls", "1")
        r.p.wait()
        text = r.text()
        r.end()
        return text


def test_captures():
    if not captures():
        skip("recorded nvidia-smi captures give the same values", "they are not here")
        return
    for path in captures():
        for section in ("idle", "load"):
            rows = query(path, section)
            got, wrong, n = values(once(state_of(rows))), [], 0
            for i, row in enumerate(rows):
                for column, (key, _) in COLUMNS.items():
                    want = number(row.get(column))
                    if key not in METRIC:
                        continue
                    have = got.get((f"DCGM_FI_DEV_{METRIC[key]}", f"nvidia{i}", False))
                    n += want is not None
                    if have != want:
                        wrong.append((column, want, have))
            ok(n > 20 and not wrong, f"{path.name.split('__')[1]}, {section}: {n} values are those of nvidia-smi",
               (len(rows), wrong[:5]))


def test_labels():
    text = once(["- gpus 2", "- version 590.48", "* name NVIDIA H100 80GB HBM3", "0 uuid GPU-a", "1 uuid GPU-b",
                 "0 bus 00000000:3B:00.0", "* power 70123", "* temp.0 4294967295"])
    ok('DCGM_FI_DEV_POWER_USAGE{device="nvidia1",gpu="1",UUID="GPU-b",modelName="NVIDIA H100 80GB HBM3",'
       'DCGM_FI_DRIVER_VERSION="590.48"} 70.12' in text.replace("70.120000000000005", "70.12"), "labels are those of dcgm-exporter", text)
    ok("DCGM_FI_DEV_GPU_TEMP" not in text, "all ones are no temperature")


def test_faults():
    good = ["- gpus 2", "* name Tesla", "0 uuid GPU-a", "1 uuid GPU-b", "* power 70000", "0 gpm.1 50", "0 gpm.5 42.5", "* mig 0"]
    with tempfile.TemporaryDirectory() as d:
        r = Run(d, good)
        ok(wait_for(lambda: 'PIPE_TENSOR_ACTIVE{device="nvidia0"' in r.text(), 20), "GPM gives the use of tensor cores")
        write_state(r.state, good + ["1 lost 1"])
        ok(wait_for(lambda: re.search(r'POWER_USAGE\{device="nvidia1".*\} -?nan', r.text()), 20) and
           "event gpu: nvidia1 is lost" in r.text(), "a GPU that fell off the bus takes its series with it, and is told")
        ok('POWER_USAGE{device="nvidia0"' in r.text() and
           not re.search(r'POWER_USAGE\{device="nvidia0".*\} -?nan', r.text()), "the other goes on")
        at = len(r.text())
        write_state(r.state, good)
        ok(wait_for(lambda: re.search(r'POWER_USAGE\{device="nvidia1".*\} 70$', r.text()[at:], re.M), 20), "it comes back")
        write_state(r.state, good + ["0 xid 79"])
        ok(wait_for(lambda: "event xid: nvidia0: Xid 79" in r.text() and
                    re.search(r'XID_ERRORS\{device="nvidia0".*\} 79', r.text()), 20), "an XID is an event, and the last one a value")
        write_state(r.state, good + ["- driver 0"])
        ok(wait_for(lambda: re.search(r'POWER_USAGE\{device="nvidia0".*\} -?nan', r.text()), 20), "a driver that is unloaded: nothing is there")
        at = len(r.text())
        write_state(r.state, good)
        ok(wait_for(lambda: re.search(r'POWER_USAGE\{device="nvidia0".*\} 70$', r.text()[at:], re.M), 30), "and all again when it is loaded")
        write_state(r.state, [x for x in good if "mig" not in x] +
                    ["* mig 1", "32 mem.total 10737418240", "32 mem.free 10737418240", "32 mem.used 0", "32 mem.reserved 0", "32 instance 7"])
        ok(wait_for(lambda: ("DCGM_FI_DEV_FB_TOTAL", "nvidia0", "7") in values(r.text()), 20), "divided, its parts have memory of their own")
        write_state(r.state, good)
        ok(wait_for(lambda: re.search(r'FB_TOTAL\{device="nvidia0".*GPU_I_ID="7".*\} -?nan', r.text()), 20), "and none when it is whole again")
        r.end()


def test_event_types():
    """NVML registers none of the events if the GPU lacks one of them."""
    with tempfile.TemporaryDirectory() as d:
        r = Run(d, ["- gpus 1", "* name Tesla", "0 uuid GPU-a", "0 events 8", "0 xid 31"])
        ok(wait_for(lambda: "event xid: nvidia0: Xid 31" in r.text(), 20), "a GPU without ECC still has events of XIDs", r.text())
        r.end()


def test_processes():
    """Shares are the mean of the samples since the last poll; the peak of memory is the driver's account."""
    good = ["- gpus 1", "* name Tesla", "0 uuid GPU-a", "0 proc.0 70 3000000", "0 accounting 1", "0 account.70 9000000"]
    with tempfile.TemporaryDirectory() as d:
        r = Run(d, good + ["0 share.0 70 1000 40 10 0 0", "0 share.1 71 1000 7 0 0 5", "0 share.2 70 2000 60 20 0 0"])
        last = lambda metric, pid, more="": [float(x) for x in re.findall(rf'{metric}\{{.*pid="{pid}"{more}\}} (\S+)', r.text())]
        ok(wait_for(lambda: last("aon_gpu_process_engine_ratio", 70, ',engine="sm"'), 20), "NVML gives the share of each process", r.text())
        ok(last("aon_gpu_process_engine_ratio", 70, ',engine="sm"')[0] == 0.5 and last("aon_gpu_process_memory_ratio", 70)[0] == 0.15 and
           last("aon_gpu_process_engine_ratio", 71, ',engine="decoder"')[0] == 0.05, "the mean of its samples, by engine", r.text())
        ok(last("aon_gpu_process_memory_bytes", 70)[0] == 3e6 and last("aon_gpu_process_memory_peak_bytes", 70)[0] == 9e6, "its memory, and its peak where accounting is on", r.text())
        ok(wait_for(lambda: re.search(r'engine_ratio\{.*pid="71".*\} -?nan', r.text()), 20), "samples count once: who did not work since has no share", r.text())
        r.end()


def test_dcgm():
    """Before Hopper: what a hostengine's profiling module says."""
    fields = ["- gpus 3", "- engine 1", "2 capability 9.0", "* 1004 0.42", "* 1005 b", "* 1009 5000000000", "* 1002 0.8", "* 1006 0.5"]
    with tempfile.TemporaryDirectory() as d:
        calls = pathlib.Path(d) / "calls"
        log = lambda: calls.read_text() if calls.exists() else ""
        fields.append(f"- log {calls}")
        r = Run(d, fields, name="dcgm", library=DCGM, variable="AON_DCGM_STATE")
        got = lambda: values(r.text())
        ok(wait_for(lambda: got().get(("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "nvidia1", False)) == 0.42, 20), "DCGM gives the use of tensor cores before Hopper", r.text())
        ok(got().get(("DCGM_FI_PROF_PCIE_TX_BYTES", "nvidia0", False)) == 5e9 and got().get(("DCGM_FI_PROF_SM_ACTIVE", "nvidia0", False)) == 0.8, "and of SMs, and bytes of PCIe")
        ok('UUID="GPU-1"' in r.text() and 'modelName="NVIDIA A100"' in r.text(), "under the labels that NVML gives")
        ok(("DCGM_FI_PROF_DRAM_ACTIVE", "nvidia0", False) not in got(), "DCGM's blanks are no values")
        ok(("DCGM_FI_PROF_PIPE_FP64_ACTIVE", "nvidia0", False) not in got(), "what cannot be had at once is left out, not taken in turns")
        ok(not any(k[1] == "nvidia2" for k in got()), "a Hopper is left to NVML")
        write_state(r.state, fields + ["- paused 1"])
        ok(wait_for(lambda: re.search(r'PIPE_TENSOR_ACTIVE\{device="nvidia0".*\} -?nan', r.text()), 20), "counters that were paused have no values")
        at = len(r.text())
        write_state(r.state, fields)
        ok(wait_for(lambda: re.search(r'PIPE_TENSOR_ACTIVE\{device="nvidia0".*\} 0\.4', r.text()[at:]), 20), "until they are resumed")
        r.p.terminate()
        r.p.wait(20)
        ok(log().split("\n")[:3] == ["watch", "unwatch", "shutdown"], "what it asked for it gives back", log())
        r.end()
        calls.unlink()
        r = Run(d, fields + ["- inuse 1"], name="dcgm", library=DCGM, variable="AON_DCGM_STATE")
        ok(wait_for(lambda: "refused" in log(), 20) and wait_for(lambda: "another has them" in r.text(), 10), "counters that another has are left to it, and that is said", r.text())
        ok("PROF" not in r.text() and r.p.poll() is None, "nothing is measured meanwhile")
        write_state(r.state, fields)
        ok(wait_for(lambda: ("DCGM_FI_PROF_SM_ACTIVE", "nvidia0", False) in got(), 20), "and asked for again")
        r.end()
        none = [x for x in fields if "engine" not in x]
        r = Run(d, none, "--polls", "1", name="dcgm", library=DCGM, variable="AON_DCGM_STATE")
        ok(r.p.wait(20) == 3 and "embedded" not in log(), "without a hostengine there is nothing to ask")
        r.end()
        r = Run(d, none, name="dcgm", library=f"{DCGM},embedded", variable="AON_DCGM_STATE")
        ok(wait_for(lambda: ("DCGM_FI_PROF_SM_ACTIVE", "nvidia0", False) in got(), 20) and "embedded" in log(), "unless one of its own is wanted")
        r.end()


def test_ends():
    with tempfile.TemporaryDirectory() as d:
        state = pathlib.Path(d) / "state"
        write_state(state, ["- gpus 1", "0 name Tesla", "0 uuid GPU-a"])
        log = open(pathlib.Path(d) / "log", "w+")
        p = subprocess.Popen([COLLECT, "--run-dir", d, f"nvml={NVML}", "fake"], stdout=log, stderr=log,
                             env=dict(os.environ, AON_NVML_STATE=str(state)))
        time.sleep(0.5)
        ok(p.poll() is None, "without an aond it waits")
        p.terminate()
        ok(p.wait(20) == 0, "and ends when told to")
        log.close()
    p = subprocess.run([COLLECT, "--print", "--polls", "1", "nvml=/nowhere.so"], capture_output=True, text=True)
    ok(p.returncode == 3 and 'aon_collector_up{collector="nvml"} 0' in p.stdout, "no library: nothing to measure, and said")


test_captures()
test_labels()
test_faults()
test_event_types()
test_processes()
test_dcgm()
test_ends()
done()
