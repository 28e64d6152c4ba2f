# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 needs=ipmi_sim,ipmitool
"""IPMI over the network against OpenIPMI's simulator: values are those that ipmitool reads."""
import os
import re
import socket
import subprocess
import tempfile
import time

from aontest import *
import redfish_kit as kit

PASSWORD = "s3cret-word"


def sdr(number, name, kind, unit, m, b=0, b_exp=0, r_exp=0, sign=0, linear=0, percent=0, record=1):
    """A full sensor record."""
    r = bytearray(48)
    r[2], r[3], r[5], r[7], r[8], r[9], r[10], r[11], r[12], r[13] = 0x51, record, 0x20, number, 7, 1, 0x7F, 0x68, kind, 1
    r[20], r[21], r[23] = sign << 6 | percent, unit, linear
    r[24], r[25], r[26], r[27] = m & 255, (m >> 8 & 3) << 6, b & 255, (b >> 8 & 3) << 6
    r[29] = (r_exp & 15) << 4 | (b_exp & 15)
    r[47] = 0xC0 | len(name)
    r += name.encode()
    r[4] = len(r) - 5
    return bytes(r)


SENSORS = [(sdr(1, "Inlet Temp", 1, 1, 1), 24), (sdr(2, "P12V", 2, 4, 6, r_exp=-2), 202), (sdr(3, "Fan 1", 4, 18, 100), 98),
           (sdr(4, "Outdoors", 1, 1, 1, sign=2), 0xF6), (sdr(5, "PSU In", 9, 6, 4, b=5, b_exp=1), 120), (sdr(6, "Duty", 4, 0, 1, percent=1), 40),
           (sdr(7, "Curve", 3, 5, 1, linear=8, r_exp=0), 9), (sdr(8, "Not scanned", 1, 1, 1), 55)]


