#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon sim: jobs that never ran. What is injected is what aon why names, a healthy twin is left
alone, and the truth beside the store is what the store says."""
import json
import os
import signal
import subprocess

import aonschema
from aontest import Place, check, done, find, ok, skip
from clitest import aon, env_for

# What is injected; the first finding that it must be, of which ranks, and whether the cost is told
# within a fifth of the truth.
FAULTS = [
    ("slow_gpu:rank=3,by=1.5", [], "straggler", {3}, True),
    ("foreign_process:rank=6,by=2,every=2", [], "straggler", {6}, True),
    ("allocator_thrash:rank=2,by=30,every=1", [], "allocator", {2}, True),
    ("slow_preprocessing:by=40", [], "input_bound", None, True),
    ("storage_slow:node=0,by=200,every=2", [], "input_bound", None, True),
    ("nvlink_degraded:by=16", [], "comm_exposed", None, True),
    ("nic_degraded:rank=9,by=16", ["--ranks", "16"], "comm_exposed", None, True),
    ("thermal_throttle:rank=12,by=3,every=2", ["--ranks", "16"], "straggler", {12}, True),
    ("slow_cpu:node=0,by=80", [], "host_code", None, False),
]


def sim(place, name, *args):
    path = place.path / name
    r = aon(place, "sim", "-o", path, "--json", *args)
    if r.returncode:
        return path, {"error": r.stderr.decode()}
    return path, json.loads(r.stdout)


def findings(place, path):
    r = aon(place, "why", path, "--json")
    return json.loads(r.stdout).get("findings", []) if r.returncode == 0 else [{"error": r.stderr}]


def healthy(place):
    path, truth = sim(place, "healthy.db")
    ok(truth.get("faults") == [] and truth["step_ns"] == truth["healthy_step_ns"],
       "a healthy job is its own twin", truth)
    ok(check(path), "its store is sound")
    said = {f.get("family") for f in findings(place, path)}
    ok(said <= {"gpu_saturated"}, "aon why finds nothing wrong with it", said)
    report = json.loads(aon(place, "report", path, "--json").stdout)
    ranks = sorted(d["rank"] for d in report["devices"])
    ok(ranks == list(range(8)) and len({s["step"] for s in report["steps"]}) == 10,
       "each rank has its GPU, and all their steps", ranks)
    beside = json.loads((place.path / "healthy.db.truth.json").read_text())
    ok(beside == truth, "the truth stands beside it")
    again, other = sim(place, "again.db")[1], sim(place, "other.db", "--seed", "2")[1]
    ok(again["step_ns"] == truth["step_ns"] != other["step_ns"],
       "the same seed gives the same job, another one another")
    for i in ("again.db", "healthy.db"):
        aon(place, "export", place.path / i, "-f", "csv", "-o", place.path / (i + ".csv"))
    same = [(place.path / f"{i}.db.csv").read_bytes() for i in ("again", "healthy")]
    ok(len(same[0]) > 100000 and same[0] == same[1], "to the last event")
    return truth


def injected(place, twin):
    for i, (fault, args, family, ranks, exact) in enumerate(FAULTS):
        path, truth = sim(place, f"f{i}.db", "--fault", fault, *args)
        kind = fault.split(":")[0]
        if "error" in truth or not truth["faults"]:
            ok(False, f"{kind} can be simulated", truth)
            continue
        if not args:
            ok(truth["healthy_step_ns"] == twin["step_ns"], f"{kind}: its twin is the healthy job")
        f = (findings(place, path) or [{}])[0]
        ok(f.get("family") == family and (ranks is None or f.get("rank") in ranks),
           f"{kind}: aon why says {family} first" + (f", of rank {ranks}" if ranks else ""),
           (f.get("family"), f.get("rank"), f.get("title")))
        cost = f.get("cost_ns", 0) * truth["steps"]  # it is told a step
        if exact:
            ok(abs(cost - truth["cost_ns"]) <= truth["cost_ns"] / 5,
               f"{kind}: and what it costs, within a fifth", (cost, truth["cost_ns"]))


def taken_away(place):
    """A replay of what was recorded, without the fault, against the run without the fault."""
    for i, (fault, change) in enumerate((
            ("slow_preprocessing:by=40", ["--scale-host", "DataLoader=0"]),
            ("nvlink_degraded:by=16", ["--scale", "AllReduce=0.0625"]))):
        path, truth = sim(place, f"w{i}.db", "--fault", fault)
        w = json.loads(aon(place, "whatif", path, "--json", *change).stdout)
        got, want = w["predicted_ns"], truth["healthy_span_ns"]
        ok(w["measured_ns"] > 1.2 * want and abs(got - want) < 0.03 * want,
           f"{fault.split(':')[0]}: aon whatif without it is the healthy twin, within 3 %",
           (w["measured_ns"], got, want))


def several(place):
    path, truth = sim(place, "two.db", "--fault", "slow_gpu:rank=1,by=1.3+slow_preprocessing:by=40",
                      "--steps", "6")
    cost = [f["cost_ns"] for f in truth["faults"]]
    ok(not aonschema.check(truth), "the truth is as docs/json.md has it", aonschema.check(truth)[:5])
    ok(len(cost) == 2 and all(0 < c <= truth["cost_ns"] for c in cost),
       "of two faults each has its cost, what the run would take less without it", truth)
    said = {f["family"] for f in findings(place, path)}
    ok({"straggler", "input_bound"} <= said, "and aon why names both", said)


def stops(place):
    for fault in ("crash:rank=5,from=3", "host_hang:rank=5,from=3", "transport_hang:rank=5,from=3",
                  "desync:rank=5,from=3"):
        kind = fault.split(":")[0]
        path, truth = sim(place, kind + ".db", "--fault", fault)
        ok(truth["hung"] and truth["steps"] == 3 and truth["faults"][0]["first_rank"] == 5
           and truth["faults"][0]["onset_ns"] == sum(truth["step_ns"]),
           f"{kind}: the job stops, and the truth says whose fault it is", truth)
        rows = aon(place, "sql", "select number, open, count(*) from step group by 1, 2", path, "--tsv").stdout
        ok(rows.split()[3:] == b"0 0 8 1 0 8 2 0 8 3 1 8".split() and check(path),
           f"{kind}: three steps are whole, and the fourth is open", rows)


def layouts(place):
    for args in (["--layout", "tp=4,dp=2,pp=2", "--set", "micro_batches=4"],
                 ["--layout", "dp=8,ep=8", "--model", "small-moe", "--fault", "expert_imbalance:rank=3"],
                 ["--layout", "pp=4,dp=2", "--set", "micro_batches=8", "--fault", "last_stage"],
                 ["--ranks", "1"], ["--device", "V100_SXM", "--steps", "2"], ["--device", "MI300X", "--steps", "2"],
                 ["--layout", "dp=16,zero=3", "--fault", "no_gdr:node=1"],
                 ["--model", "llama2-7b", "--device", "A100_SXM_80", "--layout", "tp=8,dp=1", "--steps", "2"]):
        path, truth = sim(place, "layout.db", *args)
        fine = "error" not in truth and check(path) and truth["cost_ns"] >= 0
        ok(fine and (not truth["faults"] or truth["cost_ns"] > 0), " ".join(args), truth)
        path.unlink(missing_ok=True)


def large(place):
    """1,024 ranks: memory is that of one step."""
    if os.environ.get("AON_SANITIZED", "none") != "none":
        skip("1,024 ranks in bounded memory", "sanitizers take their own")
        return
    path = place.path / "large.db"
    env = env_for(place)
    env.pop("MALLOC_PERTURB_", None)  # it writes to what is set aside and not used
    p = subprocess.Popen([find("aon"), "sim", "--layout", "tp=8,pp=4,dp=32", "--steps", "3", "-o", str(path)],
                         env=env, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    ok(status == 0 and used.ru_maxrss < 600_000, "1,024 ranks in bounded memory", used.ru_maxrss)
    n = aon(place, "sql", "select count(*) from process", path, "--tsv").stdout.split()
    ok(n[-1:] == [b"1024"], "are all in the store", n)


def words(place):
    for args, code in ((["--fault", "nosuch"], 2), (["--fault", "slow_gpu:rank=99"], 2),
                       (["--fault", "nic_degraded:rank=1"], 2), (["--device", "nosuch"], 2),
                       (["--model", "nosuch"], 2), (["--set", "dp=0"], 2), (["--layout", "tp=3"], 2),
                       (["--ranks", "9", "--layout", "tp=2"], 2), (["word"], 2),
                       (["--model", "gpt3-175b", "--set", "micro_batches=4096,dp=1024"], 1)):
        r = aon(place, "sim", *args, "-o", place.path / "bad.db")
        ok(r.returncode == code and r.stderr.startswith(b"aon sim: ") and r.stderr.count(b"\n") == 1
           and not r.stdout, f"{' '.join(args)}: one line, exit {code}", (r.returncode, r.stderr))
    r = aon(place, "sim", "-o", place.path / "healthy.db")
    ok(r.returncode == 1 and b"exists" in r.stderr, "a store that is there stays", r.stderr)
    r = aon(place, "sim", "-o", place.path / "no" / "x.db")
    ok(r.returncode == 1 and b"x.db" in r.stderr, "where nothing can be written is said", r.stderr)
    faults = json.loads(aon(place, "sim", "--list-faults", "--json").stdout)["faults"]
    text = aon(place, "sim", "--list-faults").stdout.decode()
    ok(len(faults) == 31 and all(f["kind"] in text for f in faults), "all kinds of faults are listed")
    ok(not list(place.path.glob("bad.db*")) and not list(place.path.glob("*part*")), "nothing is left behind")


def interrupted(place):
    path = place.path / "stop.db"
    p = subprocess.Popen([find("aon"), "sim", "--steps", "1000000", "-o", str(path)], env=env_for(place),
                         stderr=subprocess.PIPE)
    while not list(place.path.glob("stop.db.part*")) and p.poll() is None:
        pass
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    ok(p.returncode != 0 and not list(place.path.glob("stop.db*")), "who is interrupted leaves no store",
       list(place.path.glob("stop.db*")))


with Place() as p:
    twin = healthy(p)
    injected(p, twin)
    taken_away(p)
    several(p)
    stops(p)
    layouts(p)
    large(p)
    words(p)
    interrupted(p)
done()
