# SPDX-License-Identifier: Apache-2.0
"""How `aon why` is judged: cases that were read by hand, the score of an answer, what must hold of every answer.

Cases are tests/verdicts/cases/*.toml (their README has the keys). tests/verdicts/run prints the table, a scenario
holds a floor, bench/verdict.py measures the score."""
import collections
import gzip
import json
import pathlib
import re
import subprocess
import tomllib

HERE = pathlib.Path(__file__).resolve().parents[2] / "verdicts"
THIRD = 1 / 3  # a cost is right within a third: what decides whether a fix is worth it
UNKNOWN = {"none", "not_known", "too_little"}  # answers that name no cause
SAME = {"host_code": "cpu_bound"}  # one cause: the host's own code, with or without a frame that is named

# Words of which one must be said where the kind of a recording matters; other kinds need none.
TOLD = {
    "warm_up": ("warm", "first use", "first-use", "first launch", "loads code", "loading", "start-up", "startup"),
    "graph_capture": ("captur",),
    "cut_out": ("in flight", "cut", "before the recording", "before the trace", "launched before"),
    "profiler": ("profiler",),
    "no_gpu": ("no gpu", "on the cpu", "cpu only"),
    "toy": ("too little", "too few", "not enough"),
    "trimmed": ("too little", "too few", "not enough", "not recorded", "missing", "removed", "not in this trace", "not in the trace"),
}


def cases():
    """Every case, in the order of the files."""
    out = []
    for path in sorted((HERE / "cases").glob("*.toml")):
        with open(path, "rb") as f:
            out += [{**c, "file": path.stem, "path": c.get("trace") or c["traces"]} for c in tomllib.load(f)["case"]]
    return out


