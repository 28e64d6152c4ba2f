#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is the first finding of `aon why` right on programs that aon recorded itself? (tests/verdicts/README.md)

verdict_live        programs with one planted problem (kinds that the rules were built with), default settings: cause and culprit right
verdict_heldout     the same of the kinds of tests/verdicts/live/heldout: the authors of the rules have not seen these
verdict_false       healthy programs of the same kinds with a finding
verdict_cost_third  findings whose cost is within a third of what the program measured; of all runs that measure one
why_live_s          how long `aon why` takes after the program's end, the longest

    bench/verdict_live.py [--build DIR] [--kinds PATTERN] [--seed TEXT] [--sizes 0,1,2] [--short] [--seconds N] [--jobs 1] [--nice N] [--minutes N]
                          [--validate] [--keep DIR] [--kept DIR] [--json FILE]

--short: programs of 6 to 8 seconds instead of 20 to 35. --validate: run each program without aon, with its problem and without, and
compare what it says about itself with the difference. A run whose main thread waited for a CPU for longer than the
planted problem costs says nothing about aon: it is repeated twice, then listed as loaded and not counted."""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests/scenario/lib")]
IDS = os.environ.get("BENCH_IDS", "").split()


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.environ.get("AON_BUILD", os.getcwd()))
    p.add_argument("--kinds", default="*", help="shell patterns of names (torch/*), with commas; !x leaves x out")
    p.add_argument("--seed", help="of names, times and sizes; by default it depends on the release")
    p.add_argument("--sizes", default="0,1,2")
    p.add_argument("--short", action="store_true", default=bool(os.environ.get("BENCH_SHORT")))
    p.add_argument("--seconds", type=float, help="of each program, instead of those that are drawn")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--nice", type=int)
    p.add_argument("--minutes", type=float, default=1e9, help="start no further program after so long")
    p.add_argument("--again", type=int, default=2, help="how often a run is repeated that other load disturbed")
    p.add_argument("--validate", action="store_true")
    p.add_argument("--keep", type=pathlib.Path, help="a folder for the recordings")
    p.add_argument("--kept", type=pathlib.Path, help="judge the recordings of that folder again, with the same --seed; nothing runs")
    p.add_argument("--json", type=pathlib.Path, help="write a line of JSON for each run there")
    return p.parse_args()


args = arguments()
os.environ["AON_BUILD"] = args.build
import aontest  # noqa: E402
import livekit  # noqa: E402


def row(name, value, bar, note, unit="", least=False):
    if IDS and name not in IDS:
        return
    ok = None if value is None else value >= bar if least else value <= bar
    print(json.dumps({"id": name, "value": None if value is None else round(value, 4), "unit": unit, "bar": bar, "ok": ok, "least": least, "note": note}),
          flush=True)


def seed():
    tag = re.search(r"\d+\.\d+\.\d+", aontest.aon("--version").stdout).group()
    return hashlib.sha256(b"aon-live" + tag.encode()).hexdigest()[:8]


def chosen():
    """The kinds that are wanted and can be tried; {kind: why not} of the others."""
    words = args.kinds.split(",")
    yes, no = [w for w in words if not w.startswith("!")] or ["*"], [w[1:] for w in words if w.startswith("!")]
    found = {n: k for n, k in livekit.kinds().items() if any(fnmatch.fnmatch(n, w) for w in yes) and not any(fnmatch.fnmatch(n, w) for w in no)}
    lacks = {n: why for n, k in found.items() if (why := livekit.why_not(k))}
    return [k for n, k in found.items() if n not in lacks], lacks


def case_of(kind, s, size, on=True):
    case = livekit.Case(kind, s, size, args.short, on, healthy=not args.validate)
    if args.seconds:
        case.p["seconds"] = args.seconds
    return case


def cases(kinds, s):
    sizes = [int(x) for x in args.sizes.split(",")]
    planted = [case_of(k, s, n) for n in sizes for k in kinds]
    healthy = [case_of(k, s, n, False) for n in sizes for k in kinds if "healthy" in k.head]
    if IDS and set(IDS) == {"verdict_false"}:
        return healthy
    return planted if IDS and "verdict_false" not in IDS else planted + healthy


# --- with aon ---

def tried(case):
    """The Verdict; again, if other load of the machine disturbed it."""
    if args.kept:
        return livekit.again(case, args.kept)
    for _ in range(args.again + 1):
        v = livekit.run(case, args.nice, args.keep)
        if not v.noisy:
            break
    return v


def mark(x):
    return {True: "yes", False: "NO", None: "-"}[x]


def cells(v):
    s, t = v.said, v.truth
    costs = f"{s.cost_ms:.2f}" if s else "-", f"{t['cost_ms']:.2f}" if t.get("cost_ms") is not None else "-"
    return [v.case.kind.name, "SML"[v.case.size] + ("" if v.case.on else " healthy"), s.family if s else v.failed[:40].splitlines()[0] if v.failed else "(nothing)",
            mark(v.family), mark(v.culprit), costs[0], costs[1], f"{t.get('step_ms', 0):.1f}", mark(v.cost), mark(v.action), s.confidence if s else "",
            "loaded" if v.noisy else mark(v.right)]


def table(rows):
    w = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for r in rows:
        print("  ".join(f"{c:<{n}}" for c, n in zip(r, w)).rstrip())


def judged(all_cases):
    start = time.monotonic()

    def one(case):
        if time.monotonic() - start > args.minutes * 60:
            return None
        if not (v := tried(case)):
            return None
        print("  " + "  ".join(cells(v)), file=sys.stderr, flush=True)
        if args.json:
            with open(args.json, "a") as f:
                f.write(json.dumps({"kind": case.kind.name, "size": case.size, "on": case.on, "p": case.p, "names": case.names, "truth": v.truth,
                                    "said": v.said and v.said._asdict(), "right": v.right, "family": v.family, "culprit": v.culprit, "cost": v.cost,
                                    "action": v.action, "noisy": v.noisy, "seconds": v.seconds, "failed": v.failed}) + "\n")
        return v

    if args.jobs == 1:
        return [v for c in all_cases if (v := one(c))]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        return [v for v in pool.map(one, all_cases) if v]


def confusion(verdicts):
    """How often each family was reported for each kind."""
    said = collections.defaultdict(collections.Counter)
    for v in verdicts:
        want = v.case.kind.head["family"].split()
        said[want[0] if v.case.on else "(healthy)"][(v.said.family if v.said else "(nothing)")] += 1
    columns = sorted({f for c in said.values() for f in c})
    print("\nWanted (rows) against said (columns), numbers of runs:")
    table([["", *columns], *([want, *(str(c[f] or ".") for f in columns)] for want, c in sorted(said.items()))])


def share(part):
    return sum(part) / len(part) if part else None


def report(verdicts, s, lacks):
    table([["kind", "size", "said", "family", "culprit", "cost", "true", "step", "third", "action", "sure", "right"], *map(cells, verdicts)])
    confusion(verdicts)
    counted = [v for v in verdicts if not v.noisy]
    seen, held = ([v for v in counted if v.case.on and v.case.kind.heldout == h] for h in (False, True))
    healthy = [v for v in counted if not v.case.on]
    print("\nHow sure, and how often right: " + ", ".join(
        f"{c} {sum(v.right for v in x)} of {len(x)}" for c in ("high", "medium", "low") if (x := [v for v in seen + held if v.said and v.said.confidence == c])))
    loaded, lack = sum(v.noisy for v in verdicts), "".join(f"; no {k}: {w}" for k, w in lacks.items())
    form = f"seed {s}, {'short form, ' if args.short else ''}{loaded} runs disturbed by other load and not counted{lack}"

    def of(part, what):
        return f"{sum(map(what, part))} of {len(part)} runs of {len({v.case.kind.name for v in part})} kinds"

    row("verdict_live", share([v.right for v in seen]), 0.9, f"{of(seen, lambda v: v.right)}; family alone {of(seen, lambda v: v.family)}; {form}", least=True)
    row("verdict_heldout", share([v.right for v in held]), 0.8, f"{of(held, lambda v: v.right)}; {form}", least=True)
    row("verdict_false", share([not v.right for v in healthy]), 0.02, f"{of(healthy, lambda v: not v.right)}; {form}")
    costs = [v for v in seen + held if v.cost is not None]
    row("verdict_cost_third", share([v.cost for v in costs]), 0.85, f"{of(costs, lambda v: v.cost)}; {form}", least=True)
    took = [v.seconds for v in counted if v.seconds]
    row("why_live_s", max(took) if took else None, 1.0, f"longest of {len(took)} runs, median {sorted(took)[len(took) // 2]:.2f} s" if took else "no run", "s")


# --- without aon ---

def validate(kinds, s):
    rows = [["kind", "size", "step", "without", "more", "cost", "of it", "waited", ""]]
    print("  ".join(rows[0]), file=sys.stderr)
    for k in kinds:
        for n in (int(x) for x in args.sizes.split(",")):
            step = {}
            for on in (True, False):
                with aontest.Place() as place:
                    r = livekit.Run(case_of(k, s, n, on), place, aon=False, nice=args.nice)
                step[on] = r.truth
                if r.rc or not r.truth:
                    print(f"{k.name}: exit status {r.rc}\n{r.err[-1500:]}", file=sys.stderr)
            if all(step.values()):
                a, b = step[True], step[False]
                more = a["step_ms"] - b["step_ms"]
                rows.append([k.name, "SML"[n], f"{a['step_ms']:.2f}", f"{b['step_ms']:.2f}", f"{more:.2f}", f"{a['cost_ms']:.2f}",
                             f"{a['cost_ms'] / a['step_ms']:.0%}", f"{a['waited_ms']:.2f}",
                             "" if k.head.get("cost") == "no" or abs(more - a["cost_ms"]) <= max(a["cost_ms"], more) / 3 else "differs"])
                print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    table(rows)


def main():
    signal.signal(signal.SIGTERM, lambda *a: sys.exit(1))  # with the program that runs
    kinds, lacks = chosen()
    s = args.seed or seed()
    if args.validate:
        validate(kinds, s)
    else:
        report(judged(cases(kinds, s)), s, lacks)


main()
