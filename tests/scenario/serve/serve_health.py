# SPDX-License-Identifier: Apache-2.0
# test: timeout=240
"""aon serve for those who watch the node: /metrics is what Prometheus takes, /health is true only while records arrive."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from aontest import Daemon, Place, done, ok, skip
from clitest import fixture
from servetest import Server

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"(?:,[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*")*\})? (\S+)$')


def scrape(s):
    status, heads, body = s.ask("/metrics", token=False)
    assert status == 200, (status, body)
    return heads, body.decode()


def samples(text):
    out, typed = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            typed.add(line.split()[2])
        elif not line.startswith("#"):
            m = SAMPLE.match(line)
            assert m, line
            assert m[1] in typed, f"{m[1]} has no type"
            out[m[1] + (m[2] or "")] = float(m[3])
    return out


def offline(place, store):
    with Server(place, store) as s:
        heads, text = scrape(s)
        got = samples(text)
        ok(heads["Content-Type"].startswith("text/plain; version=0.0.4"), "the type that Prometheus expects", heads)
        ok(got["aon_records_emitted_total"] == got["aon_records_stored_total"] + got["aon_records_in_flight"] + sum(
            v for k, v in got.items() if k.startswith("aon_records_lost_total")), "records add up", got)
        ok(any(k.startswith('aon_gpu_kernels_total{gpu="0"') and v > 0 for k, v in got.items()), "kernels are a GPU's", got)
        ok(not any(k.startswith("DCGM") for k in got), "what a GPU does now is not made up when nobody tells", got)
        if shutil.which("promtool"):
            r = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
            ok(r.returncode == 0 and not r.stderr, "promtool has nothing to say", r.stdout + r.stderr)
        else:
            skip("promtool has nothing to say", "promtool is not installed")
        status, _, body = s.ask("/health", token=False)
        ok(status == 503 and json.loads(body)["healthy"] is False, "without an aond nothing is healthy", body)


def healthy(s, path="/health?fresh=1", seconds=90):
    """The last answer, when it is 200 or the time is up."""
    end = time.monotonic() + seconds
    while True:
        status, _, body = s.ask(path, token=False)
        if status == 200 or time.monotonic() > end:
            return status, json.loads(body)
        time.sleep(0.2)


def live(place):
    d = Daemon(place)
    try:
        with Server(place, place.store) as s:
            status, body = healthy(s)
            ok(status == 200 and body["healthy"] and body["canary_took_s"] > 0, "a canary arrives", body)
            status, _, again = s.ask("/health", token=False)
            ok(status == 200, "and says enough for a while", again)
            ok(s.get("runs")["runs"] == [], "it is nobody's run")
            got = samples(scrape(s)[1])
            ok(got["aon_daemon_up"] == 1 and got["aon_daemon_resident_memory_bytes"] > 0 and got["aon_sessions"] == 1,
               "aond is up, has memory and one session", got)
            os.kill(d.pid, signal.SIGSTOP)
            status, _, body = s.ask("/health?fresh=1", token=False)
            ok(status == 503 and "did not arrive" in json.loads(body)["why"], "not while aond is stopped", body)
            os.kill(d.pid, signal.SIGCONT)
            ok(healthy(s)[0] == 200, "again when it goes on")
            d.proc.kill()
            d.proc.wait()
            status, _, body = s.ask("/health?fresh=1", token=False)
            ok(status == 503, "not when it was killed", body)
            got = samples(scrape(s)[1])
            ok(got["aon_daemon_up"] == 0 and "aon_daemon_cpu_seconds_total" not in got, "and its metrics say so", got)
            d.start()
            status, body = healthy(s)
            ok(status == 200, "and again with the next one", body)
    finally:
        if d.proc.poll() is None:
            d.proc.kill()
        d.proc.wait()


def full():
    """A disk that takes no more."""
    with Place() as place:
        disk = place.path / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "none", disk], capture_output=True).returncode:
            return skip("not while the disk is full", "may not mount a tmpfs")
        try:
            place.store = disk / "store.db"
            with Daemon(place), Server(place, place.store) as s:
                ok(healthy(s)[0] == 200, "a canary arrives on a small disk")
                filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
                try:
                    while True:
                        os.write(filler, bytes(4096))
                except OSError:
                    os.close(filler)
                status, _, body = s.ask("/health?fresh=1", token=False)
                for _ in range(8):  # what the log had room for still goes in
                    if status == 200:
                        status, _, body = s.ask("/health?fresh=1", token=False)
                ok(status == 503, "not while the disk is full", body)
        finally:
            subprocess.run(["umount", "-l", disk])


with Place() as place:
    offline(place, fixture(place.path / "f.db"))
with Place() as place:
    live(place)
full()
done()
