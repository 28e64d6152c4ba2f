#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""The clients collector: which process has how much of which GPU, from the kernel's files below a folder.

There is no GPU here: the files have the form that amdgpu, xe, amdkfd and nvidia-uvm write (test_gpuuse.c says where)."""
import pathlib
import re
import subprocess
import tempfile

from aontest import BUILD, done, ok, wait_for

COLLECT = BUILD / "src/node/collect/aon-collect"
AMD = "drm-driver:\tamdgpu\ndrm-pdev:\t0000:0b:00.0\ndrm-client-id:\t{id}\ndrm-memory-vram:\t2048 KiB\ndrm-engine-gfx:\t{ns} ns\n"


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    new.rename(path)  # never half of it, and never what a link leads to


def link(path, to):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(to)


def process(root, pid, files):
    put(root / f"proc/{pid}/stat", f"{pid} (x) S 1 " + "0 " * 17 + f"{pid} 0\n")
    link(root / f"proc/{pid}/fd/0", "/dev/null")
    for fd, (node, text) in files.items():
        put(root / f"proc/{pid}/fdinfo/{fd}", text)
        link(root / f"proc/{pid}/fd/{fd}", node)


def node(root):
    for name, bus in ("card1", "0000:0b:00.0"), ("renderD129", "0000:0b:00.0"), ("card2", "0000:03:00.0"):
        link(root / f"sys/class/drm/{name}/device", f"../../../{bus}")
    kfd = root / "sys/class/kfd/kfd"
    put(kfd / "topology/nodes/1/gpu_id", "29312\n")
    put(kfd / "topology/nodes/1/properties", "location_id 2816\ndomain 0\n")
    put(kfd / "proc/71/vram_29312", "3000000\n")
    put(kfd / "proc/71/sdma_29312", "1500000\n")
    put(kfd / "proc/71/queues/0/gpuid", "29312\n")
    process(root, 71, {})
    put(root / "proc/driver/nvidia/gpus/0000:41:00.0/information", "GPU UUID: \t GPU-7\nDevice Minor: \t 0\n")
    put(root / "proc/driver/nvidia-uvm/gpus/UVM-GPU-7/fault_stats",
        "replayable_faults      446\nmigrations:\n  num_pages_in         1024 (4 MB)\n")


def values(text):
    """The last value of each series."""
    return {m[1]: float(m[2]) for m in re.finditer(r"^(\S+(?:\{.*\})?) (\S+)$", text, re.M)}


def series(metric, device, **labels):
    return f"{metric}{{" + ",".join(f'{k}="{v}"' for k, v in {"device": device, **labels}.items()) + "}"


def test_values():
    with tempfile.TemporaryDirectory() as d:
        root = pathlib.Path(d)
        node(root)
        process(root, 70, {3: ("/dev/dri/renderD129", AMD.format(id=5, ns=10**9)), 4: ("/dev/dri/card1", AMD.format(id=5, ns=10**9)),
                           5: ("/dev/dri/card2", "drm-driver: xe\ndrm-pdev: 0000:03:00.0\ndrm-client-id: 5\ndrm-cycles-ccs: 100\ndrm-total-cycles-ccs: 1000\n")})
        out = open(root / "out", "w+")
        p = subprocess.Popen([COLLECT, "--print", "--root", d, "--interval", "100", "clients"], stdout=out, stderr=subprocess.STDOUT)
        text = lambda: (root / "out").read_text()
        now = lambda: values(text())
        busy = series("aon_gpu_process_engine_seconds_total", "card1", pid=70, engine="gfx")
        ok(wait_for(lambda: now().get(busy) == 1, 20), "time of an engine, once for two files of one client", text())
        ok(now()[series("aon_gpu_process_memory_bytes", "card1", pid=70)] == 2e6 and
           now()[series("aon_gpu_process_region_bytes", "card1", pid=70, region="vram", kind="memory")] == 2e6, "memory, to the megabyte", now())
        ok(now()[series("aon_gpu_process_memory_bytes", "card1", pid=71)] == 3e6 and now()[series("aon_gpu_process_queues", "card1", pid=71)] == 1 and
           now()[series("aon_gpu_process_engine_seconds_total", "card1", pid=71, engine="sdma")] == 1.5, "amdkfd's processes, under the same device", now())
        ok(now()['aon_gpu_processes{device="card1"}'] == 2 and now()['aon_gpu_uvm_faults_total{device="nvidia0",kind="pages in"}'] == 1024,
           "how many use the GPU; pages of managed memory", now())
        put(root / "proc/70/fdinfo/5", "drm-driver: xe\ndrm-pdev: 0000:03:00.0\ndrm-client-id: 5\ndrm-cycles-ccs: 600\ndrm-total-cycles-ccs: 3000\n")
        share = series("aon_gpu_process_engine_ratio", "card2", pid=70, engine="ccs")
        ok(wait_for(lambda: f"{share} 0.25" in text(), 20), "xe's ticks are a share", text())
        for fd in 3, 4, 5:
            (root / f"proc/70/fd/{fd}").unlink()
        ok(wait_for(lambda: now()[busy] != now()[busy], 20), "the series of a process that closed its files end", text())
        p.terminate()
        p.wait(20)
        out.close()


def test_none():
    with tempfile.TemporaryDirectory() as d:
        process(pathlib.Path(d), 5, {})
        p = subprocess.run([COLLECT, "--print", "--root", d, "--polls", "1", "clients"], capture_output=True, text=True)
        ok(p.returncode == 3, "a node without a GPU has nothing to measure", p)


test_values()
test_none()
done()
