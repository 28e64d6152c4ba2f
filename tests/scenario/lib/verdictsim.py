# SPDX-License-Identifier: Apache-2.0
"""The faults of the simulator as traces of single jobs: drawn from a seed, judged by their mechanism.

Each job has one fault that costs at least a fifth of its run (a tenth where it cannot cost more), so that an expert
names it first. A third of the jobs is exported to Kineto's files and read back, as a user's trace would be."""
import json
import random
import shutil
import subprocess

import verdictkit

HOST = ("cpu_bound", "launch_bound", "host_code")
LATE = ("straggler", "imbalance")
LINKS = ("comm_exposed", "slow_collectives")
STOPPED = ("hang", "stopped", "crash", "desync")
COST = 0.2  # of the run
LEAST = {"stray_sync": 0.1}  # the simulator's host loses no more by waiting
DRAWS = 12  # until a fault costs that much; each is 1.5 times the last

# fault: (layouts, least and most `by`, `every` or None, right families, words of which one must be said).
# "node": the fault is on a node of two, so the job has 16 ranks. Costs of waiting are told by ranks, so `rank` is
# what a family of LATE must name.
KINDS = {
    "thermal_throttle": (("dp=4", "dp=8", "dp=16"), 1.5, 3, (2, 4), (*LATE, "thermally_throttled")),
    "power_cap": (("dp=16",), 1.5, 3, None, (*LATE, "power_capped", "clock_lowered")),
    "hbm_degraded": (("dp=4", "dp=8"), 2, 4, None, (*LATE, "memory_throttled", "ecc_or_remap")),
    "slow_gpu": (("dp=4", "dp=8", "dp=16"), 1.4, 2.5, None, (*LATE, "gpu_slower")),
    "foreign_process": (("dp=4", "dp=8"), 2, 4, (2, 3), (*LATE, "gpu_shared")),
    "nvlink_degraded": (("tp=8,dp=1", "tp=4,dp=2", "dp=8"), 3, 16, None, (*LINKS, "nvlink_errors")),
    "pcie_downgrade": (("dp=16",), 8, 32, None, (*LINKS, *LATE, "copy_bound", "slow_copies", "pcie_degraded")),
    "cpu_contention": (("dp=8", "dp=16"), 20, 80, (2, 3), (*HOST, *LATE, "input_bound", "cpu_contention", "cpu_steal", "irq_noise", "preempted")),
    "slow_cpu": (("dp=8", "dp=16"), 20, 80, None, (*HOST, *LATE, "cpu_frequency", "numa_misplaced")),
    "python_gc": (("dp=4", "dp=8"), 100, 400, (2, 3), (*HOST, *LATE, "gc")),
    "allocator_thrash": (("dp=4", "dp=8"), 20, 200, (1, 2), (*HOST, *LATE, "allocator", "host_sync")),
    "stray_sync": (("dp=1",), 1, 1, None, ("host_sync",)),
    "storage_slow": (("dp=4", "dp=8"), 100, 500, (2, 3), ("input_bound",)),
    "slow_preprocessing": (("dp=1", "dp=4", "dp=8"), 40, 200, None, ("input_bound",)),
    "length_imbalance": (("dp=4", "dp=8"), 1.5, 3, None, (*LATE, "comm_exposed")),
    "last_stage": (("pp=4,dp=2",), 1.8, 3, None, LATE),
    "expert_imbalance": (("dp=8,ep=8",), 2, 4, None, (*LATE, "expert_imbalance", "comm_exposed")),
    "serialised_streams": (("dp=16", "dp=8"), 1, 1, None, ("comm_exposed",)),
    "nic_degraded": (("dp=16", "dp=16,zero=3"), 4, 16, None, (*LINKS, "nic_errors")),
    "link_flap": (("dp=16",), 500, 3000, (3, 5), (*LINKS, "nic_errors")),
    "congestion": (("dp=16", "dp=16,zero=3"), 4, 16, None, (*LINKS, "nic_errors")),
    "switch_fault": (("dp=16",), 4, 16, None, (*LINKS, "nic_errors")),
    "silent_loss": (("dp=16",), 4, 16, None, (*LINKS, "nic_errors")),
    "no_gdr": (("dp=16", "dp=16,zero=3"), 4, 16, None, LINKS),
    "proxy_starved": (("dp=16",), 300, 1000, (2, 3), LINKS),
    "checkpoint_stall": (("dp=4", "dp=8"), 500, 2000, (3, 5), ("checkpoint", *HOST)),
    "crash": (("dp=4", "dp=8"), 1, 1, None, STOPPED),
    "transport_hang": (("dp=4", "dp=8"), 1, 1, None, STOPPED),
    "desync": (("dp=4", "dp=8"), 1, 1, None, STOPPED),
    "host_hang": (("dp=4", "dp=8"), 1, 1, None, STOPPED),
}
NODE = {"power_cap", "nvlink_degraded", "cpu_contention", "slow_cpu", "storage_slow", "congestion", "switch_fault", "no_gdr"}
ALL = {"python_gc", "stray_sync", "slow_preprocessing", "length_imbalance", "last_stage", "serialised_streams", "checkpoint_stall"}
WORDS = {"checkpoint_stall": ("checkpoint",), "storage_slow": ("loader", "batch", "input"), "slow_preprocessing": ("loader", "batch", "input")}
DEVICES = ("H100_SXM", "A100_SXM_40", "H200")


