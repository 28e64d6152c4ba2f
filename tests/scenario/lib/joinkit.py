# SPDX-License-Identifier: Apache-2.0
"""Jobs with telemetry, drawn from a seed: with a fault that telemetry shows, healthy, or with a harmless lookalike.

`aon sim` makes each of them; the answer of `aon why` is compared with the truth beside it."""
import json
import random
import subprocess

# Ways that faults show themselves (src/analysis/sim/tele.tbl.h) and magnitudes by the taxonomy of docs/sim.md.
# kind, how, least and most factor, place, what the job must be
FAULTS = (
    ("thermal_throttle", "hot", 1.06, 1.65, "rank", "gpu"),
    ("thermal_throttle", "fan", 1.06, 1.65, "rank", "gpu"),
    ("thermal_throttle", "inlet", 1.06, 1.65, "rank", "gpu"),
    ("power_cap", "cap", 1.06, 2.0, "node", "gpu"),
    ("power_cap", "brake", 1.06, 2.0, "node", "gpu"),
    ("power_cap", "lock", 1.06, 1.6, "node", "gpu"),
    ("hbm_degraded", "ecc", 1.08, 1.6, "rank", "mem"),
    ("hbm_degraded", "remap", 1.08, 1.6, "rank", "mem"),
    ("hbm_degraded", "memclk", 1.08, 1.6, "rank", "mem"),
    ("slow_gpu", "same", 1.05, 1.5, "rank", "gpu"),
    ("foreign_process", "process", 1.1, 2.0, "rank", "gpu"),
    ("nvlink_degraded", "crc", 1.5, 4, "node", "tp"),
    ("nvlink_degraded", "replay", 1.5, 4, "node", "tp"),
    ("nvlink_degraded", "down", 1.5, 4, "node", "tp"),
    ("pcie_downgrade", "width", 2, 8, "rank", "net"),
    ("pcie_downgrade", "gen", 2, 8, "rank", "net"),
    ("pcie_downgrade", "replay", 2, 8, "rank", "net"),
    ("cpu_contention", "waiting", 1.5, 4, "node", "host"),
    ("cpu_contention", "steal", 1.5, 4, "node", "host"),
    ("cpu_contention", "irq", 1.5, 4, "node", "host"),
    ("slow_cpu", "clock", 1.2, 3, "node", "host"),
    ("slow_cpu", "numa", 1.2, 3, "node", "host"),
    ("nic_degraded", "errors", 1.5, 8, "rank", "net"),
    ("nic_degraded", "rate", 1.5, 8, "rank", "net"),
    ("silent_loss", "rdma", 1.5, 6, "rank", "net"),
)
DEVICES = ("H100_SXM", "A100_SXM_40", "H200")
SHARE = 0.01  # of the run: a fault that costs less is nobody's concern
FAMILIES = {"fan_or_inlet", "thermally_throttled", "power_capped", "clock_lowered", "memory_throttled", "ecc_or_remap", "pcie_degraded", "nvlink_errors",
            "nic_errors", "cpu_quota", "cpu_steal", "irq_noise", "cpu_frequency", "numa_misplaced", "cpu_contention", "gpu_shared", "gpu_slower"}


class Job:
    def __init__(self, r, what, device):
        self.what, self.device, self.seed = what, device, r.randrange(1, 1 << 31)
        self.set = {"seq": 4096, "hidden": 8192, "heads": 64, "kv_heads": 64, "ffn": 22016, "layers": r.choice((1, 2, 2, 3)),
                    "micro_batch": r.choice((4, 6, 8)), "noise": round(r.uniform(0.5, 1.5), 2), "vocab": 32000}
        self.layout = {"gpu": ("dp=4", "dp=8", "dp=16", "dp=16,zero=3"), "tp": ("tp=8,dp=1", "tp=8,dp=2", "tp=4,dp=2"),
                       "net": ("dp=16", "dp=16,zero=3", "tp=8,dp=2"), "host": ("dp=8", "dp=16", "dp=16,zero=3"),
                       "mem": ("dp=4", "dp=8", "dp=16")}[what]
        self.layout = r.choice(self.layout)
        size = 1
        for part in self.layout.split(","):
            key, n = part.split("=")
            size *= int(n) if key in ("dp", "tp") else 1
        self.ranks = size
        self.nodes = (size + 7) // 8
        if what == "net" and not self.layout.startswith("tp"):  # small batches: exchanges are not hidden
            self.set["micro_batch"] = r.choice((1, 2))
        if what == "mem":  # narrow: as much memory as arithmetic
            self.set.update(hidden=1024, heads=8, kv_heads=8, ffn=2816, layers=4, micro_batch=r.choice((32, 48)))
        if what == "host":  # many small kernels, shown as few with long gaps
            self.set.update(hidden=2048, heads=16, kv_heads=16, ffn=5632, micro_batch=1, seq=2048, call_us=r.choice((300, 500)), gap_us=r.choice((2000, 4000)))
        if r.random() < 0.3:
            self.set.update(ckpt_every=40, ckpt_ms=4000)
        self.seconds = r.randrange(60, 110)
        self.faults, self.expect, self.places = [], None, set()

    def args(self, steps, out):
        return ["sim", "--layout", self.layout, "--device", self.device, "--steps", str(steps), "--seed", str(self.seed), "-o", str(out), "--json", "--set",
                ",".join(f"{k}={v}" for k, v in self.set.items()), *(["--fault", "+".join(self.faults)] if self.faults else [])]


