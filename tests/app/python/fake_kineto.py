# SPDX-License-Identifier: Apache-2.0
"""Speaks as Kineto inside a PyTorch process does, without PyTorch: asks for orders, and obeys as told.

    fake_kineto.py HOW     write: a trace; late: only the second time; never: nothing; die; link: to a file of somebody else; half: of a trace
"""
import json
import os
import socket
import struct
import sys
import time
import uuid

POLL_S = 0.2


def ask(sock, to, ready):
    body = struct.pack("<iiq2i", 2 * ready, 2, 0, os.getpid(), os.getppid())
    for _ in range(200):  # as torch: somebody may not be there yet
        try:
            sock.sendto(struct.pack("<Q32s", len(body), b"req") + body, to)
            data = sock.recv(65536)
            size, kind = struct.unpack_from("<Q32s", data)
            assert kind.rstrip(b"\0") == b"req" and size == len(data) - 40, data
            return dict(x.split("=", 1) for x in data[40:].decode().splitlines())
        except (ConnectionRefusedError, FileNotFoundError, TimeoutError):
            time.sleep(0.1)
    sys.exit("nobody answers")


def trace(config):
    n = int(config.get("ACTIVITIES_ITERATIONS", 0)) or 3
    ops = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": os.getpid(), "tid": os.getpid(),
            "ts": 1000 + 100 * i, "dur": 50, "args": {"External id": i}} for i in range(n)]
    return json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": ops,
                       "traceName": config["ACTIVITIES_LOG_FILE"]})


def obey(how, config):
    path = config["ACTIVITIES_LOG_FILE"].replace(".json", f"_{os.getpid()}.json")
    if how == "die":
        os._exit(3)
    if how == "link" and not os.path.lexists(path):
        os.symlink("/etc/hostname", path)
    elif how not in ("link", "never"):
        text = trace(config)
        with open(path + ".tmp", "w") as f:
            f.write(text[:len(text) // 2] if how == "half" else text)
        os.rename(path + ".tmp", path)


def main(how):
    place = os.environ.get("KINETO_IPC_SOCKET_DIR")
    own = f"dynoconfigclient{uuid.uuid4()}"
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.settimeout(0.09)
    sock.bind(f"{place}/{own}" if place else f"\0{own}\0")
    to = f"{place}/dynolog" if place else "\0dynolog\0"
    os.write(1, f"asks {os.getpid()}\n".encode()) if ask(sock, to, True) == {} else sys.exit("an order at once")
    while True:
        config = ask(sock, to, True)
        if config:
            obey("never" if how == "late" else how, config)
            how = "write" if how == "late" else how
            os.write(1, (json.dumps(config) + "\n").encode())
        time.sleep(POLL_S)


main(sys.argv[1])
