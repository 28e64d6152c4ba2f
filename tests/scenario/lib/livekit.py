# SPDX-License-Identifier: Apache-2.0
"""The judge of live verdicts: draws the programs of tests/verdicts/live, records them with `aon run`, and compares the first
finding of `aon why` with what each program knows about itself (tests/verdicts/README.md)."""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from aontest import BUILD, ROOT, Place, find
from clitest import env_for
from quotakit import Group, no_quota

HERE = ROOT / "tests/verdicts/live"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
VERBS = "settle merge fold trim scan pack refine score align spread mix weigh".split()
NOUNS = "rows spans views parts items marks cells fields groups pairs tables lines".split()
FILES = "shards reader curriculum feeder hooks wordpiece tally transport views ledger".split()
SCRIPTS = ("train.py", "main.py", "finetune.py", "run_job.py")
HEAD = re.compile(r"^(?:#|//) (\w+): (.*)$")
PART = re.compile(r"^(?:#|//) file: (\S+)\n", re.M)
NAME = re.compile(r"plant_mod|plant_f|plant_g|plant_h|PlantC")
# What may be said of a program whose time is its own computing: that, or that no cause is known.
COMPUTES = {"gpu_saturated", "compute_bound", "cpu_saturated", "none", "not_known", "too_little"}
WARM = 3  # steps that a recording has and the truth has not (live/lib/planted.py)
SMALL = 0.05  # of a step: a finding below it is true of healthy programs, too

Kind = collections.namedtuple("Kind", "name path head text heldout")
Said = collections.namedtuple("Said", "family culprit cost_ms confidence share text title")
Verdict = collections.namedtuple("Verdict", "case said truth right family culprit cost action noisy seconds failed")


def kinds():
    """{name: Kind} of every program of tests/verdicts/live."""
    got = {}
    for p in sorted(HERE.glob("*/*")):
        if p.suffix in (".py", ".c") and p.parent.name != "lib":
            text = p.read_text()
            head = {}
            for line in text.splitlines()[1:]:  # behind that of its licence
                if not (m := HEAD.match(line)):
                    break
                head[m[1]] = m[2]
            name = f"{p.parent.name}/{p.stem}"
            got[name] = Kind(name, p, head, text, p.parent.name == "heldout")
    return got


def drawn(r, text, size):
    """A number of "low..high", from the lower, middle or upper third of the range (in logarithms)."""
    low, high = (float(x) for x in text.split(".."))
    whole = "." not in text.replace("..", " ")
    at = (size + r.random()) / 3
    v = low * (high / low) ** at if low > 0 else low + (high - low) * at
    return round(v) if whole else round(v, 3)


def python_of(needs):
    if "jax" in needs:
        return sys.executable
    name = "opencl-venv" if "opencl" in needs else "torch-venv" if "torch" in needs else ""
    return str(CACHE / name / "bin/python") if name else sys.executable


def why_not(kind):
    """Why this kind cannot be tried here; "": it can."""
    needs = kind.head["needs"].split()
    if not pathlib.Path(python_of(needs)).exists() or "jax" in needs and not jaxes():
        return f"no {needs[0]} (tools/setup check)"
    if "sim" in needs and not (BUILD / "tests/sim/129").is_dir():
        return "no stand-in GPU in this build"
    if "cc" in needs and not shutil.which("cc"):
        return "no C compiler"
    if "cgroup" in needs:
        return no_quota()
    return ""


def jaxes():
    return [f for f in sorted(CACHE.glob("jax/*")) if (f / ".has").exists()]