def simulator(folder):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    auths = "".join(f"    allowed_auths_{who} none md2 md5 straight\n" for who in ("callback", "user", "operator", "admin"))
    with open(f"{folder}/lan.conf", "w") as f:
        f.write(f'name "bmc"\nset_working_mc 0x20\n  startlan 1\n    addr 127.0.0.1 {port}\n    priv_limit admin\n{auths}'
                f'    guid a123456789abcdefa123456789abcdef\n  endlan\n  user 2 true "reader" "{PASSWORD}" user 10 none md2 md5 straight\n'
                f'  user 3 true "boss" "{PASSWORD}" admin 10 none md2 md5 straight\n')
    with open(f"{folder}/sim.emu", "w") as f:
        f.write("mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nsel_enable 0x20 1000 0x0a\n")
        for record, raw in SENSORS:
            f.write(f"sensor_add 0x20 0 {record[7]} {record[12]:#x} 0x01\nsensor_set_value 0x20 0 {record[7]} {raw} 0\n")
            if record[7] != 8:
                f.write(f"sensor_set_event_support 0x20 0 {record[7]} enable scanning per-state {' '.join(['0' * 15] * 4)}\n")
            f.write("main_sdr_add 0x20 " + " ".join(f"{b:#04x}" for b in record) + "\n")
        f.write("mc_enable 0x20\n")
    proc = subprocess.Popen(["ipmi_sim", "-c", f"{folder}/lan.conf", "-f", f"{folder}/sim.emu", "-s", f"{folder}/state", "-n"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return proc, port


def ipmitool(port, *args, user="reader", level="USER"):
    """With the password in its environment."""
    return subprocess.run(["ipmitool", "-C", "3", "-I", "lanplus", "-H", "127.0.0.1", "-p", str(port), "-U", user, "-E", "-L", level, *args],
                          capture_output=True, text=True, env={**os.environ, "IPMI_PASSWORD": PASSWORD}).stdout


def main():
    folder = tempfile.mkdtemp(prefix="aon-ipmi-")
    proc, port = simulator(folder)
    try:
        if not wait_for(lambda: "Inlet" in ipmitool(port, "sdr", "list"), 30):
            return skip("IPMI over the network", "ipmi_sim does not answer ipmitool here")
        want = {}
        for line in ipmitool(port, "sdr", "list").splitlines():
            name, value, state = (x.strip() for x in line.split("|"))
            number = re.match(r"-?[\d.]+", value)
            if state == "ok" and number:
                want[name] = float(number[0])
        with kit.Collect(folder, {"n1": {"url": f"ipmi://127.0.0.1:{port}", "rack": "A", "position": 3},
                                  "gone": {"url": "ipmi://127.0.0.1:9"}}, collector="ipmi", login=f"reader:{PASSWORD}", timeout=3) as c:
            ok(wait_for(lambda: c.up("n1"), 30), "a session with integrity and encryption is begun", c.text[-5:])
            got = {re.search(r'sensor="([^"]+)"', s)[1]: v for s, v in c.now.items() if 'sensor="' in s and v == v}
            got.pop("SEL", None)
            ok(len(want) >= 7 and got.keys() == want.keys() and all(abs(got[k] - want[k]) <= 0.051 + abs(want[k]) * 0.006 for k in want),
               f"each of {len(want)} sensors has the value that ipmitool reads", (got, want))
            ok(c.get("bmc_temperature_celsius", "Outdoors") == -10 and c.get("bmc_fan_rpm", "Fan 1") == 9800 and c.get("bmc_percent", "Duty") == 40 and
               c.get("bmc_power_watts", "PSU In") == 530, "with their units, signs and exponents", got)
            ok(c.get("bmc_temperature_celsius", "Not scanned") is None, "a sensor that is not scanned has no value")
            ok(wait_for(lambda: "n1" in os.listdir(c.folder) or c.why("gone"), 30) and not c.up("gone"), "a BMC that is not there is down, and delays nobody", c.why("gone"))
            time.sleep(1.5)
            entry = [0, 0, 2, 0, 0, 0, 0, 0x20, 0, 4, 1, 1, 1, 0x57, 0x5F, 0x5A] # inlet temperature went high
            ipmitool(port, "raw", "0x0a", "0x44", *map(str, entry), user="boss", level="ADMINISTRATOR")
            ok(wait_for(lambda: any("log: n1: SEL" in e and "Temperature Inlet Temp" in e for e in c.events), 20), "a new entry of its log is told", c.events)
            ok(c.get("bmc_log_entries") == 1, "and counted")
            proc.kill()
            ok(wait_for(lambda: not c.up("n1"), 30), "one that dies is down")
            ok(wait_for(lambda: c.get("bmc_fan_rpm", "Fan 1") is None, 30), "and its values are given up")
            words = "".join(c.text) + "".join(c.err)
            ok(PASSWORD not in words, "the password is nowhere in what was written")
        folder2 = tempfile.mkdtemp(prefix="aon-ipmi-")
        proc2, port = simulator(folder2)
        try:
            wait_for(lambda: "Inlet" in ipmitool(port, "sdr", "list"), 30)
            with kit.Collect(folder2, {"n1": {"url": f"ipmi://127.0.0.1:{port}"}, "own": {"url": "ipmi:/dev/ipmi-none"}}, collector="ipmi", login="reader:wrong", timeout=3) as c:
                ok(wait_for(lambda: "login" in c.why("n1"), 30), "a wrong password is refused by the BMC, and said", c.why("n1"))
                ok(wait_for(lambda: "No such file" in c.why("own"), 30), "a device that is not there is said", c.why("own"))
        finally:
            proc2.kill()
            proc2.wait()
    finally:
        proc.kill()
        proc.wait()


def own_device():
    """The kernel's device: its ioctl()s, answered by tests/sim/ipmi_dev.c."""
    if SANITIZED:
        return skip("the kernel's device", "a sanitizer comes before LD_PRELOAD")
    folder = tempfile.mkdtemp(prefix="aon-ipmi-")
    os.environ["LD_PRELOAD"] = str(BUILD / "tests/sim/libsim-ipmi.so")
    try:
        c = kit.Collect(folder, {"own": {"url": "ipmi:/dev/null"}}, collector="ipmi", timeout=3).__enter__()
    finally:
        del os.environ["LD_PRELOAD"]
    try:
        ok(wait_for(lambda: c.up("own") and [c.get("bmc_temperature_celsius", f"Temp {i}") for i in (1, 2, 3)] == [21, 22, 23], 30),
           "sensors of the node's own BMC are read through the device, past answers to others", (c.why("own"), c.text[-5:]))
    finally:
        c.__exit__()


main()
own_device()
done()
