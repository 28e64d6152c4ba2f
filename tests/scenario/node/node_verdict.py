#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aond says what limits the kernels of each window, where it knows the node's GPUs: a program on the
stand-in GPU whose kernel's name tells its work, seen in windows and in reports; without GPUs, nothing."""
import json
import re
import shutil
import subprocess

import cudatest
from aontest import Daemon, Place, done, ok, skip
from clitest import aon
from servetest import Server

SERIES = re.compile(r'^aon_gpu_(limited|roof)_seconds_total\{.*class="(\w+)",limit="(\w+)"\} (\S+)$', re.M)
QUERY = "select name, bound, of_limit, known_by, bytes from window where kind = 'kernel'"


def windows(place):
    r = aon(place, "sql", "--json", QUERY, place.store)
    return json.loads(r.stdout)["rows"] if r.returncode == 0 else []


def metrics(place):
    with Server(place, place.store) as s:
        return s.ask("/metrics", token=False)[2].decode()


def gpus(place, *models):
    d = place.path / "gpus"
    for i, m in enumerate(models):
        (d / f"0000:{i:02x}:00.0").mkdir(parents=True)
        (d / f"0000:{i:02x}:00.0" / "information").write_text(f"Model: \t\t {m}\nIRQ: \t 7\n")
    return d


def record(place, where):
    with Daemon(place, {"gpus_dir": where}) as d:
        r = cudatest.run(place, "loops", "launches=2000")
        d.stop()
    return r


def known():
    with Place() as place:
        r = record(place, gpus(place, "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"))
        ok(cudatest.clean(r), "a program runs on the stand-in", r)
        rows = windows(place)
        ok(rows and all(x[0] == "E_1024_256_4" and x[1] and x[3] == "name" and not x[4] for x in rows),
           "each window says what limits its kernel, and how that is known", rows)
        # 8.4 MB at 3.35 TB/s are 2.5 us; the stand-in's clock decides how much of its time that is.
        ok(rows and all(0 < x[2] <= 1.0 for x in rows), "at a share of the roof", rows)
        k = [k for k in json.loads(aon(place, "report", "--json", place.store).stdout)["kernels"] if k["name"] == "E_1024_256_4"]
        ok(k and k[0]["limit"] == rows[0][1] and k[0]["how"] == "name" and 0 < k[0]["fraction"] <= 1, "a report of the store says it", k)
        for cmd in (["report"], ["top", "--once", "--all", "--store"]):
            text = aon(place, *cmd, place.store, "--wide").stdout.decode()
            ok(f"{rows[0][1]} {100 * k[0]['fraction']:.0f} %" in text, f"aon {cmd[0]} shows it", text)
        j = json.loads(aon(place, "roofline", "--json", place.store).stdout)["roofline"]
        ok([d["known_as"] for d in j["devices"]] == ["H100_SXM"], "the store knows its device", j["devices"])
        k = [k for k in j["kernels"] if k["name"] == "E_1024_256_4"]
        ok(len(k) == 1 and k[0]["how"] == "name" and abs(k[0]["flops"] / 2**20 - 1) < 1e-4 and abs(k[0]["bytes"] / 2**23 - 1) < 1e-4,
           "and a report tells the same kernel's work", j["kernels"][:2])
        text = metrics(place)
        got = {(m[1], m[2], m[3]): float(m[4]) for m in SERIES.finditer(text)}
        ok(sum(v for (name, _, limit), v in got.items() if name == "limited" and limit == rows[0][1]) > 0 and
           all(v <= 1.01 * got["limited", c, limit] for (name, c, limit), v in got.items() if name == "roof"),
           "/metrics has how long a class was limited by what, and what its work takes at the limit", got or text)
        if shutil.which("promtool"):
            r = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
            ok(r.returncode == 0 and not r.stderr, "promtool has nothing to say", r.stdout + r.stderr)
        else:
            skip("promtool has nothing to say", "promtool is not installed")


def copies():
    with Place() as place:
        with Daemon(place, {"gpus_dir": gpus(place, "NVIDIA H100 80GB HBM3")}) as d:
            r = cudatest.run(place, "mix", "launches=300")
            d.stop()
        r = json.loads(aon(place, "sql", "--json", QUERY.replace("'kernel'", "'copy'"), place.store).stdout)["rows"]
        ok({x[0].split()[1] for x in r} == {"HtoD", "DtoH", "DtoD"} and
           all(x[1] == "latency" and x[3] == "record" and x[4] > 0 for x in r),
           "each window says what limits its copies: of a few KB the latency", r)
        text = aon(place, "roofline", place.store).stdout.decode()
        ok("host to device" in text and "latency" in text, "as does aon roofline of the whole run", text)


def unknown():
    with Place() as place:
        record(place, place.path / "none")
        rows = windows(place)
        ok(rows and all(x[1] is None and x[2] is None and x[3] is None for x in rows),
           "of GPUs that are not known nothing is said", rows)
        ok(not SERIES.search(metrics(place)), "nor in /metrics")


def own_devices():
    """A device of a file goes before the table's, and is taken for an AMD GPU by its size, too."""
    with Place() as place:
        node = place.path / "kfd/1"
        (node / "mem_banks/0").mkdir(parents=True)
        (place.path / "kfd/0").mkdir()
        (place.path / "kfd/0/properties").write_text("cpu_cores_count 96\nsimd_count 0\n")
        (node / "properties").write_text("cpu_cores_count 0\nsimd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\nvendor_id 4098\n")
        (node / "mem_banks/0/properties").write_text("heap_type 1\nsize_in_bytes 206141652992\n")
        with Daemon(place, {"gpus_dir": "", "gpus_amd_dir": place.path / "kfd"}) as d:
            ok("GPUs are known: MI300X" in d.text(), "an AMD GPU is known by its units and memory", d.text())
        mine = place.path / "mine.json"
        mine.write_text(json.dumps({"schema": "aon.devices/1", "devices": [
            {"key": "MINE", "name": "NVIDIA H100 80GB HBM3", "like": "H100_SXM", "memory_Bps": 1e12}]}))
        with Daemon(place, {"gpus_dir": gpus(place, "NVIDIA H100 80GB HBM3"), "devices": mine}) as d:
            ok("GPUs are known: MINE" in d.text(), "a device of the file goes before the table's", d.text())
        mine.write_text('{"schema": "aon.devices/1", "devices": [\n{"key": "MINE", "nmae": "x"}]}')
        with Daemon(place, {"gpus_dir": place.path / "gpus", "devices": mine}) as d:
            ok("mine.json:2:" in d.text() and "GPUs are known: H100_SXM" in d.text(),
               "a file with a mistake is named with its line, and aond runs without it", d.text())


known()
copies()
unknown()
own_devices()
done()
