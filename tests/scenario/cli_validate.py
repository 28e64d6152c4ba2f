# SPDX-License-Identifier: Apache-2.0
"""aon validate: settings of made-up nodes, profiles, nodes among each other, logs of real tools, this node in time."""
import glob
import os
import struct
import subprocess
import tempfile
import time

from aontest import *


def put(root, path, text):
    full = os.path.join(root, path.lstrip("/"))
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb" if isinstance(text, bytes) else "w") as f:
        f.write(text)


def config(relaxed, acs=None):
    """Configuration space of a PCIe device: its capability, and ACS if it is a bridge."""
    c = bytearray(4096)
    c[0x34] = 0x40
    c[0x40] = 0x10
    struct.pack_into("<H", c, 0x48, 0x10 if relaxed else 0)
    if acs is not None:
        struct.pack_into("<HH", c, 0x100, 0x0D, 1)
        struct.pack_into("<H", c, 0x106, 0x0C if acs else 0)
    return bytes(c)


def node(good):
    root = tempfile.mkdtemp(prefix="aon-node-")
    put(root, "/proc/sys/kernel/osrelease", "6.1.0-test\n")
    put(root, "/proc/sys/kernel/hostname", "n1\n")
    put(root, "/proc/cmdline", "root=/dev/sda iommu=pt\n" if good else "root=/dev/sda\n")
    put(root, "/proc/sys/kernel/numa_balancing", "0\n" if good else "1\n")
    put(root, "/proc/cpuinfo", "processor : 0\nmodel name\t: A CPU\nmicrocode\t: 0x7\n")
    put(root, "/proc/meminfo", "MemTotal:       2097152000 kB\n")
    put(root, "/proc/77/comm", "bash\n" if good else "irqbalance\n")
    put(root, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n" if good else "always madvise [never]\n")
    put(root, "/sys/kernel/iommu_groups/0/type", "DMA\n")
    put(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n" if good else "hpet\n")
    for cpu in range(2):
        put(root, f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", "performance\n" if good or cpu else "powersave\n")
    for state, us in enumerate((0, 2, 133)):
        put(root, f"/sys/devices/system/cpu/cpu0/cpuidle/state{state}/latency", f"{us}\n")
        put(root, f"/sys/devices/system/cpu/cpu0/cpuidle/state{state}/disable", "1\n" if good and us > 50 else "0\n")
    put(root, "/sys/devices/system/edac/mc/mc0/ue_count", "0\n" if good else "2\n")
    put(root, "/sys/devices/system/edac/mc/mc0/ce_count", "5\n")
    gpu, bridge = "/sys/bus/pci/devices/0000:17:00.0", "/sys/bus/pci/devices/0000:16:00.0"
    for path, kind in ((gpu, "0x030200"), (bridge, "0x060400")):
        put(root, path + "/class", kind + "\n")
        put(root, path + "/vendor", "0x10de\n")
        put(root, path + "/device", "0x2330\n")
    put(root, gpu + "/current_link_width", "16\n" if good else "8\n")
    put(root, gpu + "/max_link_width", "16\n")
    put(root, gpu + "/config", config(good))
    put(root, bridge + "/config", config(True, acs=not good))
    put(root, "/sys/class/net/eth0/mtu", "9000\n" if good else "1500\n")
    put(root, "/sys/class/net/eth0/speed", "400000\n")
    put(root, "/sys/class/net/eth0/operstate", "up\n")
    put(root, "/sys/class/infiniband/mlx5_0/fw_ver", "28.39.1002\n")
    put(root, "/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n" if good else "1: DOWN\n")
    put(root, "/sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n")
    return root


def run(*args):
    r = subprocess.run([find("aon"), "validate", *args], capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


def checks(*args):
    code, out, err = run("--json", *args)
    said = json.loads(out) if out else {"checks": [], "facts": {}, "verdict": err}
    return code, {c["id"]: c for c in said["checks"]}, said


good, bad = node(True), node(False)
code, by, said = checks("--root", good)
wrong = [(k, c["is"]) for k, c in by.items() if c["level"] in ("warn", "fail")]
ok(code == 0 and said["verdict"] == "pass" and not wrong, "a node that is set well passes", wrong)
code, by, said = checks("--root", bad)
want = {"governor": "warn", "idle_states": "warn", "numa_balancing": "warn", "huge_pages": "warn", "iommu": "warn", "acs": "warn", "relaxed_order": "warn", "pcie_width": "fail",
        "mtu": "warn", "ib_links": "fail", "irqbalance": "warn", "clocksource": "warn", "memory_errors": "fail"}
got = {k: by[k]["level"] for k in want}
ok(code == 1 and got == want, "each setting that is wrong is told, and what is broken fails", {k: (by[k]["is"], by[k]["level"]) for k in want if got[k] != want[k]})
ok(all(by[k]["why"] and by[k]["act"] for k in want), "with a reason and what to do")
ok(by["gpu_ecc"]["level"] == "skip", "what cannot be known is skipped, not passed")
code, out, err = run("--root", bad)
ok(code == 1 and "fail  pcie_width" in out and "3 failed, 10 warnings" in out and "reseat" in out, "the text says the same", out)

folder = tempfile.mkdtemp(prefix="aon-validate-")
profile = os.path.join(folder, "golden.json")
code, out, err = run("--root", good, "--learn", profile, "--html", folder + "/r.html")
ok(code == 0 and os.path.getsize(profile) > 200 and "<h1>n1: pass" in open(folder + "/r.html").read(), "a profile is learnt, and the page written", err)
code, by, said = checks("--root", good, "--against", profile)
ok(code == 0 and by["kernel/release"]["level"] == "pass" and by["kernel/release"]["by"] == "profile", "the same node is as its profile")
put(good, "/proc/sys/kernel/osrelease", "6.5.0-other\n")
code, by, said = checks("--root", good, "--against", profile)
ok(code == 1 and by["kernel/release"]["level"] == "fail" and "hostname" not in by, "another kernel is not, and who it is is not compared")
put(good, "/proc/sys/kernel/osrelease", "6.1.0-test\n")
code, out, err = run("--root", good, "--against", folder + "/r.html")
ok(code == 1 and "expected a profile" in err, "what is no profile is refused with what was expected", err)

for i in range(4):
    subprocess.run([find("aon"), "validate", "--json", "--root", bad if i == 2 else good], stdout=open(f"{folder}/node{i}.json", "w"))
code, by, said = checks(*(f"{folder}/node{i}.json" for i in range(4)))
ok(code == 0 and by and all(k.startswith("node2: ") for k in by) and "node2: kernel/clocksource" in by, "of four nodes the one that is otherwise is named", list(by)[:5])
code, out, err = run(f"{folder}/node0.json")
ok(code == 1 and "takes three" in err, "one node is no majority", err)
code, out, err = run(f"{folder}/node0.json", "--learn", profile)
ok(code == 2, "misuse is misuse", err)

logs = data() / "bench_logs/superbench" if data() else None
if logs and logs.is_dir():
    paths = [logs / n for n in ("nccl_allreduce.log", "gpu_burn.log", "streamResultZen.log", "ib_loopback_8M_size.log", "disk_performance.log")]
    code, by, said = checks("--root", good, "--log", ",".join(map(str, paths)))
    f = said["facts"]
    ok(code == 0 and f.get("log/nccl/busbw_GBps") == "235.26" and f.get("log/gpu_burn/gpus") == "8" and f.get("log/gpu_burn/errors") == "0" and
       f.get("log/stream/Triad_MBps") == "363209" and f.get("log/ib/ib0/average_MBps") == "24056.7" and any(k.endswith("read_iops") for k in f),
       "logs of real tools say what they say", {k: v for k, v in f.items() if k.startswith("log/")})
    smi = data() / "telemetry/nvidia_gpu_exporter/captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt"
    code, by, said = checks("--root", good, "--log", str(smi))
    ok(said["facts"].get("gpu/driver") == "590.48.01" and by["gpu_persistence"]["level"] == "pass" and by["gpu_ecc"]["level"] == "pass" and by["gpu_power"]["level"] == "pass",
       "and nvidia-smi of an H100", {k: v for k, v in said["facts"].items() if k.startswith("gpu/")})
else:
    skip("logs of real tools say what they say", "../shared/data is not there")
code, out, err = run("--root", good, "--log", profile)
ok(code == 1 and "nccl-tests" in err, "a log of no tool is refused with those that are known", err)

began = time.monotonic()
code, by, said = checks()
ok(said["facts"].get("kernel/release") == os.uname().release and len(by) > 20, "this node itself is looked at", said["facts"])
ok(time.monotonic() - began < 5, f"in less than 5 s, for health checks ({time.monotonic() - began:.2f} s)")
done()
