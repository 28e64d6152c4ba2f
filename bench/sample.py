#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What aon-sample costs, how good its stacks are, and whether the code that a GPU waits for is named.

sample_core_share       CPU of aon-sample for a launching thread of torch, at 49 Hz
sample_floor_share      of that, what the kernel alone takes here: to wake up, read the thread's state and 512 bytes (wake.c)
sample_target_hi        CPU that it adds to torch with 160 threads at 49 Hz: upper end of the 95 % interval. In one process blocks of 30 ms with
                        a sampler of twenty times the rate and without take turns; further ones without are the null control
sample_python_complete  stacks that reach the outermost frame, and
sample_impossible       stacks that cannot be: of call families that alternate; the worst Python of those that are here
sample_mixed_complete   stacks of threads that wait below native code between Python: whole, down to the outermost
sample_bytes            of a sample in the store of recorded programs
sample_rss_mb           of aon-sample, with 161 threads of torch
gap_named, gap_false    planted causes of causekit.py that are named; healthy programs of which code is
pyspy_ratio             CPU a sample, by that of py-spy (100 Hz, --nonblocking); by its default, which stops the program, in the note

AON_LONG=1: 20 runs of each cause and twenty minutes of turns, else two runs and two and a half minutes. BENCH_SHORT: a moment."""
import bisect
import collections
import contextlib
import hashlib
import json
import math
import os
import pathlib
import random
import re
import resource
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "lib"), str(HERE.parent / "tests/scenario/lib")]
os.environ.setdefault("AON_BUILD", os.getcwd())
import ab  # noqa: E402
import aonsample  # noqa: E402
import aontest  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
TORCH, PYSPY = CACHE / "torch-venv/bin/python", CACHE / "pyspy/bin/py-spy"
LOOP = HERE / "lib/sample_loop.py"
IDS = os.environ.get("BENCH_IDS", "").split()
SHORT, LONG = bool(os.environ.get("BENCH_SHORT")), bool(os.environ.get("AON_LONG"))
NO_TORCH = f"skipped: no {TORCH} (tools/setup check)"


def row(name, value, bar, note, unit="", least=False, ok=True):
    ok = None if ok is None else value is not None and (value >= bar if least else value <= bar)
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "least": least, "note": note}), flush=True)


def skip(why, *names):
    for name in names:
        if wanted(name):
            row(name, None, None, why, ok=None)


def wanted(*names):
    return not IDS or any(n in IDS for n in names)


class Loop:
    """A program of lib/sample_loop.py, until the block ends; .said has the numbers that it said before "there"."""

    def __init__(self, *args, env=None):
        self.p = subprocess.Popen([TORCH, LOOP, *map(str, args)], env={**os.environ, "AON_OFF": "1", **(env or {})}, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid, self.said = self.p.pid, {}
        while (line := self.p.stdout.readline().split()) != ["there"]:
            if not line:
                raise RuntimeError(f"{args}: ended with {self.p.wait()}")
            self.said[line[0]] = int(line[1])

    def ask(self, what):
        self.p.stdin.write(f"{what}\n")
        self.p.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.p.kill()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()


def steady(said, skip_s=3):
    """CPU a sample, in ns, behind the first seconds, in which names are read; and how many those are."""
    s = said.status
    first = s[min(skip_s, len(s) - 2)]
    n = s[-1].samples - first.samples
    return (s[-1].cpu_ns - first.cpu_ns) / n, n


# --- what it costs ---

@contextlib.contextmanager
def service(*args):
    """aon-sample as aond has it: the socket to it."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"{folder}/sample.sock")
        listener.listen(1)
        listener.settimeout(60)
        p = subprocess.Popen([aontest.find("aon-sample"), "--run-dir", folder, *args])
        try:
            with listener.accept()[0] as sock:
                sock.settimeout(10)
                yield sock
        finally:
            p.kill()
            p.wait()


def shared(threads, seconds):
    """CPU a sample of so many ranks of torch, by one sampler: (ns, samples)."""
    with contextlib.ExitStack() as open_now, service("--cpu-percent", "100") as sock:
        ranks = [open_now.enter_context(Loop("turns", 0)) for _ in range(threads)]
        for p in ranks:
            p.ask(10**6)
        sock.send(aonsample.targets([(p.pid, p.pid, 49) for p in ranks]))
        said, end = aonsample.Said(), time.monotonic() + seconds
        while time.monotonic() < end:
            said.take(sock.recv(65536))
    return steady(said)


def floor(pid):
    """Beside the sampler, on the same thread."""
    out = subprocess.run([aontest.BUILD / "bench/wake", str(pid), "49", "6" if SHORT else "20"], capture_output=True, text=True)
    if out.returncode:
        return skip("skipped: bench/wake failed", "sample_floor_share")
    wake, look = map(int, out.stdout.split())
    return row("sample_floor_share", round(look * 49 / 1e9, 6), None, f"{look / 1e3:.1f} us, of which {wake / 1e3:.1f} us are to wake up", ok=None)


