#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=240
"""Collectors and aond: what they measure is in the store, in aon telemetry and in /metrics; those that hang, die, flood or
lie harm nobody."""
import json
import pathlib
import shutil
import socket
import struct
import subprocess
import time

from aontest import Daemon, Place, aon, done, ok, skip, wait_for
from nvmlkit import NVML, Collect, write_state
from servetest import Server

def series(place, *args):
    r = aon("telemetry", str(place.store), "--json", *args)
    return json.loads(r.stdout)["series"] if r.returncode == 0 else []


def last(place, metric, device=""):
    got = [s for s in series(place, "--metric", metric) if s["metric"] == metric and s["device"] == device]
    return got[0]["last"] if got and got[0]["there"] else None


def test_good(place):
    state = place.path / "state"
    gpus = ["- gpus 8", "* name NVIDIA H100", "* power 301230", "* util 97"] + [f"{i} uuid GPU-{i}" for i in range(8)]
    write_state(state, gpus)
    c = Collect(place, "--interval", "200", "host", f"nvml={NVML}", env={"AON_NVML_STATE": str(state)})
    ok(wait_for(lambda: last(place, "DCGM_FI_DEV_POWER_USAGE", "nvidia7") == 301.23, 60), "what a GPU takes is in the store")
    ok(last(place, "node_memory_MemTotal_bytes") == int(
        pathlib.Path("/proc/meminfo").read_text().split()[1]) * 1024, "so is the node's memory")
    r = aon("telemetry", str(place.store), "--metric", "power_usage")
    ok(r.returncode == 0 and "nvidia3" in r.stdout and "301.23" in r.stdout, "aon telemetry shows it", r.stdout)
    r = aon("telemetry", str(place.store), "--metric", "nothing_like_it")
    ok(r.returncode == 3 and "nothing of that" in r.stderr, "what nobody measured is said", r.stderr)
    r = aon("sql", "select max(value) from telemetry where metric = 'DCGM_FI_DEV_POWER_USAGE' and device = 'nvidia5'", str(place.store), "--json")
    ok("301.23" in r.stdout, "aon sql has it as a table", r.stdout + r.stderr)
    with Server(place, str(place.store)) as s:
        text = s.ask("/metrics", token=False)[2].decode()
        ok('DCGM_FI_DEV_POWER_USAGE{device="nvidia7",gpu="7",UUID="GPU-7"' in text and "\nnode_load1 " in text,
           "/metrics has both, under the names that people know")
        if shutil.which("promtool"):
            r = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
            bad = [x for x in r.stderr.splitlines() if not x.startswith(("DCGM_", "node_")) and "label names" not in x]
            ok(not bad and "error while linting" not in r.stdout, "promtool takes them", bad[:5])
        else:
            skip("promtool takes them", "promtool is not installed")
        write_state(state, gpus + ["7 lost 1", "2 xid 79"])
        ok(wait_for(lambda: 'POWER_USAGE{device="nvidia7"' not in s.ask("/metrics", token=False)[2].decode(), 90),
           "a GPU that is lost is not in them any more")
    ok(wait_for(lambda: "Xid 79" in aon("store", "journal", str(place.store)).stdout, 30), "an XID is in the journal")
    c.end()
    ok(wait_for(lambda: last(place, "DCGM_FI_DEV_POWER_USAGE", "nvidia0") is None, 60), "who stopped measuring measures nothing")


def test_faults(place):
    state = place.path / "state"
    write_state(state, ["- gpus 1", "0 name x", "0 uuid GPU-x", "0 hang 30"])
    c = Collect(place, "--interval", "100", "host", "fake=hang", f"nvml={NVML}", env={"AON_NVML_STATE": str(state)})
    ok(wait_for(lambda: c.said("fake: hung for more than 2000 ms and was killed"), 60), "a collector that hangs is killed")
    ok(wait_for(lambda: c.said("nvml: hung for more than 10000 ms"), 60), "so is an NVML that hangs for 30 s")
    ok(last(place, "node_load15") is not None, "the others went on")
    c.end()
    c = Collect(place, "--interval", "100", "fake=die")
    ok(wait_for(lambda: c.said("fake: ended (signal 9)", 2), 60), "one that dies is started again, and again")
    c.end()
    c = Collect(place, "--interval", "100", "fake=flood")
    ok(wait_for(lambda: len(series(place, "--metric", "node_network_up")) > 10000, 60), "one that floods is heard as far as it may")
    ok(aon("store", "check", str(place.store)).returncode == 0, "and the store is whole")
    c.end()


def frame(kind, count, body):
    return struct.pack("<IBBHI", 0x744e4f41, kind, 1, count, len(body)) + body


def test_gone(place, daemon):
    """What goes with the first tick after a piece of a block was written is seen to go before the block is whole."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
        s.connect(str(pathlib.Path(place.run) / "telemetry.sock"))
        s.send(frame(1, 0, struct.pack("<I", 1000) + b"own") + frame(2, 1, struct.pack("<IHH", 30009, 0, 0)))
        told = []
        for value in (7.0, 7.0, float("nan")):
            s.send(frame(3, 1, struct.pack("<QId", time.monotonic_ns(), 0, value)))
            time.sleep(0.1)
            daemon.flush()
            told.append(last(place, "node_load1"))
        ok(told == [7.0, 7.0, None], "what is measured no more is told to be gone, at once", told)


def test_lies(place):
    hello = frame(1, 0, struct.pack("<I", 1000) + b"liar")
    lies = {"no frame at all": b"hello, world" * 10, "a metric that is none": hello + frame(2, 1, struct.pack("<IHH", 7, 0, 0)),
            "a series never told of": hello + frame(3, 1, struct.pack("<QId", time.monotonic_ns(), 5, 1.0)),
            "a time to come": hello + frame(2, 1, struct.pack("<IHH", 30009, 0, 0)) +
            frame(3, 1, struct.pack("<QId", time.monotonic_ns() + 10**12, 0, 1.0))}
    for name, data in lies.items():
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(30)
            s.connect(str(pathlib.Path(place.run) / "telemetry.sock"))
            s.send(data)
            try:
                ended = s.recv(1) == b""
            except OSError:
                ended = True
            ok(ended, f"{name}: the connection is ended")


with Place() as place:
    with Daemon(place) as d:
        test_gone(place, d)
        test_good(place)
        test_faults(place)
        test_lies(place)
        ok(aon("ps", "--store", str(place.store)).returncode in (0, 3), "aond is well")
    r = aon("store", "check", str(place.store))
    ok(r.returncode == 0, "and so is what it leaves", r.stdout)
done()
