#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon ps lists who uses a GPU without being recorded, why, and what to do; aon doctor counts them.

There is no GPU here: /proc and /sys are folders with what amdgpu writes, and the process that is recorded is real."""
import json
import pathlib

import aonschema
from aontest import Daemon, Place, app, done, ok, wait_for
from clitest import aon

AMD = "drm-driver:\tamdgpu\ndrm-pdev:\t0000:0b:00.0\ndrm-client-id:\t{id}\ndrm-memory-vram:\t2048 KiB\ndrm-engine-gfx:\t{ns} ns\n"


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_text(text)


def link(path, to):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(to)


def process(root, pid, command, start=7, parent=1, gpu=None, maps="", exe="/nowhere/python3.11"):
    p = root / f"proc/{pid}"
    put(p / "stat", f"{pid} (x) S {parent} " + "0 " * 17 + f"{start} 0\n")
    put(p / "comm", command.split()[0] + "\n")
    put(p / "cmdline", command.replace(" ", "\0") + "\0")
    put(p / "maps", maps)
    link(p / "exe", exe)
    link(p / "fd/0", "/dev/null")
    if gpu:
        put(p / "fdinfo/3", gpu)
        link(p / "fd/3", "/dev/dri/renderD128")


def mapped(*files):
    return "".join(f"7f00-7f01 r-xp 00000000 08:01 42 {f}\n" for f in files)


def node(root):
    for name in "card0", "renderD128":
        link(root / f"sys/class/drm/{name}/device", "../../../0000:0b:00.0")
    process(root, 70, "blender -b scene", gpu=AMD.format(id=1, ns=5 * 10**9), exe="/nowhere/blender")
    process(root, 80, "python3 train.py", maps=mapped("/x/torch/lib/libtorch_cpu.so"))
    process(root, 81, "python3 train.py", parent=80, maps=mapped("/x/torch/lib/libtorch_cpu.so"))
    process(root, 82, "python3 jax.py", maps=mapped("/x/jaxlib/xla_extension.so", "/x/libaon.so"))
    process(root, 90, "python3 -m http.server")
    process(root, 91, "sleep 5", exe="/nowhere/sleep")


def test(place):
    root = pathlib.Path(place.path) / "root"
    node(root)
    ask = lambda *args: json.loads(aon(place, "ps", "--root", root, "--json", *args).stdout)
    j = ask()
    one = {x["pid"]: x for x in j["unrecorded"]}
    ok(not aonschema.check(j), "without a store the answer has its documented form", aonschema.check(j))
    ok(j["store"] is None and set(one) == {70, 80, 82}, "a user of a GPU and those with a framework, and neither workers nor others", list(one))
    gpu = one[70]["gpus"][0]
    ok(gpu["device"] == "card0" and gpu["driver"] == "amdgpu" and gpu["memory_bytes"] == 2 << 20 and
       gpu["engines"] == [{"engine": "gfx", "share": 0, "count": 1, "busy_s": 5}], "its device, memory and engine", gpu)
    ok(one[80]["frameworks"] == ["torch"] and one[82]["frameworks"] == ["jax"] and one[80]["record"] == "aon run -- python3 train.py" and
       "started without aon" in one[80]["why"] and "no session" in one[82]["why"], "why, and the command that changes that", one)
    text = aon(place, "ps", "--root", root)
    ok(text.returncode == 0 and b"-> aon run -- blender -b scene" in text.stdout and b"card0" in text.stdout and b"torch" in text.stdout,
       "the same for people", text)
    doctor = {c["id"]: c for c in json.loads(aon(place, "doctor", "--root", root, "--json").stdout)["checks"]}["unrecorded"]
    ok(doctor["status"] == "off" and doctor["text"].startswith("3 processes") and "70, 80, 82" in doctor["text"], "doctor counts them", doctor)
    with Daemon(place):
        p = app(place, "emitter", "-j", 2000, "-k", "range", "-r", 100, "-n", 6000)
        start = int(pathlib.Path(f"/proc/{p.pid}/stat").read_text().rsplit(")", 1)[1].split()[19])
        process(root, p.pid, "emitter", start=start, gpu=AMD.format(id=2, ns=10**9), exe="/nowhere/emitter")
        ok(wait_for(lambda: [x["pid"] for x in ask()["processes"]] == [p.pid], 30), "a process is recorded")
        j = ask()
        ok(not aonschema.check(j) and {x["pid"] for x in j["unrecorded"]} == {70, 80, 82} and
           j["processes"][0]["gpus"][0]["memory_bytes"] == 2 << 20, "a recorded one has its GPU beside its events, and is not in the list",
           (aonschema.check(j), j["unrecorded"]))
        text = aon(place, "ps", "--root", root, "--wide").stdout.decode()
        ok("MEMORY" in text.splitlines()[0] and "2.10 MB" in text and "Not recorded:" in text, "a table with columns of the GPU, and the list", text)
        process(root, p.pid, "emitter", start=start + 1, gpu=AMD.format(id=2, ns=10**9), exe="/nowhere/emitter")
        ok(p.pid in {x["pid"] for x in ask()["unrecorded"]}, "its PID alone is not who it is")
        p.kill()
        p.wait()
    j = json.loads(aon(place, "ps", "--json", "--all", "--store", place.store).stdout)
    ok(j["unrecorded"] == [] and not aonschema.check(j), "of a store that was named, this node is not looked at", j["unrecorded"])


with Place() as where:
    test(where)
done()
