# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon validate --log: every log at hand is read, or refused by file, line and what was expected; what it says is held against models."""
import pathlib
import subprocess
import tempfile

from aontest import *

place = pathlib.Path(tempfile.mkdtemp(prefix="aon-validate-logs-"))
root = place / "root"
(root / "sys/class/infiniband/ib0/ports/1").mkdir(parents=True)
(root / "sys/class/infiniband/ib0/ports/1/rate").write_text("200 Gb/sec (4X HDR)\n")
(root / "sys/class/infiniband/ib0/ports/1/state").write_text("4: ACTIVE\n")


def run(*paths, extra=()):
    r = subprocess.run([find("aon"), "validate", "--json", "--root", str(root), "--log", ",".join(map(str, paths)), *extra], capture_output=True, text=True)
    said = json.loads(r.stdout) if r.stdout else {"checks": [], "facts": {}}
    return r, {c["id"]: c for c in said["checks"]}, said["facts"]


def log(name, text):
    (place / name).write_text(text)
    return place / name


RANKS = "".join(f"#   Rank {i:2} Pid 7 on n1 device {i:2} [0x00] NVIDIA H100 80GB HBM3\n" for i in range(8))
HEAD = "#       size         count    type   redop     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n"


def nccl(busbw, wrong=0):
    return RANKS + HEAD + f"  8589934592    2147483648   float     sum    -1  33000  {busbw / 1.75:.2f}  {busbw:.2f}  {wrong}  33000  {busbw / 1.75:.2f}  {busbw:.2f}  {wrong}\n# Out of bounds values : {wrong}\n"


for busbw, level in ((470, "pass"), (330, "warn"), (120, "fail")):
    r, by, f = run(log("nccl.log", nccl(busbw)))
    c = by.get("log/nccl/all-reduce/busbw_GBps", {})
    ok(c.get("level") == level and "H100_SXM" in c["want"] and r.returncode == (level == "fail"), f"all-reduce of 8 H100 at {busbw} GB/s: {level}", (r.stderr, c))
r, by, f = run(log("nccl.log", nccl(470, 5)))
ok(by["nccl_wrong"]["level"] == "fail" and r.returncode == 1, "wrong results fail")
r, by, f = run(log("ib.log", " Device         : ib0\n #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 8388608    20000   12056.74   12056.72  0.003\n"))
ok(by["log/ib/ib0/average_MBps"]["level"] == "fail" and "rate of the port" in by["log/ib/ib0/average_MBps"]["want"], "a port at half of its rate fails", by.get("log/ib/ib0/average_MBps"))
r, by, f = run(log("burn.log", "60%  proc'd: 9 (7150 Gflop/s) - 9 (6000 Gflop/s) - 9 (7160 Gflop/s)   errors: 0 - 0 - 0   temps: 38 C - 36 C - 37 C\nTested 3 GPUs:\n\tGPU 0: OK\n\tGPU 1: OK\n\tGPU 2: OK\n"))
ok(by["log/gpu_burn/slowest_GFLOPS"]["level"] == "fail" and by["burn_errors"]["level"] == "pass", "one GPU of three that is slower is told", by.get("log/gpu_burn/slowest_GFLOPS"))
run(log("nccl.log", nccl(470)), extra=("--learn", str(place / "golden.json")))
r, by, f = run(log("nccl.log", nccl(440)), extra=("--against", str(place / "golden.json")))
ok(by["log/nccl/all-reduce/busbw_best_GBps"]["level"] == "warn", "and a log that is 6 % slower than the profile's", by.get("log/nccl/all-reduce/busbw_best_GBps"))
r, by, f = run(log("cut.log", nccl(470).replace("  33000  ", "  33000\n", 1)))
ok(r.returncode == 1 and f"{place}/cut.log:10: nccl-tests: expected" in r.stderr, "a row that is cut is told by file, line and what was expected", r.stderr)
r, by, f = run(log("none.log", "hello\n"))
ok(r.returncode == 1 and "none.log:1: expected a log of nccl-tests" in r.stderr, "a log of no tool is refused with those that are known", r.stderr)
r, by, f = run(place)
ok(r.returncode == 1 and "directory" in r.stderr, "a folder is none", r.stderr)

