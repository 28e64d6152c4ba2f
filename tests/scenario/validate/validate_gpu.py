# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon validate with GPUs, by the stand-in of NVML: inventory, what is wrong with them, a driver that hangs; as a health check."""
import os
import pathlib
import subprocess
import tempfile
import time

from aontest import *
from nvmlkit import captures, query, state_of, write_state

NVML = BUILD / "tests/sim/libsim-nvml.so"
place = pathlib.Path(tempfile.mkdtemp(prefix="aon-validate-gpu-"))
root = place / "root"
HEALTH_S = 5


def run(lines, *args, hang=None, **env):
    write_state(place / "state", lines)
    began = time.monotonic()
    r = subprocess.run([find("aon"), "validate", "--root", str(root), *args], capture_output=True, text=True,
                       env=dict(os.environ, AON_NVML=str(NVML), AON_NVML_STATE=str(place / "state"), **env))
    return r.returncode, r.stdout, time.monotonic() - began


def checks(lines, *args):
    code, out, _ = run(lines, "--json", *args)
    said = json.loads(out)
    return code, {c["id"]: c for c in said["checks"]}, said["facts"]


def node(**change):
    """Two H100s with four links each to a switch; `change` is of the second."""
    has = {"vbios": "96.00.A5.00.01", "inforom": "G520.0200.00.05", "persistence": 1, "eccmode": 1, "limit": 700000, "limit_def": 700000, "limit_max": 700000,
           "gen": 5, "maxgen": 5, "width": 16, "maxwidth": 16, "pstate": 0, "mig": 0, "mem.total": 85520809984, "remap_pending": 0, "remap_failed": 0, "ecc.1.0": 0, "reasons": 1,
           "p2p.0": 0, "p2p.1": 0, "meet.1": 50, **{f"link.{i}": 1 for i in range(4)}}
    count = change.pop("gpus", 2)
    return [f"- gpus {count}", "- version 590.48.01", "- cuda 13010", "* name NVIDIA H100 80GB HBM3", "0 bus 00000000:17:00.0", "1 bus 00000000:3D:00.0", "* uuid GPU-5e7a1", "* serial 1650123456789"] + \
        [f"1 {k} {v}" for k, v in change.items()] + [f"* {k} {v}" for k, v in has.items()]


root.mkdir()
for bus in ("0000:17:00.0", "0000:3d:00.0"):
    at = root / "sys/bus/pci/devices" / bus
    at.mkdir(parents=True)
    for name, text in (("class", "0x030200"), ("vendor", "0x10de"), ("device", "0x2330")):
        (at / name).write_text(text + "\n")

code, by, f = checks(node())
gpu = {k: v for k, v in by.items() if k.startswith("gpu_") and v["level"] != "skip"}
ok(code == 0 and len(gpu) >= 11 and all(c["level"] == "pass" for c in gpu.values()), "GPUs that are well pass", {k: (c["level"], c["is"]) for k, c in gpu.items()})
want = {"gpu/count": "2", "gpu/driver": "590.48.01", "gpu/cuda": "13.1", "gpu/nvml": "ok", "gpu/1/name": "NVIDIA H100 80GB HBM3", "gpu/1/vbios": "96.00.A5.00.01", "gpu/1/inforom": "G520.0200.00.05",
        "gpu/1/ecc": "on", "gpu/1/persistence": "on", "gpu/1/power_limit_W": "700", "gpu/1/pcie_width": "16", "gpu/1/pcie_gen_max": "5", "gpu/1/nvlinks_up": "4", "gpu/1/mig": "off",
        "gpu/1/memory_MiB": "81559", "gpu/1/bus": "00000000:3D:00.0", "gpu/topology/0-1": "NV4", "gpu/lost": "0"}
ok({k: f.get(k) for k in want} == want, "what they are is known", {k: f.get(k) for k in want if f.get(k) != want[k]})
ok("1650123456789" not in json.dumps(f) and "5e7a1" not in json.dumps(f), "serial numbers and UUIDs are not kept")

for change, name, level in (({"persistence": 0}, "gpu_persistence", "warn"), ({"eccmode": 0}, "gpu_ecc", "warn"), ({"limit": 500000}, "gpu_power", "warn"), ({"width": 8}, "gpu_pcie", "fail"),
                            ({"gen": 4}, "gpu_pcie_gen", "warn"), ({"link.3": 0}, "gpu_nvlink", "fail"), ({"remap_pending": 1}, "gpu_remap", "warn"), ({"remap_failed": 1}, "gpu_remap_failed", "fail"),
                            ({"ecc.1.0": 3}, "gpu_uncorrected", "fail"), ({"reasons": 0x40}, "gpu_slowed", "fail"), ({"lost": 1}, "gpu_lost", "fail"), ({"lost": 1}, "gpu_driver", "fail")):
    code, by, f = checks(node(**change))
    others = [k for k, c in by.items() if c["level"] in ("warn", "fail") and k not in (name, "gpu_lost", "gpu_driver")]
    ok(by[name]["level"] == level and code == (level == "fail") and not others and (name in ("gpu_lost", "gpu_driver") or "GPU 1" in by[name]["is"]),
       f"{name}: {change} is told", (by[name]["level"], by[name]["is"], others))
code, by, f = checks(node(gen=1, pstate=8))
ok(by["gpu_pcie_gen"]["level"] == "pass", "a GPU that idles may lower its rate", by["gpu_pcie_gen"])
code, by, f = checks(node() + ["0 linkto.0 00000000:3D:00.0", "0 linkto.1 00000000:3D:00.0"])
ok(f["gpu/topology/0-1"] == "NV2", "links that end at the other GPU are counted", f["gpu/topology/0-1"])
code, by, f = checks([x for x in node() if " p2p" not in x])
ok(f["gpu/topology/0-1"] == "SYS", "without them the way over PCIe is told", f["gpu/topology/0-1"])

