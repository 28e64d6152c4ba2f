# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 needs=openssl sanitize=no
"""A Redfish service of other people: OpenStack's sushy-emulator, over TLS, with a user and a password."""
import os
import pathlib
import subprocess
import sys
import tempfile

from aontest import *
import bmctest
from redfish_kit import PASSWORD, Collect
from slurmtest import free_ports

SUSHY = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "aon" / "sushy"
UUID = "da69abcc-dae0-4913-9a7b-d344043097c0"


def emulator(folder, port):
    sys.path.insert(0, str(SUSHY))
    import bcrypt
    cert, key = bmctest.make_cert(folder)
    with open(f"{folder}/users", "w") as f:
        f.write("root:" + bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4, b"2a")).decode().replace("$2a$", "$2y$") + "\n")
    conf = {"LISTEN_IP": "127.0.0.1", "LISTEN_PORT": port, "SSL_CERT": cert, "SSL_KEY": key, "AUTH_FILE": f"{folder}/users", "FAKE_DRIVER": True, "STATE_DIR": folder,
            "FAKE_SYSTEMS": [{"uuid": UUID, "name": "node1", "power_state": "On", "external_notifier": False, "nics": []}]}
    with open(f"{folder}/emu.conf", "w") as f:
        f.write("".join(f"SUSHY_EMULATOR_{k} = {v!r}\n" for k, v in conf.items()))
    log = open(f"{folder}/emu.log", "w")
    return cert, subprocess.Popen([sys.executable, str(SUSHY / "bin/sushy-emulator"), "--config", f"{folder}/emu.conf", "--fake"], stdout=log, stderr=log,
                                  env={**os.environ, "PYTHONPATH": str(SUSHY)})


def main():
    if not (SUSHY / "bin/sushy-emulator").exists():
        return skip("sushy-emulator is understood", "sushy-tools is not in the cache: tools/setup check")
    folder, port = tempfile.mkdtemp(prefix="aon-sushy-"), free_ports(1)[0]
    cert, proc = emulator(folder, port)
    try:
        with Collect(folder, {"s1": {"url": f"https://127.0.0.1:{port}", "ca": cert}}, timeout=10) as c:
            ok(wait_for(lambda: c.up("s1") and c.get("bmc_fan_rpm", bmc="s1"), 90), "sushy-emulator is understood", c.why("s1") or c.err[-3:])
            got = {(s.split("{")[0], s.split('sensor="')[1].split('"')[0].split("/")[-1]): v for s, v in c.now.items() if 'sensor="' in s}
            want = {("bmc_temperature_celsius", "CPU Temp"): 41, ("bmc_temperature_celsius", "Chassis Intake Temp"): 25,
                    ("bmc_fan_rpm", "BaseBoard System Fan"): 2100, ("bmc_fan_rpm", "BaseBoard System Fan Backup"): 2100}
            ok({k: got.get(k) for k in want} == want, "its temperatures and fans have their values (fans to whole hundreds)", got)
            ok(wait_for(lambda: c.state("s1")["complete"], 60), "all of its resources are found")
            facts = c.state("s1")["facts"]
            ok(any(k.startswith("Chassis/") and k.endswith("/Model") and v == "3500RX" for k, v in facts.items()), "what it is made of is known", facts)
            ok(c.state("s1")["inlet_celsius"] == 25, "and where its inlet is")
        with Collect(folder, {"s2": {"url": f"https://127.0.0.1:{port}", "ca": cert}}, login="root:wrong", timeout=10) as c:
            ok(wait_for(lambda: "login" in c.why("s2"), 60) and not c.up("s2"), "a password that it does not take is said", c.why("s2"))
    finally:
        proc.kill()
        proc.wait()


main()
done()
