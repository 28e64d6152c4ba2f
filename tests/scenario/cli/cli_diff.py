#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon diff and aon check: two runs whose difference is known, and pairs of real traces."""
import json
import xml.etree.ElementTree as xml

import aonschema
from aontest import ROOT, Place, done, ok, skip
from clitest import aon, on_terminal

DATA = ROOT.parent / "shared" / "data" / "kineto"
MS = 1000000


def trace(path, step_ms, gemm_ms, kernel="gemm_128", gpu="Test GPU", rank=0, steps=10, jitter=0.0, op=None):
    """Steps of so many ms, each a launch and one kernel; with `op` around the launch, and a module around that."""
    events = []
    at = 1000.0
    for i in range(steps):
        dur = step_ms + jitter * (i % 2)
        us = at * 1000
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 7, "tid": 7, "ts": us,
             "dur": dur * 1000, "args": {}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7, "ts": us + 100,
             "dur": 10, "args": {"correlation": i + 1}},
            {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": us + 115,
             "dur": gemm_ms * 1000, "args": {"correlation": i + 1, "device": 0, "stream": 7}}]
        for cat, name, before in (("cpu_op", op, 10), ("python_function", "nn.Module: Linear_0", 20)) if op else ():
            events.append({"ph": "X", "cat": cat, "name": name, "pid": 7, "tid": 7, "ts": us + 100 - before,
                           "dur": 10 + 2 * before, "args": {}})
        at += dur
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": gpu}],
                                "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events}))
    return path


def parts(d):
    return {p["part"]: p["b_ns"] - p["a_ns"] for p in d["parts"]}


def host_alone(place):
    """Without GPU work, steps are compared."""
    run = []
    for name, ms in (("host_a", 10), ("host_b", 7)):
        events = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 7, "tid": 7, "ts": 1000 + i * ms * 1000,
                   "dur": ms * 1000, "args": {}} for i in range(20)]
        run.append(place.path / f"{name}.json")
        run[-1].write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    r = aon(place, "diff", *run)
    text = r.stdout.decode()
    ok(r.returncode == 3 and "steps alone are compared" in text and "Faster: 10.0 ms -> 7.00 ms a step" in text,
       "two runs without GPU work: how long their steps take", text)


def known(place, a, b):
    r = aon(place, "diff", a, b, "--json")
    d = json.loads(r.stdout)
    ok(r.returncode == 0 and d["schema"] == "aon.diff/1" and d["comparable"], "two runs compare", r.stderr)
    ok(not aonschema.check(d), "as docs/json.md has it", aonschema.check(d)[:5])
    ok(d["a"]["step_ns"] == 10 * MS and d["b"]["step_ns"] == 13 * MS and d["delta_ns"] == 3 * MS,
       "mean steps and their difference", d)
    ok(parts(d)["gemm"] == 2 * MS and sum(parts(d).values()) == 3 * MS,
       "the parts sum to the difference, and the kernel's class has its own", parts(d))
    ok(d["explained"] >= 0.95, "all of it has a name", d["explained"])
    ok(d["kernels"][0]["name"] == "gemm_128" and d["kernels"][0]["b_ns"] == 7 * MS and
       d["kernels"][0]["a_ns"] == 5 * MS, "by kernel", d["kernels"][:1])
    ok(d["delta_lo_ns"] == d["delta_hi_ns"] == 3 * MS, "steps that are all alike leave no doubt")
    text = aon(place, "diff", a, b).stdout.decode()
    ok("Slower: 10.0 ms -> 13.0 ms a step, +3.00 ms (+30 %)" in text, "the verdict in a sentence", text)
    text = aon(place, "diff", b, a).stdout.decode()
    ok("Faster" in text and "-3.00 ms" in text, "and the other way round", text)
    out, _ = on_terminal(place, ["diff", a, b], 80)
    ok(all(len(x) <= 80 + 12 for x in out.decode().splitlines()), "fits a terminal", out)