class Case:
    """A program of a kind: its names, numbers and length drawn. on=False: without its problem; healthy: with the sizes at
    which it has none of its own."""

    def __init__(self, kind, seed, size, short=False, on=True, healthy=True):
        r = random.Random(f"{kind.name} {seed} {size}")
        self.kind, self.size, self.on = kind, size, on
        words = [f"{v}_{n}" for v, n in zip(r.sample(VERBS, 4), r.sample(NOUNS, 4))]
        self.names = dict(zip(("plant_f", "plant_g", "plant_h"), words))
        self.names["PlantC"] = "".join(w.title() for w in words[3].split("_"))
        self.names["plant_mod"] = f"{r.choice(FILES)}{r.randrange(10)}"
        self.script = r.choice(SCRIPTS)
        draws = dict(x.split("=") for x in kind.head.get("draw", "").split())
        self.p = {k: drawn(r, v, size) for k, v in draws.items()}
        if not on and healthy:
            self.p.update((k, int(v)) for k, v in (x.split("=") for x in kind.head.get("healthy", "").split() if "=" in x))
        seconds = r.uniform(6, 8) if short else r.uniform(20, 35)
        self.p.update(on=int(on), seconds=round(seconds, 2))

    def __str__(self):
        return f"{self.kind.name} {'small middle large'.split()[self.size]}{'' if self.on else ' (healthy)'}"

    def fill(self, text):
        return NAME.sub(lambda m: self.names.get(m[0], m[0]), text)

    def write(self, folder):
        site = folder / "lib/python3.11/site-packages"
        site.mkdir(parents=True)
        for f in (HERE / "lib").glob("*.py"):
            shutil.copy(f, site)
        if "sim" in self.kind.head["needs"].split():
            from causeprograms import GPU  # noqa: PLC0415
            (site / "gpu.py").write_text(GPU)
        parts = PART.split(self.kind.text)
        main = self.script if self.kind.path.suffix == ".py" else "main.c"
        for name, text in [(main, parts[0]), *zip(parts[1::2], parts[2::2])]:
            # The truth is not part of what is recorded: only the head of the kind's own file has it.
            code = "\n".join(line for line in text.splitlines() if not HEAD.match(line)) + "\n"
            (folder / self.fill(name)).write_text(self.fill(code))
        return site

    def argv(self, folder):
        needs, ranks = self.kind.head["needs"].split(), self.kind.head.get("ranks")
        if "cc" in needs:
            lib = BUILD / "src/app/client"
            subprocess.run(["cc", "-O1", "-g", f"-I{ROOT}/include", f"-I{HERE}/lib", "main.c", "-o", "prog", f"-L{lib}", f"-Wl,-rpath,{lib}", "-laon"],
                           cwd=folder, check=True)
            return ["./prog"]
        run = ["-m", "torch.distributed.run", "--nproc-per-node", ranks, "--master-port", "0", "--rdzv-backend", "c10d",
               "--rdzv-endpoint", "127.0.0.1:0"] if ranks else []
        return [python_of(needs), *run, self.script]

    def env(self, place, folder, site):
        path, extra = [site], {}
        needs = self.kind.head["needs"].split()
        if "jax" in needs:
            path.append(jaxes()[0])
            extra = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
        if "opencl" in needs:
            extra = {"POCL_CACHE_DIR": folder / "pocl", "CACHEDB": folder / "tinygrad.db", "POCL_MAX_PTHREAD_COUNT": 1, "PYOPENCL_NO_CACHE": 1}
        if "sim" in needs:
            extra["LD_LIBRARY_PATH"] = BUILD / "tests/sim/129"
        return env_for(place, PYTHONPATH=":".join(map(str, path)), PLANTED=json.dumps(self.p), **extra)


class Run:
    """A case's program with aon or without: .rc, .truth (its last line), .place with the store."""

    def __init__(self, case, place, aon=True, nice=None):
        self.case, self.place, self.store = case, place, place.path / "run.db"
        folder = place.path / "job"
        folder.mkdir()
        env = case.env(place, folder, case.write(folder))
        argv, group = case.argv(folder), None
        if "cgroup" in case.kind.head["needs"].split():
            group = Group(f"aon-live-{os.getpid()}", case.p["quota"])
            env["PLANTED_CGROUP"] = str(group.path / "cgroup.procs")
            if case.on and "ranks" not in case.kind.head:
                argv = [*group.wrap(), *argv]
        if aon:
            argv = [find("aon"), "run", "-o", str(self.store), "--", *argv]
        if nice is not None:
            argv = ["nice", "-n", str(nice - os.nice(0)), *argv]
        self.argv = argv
        try:
            self._run(argv, env, folder)
        finally:
            if group:
                group.end()
        lines = [x for x in self.out.splitlines() if x.startswith('{"planted"')]
        self.truth = json.loads(lines[-1]) if lines else {}

    def _run(self, argv, env, folder):
        with subprocess.Popen(argv, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              start_new_session=True) as p:
            try:
                self.out, self.err = p.communicate(timeout=self.case.p["seconds"] * 4 + 120)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                self.out, self.err = p.communicate()
            except BaseException:  # whoever started it is to end
                os.killpg(p.pid, signal.SIGKILL)
                raise
            self.rc = p.returncode