class Job:
    """A drawn job: what `aon sim` is asked for, and what is true of it."""

    def __init__(self, kind, r):
        layouts, least, most, every, self.families = KINDS[kind]
        self.kind, self.layout, self.seed = kind, r.choice(layouts), r.randrange(1, 1 << 31)
        self.size = 1
        for part in self.layout.split(","):
            key, n = part.split("=")
            self.size *= int(n) if key in ("dp", "tp", "pp") else 1
        self.by = least * (most / least) ** r.random()
        self.every = r.randrange(every[0], every[1] + 1) if every else 0
        self.device, self.steps = r.choice(DEVICES), r.randrange(12, 21)
        self.set = {"layers": r.choice((4, 8)), "hidden": r.choice((2048, 4096)), "heads": 16, "kv_heads": 16, "micro_batch": r.choice((2, 4, 8)), "telemetry": 0}
        if "ep=" in self.layout:
            self.set.update(experts=8, topk=2)
        if "pp=" in self.layout:
            self.set.update(micro_batches=8, layers=8)
        if kind in ("slow_cpu", "cpu_contention"):  # a host that matters
            self.set.update(micro_batch=1, seq=1024, hidden=2048)
        if kind == "stray_sync":  # a host that keeps up as long as nothing makes it wait
            hidden = r.choice((2048, 3072, 4096))
            self.set.update(infer=1, layers=32, micro_batch=1, seq=1024, hidden=hidden, ffn=3 * hidden, vocab=1000, call_us=r.randrange(7, 22), gap_us=0)
        if kind in ("nic_degraded", "link_flap", "congestion", "switch_fault", "silent_loss", "no_gdr", "proxy_starved", "pcie_downgrade"):
            self.set["micro_batch"] = r.choice((1, 2))  # exchanges matter
        if kind == "serialised_streams":  # exchanges that compute could hide
            self.set.update(micro_batch=1, hidden=r.choice((2048, 4096, 8192)), seq=r.choice((1024, 1536, 2048)))
        self.place = "" if kind in ALL else f"node={r.randrange((self.size + 7) // 8)}," if kind in NODE else f"rank={r.randrange(self.size)},"
        self.at = r.randrange(0, 3)

    def ranks(self):
        """The ranks that have the fault."""
        if not self.place:
            return set(range(self.size * 3 // 4, self.size)) if self.kind == "last_stage" else set(range(self.size))
        word, n = self.place.strip(",").split("=")
        return {int(n)} if word == "rank" else set(range(int(n) * 8, min(self.size, int(n) * 8 + 8)))

    def make(self, aon, out):
        out.unlink(missing_ok=True)
        fault = f"{self.kind}:{self.place}from={self.at}" + (f",by={self.by:.3f}" if KINDS[self.kind][1] != KINDS[self.kind][2] else "")
        fault += f",every={self.every}" if self.every else ""
        args = [str(aon), "sim", "--layout", self.layout, "--device", self.device, "--steps", str(self.steps), "--seed", str(self.seed),
                "-o", str(out), "--json", "--fault", fault, "--set", ",".join(f"{k}={v}" for k, v in self.set.items())]
        r = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if r.returncode:
            raise RuntimeError(f"{' '.join(args)}: {r.stderr}")
        return json.loads(r.stdout)


def drawn(aon, kind, seed, out):
    """A job whose fault costs enough, and its truth; None where none of the draws does."""
    r = random.Random(f"{seed} {kind}")
    fixed = KINDS[kind][1] == KINDS[kind][2]
    job = Job(kind, r)
    for _ in range(DRAWS):
        truth = job.make(aon, out)
        if job.families == STOPPED or truth["cost_ns"] >= LEAST.get(kind, COST) * sum(truth["step_ns"]):
            return job, truth
        if fixed:
            job = Job(kind, r)
        else:
            job.by *= 1.5
    return None


def judge(job, truth, why):
    """A row as verdictkit.judge() gives it."""
    f, said = verdictkit.first(why), verdictkit.family(why)
    text = verdictkit.words_of({**f, "recording": (why or {}).get("recording")}) if f or why else ""
    cause = said in job.families or job.families == STOPPED and verdictkit.says(text, ("hang", "hung", "stopped", "never ended", "did not end", "crash"))
    culprit = said not in LATE or job.kind == "length_imbalance" or f.get("rank") in job.ranks()
    culprit = culprit and (job.kind not in WORDS or said == "checkpoint" or verdictkit.says(text, WORDS[job.kind]))
    ms = truth["cost_ns"] / 1e6 / (job.steps if f.get("per") == "step" else 1)
    return {"path": f"sim:{job.kind} {job.layout} by {job.by:.3g}", "said": said, "cause": cause, "right": cause and culprit, "misleads": False,
            "cost": verdictkit.near(f.get("cost_ns", 0) / 1e6, [ms]) if cause and job.families != STOPPED and f else None,
            "cost_ms": f.get("cost_ns", 0) / 1e6, "want": "|".join(job.families), "want_ms": None if job.families == STOPPED else [round(ms, 3)],
            "action": None, "told": None, "confidence": f.get("confidence", "-"), "breaks": []}


def rows(aon, folder, seed, kinds=KINDS, each=1):
    """Every fault `each` times; a third of the jobs as Kineto's files."""
    out = []
    for n, kind in enumerate(k for k in kinds for _ in range(each)):
        store = folder / "job.db"
        if not (got := drawn(aon, kind, f"{seed} {n}", store)):
            continue
        job, truth = got
        read = store
        if n % 3 == 2:
            read = folder / "kineto"
            subprocess.run([str(aon), "export", str(store), "-f", "kineto", "-o", f"{read}/"], stdout=subprocess.DEVNULL, check=True)
        _, why, _ = verdictkit.ask(aon, "why", "--json", read)
        out.append(judge(job, truth, why))
        shutil.rmtree(folder / "kineto", ignore_errors=True)
        for old in folder.glob("job.db*"):
            old.unlink()
    return out