def by_op(place):
    a = trace(place.path / "op_a.json", 10.0, 5.0, op="aten::mm")
    b = trace(place.path / "op_b.json", 13.0, 7.0, op="aten::addmm")
    d = json.loads(aon(place, "diff", a, b, "--json").stdout)
    ok(not aonschema.check(d) and d["ops"] == [
        {"name": "aten::addmm", "a_ns": 0, "b_ns": 7 * MS, "a_count": 0, "b_count": 1},
        {"name": "aten::mm", "a_ns": 5 * MS, "b_ns": 0, "a_count": 1, "b_count": 0}],
       "GPU time a step by op, what is new and what is gone", d["ops"])
    ok(d["modules"] == [{"name": "nn.Module: Linear_0", "a_ns": 5 * MS, "b_ns": 7 * MS, "a_count": 1, "b_count": 1}],
       "by module", d["modules"])
    text = aon(place, "diff", a, b, "--by", "op").stdout.decode()
    ok("GPU time of ops that changed most" in text and "aten::addmm (new)" in text and "gemm_128" not in text,
       "--by op", text)
    text = aon(place, "diff", a, b, "--by", "module").stdout.decode()
    ok("nn.Module: Linear_0" in text and "+2.0" in text, "--by module", text)
    d = json.loads(aon(place, "diff", b, "--steps", "0-4,5-9", "--json").stdout)
    ok(d["ops"] == [{"name": "aten::addmm", "a_ns": 7 * MS, "b_ns": 7 * MS, "a_count": 1, "b_count": 1}],
       "of windows of steps, too", d["ops"])
    plain = trace(place.path / "op_none.json", 10.0, 5.0)
    ok(b"No op is known" in aon(place, "diff", plain, plain, "--by", "op").stdout, "traces without ops say so")
    ok(aon(place, "diff", a, b, "--by", "step").returncode == 2, "what it cannot show is misuse")


def from_why(place):
    text = aon(place, "why", "a.json").stdout.decode()
    ok("check    aon diff a.json NEW, a run with the change" in text, "aon why says how to check a fix", text)
    text = aon(place, "why", "a.json", "b.json").stdout.decode()
    ok("check    aon diff OLD NEW, a folder of these files" in text, "of several ranks, too", text)


def doubt(place, a):
    b = trace(place.path / "jitter.json", 9.0, 5.0, jitter=2.0)
    d = json.loads(aon(place, "diff", a, b, "--json").stdout)
    ok(d["delta_lo_ns"] < 0 < d["delta_hi_ns"], "noise is not taken for a change", d["delta_hi_ns"])
    ok(b"No clear change" in aon(place, "diff", a, b).stdout, "and is said to be none")


def parts_of_one(place, a):
    folder = place.path / "ranks"
    folder.mkdir()
    trace(folder / "rank0.json", 10.0, 5.0, rank=0)
    trace(folder / "rank1.json", 10.0, 6.0, rank=1)
    r = aon(place, "diff", folder, "--ranks", "0,1", "--json")
    d = json.loads(r.stdout or "{}")
    ok(r.returncode == 0 and parts(d)["gemm"] == MS, "two ranks of a run", (r.stderr, d.get("parts")))
    r = aon(place, "diff", a, "--steps", "0-4,5-9", "--json")
    d = json.loads(r.stdout or "{}")
    ok(r.returncode == 0 and d["a"]["steps"] == d["b"]["steps"] == 5 and d["delta_ns"] == 0,
       "two windows of steps", r.stderr)


def refused(place, a):
    other = trace(place.path / "other.json", 10.0, 5.0, kernel="softmax_kernel")
    gpu = trace(place.path / "gpu.json", 10.0, 5.0, gpu="Other GPU")
    for b, why in ((other, "other work"), (gpu, "Test GPU against Other GPU")):
        r = aon(place, "diff", a, b)
        ok(r.returncode == 3 and why in r.stdout.decode() and b"Faster" not in r.stdout,
           f"not comparable: {why}", r.stdout.decode())
    ok(aon(place, "diff", a).returncode == 2, "one run alone is misuse")
    ok(aon(place, "diff", a, "--ranks", "x").returncode == 2, "ranks that are none are misuse")
    ok(aon(place, "diff", a, place.path / "none.json").returncode == 1, "a file that is not there")


