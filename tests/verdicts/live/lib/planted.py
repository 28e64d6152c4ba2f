# SPDX-License-Identifier: Apache-2.0
"""What the programs of tests/verdicts/live share: their drawn numbers, their loop, and the clock by which they measure the
planted part. It is installed as a library (site-packages): it is not the program's own code, and nobody may blame it.

A program prints one line of JSON at its end: its steps, what a step took, what the planted part cost of it, and how long its
main thread waited for a CPU (other load of the machine)."""
import contextlib
import json
import os
import subprocess
import sys
import time

P = {"seconds": 3, "on": 1, **json.loads(os.environ.get("PLANTED") or "{}")}
ON = bool(P["on"])  # false: the same program without the problem
WARM = 3  # steps that are not measured: first use of libraries, first batches
RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
_state = {"cost": 0, "steps": 0}


@contextlib.contextmanager
def cost():
    """The planted part runs inside."""
    t = time.perf_counter_ns()
    try:
        yield
    finally:
        _state["cost"] += time.perf_counter_ns() - t


def planted_ns():
    return _state["cost"]


def waited_ns():
    """How long this thread has waited for a CPU so far."""
    with open("/proc/thread-self/schedstat") as f:
        return int(f.read().split()[1])


def blocked_ns():
    """How long this thread was neither on a CPU nor waited for one: for a lock, the GIL, another process, a file."""
    return time.perf_counter_ns() - time.thread_time_ns() - waited_ns()


def throttled_ns():
    """How long the CPU quota of this process's cgroup (version 1 or 2) has stopped it so far."""
    for line in open("/proc/self/cgroup"):
        number, controllers, path = line.strip().split(":", 2)
        for base in (("/sys/fs/cgroup" + path,) if number == "0" else ("/sys/fs/cgroup/cpu" + path,) if "cpu" in controllers.split(",") else ()):
            if os.path.exists(base + "/cpu.stat"):
                stat = dict(x.split() for x in open(base + "/cpu.stat"))
                if "throttled_time" in stat or "throttled_usec" in stat:
                    return int(stat.get("throttled_time", 0)) or int(stat.get("throttled_usec", 0)) * 1000
    return 0


def _is_last(i, over):
    """Whether the loop ends before step i. Ranks end together: the first names the step in a file."""
    if WORLD == 1:
        return time.monotonic() >= over
    if os.path.exists("stop"):
        return i >= int(open("stop").read())
    if RANK == 0 and time.monotonic() >= over:
        with open("stop.part", "w") as f:
            f.write(str(i + 4))  # they are within a step of each other
        os.rename("stop.part", "stop")
    return False


def steps(batches=None, of=planted_ns):
    """The batches (or numbers) of the loop until its time is over; `of` says what the planted part has cost so far."""
    over = 0
    for i, batch in enumerate(batches if batches is not None else iter(int, 1)):
        if i == WARM:
            over = time.monotonic() + P["seconds"]
            first = time.perf_counter_ns(), of(), waited_ns(), time.thread_time_ns()
        elif i >= WARM + 5 and _is_last(i, over):
            break
        yield i if batches is None else batch
    now = time.perf_counter_ns(), of(), waited_ns(), time.thread_time_ns()
    n = i - WARM
    _state.update(steps=n, step_ms=(now[0] - first[0]) / n / 1e6, cost_ms=(now[1] - first[1]) / n / 1e6,
                  waited_ms=(now[2] - first[2]) / n / 1e6, cpu_ms=(now[3] - first[3]) / n / 1e6)


def fit(work, ms, clock=time.process_time):
    """How often work(1) is to be done for so many milliseconds."""
    def took(n):
        t = clock()
        work(n)
        return clock() - t

    n = 1
    while n < 1 << 24 and (least := min(took(n) for _ in range(3))) < 0.005:  # the least: Python's collector may run in one
        n *= 3
    return max(1, round(n * ms / 1e3 / least))


def without():
    """The same program without the problem, not recorded, for a moment: what it says."""
    env = {**os.environ, "AON_OFF": "1", "PLANTED": json.dumps({**P, "on": 0, "seconds": max(2, P["seconds"] / 8)})}
    out = subprocess.run([sys.executable, *sys.argv], env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(out.splitlines()[-1])


def cpu_ms():
    """CPU of the main thread in a step."""
    return _state["cpu_ms"]


def done(compare=None, gpu_ms=None, cost_ms=None):
    """Prints the truth. compare="cpu" or "wall": the cost is what this program takes more than without its problem.
    gpu_ms: the cost is what a step takes more than its work on the GPU."""
    more = {"cost_ms": max(0.0, _state["step_ms"] - gpu_ms)} if gpu_ms else {} if cost_ms is None else {"cost_ms": cost_ms}
    if compare and ON:
        other = without()
        ratio = other["cpu_ms"] / _state["cpu_ms"] if compare == "cpu" else other["step_ms"] / _state["step_ms"]
        more["cost_ms"] = max(0.0, _state["step_ms"] * (1 - ratio))
    print(json.dumps({"planted": 1, **{k: round(v, 4) for k, v in _state.items() if k != "cost"}, **more}), flush=True)


def leave():
    """The ranks end together."""
    import torch.distributed as dist
    dist.barrier()
    dist.destroy_process_group()


# --- what models and data of the programs are made of ---

def mlp(width=None, depth=4, classes=10):
    """A model whose step is computing and nothing else."""
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    width = width or P.get("width", 384)
    layers = [x for _ in range(depth) for x in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers, torch.nn.Linear(width, classes))


def batch(n=None, width=None, classes=10):
    import torch
    n, width = n or P.get("batch", 128), width or P.get("width", 384)
    return torch.randn(n, width), torch.randint(classes, (n,))


def endless(x):
    while True:
        yield x
