#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""The host collector says what node_exporter says: of its fixtures, and of this machine, value by value."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

from aontest import ROOT, BUILD, done, ok, skip, wait_for

COLLECT = BUILD / "src/node/collect/aon-collect"
FIXTURES = ROOT.parent / "shared/data/telemetry/node_exporter/collector/fixtures"
# What node_exporter's own test leaves out, what we do not measure, and a name that it makes otherwise.
LEFT_OUT = [("device", "dmz"), ("device", "int"), ("chip", "ieee80211_phy0")]


def unpack(archive, to):
    """ttar: a text format of folders, files by their lines, and links."""
    lines = archive.read_text(errors="surrogateescape").split("\n")
    i = 0
    while i < len(lines):
        if lines[i].startswith("Directory: "):
            (to / lines[i][11:]).mkdir(parents=True, exist_ok=True)
        elif lines[i].startswith("Path: "):
            path = to / lines[i][6:]
            path.parent.mkdir(parents=True, exist_ok=True)
            i += 1
            if lines[i].startswith("SymlinkTo: "):
                path.symlink_to(lines[i][11:])
            elif lines[i].startswith("Lines: "):
                n = int(lines[i][7:])
                body = "\n".join(lines[i + 1:i + 1 + n]).replace("NULLBYTE", "\0")
                end = body.endswith("EOF")
                path.write_text(body[:-3] if end else body + "\n" * (n > 0), errors="surrogateescape")
                i += n
        i += 1


def values(text):
    out = {}
    for line in text.splitlines():
        m = re.match(r"([a-zA-Z_:0-9]+)(?:\{(.*)\})? (\S+)$", line)
        if m and not line.startswith("#"):
            labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m[2] or "")
            out[m[1], frozenset(x for x in labels if x[0] != "path")] = float(m[3])
    return out


def collect(*args):
    return values(subprocess.run([COLLECT, "--print", "--polls", "1", "--all", *args, "host"], check=True,
                                 capture_output=True, text=True).stdout)


def test_fixtures():
    if not FIXTURES.exists():
        skip("node_exporter's fixtures give the same values", "they are not here")
        return
    with tempfile.TemporaryDirectory() as d:
        root = pathlib.Path(d)
        unpack(FIXTURES / "sys.ttar", root)
        (root / "proc").symlink_to(FIXTURES / "proc")
        ours = {k: v for k, v in collect("--root", d).items() if k[0].startswith("node_")}
    want = values((FIXTURES / "e2e-output.txt").read_text())
    same = [k for k, v in ours.items() if k in want and abs(want[k] - v) <= 1e-9 * max(1, abs(v))]
    other = [(k[0], dict(k[1]), v, want.get(k)) for k, v in ours.items()
             if k not in same and not any(x in k[1] for x in LEFT_OUT)]
    ok(len(same) > 500 and not other, f"node_exporter's fixtures give the same values ({len(same)} of them)", other[:5])