def gate(place, a, b):
    limits = place.path / "aon.limits"
    limits.write_bytes(aon(place, "check", a, "--write").stdout)
    ok("step_ms" in limits.read_text(), "--write proposes limits", limits.read_text())
    ok(aon(place, "check", a, "--limits", limits).returncode == 0, "which the run keeps")
    r = aon(place, "check", b, "--limits", limits, "--against", a)
    ok(r.returncode == 1 and b"FAIL  step time" in r.stdout and b"base 10" in r.stdout,
       "a slower run breaks them", r.stdout.decode())
    r = aon(place, "check", b, "--limits", limits, "--format", "junit")
    x = xml.fromstring(r.stdout)
    ok(r.returncode == 1 and int(x.get("failures")) == len(x.findall("*/failure")) > 0, "junit", r.stdout)
    r = aon(place, "check", b, "--limits", limits, "--format", "github")
    ok(r.stdout.startswith(b"::error title=aon check::step time is 13ms"), "github", r.stdout)
    ok(json.loads(aon(place, "check", b, "--limits", limits, "--json").stdout)["verdict"] == "fail", "JSON")
    ok(aon(place, "check", b, "--against", a).returncode == 1 and
       aon(place, "check", a, "--against", b).returncode == 0, "without limits: not 5 % slower than the base")
    r = aon(place, "check", a, "--against", place.path / "other.json")
    ok(r.returncode == 3 and b"other work" in r.stdout, "what cannot be decided exits 3", r.stdout)
    for bad, why in (("step_ms < 3", "no such comparison"), ("speed <= 3", "nothing of that name"),
                     ("step_ms <= fast", "not a limit"), ("step_ms <= nan", "not a limit"),
                     ("step_ms <= 3 4", "not a limit"), ("step_ms <= 3\0", "not text"),
                     ("step_ms <= 3" + 300 * " " + "4", "too long"), ("\x1b[2J", "not a limit"), ("", "no limit in it")):
        limits.write_text("# a comment\n" + bad + "\n")
        r = aon(place, "check", a, "--limits", limits)
        ok(r.returncode in (1, 2) and why in r.stderr.decode() and (":2:" in r.stderr.decode() or not bad) and
           b"\x1b" not in r.stderr, f"a bad limits file is said: {why}", r.stderr)
    limits.write_text("#" + 600 * "x" + " step_ms <= 1\nstep_ms <= 11 # " + 600 * "y")
    r = aon(place, "check", a, "--limits", limits)
    ok(r.returncode == 0, "a comment may be long", (r.stdout, r.stderr))
    r = aon(place, "check", a, "--limits", place.path)
    ok(r.returncode == 1 and b"directory" in r.stderr, "a folder is no file of limits", r.stderr)


def real(place):
    pairs = {
        "workers 0 and 4": [sorted((DATA / f"kineto_tb/resnet50_num_workers_{n}").glob("*.gz"))[:1]
                            for n in (0, 4)],
        "hta trace_diff": [[DATA / "hta/trace_diff" / x] for x in ("control", "test")],
        "hta trace_compare": [[DATA / "hta/trace_compare" / x] for x in ("base", "test")],
    }
    for name, (a, b) in pairs.items():
        if not a or not b or not a[0].exists() or not b[0].exists():
            skip(f"{name} is explained", "the shared data is not here")
            continue
        d = json.loads(aon(place, "diff", a[0], b[0], "--json").stdout)
        change = sum(parts(d).values())
        ok(d["explained"] >= 0.95 and abs(change - d["delta_ns"]) <= 100,
           f"{name}: {d['explained']:.1%} of a difference of {d['delta_ns'] / 1e6:.1f} ms is explained", parts(d))
        if name.startswith("workers"):
            ok(parts(d)["idle_input"] < -50 * MS and {"family": "input_bound", "change": "gone"} in d["findings"],
               "more workers end the wait for input", d["findings"])


place = Place()
first = trace(place.path / "a.json", 10.0, 5.0)
second = trace(place.path / "b.json", 13.0, 7.0)
known(place, first, second)
host_alone(place)
by_op(place)
from_why(place)
doubt(place, first)
parts_of_one(place, first)
refused(place, first)
gate(place, first, second)
real(place)
done()