def core():
    """Of one thread alone: the most that one can cost. Ranks of a node share what it costs to wake up."""
    with Loop("turns", 0) as p:
        p.ask(10**6)
        said = aonsample.attach(p.pid, "--tid", p.pid, hz=49, seconds=6 if SHORT else 30)
        floor(p.pid)
    ns, n = steady(said)
    ns8, n8 = shared(8, 6 if SHORT else 20)
    row("sample_core_share", round(ns * 49 / 1e9, 6), 0.002, f"{ns / 1e3:.1f} us a sample of one thread, {n} samples; {said.status[-1].cpu_ns / 1e6:.0f} ms in all "
        f"with the first names; 8 ranks: {ns8 / 1e3:.1f} us a sample, {8 * ns8 * 49 / 1e9:.4f} of a core for all at 49 Hz (at most 0.015), {n8} samples")


def trimmed(values, cut=0.2):
    """Their mean, without the fifth at either end: what the machine does to others is there."""
    k = int(len(values) * cut)
    return statistics.fmean(sorted(values)[k:len(values) - k])


def blocks(rows, plan):
    """{arm: CPU a step} of each round: of the steps that began and ended in its block."""
    starts, cpu, at = [r[0] for r in rows[:-1]], [r[1] for r in rows[1:]], 0
    for arms in plan:
        got = {}
        for arm, since, until in arms:
            at = bisect.bisect_left(starts, since, at)
            last = bisect.bisect_right(rows, [until, math.inf]) - 1
            if last - at >= 2:
                got[arm] = statistics.fmean(cpu[at:last])
        if len(got) == 3:
            yield got


def take_turns(sampler, seconds, block_s, coin):
    """[[(arm, since, until)]]: in each round the sampler runs, is stopped, and is stopped again, in random order."""
    plan, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        arms = []
        for arm in coin.sample(("on", "off", "again"), 3):
            sampler.send_signal(signal.SIGCONT if arm == "on" else signal.SIGSTOP)
            since = time.monotonic_ns()
            time.sleep(block_s)
            arms.append((arm, since, time.monotonic_ns()))
        plan.append(arms)
    return plan


def rate_of(samples, plan):
    """How many a second there were while the sampler ran."""
    on = [(since, until) for arms in plan for arm, since, until in arms if arm == "on"]
    times = sorted(s.t_ns for s in samples)
    return sum(bisect.bisect(times, b) - bisect.bisect(times, a) for a, b in on) / sum(b - a for a, b in on) * 1e9


def target():
    """In one process steps go on for minutes; meanwhile, for 30 ms each, a sampler of twenty times the rate runs, and does not: what is
    slower than a round affects all three blocks. What a sampler adds goes with its rate, so 49 Hz add a twentieth; the null
    control is divided by the same."""
    seconds, group = 10 if SHORT else 1200 if LONG else 150, 32
    with Loop("turns", 160) as p, tempfile.TemporaryFile() as out:
        sampler = subprocess.Popen([aontest.find("aon-sample"), "--pid", str(p.pid), "--tid", str(p.pid), "--hz", "980", "--cpu-percent", "100", "--stream"],
                                   stdout=out)
        try:
            p.ask(f"log {seconds + 4}")
            time.sleep(3)
            plan = take_turns(sampler, seconds, 0.03, random.Random())
            rows = json.loads(p.p.stdout.readline())
            sampler.send_signal(signal.SIGCONT)
            sampler.terminate()
        finally:
            sampler.wait()
        out.seek(0)
        rate = rate_of(aonsample.stream(out.read()).samples, plan)
    got = list(blocks(rows, plan))
    logs, null = ([math.log(g[a] / g["off"]) for g in got] for a in ("on", "again"))
    raw, control = (ab.Interval([trimmed(x[i:i + group]) for i in range(0, len(x) - group + 1, group)]) for x in (logs, null))
    at49, null49 = ([v * 49 / rate for v in x.ends()] for x in (raw, control))
    row("sample_target_hi", round(at49[2] / 100, 6), 0.003,
        "{:+.3f} % ({:+.3f} to {:+.3f}), null control {:+.3f} % ({:+.3f} to {:+.3f}) ".format(at49[1], at49[0], at49[2], null49[1], null49[0], null49[2]) +
        f"at 49 Hz, by {raw} and {control} at {rate:.0f} Hz; {len(got)} rounds of 3 blocks of 30 ms, "
        f"{statistics.median(r[1] for r in rows) / 1e6:.1f} ms a step, one process with 161 threads, {seconds} s")


