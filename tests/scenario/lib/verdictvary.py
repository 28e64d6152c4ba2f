# SPDX-License-Identifier: Apache-2.0
"""Recorded traces changed by a program, so that the right answer follows from that of the original.

A rule that was fitted to a file does not survive these: the cause is the same, and no name, number, order or length
is. Each change is a function of the parsed Kineto file (it may change it) and returns what it multiplies costs by, or
None: then costs are not compared. GPU work is what has such a `cat`."""
import bisect
import copy
import decimal
import gzip
import json
import random

import verdictkit

GPU = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset", "mtia_ccp_events"}
ON_GPU = {"comm_exposed", "copy_bound", "slow_copies", "gpu_saturated", "slow_kernels", "small_kernels", "unfused_attention"}
HOST = ("launch_bound", "cpu_bound", "host_code")
UNKNOWN = tuple(verdictkit.UNKNOWN)
KINDS = ("steady", "warm_up", "cut_out", "graph_capture", "no_gpu")  # the others are too little to be changed


def read(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf8") as f:
        t = json.load(f, parse_float=decimal.Decimal)
    first = min(e["ts"] for e in t["traceEvents"] if e.get("ph") == "X")
    for e in t["traceEvents"]:  # small numbers: a float has digits for a change of them
        e.update({k: float(e[k] - first if k == "ts" else e[k]) for k in ("ts", "dur") if k in e})
    return json.loads(json.dumps(t, default=float))


def rows(t):
    return t["traceEvents"]


def keep(t, wanted):
    t["traceEvents"] = [e for e in rows(t) if wanted(e)]


def timed(t):
    return [e for e in rows(t) if e.get("ph") == "X"]


def is_gpu(e):
    return e.get("cat") in GPU


def end(e):
    return e["ts"] + e.get("dur", 0)


def clock(t):
    """Another clock."""
    for e in rows(t):
        if "ts" in e:
            e["ts"] = e["ts"] + 7.5e9
    return 1


def order(t):
    random.Random(1).shuffle(t["traceEvents"])
    return 1


def streams(t):
    """Streams have other numbers."""
    for e in rows(t):
        if is_gpu(e) and "stream" in e.get("args", {}):
            new = 1000 - 3 * int(e["args"]["stream"])
            e["args"]["stream"] = new
            e["tid"] = new if isinstance(e["tid"], int) else f"stream {new}"
    return 1


def kernels(t):
    """Kernels have names that say nothing, but for those that communicate."""
    number = {}
    for e in rows(t):
        if e.get("cat") in ("kernel", "Kernel") and "nccl" not in e["name"].lower():
            e["name"] = f"k{number.setdefault(e['name'], len(number))}"
    return 1


def no_steps(t):
    """No step is marked: the base is the whole recording."""
    n = len({e["name"] for e in timed(t) if e["name"].startswith("ProfilerStep")})
    keep(t, lambda e: not str(e.get("name", "")).startswith("ProfilerStep"))
    return n or 1


def no_stacks(t):
    keep(t, lambda e: e.get("cat") != "python_function")
    return 1


def no_host(t):
    """Only the GPU's work is left: what it waited for is not known."""
    keep(t, lambda e: e.get("ph") != "X" or is_gpu(e))
    return None


def span(t):
    some = timed(t)
    return min(e["ts"] for e in some), max(end(e) for e in some)


def no_head(t):
    """The recording began later: what was under way then is not in it."""
    first, last = span(t)
    keep(t, lambda e: e.get("ph") != "X" or e["ts"] >= first + 0.2 * (last - first))


def no_tail(t):
    """The recording ended earlier."""
    first, last = span(t)
    keep(t, lambda e: e.get("ph") != "X" or end(e) <= last - 0.2 * (last - first))


def slower(t):
    """All takes half as long again."""
    for e in rows(t):
        for key in ("ts", "dur"):
            if key in e:
                e[key] = e[key] * 1.5
    return 1.5


def twice(t):
    """The recording once more behind itself: per step nothing changes."""
    some, (first, last) = timed(t), span(t)
    ids = 1 + max([int(e["args"].get(k, 0)) for e in some for k in ("correlation", "External id") if e.get("args")] or [0])
    steps = {e["name"] for e in some if e["name"].startswith("ProfilerStep")}
    more = copy.deepcopy([e for e in rows(t) if "ts" in e])
    for e in more:
        e["ts"] = e["ts"] + last - first
        for k in ("correlation", "External id"):
            if e.get("args", {}).get(k):
                e["args"][k] = int(e["args"][k]) + ids
        if e["name"] in steps:
            e["name"] = f"ProfilerStep#{int(e['name'].split('#')[1]) + len(steps)}"
    t["traceEvents"] += more
    return 1 if steps else 2


def fast_gpu(t):
    """Kernels take a tenth, and start when they did: what waited for its host still does, for longer."""
    for e in rows(t):
        if e.get("cat") in ("kernel", "Kernel"):
            e["dur"] = e.get("dur", 0) / 10


def wide_gaps(t):
    """Time in which no GPU works takes twice as long, for all that happens in it."""
    times, grown, until = [0.0], [0.0], 0.0  # until when, and by how much all before has grown
    for e in sorted((e for e in timed(t) if is_gpu(e)), key=lambda e: e["ts"]):
        if e["ts"] > until:
            times += [until, e["ts"]]
            grown += [grown[-1], grown[-1] + e["ts"] - until]
        until = max(until, end(e))
    times += [until, max(until, span(t)[1])]
    grown += [grown[-1], grown[-1] + times[-1] - until]

    def later(ts):
        i = bisect.bisect_right(times, ts) - 1
        if i + 1 < len(times) and times[i + 1] > times[i]:
            return ts + grown[i] + (grown[i + 1] - grown[i]) * (ts - times[i]) / (times[i + 1] - times[i])
        return ts + grown[i]
    for e in rows(t):
        if "ts" in e:
            begin, close = later(e["ts"]), later(end(e))
            e["ts"] = begin
            if "dur" in e:
                e["dur"] = close - begin
    return 2


def two_ranks(t):
    """Two ranks that do the same, each in its file: neither is late."""
    return 1


ALL = {f.__name__: f for f in (clock, order, streams, kernels, no_steps, no_stacks, no_host, no_head, no_tail, slower, twice, fast_gpu, wide_gaps, two_ranks)}


def wanted(case, name, trace):
    """The families that are right of a changed trace; None: nothing follows from the original's answer."""
    families = {w["family"] for w in case["first"]}
    steps = sum(e["name"].startswith("ProfilerStep") for e in timed(trace))
    if case["kind"] == "no_gpu" and name in ("no_host", "no_head", "no_tail", "no_steps"):
        return None
    if name in ("no_head", "no_tail") and (case["kind"] != "steady" or steps < 3):
        return None  # what happens once may be cut off
    if name == "fast_gpu":
        return families - ON_GPU if families & set(HOST) and "gpu_saturated" not in families else None
    if name == "wide_gaps" and families & ON_GPU:
        return None  # which of two brings more may change
    if name == "no_host":
        return families & ON_GPU or {*UNKNOWN, *ON_GPU}
    return families


def write(trace, name, folder):
    """The changed trace: a file, or a folder with one of each rank."""
    path = folder / (name if name == "two_ranks" else f"{name}.json")
    if name != "two_ranks":
        path.write_text(json.dumps(trace))
        return path
    path.mkdir(exist_ok=True)
    for rank in range(2):
        trace["distributedInfo"] = {**trace.get("distributedInfo", {}), "rank": rank, "world_size": 2}
        (path / f"rank{rank}.json").write_text(json.dumps(trace))
    return path


def judge(aon, case, path, name, folder):
    """A row of what aon why says of a changed trace, with whether that and its cost are right; None: it is not asked."""
    trace = read(path)
    families = wanted(case, name, trace)
    if families is None:
        return None
    factor = ALL[name](trace)
    _, why, _ = verdictkit.ask(aon, "why", "--json", write(trace, name, folder))
    said, first = verdictkit.family(why), verdictkit.first(why)
    same = [w for w in case["first"] if w["family"] in (said, verdictkit.SAME.get(said))]
    right = said in families or verdictkit.SAME.get(said) in families or said in UNKNOWN and bool(families & set(UNKNOWN))
    if name != "no_host" and same and "words" in same[0]:
        right = right and verdictkit.says(verdictkit.words_of(first), same[0]["words"])
    ms = first.get("cost_ns", 0) / 1e6
    cost = verdictkit.near(ms, [c * factor for c in same[0]["cost_ms"]]) if factor and same and "cost_ms" in same[0] else None
    return {"path": case["path"], "name": name, "right": right, "said": said, "want": sorted(families), "cost": cost, "cost_ms": ms,
            "confidence": first.get("confidence", "-"), "broken": list(verdictkit.breaks(why, None))}


def judged(aon, data, folder, pattern=""):
    """Rows of all changes of the traces of Kineto that are the recording of a job, as far as they are there."""
    for case in verdictkit.cases():
        path = data / case["path"]
        if pattern in case["path"] and case["kind"] in KINDS and path.is_file() and path.name.endswith((".json", ".json.gz")):
            yield from filter(None, (judge(aon, case, path, name, folder) for name in ALL))


def line(r):
    says = "yes" if r["right"] else "NO"
    return f"{r['path'][-52:]:<52}  {r['name']:<10} {r['said']:<14} {says:<4} {r['cost_ms']:.4g} {'' if r['cost'] is not False else 'NO'} {r['confidence']} {'; '.join(b[1] for b in r['broken'])}"