def run(aon, args, check=True):
    out = subprocess.run([aon, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if check and out.returncode:
        raise RuntimeError(f"aon {' '.join(args)}: {out.stderr}")
    return json.loads(out.stdout)


def steps_of(aon, job, folder):
    """How many steps are as long as was drawn."""
    faults, job.faults = job.faults, []
    truth = run(aon, job.args(4, folder / "short.db"))
    job.faults = faults
    (folder / "short.db").unlink()
    return max(30, min(1500, int(job.seconds * 1e9 * 4 / sum(truth["step_ns"]))))


def draw_fault(r, aon, folder, which):
    kind, how, least, most, place, what = which
    job = Job(r, what, r.choice(DEVICES))
    if kind == "power_cap" and r.random() < 0.5:  # a node of several
        job.layout, job.ranks, job.nodes = "dp=16", 16, 2
    steps = steps_of(aon, job, folder)
    by = least * (most / least) ** r.random()
    from_start = job.ranks >= 8 and kind in ("thermal_throttle", "hbm_degraded", "slow_gpu") and r.random() < 0.2
    at = 0 if from_start else r.randrange(steps // 5, steps * 3 // 5)
    where = r.randrange(job.ranks if place == "rank" else job.nodes)
    job.places = {where} if place == "rank" else set(range(where * 8, min(job.ranks, where * 8 + 8)))
    text = f"{kind}:{place}={where},by={by:.3f},from={at},how={how}"
    if kind in ("foreign_process", "cpu_contention"):
        text += f",every={max(5, steps // 8)}"
    if kind == "thermal_throttle":
        text += f",every={r.choice((5, 20, 40))}"
    if r.random() < 0.25 and not from_start:
        text += f",for={max(10, steps // 3)}"
    job.faults = [text]
    if r.random() < 0.3:
        job.set["confound"] = r.choice((1, 4))
    job.steps = steps
    return job


def draw_healthy(r, aon, folder):
    """Nothing is wrong; half of them look as if."""
    job = Job(r, r.choice(("gpu", "mem", "tp", "net", "host")), r.choice(DEVICES))
    job.steps = steps_of(aon, job, folder)
    if r.random() < 0.6:
        job.set["confound"] = r.randrange(1, 32)
        if job.set["confound"] & 4:
            job.set.update(ckpt_every=30, ckpt_ms=5000)
    if r.random() < 0.4:  # the work of all changes when the odd state begins
        job.faults = [f"slow_gpu:rank=0-{job.ranks - 1},by={r.uniform(1.1, 1.6):.2f},from={job.steps * 2 // 5},how=same"]
    if r.random() < 0.3:
        job.set["packed"] = 0.5
    return job


def causes(aon, store):
    why = run(aon, ["why", "--json", str(store)])
    return [f for f in why["findings"] if f["family"] in FAMILIES]


def judge(aon, job, folder):
    """(worth saying, right, what was said): a fault that costs nothing need not be said."""
    store = folder / "job.db"
    for old in folder.glob("job.db*"):
        old.unlink()
    truth = run(aon, job.args(job.steps, store))
    said = causes(aon, store)
    said = [f for f in said if f["family"] != "gpu_slower" or f["rank"] in job.places or f["rank"] not in truth["slow_ranks"]]
    names = [(f["family"], f["rank"]) for f in said]
    if not job.places:
        return True, not said, names
    fault = truth["faults"][0]
    worth = fault["cost_ns"] >= SHARE * sum(truth["step_ns"])
    right = bool(said) and all(f["family"] == fault["cause"] and f["rank"] in places(job, fault) for f in said)
    return worth or bool(said), right, names


def places(job, fault):
    """Who shares an exchange with the culprit is slowed as much: of links and networks its node's ranks count."""
    if fault["cause"] not in ("nic_errors", "nvlink_errors"):
        return job.places
    nodes = {p // 8 for p in job.places}
    return {r for r in range(job.ranks) if r // 8 in nodes}


def rng(seed, case):
    return random.Random(f"{seed}:{case}")