# --- logs of real tools ---
SAY = {"nccl_allreduce.log": ("log/nccl/all-reduce/busbw_GBps", "235.26"), "nccl_allgather.log": ("log/nccl/all-gather/busbw_GBps", None), "nccl_broadcast.log": ("log/nccl/broadcast/busbw_GBps", None),
       "nccl_reduce.log": ("log/nccl/reduce/busbw_GBps", "228.83"), "gpu_burn.log": ("log/gpu_burn/gpus", "8"), "streamResultZen.log": ("log/stream/Triad_MBps", "363209"),
       "streamResultNeo.log": ("log/stream/threads", "4"), "ib_loopback_8M_size.log": ("log/ib/ib0/average_MBps", "25225.3"), "ib_loopback_all_sizes.log": ("log/ib/ib0/average_MBps", "24369.6"),
       "disk_performance.log": ("log/fio/rand_read_write/read_iops", "85138.9"), "gpu_stream.log": ("log/gpu_stream/gpu0/TRIAD_GBps", "7414.01"), "cuda_memory_h2d_bw.log": ("log/copy/H2D_GBps", None),
       "cuda_memory_d2h_bw.log": ("log/copy/D2H_GBps", None), "cuda_memory_d2d_bw.log": ("log/copy/D2D_GBps", "762.8"), "gpu_copy_bw_performance.log": ("log/gpu_copy/gpu0_to_gpu1_write_by_dma_GBps", "279.287")}
MODEL = ("nccl_allreduce.log", "nccl_allgather.log", "nccl_broadcast.log", "cuda_memory_h2d_bw.log", "cuda_memory_d2h_bw.log", "cuda_memory_d2d_bw.log", "ib_loopback_8M_size.log", "gpu_stream.log")
files = sorted(p for p in (data() / "bench_logs").rglob("*") if p.is_file()) if data() else []
if not files:
    skip("logs of real tools are read", "../shared/data is not there")
refused = 0
for path in files:
    r, by, f = run(path)
    if path.name not in SAY:
        refused += r.returncode == 1 and f"{path}:" in r.stderr and "expected" in r.stderr
        continue
    key, value = SAY[path.name]
    held = [c for k, c in by.items() if c["by"] == "measured"]
    ok(key in f and value in (None, f[key]) and all(c["level"] == "pass" for c in held) and (bool(held) if path.name in MODEL else True),
       f"{path.name}: {key} is {f.get(key)}" + (f", {held[0]['is']} of {held[0]['want']}" if held else ""), (r.stderr, f, held))
if files:
    ok(refused == len(files) - len(SAY), f"the {refused} others are refused by file and line", (refused, len(files)))
for path in sorted((data() / "telemetry/telegraf_nvidia_smi").glob("*.xml")) if files else ():
    r, by, f = run(path)
    text = path.read_text(errors="replace")
    ok(int(f.get("gpu/count", 0)) == text.count("<gpu id=") and f.get("gpu/0/name", "?") in text and f.get("gpu/0/vbios", "?") in text and f.get("gpu/driver", "?") in text,
       f"{path.name}: {f.get('gpu/count')} x {f.get('gpu/0/name')}", (r.stderr, f))
capture = data() / "telemetry/nvidia_gpu_exporter/captures/linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt" if files else None
if files:
    r, by, f = run(capture)
    want = {"gpu/count": "1", "gpu/0/nvlinks_up": "18", "gpu/0/numa": "0", "log/dmon/0/power_W_max": "636", "log/dmon/0/sm_MHz_max": "1980", "gpu/0/inforom": "G520.0200.00.05", "gpu/0/mig": "off",
            "gpu/driver": "590.48.01", "gpu/uncorrected": "0"}
    ok({k: f.get(k) for k in want} == want, "a capture of everything of an H100 is read whole", (r.stderr, {k: f.get(k) for k in want if f.get(k) != want[k]}))
done()