def exporter():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    p = subprocess.Popen(["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10).read()
            break
        except OSError:
            time.sleep(0.1)
    return p, f"http://127.0.0.1:{port}/metrics"


def test_live():
    """Counters lie between what we say before and after; what stands still is the same."""
    if not shutil.which("prometheus-node-exporter"):
        skip("node_exporter says the same of this machine", "there is no node_exporter")
        return
    p, url = exporter()
    try:
        urllib.request.urlopen(url, timeout=60).read()
        before = collect()
        theirs = values(urllib.request.urlopen(url, timeout=60).read().decode())
        after = collect()
    finally:
        p.terminate()
        p.wait()
    both = [k for k in before if k in theirs and k in after and k[0].startswith("node_")]
    slack = 0.02  # of what is counted in hundredths
    wrong = [(k[0], dict(k[1]), before[k], theirs[k], after[k]) for k in both
             if (before[k] == after[k] and abs(theirs[k] - before[k]) > 1e-9 * max(1, before[k]) and k[0].endswith(("_total", "_info", "MemTotal_bytes")))
             or (k[0].endswith("_total") and not before[k] - slack <= theirs[k] <= after[k] + slack)]
    # The kernel adds a core's time up when it is asked; idle and iowait may then go back.
    wrong = [w for w in wrong if w[1].get("mode") not in ("idle", "iowait")]
    ok(len(both) > 100 and not wrong, f"node_exporter says the same of this machine ({len(both)} values)", wrong[:5])


def tree(root, files):
    for path, text in files.items():
        p = root / path.lstrip("/")
        p.parent.mkdir(parents=True, exist_ok=True)
        p.write_text(text + "\n")


def test_gpus():
    """GPUs of AMD and Intel as amdgpu, i915 and xe have them in /sys (the kernel's documentation of each)."""
    amd, i915, xe = ("/sys/class/drm/card%d" % i for i in range(3))
    files = {f"{amd}/device/gpu_busy_percent": "87", f"{amd}/device/mem_busy_percent": "40", f"{amd}/device/mem_info_vram_used": "1073741824",
             f"{amd}/device/mem_info_vram_total": "68702699520", f"{amd}/device/pp_dpm_sclk": "0: 500Mhz\n1: 1700Mhz *\n2: 2100Mhz",
             f"{amd}/device/pp_dpm_mclk": "0: 900Mhz *\n1: 1300Mhz", f"{amd}/device/ras/umc_err_count": "ue: 0\nce: 12",
             f"{amd}/device/hwmon/hwmon3/name": "amdgpu", f"{amd}/device/hwmon/hwmon3/temp1_input": "45000", f"{amd}/device/hwmon/hwmon3/temp2_input": "61500",
             f"{amd}/device/hwmon/hwmon3/power1_average": "250000000", f"{amd}/device/hwmon/hwmon3/power1_input": "270000000",
             f"{amd}/device/hwmon/hwmon3/freq1_input": "1695000000", f"{amd}/device/hwmon/hwmon3/freq1_label": "sclk",
             f"{amd}/device/hwmon/hwmon3/freq3_input": "1250000000", f"{amd}/device/hwmon/hwmon3/freq3_label": "fclk",
             f"{i915}/gt/gt0/rps_act_freq_mhz": "1350", f"{i915}/gt/gt1/rps_act_freq_mhz": "900", f"{i915}/device/hwmon/hwmon4/energy1_input": "5000000000",
             f"{xe}/device/tile0/gt0/freq0/act_freq": "1600", f"{xe}/device/tile1/gt2/freq0/act_freq": "1100", f"{xe}/device/hwmon/hwmon5/power1_input": "181000000",
             "/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes": "9000000000", "/sys/fs/resctrl/mon_data/mon_L3_00/mbm_local_bytes": "8000000000",
             "/sys/fs/resctrl/mon_data/mon_L3_01/mbm_total_bytes": "Unavailable"}
    want = {("busy_ratio", "card0"): 0.87, ("memory_busy_ratio", "card0"): 0.4, ("memory_used_bytes", "card0"): 1074e6, ("memory_total_bytes", "card0"): 68702699520,
            ("temperature_celsius", "card0", ("sensor", "temp1")): 45, ("temperature_celsius", "card0", ("sensor", "temp2")): 61.5, ("power_watts", "card0"): 250,
            ("clock_hertz", "card0", ("kind", "sclk")): 1695e6, ("clock_hertz", "card0", ("kind", "mclk")): 900e6, ("clock_hertz", "card0", ("kind", "fclk")): 1250e6,
            ("ras_errors_total", "card0", ("block", "umc"), ("kind", "ce")): 12, ("ras_errors_total", "card0", ("block", "umc"), ("kind", "ue")): 0,
            ("clock_hertz", "card1", ("kind", "gt0")): 1350e6, ("clock_hertz", "card1", ("kind", "gt1")): 900e6, ("energy_joules_total", "card1"): 5000,
            ("clock_hertz", "card2", ("kind", "tile0.gt0")): 1600e6, ("clock_hertz", "card2", ("kind", "tile1.gt2")): 1100e6, ("power_watts", "card2"): 181}
    with tempfile.TemporaryDirectory() as d:
        tree(pathlib.Path(d), files)
        got = collect("--root", d)
        gpus = {k: v for k, v in got.items() if k[0].startswith("aon_gpu_")}
        expected = {("aon_gpu_" + k[0], frozenset([("device", k[1]), *k[2:]])): v for k, v in want.items()}
        ok(gpus == expected, f"GPUs of AMD and Intel have the values of their files ({len(expected)})",
           ([(k, v, expected.get(k)) for k, v in gpus.items() if expected.get(k) != v], [k for k in expected if k not in gpus]))
        mem = {tuple(sorted(dict(k[1]).values())): v for k, v in got.items() if k[0] == "aon_memory_domain_bytes_total"}
        ok(mem == {("00", "total"): 9e9, ("00", "local"): 8e9}, "memory bandwidth by resctrl, where it can tell", mem)


def test_counters():
    """A counter that wraps or begins anew is what the file says; rates are for who reads. What is gone has no value."""
    with tempfile.TemporaryDirectory() as d:
        root, out = pathlib.Path(d) / "root", pathlib.Path(d) / "out"
        port = "/sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_packets"
        sensor = "/sys/class/hwmon/hwmon0/temp1_input"
        tree(root, {port: "4294967295", "/sys/class/hwmon/hwmon0/name": "chip", sensor: "41000", "/proc/loadavg": "1.00 2.00 3.00 1/2 3"})
        p = subprocess.Popen([COLLECT, "--print", "--all", "--interval", "50", "--root", root, "host"], stdout=open(out, "w"), stderr=subprocess.DEVNULL)
        try:
            said = lambda metric: re.findall(rf"^{metric}\{{.*\}} (\S+)$", out.read_text(), re.M)
            ok(wait_for(lambda: said("node_infiniband_port_packets_transmitted_total") == ["4294967295"], 20), "a counter of all ones is a count, where a file says it")
            tree(root, {port: "17", sensor: "-5000"})
            ok(wait_for(lambda: said("node_infiniband_port_packets_transmitted_total")[-1] == "17", 20), "one that wrapped or began anew is told as it is")
            ok(wait_for(lambda: said("node_hwmon_temp_celsius")[-1] == "-5", 20), "a temperature may be below zero")
            tree(root, {sensor: ""})
            ok(wait_for(lambda: "nan" in said("node_hwmon_temp_celsius")[-1], 20), "a sensor that is unplugged has no value any more", said("node_hwmon_temp_celsius"))
            tree(root, {sensor: "42000"})
            ok(wait_for(lambda: said("node_hwmon_temp_celsius")[-1] == "42", 20), "and has one when it is back")
        finally:
            p.kill()
            p.wait()


def test_misuse():
    for args, what in ((["nothing"], "no such collector"), (["--interval", "x"], "milliseconds"),
                       (["--polls", "0", "host"], "number")):
        p = subprocess.run([COLLECT, *args], capture_output=True, text=True)
        ok(p.returncode == 2 and what in p.stderr, f"aon-collect {' '.join(args)} is refused with a reason")


test_fixtures()
test_live()
test_gpus()
test_counters()
test_misuse()
done()
