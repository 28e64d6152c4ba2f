# SPDX-License-Identifier: Apache-2.0
"""Programs with one planted cause each, drawn from a seed, on the stand-in GPU: what aon says of them against the truth.

A program launches work on a GPU, waits for it, and in between runs the function of KINDS that keeps it: names, files and
times are drawn. aond records it, aon-sample looks at it, and the first sentence of `aon report --by stack --gap` must have
the file and the function (and the state where that is the point). Healthy programs do the same while their GPU is busy."""
import collections
import json
import os
import pathlib
import random
import re
import signal
import string
import subprocess
import sys

from aontest import BUILD, Daemon, Place, aon, wait_for
from causeprograms import GPU, HEALTHY, HELD_OUT, KINDS, TRAIN  # noqa: F401
from cudatest import sim_env
from quotakit import Group, no_quota

VENV = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon/torch-venv/bin/python"
PYTHON = str(VENV) if VENV.exists() else os.path.realpath(sys.executable)
ENOUGH = 150  # samples, of which most are in gaps
WORDS = ("load_rows fetch_item collate prepare augment encode_line pull_batch next_input write_metrics warm_up unpack refresh gather_stats "
         "read_shard make_views crop score_text merge_parts push_log settle").split()
FILES = "dataset reader pipeline feeder hooks wordpiece metrics transport views curriculum".split()

STATES = {"running": "running", "waiting for a CPU": "runnable", "throttled by its CPU quota": "throttled", "waiting for a lock": "lock",
          "waiting for a file or disk": "io", "waiting for memory (page faults)": "page fault", "sleeping": "sleep",
          "waiting for a socket, pipe, child or device": "wait", "in a system call": "syscall"}
SAID = re.compile(r"^Thread (\d+) spends (\S+) % \((?:±|\+-)(\S+)\) (waiting for the GIL, held )?in (.+?) \(([^:()]+)(?::(\d+))?\)(?:, (mostly )?(.*))?\.$", re.M)
HEAD = re.compile(r"^(?:rank \d+  )?\S.*  pid (\d+)$", re.M)

WORKER = re.compile(r"waiting for worker (\d+): (.+) \(([^:()]+)(?::\d+)?\)$")
TAKER = re.compile(r"^  Preempted (\S+) % \(\S+\): mostly by .* \(pid (\d+)\)", re.M)

Said = collections.namedtuple("Said", "thread share held function file state")


def has(module):
    return subprocess.run([PYTHON, "-c", f"import importlib.util as u; exit(not u.find_spec('{module}'))"], capture_output=True).returncode == 0


def why_not(kind):
    """Why this kind cannot be tried here; "": it can."""
    needs = KINDS[kind].needs
    if needs == "cgroup":
        return no_quota()
    if needs and not has(needs):
        return f"no {needs} (tools/setup check)"
    return ""


