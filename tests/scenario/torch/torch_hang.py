#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""A rank does not come to a collective: torch's Flight Recorder of the ranks, asked for while they hang, says which
one and which collective; the dumps are kept. When it comes, the program goes on as if nothing had been asked."""
import json
import socket
import subprocess
import time

import aonschema
from aontest import Place, done, find, ok, skip_all
from clitest import aon, env_for
from torchtest import APPS, torches


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def pids(place):
    """Of both ranks, once they are where they shall hang."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        found = [p.read_text() for p in (place.path / "rank.0", place.path / "rank.1") if p.exists()]
        if len(found) == 2 and all(found):
            return [int(pid) for pid in found]
        time.sleep(0.1)
    return []


def asked(place, both):
    """As soon as one waits, what is said of both."""
    end = time.monotonic() + 60
    while True:
        r = aon(place, "capture", "--flight-recorder", "--json", "--pid", ",".join(map(str, both)))
        said = json.loads(r.stdout or b"{}")
        groups = [g for p in said.get("processes", []) for g in p["groups"]]
        if any(g["waits_in"] for g in groups) or time.monotonic() > end:
            return r, said
        time.sleep(0.2)


new = [t for t in torches() if not t[0].startswith("1.")]
if not new:
    skip_all("no torch with a worker server: tools/setup check gets one from PyPI")
with Place() as place:
    run = subprocess.Popen(
        [find("aon"), "run", "--flight-recorder", "--no-report", "-o", place.path / "run.db", "--", new[0][1],
         APPS / "ranks.py", "2", str(port()), APPS / "torch_hang.py", place.path], cwd=place.path,
        env=env_for(place, GLOO_SOCKET_IFNAME="lo"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    try:
        both = pids(place)
        ok(len(both) == 2, "two ranks run", "")
        r, said = asked(place, both)
        ok(r.returncode == 0 and not aonschema.check(said), "as docs/json.md has it", (r, aonschema.check(said)[:5]))
        (first,), (second,) = ([g for g in p["groups"] if g["group"] == "0"] for p in said["processes"])
        ok((first["waits_in"], first["what"], first["missing"]) == (3, "gloo:all_reduce", False),
           "rank 0 waits in the third", said)
        ok((second["called"], second["waits_in"], second["missing"]) == (2, None, True), "rank 1 has not come to it", said)
        ok([p["rank"] for p in said["processes"]] == [0, 1], "by their ranks", said)
        dump = json.loads((place.path / said["processes"][0]["dump"]).read_text())
        ok([e["collective_seq_id"] for e in dump["entries"]] == [1, 2, 3], "its dump is kept", dump)
        text = aon(place, "capture", "--flight-recorder", "--pid", ",".join(map(str, both))).stdout.decode()
        ok("The others wait for rank 1: the last that it called is 2." in text, "and in words", text)
        r = aon(place, "stacks", "--json", *map(str, both))
        groups = json.loads(r.stdout)["groups"] if r.stdout else []
        at = {pid: [f"{f['name']} ({f['file']}" for f in g["frames"]] for g in groups for pid in g["numbers"]}
        first, second = (at.get(pid, []) for pid in both)
        ok(b"not installed" in r.stderr or "all_reduce (distributed_c10d.py" in first and
           not any("all_reduce" in f for f in second) and "<module> (torch_hang.py" in second,
           "where they stand, from outside: one in gloo's all_reduce, one in its own line", r)
        (place.path / "come").touch()
        out = run.communicate(timeout=120)[0]
        ok(run.returncode == 0, "the program ends as it would have", out)
        r = aon(place, "capture", "--flight-recorder", "--pid", str(both[0]))
        ok(r.returncode == 1 and b"does not answer" in r.stderr, "who is gone does not answer", r)
    finally:
        (place.path / "come").touch()
        run.kill()
        run.wait()
done()
