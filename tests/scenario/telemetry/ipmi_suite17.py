# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 needs=ipmitool sanitize=no
"""Cipher suite 17 (HMAC-SHA256): pyghmi's BMC, made to speak it, which ipmitool agrees with; then aon-collect.

OpenIPMI's simulator and pyghmi's BMC both know suite 3 alone. The latter has the other suite's hashes in what it
shares with its client, so that a few lines make it a BMC; that these are right is shown by ipmitool -C 17.

    python3 ipmi_suite17.py PORT          # the BMC alone
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types

PYGHMI = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "aon" / "pyghmi"
PASSWORD = "s3cret-word"


def sdr(number, name, kind, unit, m, r_exp=0):
    """A full sensor record of a reading times m times ten to the r_exp."""
    r = bytearray(48)
    r[0], r[2], r[3], r[5], r[7], r[8], r[9], r[10], r[11], r[12], r[13] = number, 0x51, 1, 0x20, number, 7, 1, 0x7F, 0x68, kind, 1
    r[21], r[24], r[29], r[47] = unit, m, (r_exp & 15) << 4, 0xC0 | len(name)
    r += name.encode()
    r[4] = len(r) - 5
    return bytes(r)


SENSORS = [(sdr(1, "Inlet Temp", 1, 1, 1), 24), (sdr(2, "P12V", 2, 4, 6, r_exp=-2), 202), (sdr(3, "Fan 1", 4, 18, 100), 98)]


def serve(port):
    sys.path.insert(0, str(PYGHMI))
    import hashlib
    import hmac
    import struct
    from pyghmi.ipmi import bmc
    from pyghmi.ipmi.private import constants, serversession
    serversession.hashlib = types.SimpleNamespace(sha1=hashlib.sha256)

    class Session17(serversession.ServerSession):
        def create_open_session_response(self, request):
            asked = request[12], request[20], request[28] # of the algorithms: authentication, integrity, privacy
            said = bytearray(super().create_open_session_response(request))
            said[16], said[24], said[32] = 3, 4, 1
            return said if asked == (3, 4, 1) else said[:1] + bytearray([0x11]) + said[2:8] # no matching suite

        def _send_rakp4(self, tag, status):
            self.currhashlen = 16
            proof = hmac.new(self.sik, bytes(self.Rm + self.managedsessionid + self.uuiddata), hashlib.sha256).digest()[:16]
            self.send_payload(bytearray([tag, status, 0, 0]) + self.clientsessionid + proof, constants.payload_types["rakp4"], retry=False)
            self.confalgo, self.integrityalgo, self.sequencenumber = "aes", "sha256", 1
            self.sessionid = struct.unpack("<I", bytes(self.clientsessionid))[0]

    class Bmc(bmc.Bmc):
        def handle_raw_request(self, request, session):
            data, what = bytes(request["data"]), (request["netfn"], request["command"])
            answer, code = b"", 0
            if what == (10, 0x20):
                answer = struct.pack("<BHHIIB", 0x51, len(SENSORS), 0xFFFF, 1, 1, 0x23)
            elif what in ((10, 0x22), (10, 0x42)):
                answer = b"\x01\x00"
            elif what == (10, 0x23):
                at = max(struct.unpack_from("<H", data, 2)[0], 1) - 1
                if at >= len(SENSORS):
                    code = 0xCB
                else:
                    record = SENSORS[at][0]
                    answer = struct.pack("<H", at + 2 if at + 1 < len(SENSORS) else 0xFFFF) + record[data[4]:data[4] + data[5]]
            elif what == (4, 0x2D):
                answer = bytes([dict((r[7], raw) for r, raw in SENSORS)[data[0]], 0xC0, 0, 0])
            elif what == (10, 0x40):
                answer = struct.pack("<BHHIIB", 0x51, 0, 0xFFFF, 0, 0, 0x02)
            elif what == (6, 1):
                return self.send_device_id(session)
            else:
                code = 0xC1
            session.send_ipmi_response(data=bytearray(answer), code=code)

        def send_cipher_suites(self, myaddr, mylun, clientaddr, clientlun, clientseq, data, sockaddr):
            pass # who does not ask for 17 by itself gets nothing

    serversession.ServerSession = Session17
    Bmc({"reader": PASSWORD}, port=port, address="127.0.0.1")
    Bmc.listen()


if len(sys.argv) > 1:
    serve(int(sys.argv[1]))

from aontest import *  # noqa: E402
import redfish_kit as kit  # noqa: E402
from slurmtest import free_ports  # noqa: E402


def ipmitool(port, suite):
    return subprocess.run(["ipmitool", "-C", suite, "-N", "2", "-R", "2", "-I", "lanplus", "-H", "127.0.0.1", "-p", str(port), "-U", "reader", "-E", "-L", "USER", "sdr", "list"],
                          capture_output=True, text=True, env={**os.environ, "IPMI_PASSWORD": PASSWORD}).stdout


def main():
    if not (PYGHMI / "pyghmi").is_dir():
        return skip("cipher suite 17", "pyghmi is not in the cache: tools/setup check")
    port, folder = free_ports(1)[0], tempfile.mkdtemp(prefix="aon-ipmi17-")
    proc = subprocess.Popen([*again(str(port))], stdout=subprocess.DEVNULL, stderr=open(f"{folder}/log", "w"))
    try:
        if not wait_for(lambda: "Inlet" in ipmitool(port, "17"), 40):
            return ok(False, "ipmitool has a session of suite 17", pathlib.Path(f"{folder}/log").read_text()[-800:])
        want = {}
        for line in ipmitool(port, "17").splitlines():
            name, value, state = (x.strip() for x in line.split("|"))
            if state == "ok":
                want[name] = float(re.match(r"-?[\d.]+", value)[0])
        ok(len(want) == 3, "ipmitool has a session of suite 17", want)
        ok("Inlet" not in ipmitool(port, "3"), "and none of suite 3: it is 17 that is spoken")
        with kit.Collect(folder, {"n1": {"url": f"ipmi://127.0.0.1:{port}"}}, collector="ipmi", login=f"reader:{PASSWORD}", timeout=3) as c:
            ok(wait_for(lambda: c.up("n1") and c.get("bmc_fan_rpm", "Fan 1"), 30), "so has aon-collect", c.why("n1"))
            got = {re.search(r'sensor="([^"]+)"', s)[1]: v for s, v in c.now.items() if 'sensor="' in s and v == v}
            ok(all(abs(got.get(k, 1e9) - v) <= 0.051 + abs(v) * 0.006 for k, v in want.items()), "its sensors have the values that ipmitool reads", (got, want))
        with kit.Collect(folder, {"n1": {"url": f"ipmi://127.0.0.1:{port}"}}, collector="ipmi", login="reader:wrong", timeout=3) as c:
            ok(wait_for(lambda: "login" in c.why("n1") or "answer" in c.why("n1"), 40) and not c.up("n1"), "a wrong password is none of suite 17 either", c.why("n1"))
    finally:
        proc.kill()
        proc.wait()


main()
done()
