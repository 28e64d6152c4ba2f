# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon validate: settings of made-up nodes, profiles, nodes among each other, this node in time."""
import os
import struct
import subprocess
import tempfile
import time

from aontest import *
from aonschema import check as schema


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


def dimms(n, could, runs):
    """SMBIOS with n DIMMs and one empty slot."""
    out = b""
    for i in range(n + 1):
        d = bytearray(0x28)
        d[0], d[1] = 17, len(d)
        struct.pack_into("<H", d, 0x0C, 0 if i == n else 0x7FFF)
        struct.pack_into("<H", d, 0x15, could)
        struct.pack_into("<H", d, 0x20, runs)
        out += bytes(d) + b"DIMM\0\0"
    return out + bytes((127, 4, 0, 0, 0, 0))


def node(good):
    root = tempfile.mkdtemp(prefix="aon-node-")
    put(root, "/proc/sys/kernel/osrelease", "6.1.0-test\n")
    put(root, "/proc/sys/kernel/hostname", "n1\n")
    put(root, "/proc/cmdline", "root=/dev/sda iommu=pt\n" if good else "root=/dev/sda\n")
    put(root, "/proc/sys/kernel/numa_balancing", "0\n" if good else "1\n")
    put(root, "/proc/cpuinfo", "processor : 0\nmodel name\t: A CPU\nmicrocode\t: 0x7\n")
    idle = 0 if good else 100000
    put(root, "/proc/meminfo", f"MemTotal:       2097152000 kB\nHugePages_Total:  {idle}\nHugePages_Free:  {idle}\nHugePages_Rsvd:  0\nHugepagesize:    2048 kB\n")
    put(root, "/proc/sys/vm/zone_reclaim_mode", "0\n" if good else "1\n")
    put(root, "/sys/kernel/mm/transparent_hugepage/defrag", "always defer [defer+madvise] madvise never\n" if good else "[always] defer defer+madvise madvise never\n")
    put(root, "/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n" if good else "1\n")
    put(root, "/sys/firmware/dmi/tables/DMI", dimms(4, 4800, 4800 if good else 4000))
    for i in range(4):
        put(root, f"/sys/devices/system/edac/mc/mc{i // 2}/dimm{i}/dimm_location", f"channel {i % 2} slot 0\n")
    put(root, "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "0\n" if good else "9\n")
    put(root, "/sys/module/mlx5_core/version", "24.10\n")
    put(root, "/sys/class/nvme/nvme0/firmware_rev", "EDA5702Q\n")
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
    put(root, "/sys/devices/system/edac/mc/mc0/ce_count", "5\n" if good else "5000\n")
    gpu, nic, bridge = "/sys/bus/pci/devices/0000:17:00.0", "/sys/bus/pci/devices/0000:18:00.0", "/sys/bus/pci/devices/0000:16:00.0"
    put(root, gpu + "/numa_node", "1\n")
    put(root, nic + "/current_link_speed", "32.0 GT/s PCIe\n" if good else "16.0 GT/s PCIe\n")
    put(root, nic + "/max_link_speed", "32.0 GT/s PCIe\n")
    put(root, "/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  590.48.01\n")
    if good:
        put(root, "/sys/module/nvidia_peermem/initstate", "live\n")
    for path, kind in ((gpu, "0x030200"), (nic, "0x020700"), (bridge, "0x060400")):
        put(root, path + "/class", kind + "\n")
        put(root, path + "/vendor", "0x10de\n")
        put(root, path + "/device", "0x2330\n")
    put(root, gpu + "/current_link_width", "16\n" if good else "8\n")
    put(root, gpu + "/max_link_width", "16\n")
    put(root, gpu + "/config", config(good))
    put(root, bridge + "/config", config(True, acs=not good))
    put(root, "/sys/class/net/eth0/device/vendor", "0x15b3\n")
    put(root, "/sys/class/net/veth7/mtu", "1500\n")
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
want = {k: "warn" for k in ("governor", "idle_states", "turbo", "numa_balancing", "zone_reclaim", "thp", "thp_defrag", "hugepages", "iommu", "acs", "relaxed_order", "nic_speed", "mtu",
                           "irqbalance", "clocksource", "memory_speed", "memory_corrected", "throttled", "gpu_peer_memory")}
want |= {k: "fail" for k in ("pcie_width", "ib_links", "memory_errors")}
got = {k: by[k]["level"] for k in want}
ok(code == 1 and got == want, "each setting that is wrong is told, and what is broken fails", {k: (by[k]["is"], by[k]["level"]) for k in want if got[k] != want[k]})
well = checks("--root", good)[1]
ok(all(well[k]["level"] == "pass" for k in want), "and each of them passes where it is well", {k: well[k]["is"] for k in want if well[k]["level"] != "pass"})
ok("0000:17:00.0" in by["pcie_width"]["is"], "which device it is stands with it", by["pcie_width"]["is"])
f = said["facts"]
ok(f["memory/peak_GBps"] == "128" and f["memory/dimms"] == "4" and f["memory/slots"] == "5" and f["pcie/0000:17:00.0/numa"] == "1" and f["driver/mlx5_core"] == "24.10" and
   f["disk/nvme0/firmware"] == "EDA5702Q" and f["gpu/driver"] == "590.48.01" and f["ib/mlx5_0/firmware"] == "28.39.1002", "memory, places, drivers and firmware are facts", f)
ok(all(by[k]["why"] and by[k]["act"] and by[k]["when"] for k in want), "with a reason, what to do and when it matters")
ok(by["gpu_ecc"]["level"] == "skip", "what cannot be known is skipped, not passed")
code, out, err = run("--root", bad)
ok(code == 1 and "fail  pcie_width" in out and "3 failed, 19 warnings" in out and "reseat" in out, "the text says the same", out)

ok(not schema(said), "its JSON is as docs/json.md says", schema(said))

folder = tempfile.mkdtemp(prefix="aon-validate-")
profile = os.path.join(folder, "golden.json")
code, out, err = run("--root", good, "--learn", profile, "--html", folder + "/r.html")
ok(code == 0 and os.path.getsize(profile) > 200 and "n1: pass</h1>" in open(folder + "/r.html").read(), "a profile is learnt, and the page written", err)
code, by, said = checks("--root", good, "--against", profile)
ok(code == 0 and by["kernel/release"]["level"] == "pass" and by["kernel/release"]["by"] == "profile", "the same node is as its profile")
put(good, "/proc/sys/kernel/osrelease", "6.5.0-other\n")
code, by, said = checks("--root", good, "--against", profile)
ok(code == 1 and by["kernel/release"]["level"] == "fail" and "hostname" not in by, "another kernel is not, and who it is is not compared")
put(good, "/proc/sys/kernel/osrelease", "6.1.0-test\n")
put(good, "/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=UUID=77 iommu=pt\n")
put(good, "/sys/devices/system/edac/mc/mc0/ce_count", "9\n")
put(good, "/sys/class/net/veth9/mtu", "1500\n")
code, by, said = checks("--root", good, "--against", profile)
ok(code == 0 and said["facts"]["kernel/cmdline"] == "iommu=pt", "its disk, its containers and what it counted are its own", [c for c in by.values() if c["level"] == "fail"])
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

began = time.monotonic()
code, by, said = checks()
ok(said["facts"].get("kernel/release") == os.uname().release and len(by) > 20, "this node itself is looked at", said["facts"])
ok(time.monotonic() - began < 5, f"in less than 5 s, for health checks ({time.monotonic() - began:.2f} s)")
done()