def peak(seconds, *program):
    """MiB of aon-sample, and how many samples it took of all threads of a program."""
    with Loop(*program) as p, tempfile.TemporaryFile() as out:
        if program[0] == "turns":
            p.ask(10**6)
        sampler = subprocess.Popen([aontest.find("aon-sample"), "--pid", str(p.pid), "--all-threads", "--hz", "10", "--cpu-percent", "50", "--stream"],
                                   stdout=out)
        time.sleep(seconds)
        kib = int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path(f"/proc/{sampler.pid}/status").read_text())[1])
        sampler.terminate()
        sampler.wait()
        out.seek(0)
        said = aonsample.stream(out.read())
    return kib / 1024, len(said.samples), len(said.stacks)


def rss():
    seconds = 5 if SHORT else 15
    got = {"161 threads": peak(seconds, "turns", 160), "native code of libtorch": peak(seconds, "blocked")}
    row("sample_rss_mb", round(max(g[0] for g in got.values()), 1), 64,
        "; ".join(f"{what}: {g[0]:.1f} MiB, {g[1]} samples, {g[2]} stacks" for what, g in got.items()), "MiB")


def cpu_of(seconds, *argv):
    p = subprocess.Popen([*map(str, argv)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        p.wait(seconds + 60)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        return None
    return None if p.returncode else True


def usage(fn):
    """CPU of the children that fn() waits for, in seconds; None: one failed."""
    def now():  # os.times() counts hundredths of a second: too coarse for one of ours
        r = resource.getrusage(resource.RUSAGE_CHILDREN)
        return r.ru_utime + r.ru_stime

    t = now()
    good = fn()
    return now() - t if good else None


def pyspy():
    if not PYSPY.exists():
        return skip(f"skipped: no {PYSPY} (tools/setup bench)", "pyspy_ratio")
    short, long = (2, 5) if SHORT else (5, 20)

    def spy(s, *mode):
        return usage(lambda: cpu_of(s, PYSPY, "record", "--pid", p.pid, "--rate", 100, *mode, "--duration", s, "--format", "raw", "--output", "/dev/null"))

    with Loop("turns", 0) as p:
        p.ask(10**6)
        got = {"us": [], "nonblocking": [], "default": []}
        for s in (short, long):
            got["us"].append(usage(lambda s=s: cpu_of(s, aontest.find("aon-sample"), "--pid", p.pid, "--tid", p.pid, "--hz", 49, "--seconds", s, "--stream")))
            got["nonblocking"].append(spy(s, "--nonblocking"))
            got["default"].append(spy(s))
    if None in got["us"] + got["nonblocking"]:
        return skip("skipped: py-spy failed on this process", "pyspy_ratio")
    ours, spied, stopped = (None if None in t else (t[1] - t[0]) / (long - short) for t in got.values())
    return row("pyspy_ratio", round(ours / 49 / (spied / 100), 4), 0.1, f"a sample: {ours / 49 * 1e6:.0f} us against {spied / 100 * 1e6:.0f} us of py-spy --nonblocking" +
               (f" and {stopped / 100 * 1e6:.0f} us of py-spy, which stops the program ({ours / 49 / (stopped / 100):.3f})" if stopped else "; py-spy failed without") +
               f"; start-up is left out (in all {got['us'][1]:.2f} s and {got['nonblocking'][1]:.2f} s of {long} s)", "x")


# --- stacks ---

def families():
    said = {minor: aonsample.families(exe, 200 if SHORT else 1500) for minor, exe in aonsample.pythons()}
    if not said:
        return skip("skipped: no Python 3.10 to 3.15", "sample_python_complete", "sample_impossible")
    whole, wrong = ({m: f(x) / x[0] for m, x in said.items()} for f in (lambda x: x[2], lambda x: len(x[1])))
    note = ", ".join(f"3.{m}: %s of {x[0]}" for m, x in said.items())
    row("sample_python_complete", round(min(whole.values()), 4), 0.99, note % tuple(x[2] for x in said.values()), least=True)
    return row("sample_impossible", round(max(wrong.values()), 4), 0.01, note % tuple(len(x[1]) for x in said.values()))


def is_whole(frames, outer, library):
    """Innermost first: native code, inner(), that library, and Python down to what started the thread."""
    names = [f.name.rsplit(".", 1)[-1] for f in frames]
    if not frames or frames[0].kind != 1 or "inner" not in names or outer not in names or names[-1] != "_bootstrap":
        return False
    between = frames[names.index("inner") + 1:names.index(outer)]
    return any(f.kind == 1 and library in f.file for f in between)


def mixed():
    with Loop("blocked") as p:
        tids = {t: (n, {"by_libc": "libc", "by_torch": "libtorch"}[n]) for n, t in p.said.items()}
        said = aonsample.attach(p.pid, *(x for t in tids for x in ("--tid", t)), hz=49, seconds=4 if SHORT else 15)
    asleep = [s for s in said.samples if s.tid in tids and said.state(s) == "sleep"]
    whole = collections.Counter(tids[s.tid][0] for s in asleep if is_whole(said.stacks.get(s.stack, []), *tids[s.tid]))
    of = collections.Counter(tids[s.tid][0] for s in asleep)
    row("sample_mixed_complete", round(sum(whole.values()) / max(1, len(asleep)), 4), 0.95, ", ".join(f"{n}: {whole[n]} of {of[n]}" for n in of), least=True)


# --- the store ---

def size():
    programs, seconds = 4, 10 if SHORT else 60
    with aontest.Place() as place, aontest.Daemon(place, {"sample": "on", "sample_cpu_percent": 100}) as d:
        env = aontest.app_env(place, LIBAON=aontest.BUILD / "src/app/client/libaon.so", AON_JOIN_MS=1000)
        procs = [subprocess.Popen([sys.executable, LOOP, "steps"], env=env) for _ in range(programs)]
        time.sleep(seconds)
        for p in procs:
            p.kill()
            p.wait()
        d.flush()
        d.stop()
        with sqlite3.connect(place.store) as db:
            # A step has a blob of its own, now and then; samples come many at a time.
            number, blobs, events = db.execute("select count(*), sum(length(data.data)), sum(events) from data join blob using (id) where events >= 100").fetchone()
            stacks, stack_bytes = db.execute("select count(*), coalesce(sum(length(data)), 0) from stack").fetchone()
        stored = int(aontest.aon("sql", "--tsv", "select count(*) from sample", place.store).stdout.split()[-1])
    row("sample_bytes", round(blobs / max(1, events), 2), 4, f"{events} events in {number} blobs of {blobs} bytes, nearly all of them the {stored} samples; besides, {stacks} stacks "
        f"of {stack_bytes / max(1, stacks):.0f} bytes, once each", "B")


# --- causes ---

def seed():
    tag = re.search(r"\d+\.\d+\.\d+", aontest.aon("--version").stdout).group()
    return hashlib.sha256(b"aon-cause" + tag.encode()).hexdigest()[:8]


def causes():
    if not (aontest.BUILD / "tests/sim").is_dir():
        return skip("skipped: no stand-in GPU in this build", "gap_named", "gap_false")
    import causekit  # noqa: PLC0415  it needs the stand-in
    s, runs = seed(), 1 if SHORT else 20 if LONG else 2
    lacks = {k: why for k in causekit.KINDS if (why := causekit.why_not(k))}
    if wanted("gap_named"):
        named(causekit, s, runs, lacks)
    if wanted("gap_false"):
        false(causekit, s, runs, lacks)
    return None


def named(kit, s, runs, lacks):
    right, of, wrong = collections.Counter(), collections.Counter(), []
    for kind in kit.KINDS:
        for n in range(0 if kind in lacks else runs):
            v = kit.run(kind, f"{s}-{n}")
            part = "held out" if kind in kit.HELD_OUT else "built with"
            of[part] += 1
            right[part] += v.right
            if not v.right:
                wrong.append(str(v))
                ab.progress(wrong[-1])
    value = sum(right.values()) / max(1, sum(of.values()))
    row("gap_named", round(value, 4), 0.95, f"seed {s}, {runs} runs each: " + ", ".join(f"{p} {right[p]} of {of[p]}" for p in of) +
        "".join(f"; {w}" for w in wrong[:5]) + "".join(f"; no {k}: {w}" for k, w in lacks.items()), least=True)


def false(kit, s, runs, lacks):
    said, of = [], 0
    for kind in kit.HEALTHY:
        for n in range(0 if kind in lacks else runs):
            v = kit.run(kind, f"{s}-{n}", healthy=True)
            of += 1
            if not v.right:
                said.append(str(v))
                ab.progress(said[-1])
    row("gap_false", round(len(said) / max(1, of), 4), 0.01, f"{len(said)} of {of}, seed {s}" + "".join(f"; {x}" for x in said[:5]))


def main():
    if TORCH.exists():
        for name, how in (("sample_core_share", core), ("sample_target_hi", target), ("sample_mixed_complete", mixed), ("sample_rss_mb", rss),
                          ("pyspy_ratio", pyspy)):
            if wanted(name):
                how()
    else:
        skip(NO_TORCH, "sample_core_share", "sample_floor_share", "sample_target_hi", "sample_mixed_complete", "sample_rss_mb", "pyspy_ratio")
    if wanted("sample_python_complete", "sample_impossible"):
        families()
    if wanted("sample_bytes"):
        size()
    if wanted("gap_named", "gap_false"):
        causes()


main()