code, out, _ = run(node(), "--learn", str(place / "golden.json"))
code, by, f = checks(node(vbios="96.00.A5.00.02"), "--against", str(place / "golden.json"))
ok(code == 1 and by["gpu/1/vbios"]["level"] == "fail" and by["gpu/driver"]["level"] == "pass", "another VBIOS is not as the profile", by.get("gpu/1/vbios"))
code, by, f = checks(node(gpus=1), "--against", str(place / "golden.json"))
ok(code == 1 and by["gpu/1/name"]["is"] == "missing" and by["gpu_lost"]["level"] == "fail", "a GPU that is missing is told twice: by the profile and by the bus")

(place / "bmc.json").write_text('{"schema":"aon.bmc/1","facts":{"firmware/BMC/Version":"1.05","bios/Attributes/NPS":"NPS1"}}')
code, by, f = checks(node(), "--bmc", str(place / "bmc.json"))
ok(f.get("bmc/firmware/BMC/Version") == "1.05" and f.get("bmc/bios/Attributes/NPS") == "NPS1", "firmware and BIOS of the BMC are facts of the node")

# --- as a health check ---
code, out, took = run(node(), "--health")
ok(code == 0 and out.count("\n") == 1 and out.startswith("pass: "), "--health is one line", out)
code, out, took = run(node(width=8), "--health")
ok(code == 1 and out.startswith("fail: gpu_pcie is 1 (GPU 1), expected 0"), "that begins with what is worst", out)
code, out, took = run(node(hang=30), "--health")
ok(code == 1 and "gpu_driver is no answer in" in out and "of GPU 1" in out and took < HEALTH_S, f"a driver that hangs is a result, in {took:.1f} s", (took, out))
code, out, took = run(["- driver 0"], "--health")
ok(code == 1 and "the driver is not loaded" in out, "so is one that is not loaded", out)

deploy = BUILD.parent / "deploy" if (BUILD.parent / "deploy").is_dir() else ROOT / "deploy"
write_state(place / "state", node(width=8))
bin = place / "bin"
bin.mkdir()
(bin / "aon").write_text(f"#!/bin/sh\ncmd=$1\nshift\nexec {find('aon')} $cmd --root {root} \"$@\"\n")
(bin / "scontrol").write_text(f"#!/bin/sh\nprintf '%s\\n' \"$*\" >> {place}/scontrol\necho '   State=IDLE'\n")
for x in bin.iterdir():
    x.chmod(0o755)
env = dict(os.environ, PATH=f"{bin}:{os.environ['PATH']}", AON_NVML=str(NVML), AON_NVML_STATE=str(place / "state"), SLURMD_NODENAME="n7", AON_GOLDEN="/nonexistent")
began = time.monotonic()
r = subprocess.run([deploy / "slurm/health"], env=env, capture_output=True, text=True)
said = (place / "scontrol").read_text() if (place / "scontrol").exists() else ""
ok(r.returncode == 1 and "update nodename=n7 state=drain" in said.lower() and "aon: gpu_pcie" in said and time.monotonic() - began < HEALTH_S, "Slurm's health check drains a node that fails", (r, said))
write_state(place / "state", node())
(place / "scontrol").write_text("")
r = subprocess.run([deploy / "slurm/health"], env=env, capture_output=True, text=True)
ok(r.returncode == 0 and "drain" not in (place / "scontrol").read_text(), "and leaves one that is well", r)
npd = json.loads((deploy / "kubernetes/aon-health-npd.json").read_text())
rule = [x for x in npd["rules"] if x["type"] == "permanent"][0]
ok(npd["plugin"] == "custom" and pathlib.Path(rule["path"]).name == "aon-health" and rule["condition"] == npd["conditions"][0]["type"], "node-problem-detector's rule is whole", npd)
write_state(place / "state", node(width=8))
r = subprocess.run([deploy / "kubernetes/aon-health"], env=env, capture_output=True, text=True)
ok(r.returncode == 1 and len(r.stdout) <= 81 and "gpu_pcie" in r.stdout, "its plugin says in 80 bytes what is wrong", r)

# --- what nvidia-smi said on real GPUs ---
if not captures():
    skip("NVML and nvidia-smi's log say the same", "../shared/data is not there")
for path in captures():
    rows = query(path, "idle")
    log, by, f = None, None, None
    r = subprocess.run([find("aon"), "validate", "--json", "--root", str(root), "--log", str(path)], capture_output=True, text=True)
    log = json.loads(r.stdout)["facts"] if r.stdout else {}
    _, by, f = checks(state_of(rows) + [f"{i} vbios {row['vbios_version']}" for i, row in enumerate(rows)] +
                      [f"{i} persistence {int(row['persistence_mode'] == 'Enabled')}" for i, row in enumerate(rows)] +
                      [f"{i} eccmode {int(row['ecc.mode.current'] == 'Enabled')}" for i, row in enumerate(rows) if row["ecc.mode.current"] in ("Enabled", "Disabled")] +
                      [f"{i} limit_max {float(row['power.max_limit [W]'].split()[0]) * 1000:.0f}" for i, row in enumerate(rows) if row["power.max_limit [W]"][:1].isdigit()])
    keys = [k for k in f if k in log and k != "gpu/nvml"]
    other = {k: (f[k], log[k]) for k in keys if f[k] != log[k]}
    ok(len(keys) > 12 and not other, f"{path.name.split('__')[1]}: NVML and nvidia-smi's log say the same, {len(keys)} facts", (r.stderr, other))
done()
