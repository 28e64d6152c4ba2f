#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
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

from aontest import BUILD, done, ok, skip

COLLECT = BUILD / "src/collect/aon-collect"
FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "shared/data/telemetry/node_exporter/collector/fixtures"
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


def test_misuse():
    for args, what in ((["nothing"], "no such collector"), (["--interval", "x"], "milliseconds"),
                       (["--polls", "0", "host"], "number")):
        p = subprocess.run([COLLECT, *args], capture_output=True, text=True)
        ok(p.returncode == 2 and what in p.stderr, f"aon-collect {' '.join(args)} is refused with a reason")


test_fixtures()
test_live()
test_misuse()
done()