def ask(aon, *args):
    """(status, JSON or None, text of stderr) of a command of aon."""
    r = subprocess.run([str(aon), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    try:
        return r.returncode, json.loads(r.stdout), r.stderr
    except ValueError:
        return r.returncode, None, r.stderr + r.stdout


def first(why):
    """The first finding; {} where there is none."""
    return (why or {}).get("findings", [{}])[0] if (why or {}).get("findings") else {}


def family(why):
    """What an answer says first, in one word."""
    if why is None:
        return "refused"
    return first(why).get("family", "none")


def words_of(finding):
    """All that a finding says."""
    return json.dumps({k: v for k, v in finding.items() if k != "not"}, ensure_ascii=False).lower()


def says(text, words):
    return any(w.lower() in text for w in words)


def near(value, ends):
    """Whether a cost is within a third of a range's ends."""
    return min(ends) * (1 - THIRD) <= value <= max(ends) * (1 + THIRD)


def judge(case, why, text=""):
    """The score of one answer. cause: the family; right: and the culprit; cost, action, told: None where it is not asked."""
    f, said = first(why), family(why)
    want = [w for w in case["first"] if w["family"] in (said, SAME.get(said)) or w["family"] in UNKNOWN and said in UNKNOWN]
    cause = bool(want)
    culprit = cause and all("words" not in w or says(words_of(f), w["words"]) for w in want[:1])
    costs = [w["cost_ms"] for w in want if "cost_ms" in w]
    cost = near(f.get("cost_ns", 0) / 1e6, costs[0]) if costs else None
    told = TOLD.get(case.get("kind"))
    sentences = json.dumps([(why or {}).get("recording"), [(x["title"], x["action"]) for x in (why or {}).get("findings", [])], text], ensure_ascii=False)
    return {
        "path": case["path"], "said": said, "cause": cause, "right": cause and culprit and not (cost is False and want[0].get("exact")),
        "misleads": bool({said, SAME.get(said)} & set(case.get("never", ()))) and not cause,
        "cost": cost,
        "cost_ms": f.get("cost_ns", 0) / 1e6, "want": "|".join(w["family"] for w in case["first"]),
        "want_ms": costs[0] if costs else None,
        "action": says(f.get("action", "").lower(), case["action"]) if cause and said not in UNKNOWN and "action" in case else None,
        "told": says(sentences.lower(), told) if told else None,
        "confidence": f.get("confidence", "-"),
    }


def score(rows):
    """Shares of what was asked; confidence by word."""
    def share(key):
        got = [r[key] for r in rows if r[key] is not None]
        return (sum(got), len(got))
    by = collections.defaultdict(list)
    for r in rows:
        by[r["confidence"]].append(r["right"])
    return {k: share(k) for k in ("right", "cause", "misleads", "cost", "action", "told")} | {
        "confidence": {c: (sum(v), len(v)) for c, v in sorted(by.items())}}


def table(rows):
    """One line for each case, in columns."""
    cells = [("case", "said", "right", "cost", "of", "action", "told", "sure", "expected")]
    mark = {True: "yes", False: "NO", None: ""}
    for r in rows:
        ms = "" if r["said"] in UNKNOWN | {"refused"} else f"{r['cost_ms']:.4g}"
        of = "" if r["want_ms"] is None else "-".join(f"{x:g}" for x in r["want_ms"])
        right = "yes" if r["right"] else "MISLEADS" if r["misleads"] else "culprit" if r["cause"] else "NO"
        name = r["path"].replace("tracelens/traces/", "").replace("kineto/", "")
        cells.append((name[:52], r["said"], right, f"{ms} {mark[r['cost']]}".strip(), of, mark[r["action"]], mark[r["told"]], r["confidence"], r["want"]))
    w = [max(len(c[i]) for c in cells) for i in range(9)]
    return "\n".join("  ".join(f"{x:<{w[i]}}" for i, x in enumerate(c)).rstrip() for c in cells)


def confusion(rows):
    """What was said of what was expected (the first family of a case), by count."""
    seen = collections.Counter((r["said"] if r["right"] else r["want"].split("|")[0], r["said"]) for r in rows)
    said = sorted({s for _, s in seen})
    wide = max(len(w) for w, _ in seen) + 2
    lines = [" " * wide + "  ".join(said)]
    for want in sorted({w for w, _ in seen}):
        lines.append(f"{want:<{wide}}" + "  ".join(f"{seen[want, s] or '.':>{len(s)}}" for s in said))
    return "\n".join(lines)


# What must hold of every answer, whatever it says.
STEP = re.compile(r"([\d.]+) (ns|us|µs|ms|s|min|h)\b")
LEAST = 5  # percent: from there on a rule fires (docs/insights.md)
UNIT = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9}
TAKES_NO_WORK_AWAY = {"input_bound", "launch_bound", "cpu_bound", "host_sync", "idle_dependency", "host_code", "warm_up", "gil", "gc", "logging"}


def times(text):
    """Times of a text in nanoseconds."""
    return [float(n) * UNIT[u] for n, u in STEP.findall(text)]


def same(a, b):
    """Equal as printed: three digits."""
    return abs(a - b) <= 0.006 * max(abs(a), abs(b))


def range_of(expect):
    """(low, high, now) that a finding promises, in nanoseconds; None where it promises none."""
    m = re.match(r"(.*) to (.*?)(?: a step)?, now (.*)", expect)
    got = times(expect)
    return tuple(got[:3]) if m and len(got) >= 3 else None


def account_of(why):
    """(base, parts) in nanoseconds of each account of an answer."""
    a = (why or {}).get("account")
    for one in a if isinstance(a, list) else [a] if a else []:
        parts = one.get("parts", {})
        values = parts.values() if isinstance(parts, dict) else [p.get("ns", 0) for p in parts]
        yield one.get("base_ns", 0), list(values)


def account_error(why):
    """The largest distance of the sum of an account's parts from its base."""
    return max((abs(base - sum(parts)) for base, parts in account_of(why)), default=None)


def breaks_of_account(why, report):
    for base, parts in account_of(why):
        if base != sum(parts):
            yield "account", f"the account's parts sum to {sum(parts)}, its base is {base}"
    for d in (report or {}).get("devices", []):
        if d["busy_ns"] + d["idle_ns"] != d["span_ns"]:
            yield "account", f"GPU {d['device']}: busy {d['busy_ns']} + idle {d['idle_ns']} is not {d['span_ns']}"
        if sum(d["idle"].values()) != d["idle_ns"]:
            yield "account", f"GPU {d['device']}: causes of idle time sum to {sum(d['idle'].values())}, not {d['idle_ns']}"


def breaks_of_shares(why):
    for f in why["findings"] + why.get("checked", []):
        if f["share"] > 1:
            yield "above 100 %", f"{f['family']}: a share of {f['share']:.3f}"
    for f in why["findings"]:
        for share in re.findall(r"([\d.]+) %", " ".join([f["title"], *f["seen"], f["not"]])):
            if float(share) > 100:
                yield "above 100 %", f"{f['family']}: says {share} %"


def breaks_of_promise(f, step):
    """The range of a finding, and what it calls now."""
    got = range_of(f["expect"])
    if not got:
        return
    low, high, now = got
    if low > high or high > 2 * low * 1.01:
        yield "wide promise", f"{f['family']}: expects {f['expect']}"
    if high > now * 1.006:
        yield "promise above now", f"{f['family']}: expects {f['expect']}"
    if f["per"] == "step" and step and not same(now, step):
        yield "now is not the step", f"{f['family']}: now is {now / 1e6:.4g} ms, the step {step / 1e6:.4g}"


def breaks_of_replay(f, streams, steps):
    """A replay that keeps all GPU work cannot end before the stream with most of it."""
    busy = [s["busy_ns"] for s in streams if s["device"] == f["device"] and s["rank"] == f["rank"]]
    n = steps if f["per"] == "step" else 1
    if f.get("replay_ns") and f["family"] in TAKES_NO_WORK_AWAY and busy and n and f["replay_ns"] < 0.98 * max(busy) / n:
        yield "replay below busy", f"{f['family']}: replayed in {f['replay_ns'] / 1e6:.4g} ms, a stream is busy {max(busy) / n / 1e6:.4g}"


def breaks_of_ruled_out(why):
    """Nothing that was found is ruled out: what is told and what was checked agree."""
    found = {f["family"] for f in why["findings"]}
    for c in why.get("checked", []):
        if c["found"] and c["family"] not in found:
            yield "found and not told", c["family"]
        if not c["possible"] and c["family"] in found:
            yield "told and not possible", c["family"]
    for f in why["findings"]:
        for what, share in re.findall(r"([^,()]+) \(([\d.]+) %\)", f["not"]):
            if float(share) > LEAST:
                yield "ruled out and large", f"{f['family']}: not {what.strip()} ({share} %)"


def breaks_of_cost(f, step):
    """Costs and shares have one base: the step."""
    if not step or f["per"] != "step":
        return
    if f["cost_ns"] > 1.006 * step:
        yield "cost above the step", f"{f['family']}: {f['cost_ns'] / 1e6:.4g} ms of a step of {step / 1e6:.4g}"
    if f["cost_ns"] and not same(f["share"], f["cost_ns"] / step):
        yield "two bases", f"{f['family']}: {f['cost_ns'] / 1e6:.4g} ms of a step of {step / 1e6:.4g} is called {f['share']:.1%}"


def steps_of(report):
    """{rank: (number of steps, mean of their length)}."""
    by = collections.defaultdict(list)
    for s in (report or {}).get("steps", []):
        by[s.get("rank")].append(s["dur_ns"])
    return {r: (len(v), sum(v) / len(v)) for r, v in by.items() if v}


def frames(path):
    """{name: time on the host, nested ones counted once} of a Kineto file; {} of others."""
    if not str(path).endswith((".json", ".json.gz")):
        return {}
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf8") as f:
        events = json.load(f)["traceEvents"]
    spans = collections.defaultdict(list)
    for e in events:
        if e.get("ph") == "X" and "correlation" not in e.get("args", {}):
            spans[e["name"], e.get("pid"), e.get("tid")].append((float(e["ts"]), float(e["ts"]) + float(e.get("dur", 0))))
    out = collections.Counter()
    for (name, _, _), some in spans.items():
        end = 0
        for a, b in sorted(some):
            out[name] += max(0, b - max(a, end)) * 1e3
            end = max(end, b)
    return out


def breaks_of_claims(why, path, steps):
    """No frame is said to hold more time than it lasted."""
    known = None
    for f in why["findings"]:
        for text in f["seen"]:
            if not (m := re.match(r"([\d.]+ (?:ns|us|µs|ms|s))\b.*? in (\S.*)$", text)):
                continue
            known = frames(path) if known is None else known
            name = m[2].split(" (")[0]
            lasted = max((ns for n, ns in known.items() if n.startswith(name)), default=0)
            claim = times(m[1])[0] * (max(1, steps) if f["per"] == "step" else 1)
            if lasted and claim > 1.02 * lasted:
                yield "claim above frame", f"{f['family']}: {text}: it lasted {lasted / 1e6:.4g} ms"


def breaks(why, report, path=None):
    """Every invariant that an answer violates: (kind, sentence)."""
    if not why or "findings" not in why:
        return [("no answer", "it is no answer")]
    steps = steps_of(report)
    out = [*breaks_of_account(why, report), *breaks_of_shares(why), *breaks_of_ruled_out(why)]
    for f in why["findings"]:
        n, step = steps.get(f["rank"], (0, 0))
        step = f.get("base_ns", step)
        out += [*breaks_of_promise(f, step), *breaks_of_replay(f, (report or {}).get("streams", []), n), *breaks_of_cost(f, step)]
    if path:
        out += breaks_of_claims(why, path, max((n for n, _ in steps.values()), default=0))
    return out