def why(store, place):
    """What `aon why --json` says of a store, how long that took, and why it failed."""
    t = time.monotonic()
    r = subprocess.run([find("aon"), "why", "--json", str(store)], env=env_for(place), capture_output=True, text=True)
    took = time.monotonic() - t
    return (json.loads(r.stdout) if r.stdout.startswith("{") else {}), took, "" if r.stdout.startswith("{") else r.stderr


# --- the judgement ---

def strings(x, leave=("not", "expect", "events", "id", "family", "confidence", "per")):
    """Every text of a finding that a user reads as its claim."""
    if isinstance(x, str):
        yield x
    elif isinstance(x, dict):
        for k, v in x.items():
            if k not in leave:
                yield from strings(v, leave)
    elif isinstance(x, list):
        for v in x:
            yield from strings(v, leave)


def said_of(why, steps):
    """The first finding, its cost a step; None: nothing was found."""
    found = why.get("findings") or []
    if not found:
        return None
    f = found[0]
    cost = f["cost_ns"] / 1e6 / (1 if f.get("per") == "step" else max(1, steps + WARM))
    return Said(f["family"], f.get("culprit"), cost, f.get("confidence", ""), f.get("share", 0), "\n".join(strings(f)), f.get("title", "")), f


def has(text, word):
    """A word of a text: not a part of another word."""
    return bool(re.search(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", text))


def names(case, finding, text):
    """Whether a finding has the culprit. "none": the family says it all."""
    for word in case.kind.head["culprit"].split():
        if word == "none":
            return True
        if word.startswith("rank:"):
            rank = round(case.p[word[5:]]) if word[5:] in case.p else int(word[5:])
            found = finding.get("rank") == rank or has(text, f"rank {rank}")
        else:
            found = has(text, case.fill(word)) if NAME.search(word) else word.lower() in text.lower()
        if found:
            return True
    return False


def judge(case, truth, why, seconds=0.0, failed=""):
    """A Verdict: is the first finding's cause the planted one, has it the culprit, is its cost within a third."""
    head = case.kind.head
    steps = truth.get("steps", 0)
    got = said_of(why, steps)
    said, finding = got if got else (None, {})
    waited = truth.get("waited_ms", 0)
    noisy = bool(truth) and "loaded" not in head and waited > max(0.2 * truth["step_ms"], truth.get("cost_ms", 0))
    if not case.on:
        right = not failed and (not said or said.family in COMPUTES or said.share < SMALL)
        return Verdict(case, said, truth, right, right, None, None, None, noisy, seconds, failed)
    family = bool(said) and said.family in head["family"].split()
    if family and "says" in head:
        family = any(w.lower() in said.text.lower() for w in head["says"].split("|"))
    culprit = bool(said) and names(case, finding, said.text)
    cost = None
    if head.get("cost") != "no":
        true = truth.get("cost_ms", 0)
        cost = bool(said) and abs(said.cost_ms - true) <= true / 3
    action = bool(said) and any(case.fill(w).lower() in finding.get("action", "").lower() for w in head["action"].split("|"))
    return Verdict(case, said, truth, family and culprit, family, culprit, cost, action, noisy, seconds, failed)


def run(case, nice=None, keep=None):
    """The Verdict on a case that was recorded with `aon run` in its default settings. keep: a folder for its store and truth."""
    with Place() as place:
        r = Run(case, place, nice=nice)
        if r.rc or not r.truth:
            return judge(case, r.truth, {}, 0.0, f"exit status {r.rc}: {r.err[-600:]}")
        if not r.store.exists():
            return judge(case, r.truth, {}, 0.0, f"no store: {r.err[-600:]}")
        if keep:
            at = kept_at(keep, case)
            shutil.copy(r.store, at.with_suffix(".db"))
            at.with_suffix(".json").write_text(json.dumps({"truth": r.truth, "p": case.p, "names": case.names, "report": r.out, "argv": r.argv}, indent=1))
        return judge(case, r.truth, *why(r.store, place))


def kept_at(folder, case):
    return folder / f"{case.kind.name.replace('/', '-')}-{case.size}{'' if case.on else '-healthy'}.db"


def again(case, folder):
    """The Verdict on a recording that was kept; None: there is none."""
    at = kept_at(folder, case)
    if not at.exists():
        return None
    with Place() as place:
        return judge(case, json.loads(at.with_suffix(".json").read_text())["truth"], *why(at, place))