class Case:
    """A program of a kind, drawn."""

    def __init__(self, kind, seed, healthy=False):
        r = random.Random(f"{kind} {seed} {healthy}")
        self.kind, self.k, self.healthy = kind, KINDS[kind], healthy
        self.file = f"{r.choice(FILES)}{r.randrange(10)}"
        self.names = dict(zip("fgh", r.sample(WORDS, 3)))
        ms = round(8 * (50 / 8) ** r.random(), 2)  # of the cause, a step
        share = r.uniform(0.25, 0.5) if healthy else r.uniform(0.6, 0.85)  # of a step
        kernels = 1 if self.k.held else r.randrange(1, 6)
        self.quota = r.uniform(0.25, 0.4)
        gpu_ms = ms / share if healthy else ms * (1 - share) / share
        self.p = {"ms": ms, "fit": self.k.fit, "kernels": kernels, "kernel_ns": int(gpu_ms * 1e6 / kernels), "size": r.randrange(1, 5),
                  "ahead": 4 if healthy else 0}

    def want(self):
        return {self.names[x] for x in self.k.blame}

    def write(self, folder):
        site = folder / "lib/python3.11/site-packages"
        site.mkdir(parents=True)
        (site / "gpu.py").write_text(GPU)
        fill = {**self.names, "file": self.file}
        (folder / "train.py").write_text(string.Template(TRAIN).substitute(fill))
        (folder / f"{self.file}.py").write_text(string.Template(self.k.code).substitute(fill))
        return site

    def start(self, place, wrap=()):
        folder = place.path / "job"
        folder.mkdir()
        path = [self.write(folder)]
        extra = {}
        if self.k.needs == "torch":  # its workers are recorded, too
            path.append(BUILD / "python")
            extra["AON_TORCH"] = BUILD / "src/app/probe/torch/libaon-torch.so"
        env = sim_env(place, PYTHONPATH=":".join(map(str, path)), **extra)
        self.proc = subprocess.Popen([*wrap, PYTHON, str(folder / "train.py"), json.dumps(self.p)], env=env, cwd=folder, text=True,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        if self.proc.stdout.readline().strip() != "there":
            raise RuntimeError(f"{self.kind}: {self.proc.communicate()[1][-2000:]}")

    def end(self):
        """The program alone ends by itself, so that what its GPU did is there to the end; its children do not."""
        self.proc.terminate()
        try:
            self.proc.wait(20)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.proc.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.proc.wait()
        self.proc.stdout.close()
        self.proc.stderr.close()


class Verdict:
    """What was said of a case, and whether it is right."""

    def __init__(self, case, place, samples):
        self.case, self.samples = case, samples
        self.text = aon("report", "--by", "stack", "--gap", place.store).stdout
        self.all = aon("report", "--by", "stack", "--all", place.store).stdout
        self.said = said_of(self.text).get(case.proc.pid)
        self.others = {p: s for p, s in said_of(self.all).items() if p != case.proc.pid}
        why = aon("why", "--json", place.store)
        self.findings = [f for f in json.loads(why.stdout).get("findings", []) if f["family"] in ("host_code", "input_bound", "host_sync")] \
            if why.stdout.startswith("{") else []

    def _is(self, s):
        return bool(s) and s.file == f"{self.case.file}.py" and s.function in self.case.want()

    @property
    def right(self):
        """The planted function, and the state if that is the point."""
        s, k = self.said, self.case.k
        if self.case.healthy:
            return not s and not self.findings
        if self.case.kind == "dataloader":  # its worker's code, in the sentence of who waits for it
            w = s and WORKER.match(s.state)
            return bool(w) and int(w[1]) in self.others and w[3] == f"{self.case.file}.py" and w[2].rsplit(".", 1)[-1] in self.case.want()
        if self.case.kind == "hog":  # and who runs instead
            t = TAKER.search(self.text)
            if not t or int(t[2]) == self.case.proc.pid:
                return False
        return self._is(s) and s.held == k.held and (not k.states or s.state in k.states.split())

    def __str__(self):
        c = self.case
        return f"{c.kind}{' (healthy)' if c.healthy else ''}: wanted {sorted(c.want())} of {c.file}.py {c.k.states}, said {self.said}" + \
            (f", others {list(self.others.values())}" if self.others else "") + (f", findings {[f['family'] for f in self.findings]}" if self.findings else "") + \
            f", {self.samples} samples"


def said_of(text):
    """{pid: the sentence of its launching thread} of a report."""
    out, heads = {}, list(HEAD.finditer(text))
    for a, b in zip(heads, heads[1:] + [None]):
        m = SAID.search(text, a.end(), b.start() if b else len(text))
        if m:
            state = "gil" if m[4] else STATES.get(m[9], m[9])
            out[int(a[1])] = Said(int(m[1]), m[2], bool(m[4]), m[5].rsplit(".", 1)[-1], m[6], state)
    return out


def in_windows(place):
    """Samples of the store, those of its windows, and those of them while the GPU was idle, and busy."""
    ask = "select (select count(*) from sample) n, sum(count) rolled, sum(count*(gpu='idle')) idle, sum(count*(gpu='busy')) busy from sample_window"
    said = json.loads(aon("sql", "--json", ask, place.store).stdout)
    return dict(zip(said["columns"], said["rows"][0]))


def run(kind, seed, healthy=False, enough=ENOUGH):
    """One program until there are so many samples of it."""
    case = Case(kind, seed, healthy)
    enough = enough // 3 if healthy else enough * 5 if kind in ("dataloader", "hog") else enough  # workers, and beside busy GPUs: 10 a second;
    # who preempts is looked for every other second
    group = Group(f"aon-cause-{os.getpid()}", case.quota) if case.k.needs == "cgroup" else None
    try:
        with Place() as place, Daemon(place, {"sample": "on", "sample_cpu_percent": 50}) as d:
            case.start(place, group.wrap() if group else ())
            before = d.counter("samples")
            wait_for(lambda: d.counter("samples") - before >= enough or case.proc.poll() is not None, 20)
            samples = d.counter("samples") - before
            case.end()
            wait_for(lambda: d.session(case.proc.pid) is None)
            d.flush()
            d.stop()
            v = Verdict(case, place, samples)
            v.windows = in_windows(place)
            return v
    finally:
        if group:
            group.end()
