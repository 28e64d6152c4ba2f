#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the tests: plain, ASan+UBSan, TSan. Ends with "N passed, N failed, N skipped".

    check.py BUILD                  what the CI runs
    check.py --quick BUILD          the checks of the tree and the unit tests, plain
    check.py --all BUILD            every scenario under ASan too
    check.py --test NAME BUILD      one test (--only asan: in that build)

A TAP test counts by its points, any other by itself. Details are in the testlog of each build.
The next build is made, at low priority, while the tests of the one before wait.

Up to ten tests that fail run once more, alone: what passes then is named as unsteady, and its
first output stays in testlog-first.json. A test that fails twice has failed.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Sanitizers find the same at -O1 with line tables alone, and build in half the time. The plain build
# is the one that fails on warnings.
SANITIZED = ["-Dwerror=false", "-Db_lundef=false", "-Dbench=false", "-Doptimization=1", "-Ddebug=false", "-Dc_args=-g1"]
RUNS = {
    # name: (suffix of the build directory, Meson options, suites, suites of --all)
    "plain": ("", [], [], []),
    "asan": ("-asan", ["-Db_sanitize=address,undefined", *SANITIZED], ["unit", "fuzz", "sanitize"], ["unit", "fuzz", "scenario"]),
    "tsan": ("-tsan", ["-Db_sanitize=thread", *SANITIZED], ["threads"], ["threads"]),
}
ENV = {
    "ASAN_OPTIONS": "detect_leaks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}
AGAIN_MAX = 10  # more than that is no accident
AT_ONCE = 3 * (os.cpu_count() or 1)  # most scenarios wait most of the time
PATIENCE = 4  # times the limits of the tests: the machine may be busy
TOLD = 600  # characters of output for each point that failed
POINT = re.compile(r"^(not )?ok\b[^#\n]*(#\s*(skip|todo))?", re.I | re.M)
PLAN = re.compile(r"^1\.\.\d+", re.M)


def count(test):
    """The points of one test as [passed, failed, skipped]."""
    out, result = test["stdout"] or "", test["result"]
    n = [0, 0, 0]
    if result == "SKIP":
        return [0, 0, 1]
    if PLAN.search(out):
        for m in POINT.finditer(out):
            n[2 if m[2] else 1 if m[1] else 0] += 1
    bad = result not in ("OK", "EXPECTEDFAIL")
    if not bad and n == [0, 0, 0]:
        n[0] = 1
    elif bad and n[1] == 0:
        n[1] = 1  # it crashed, timed out or left with a bad status between its points
    return n


def skipped_why(test):
    out = test["stdout"] or ""
    m = re.search(r"#\s*skip:?\s*(.*)", out, re.I)
    return m[1].strip() if m else out.strip().splitlines()[-1] if out.strip() else "no reason given"


def results(log):
    """The tests of a log by name."""
    lines = log.read_text().splitlines() if log.exists() else []
    return {t["name"]: t for t in map(json.loads, lines)}


def failed(tests):
    return [name for name, t in tests.items() if count(t)[1]]


def environment(args):
    """Fuzz targets run for a few seconds, with --all to their last input (tests/fuzz/driver.c)."""
    return {**os.environ, **ENV, **({"AON_FUZZ_S": "0"} if args.all else {})}


def run_again(name, cmd, log, tests, env):
    """The results after what failed was run once more, alone."""
    again = failed(tests)
    if not again or len(again) > AGAIN_MAX:
        return tests
    log.rename(log.with_name("testlog-first.json"))
    # The log names a test "project:suite / test"; meson test wants the last part.
    words = [n.split(" / ")[-1] for n in again]
    subprocess.run([*cmd, "--num-processes", "1", *words], env=env)
    second = results(log)
    for test in again:
        if test in second and not count(second[test])[1]:
            print(f"{name}: unsteady: {test} failed, then passed alone", flush=True)
            tests[test] = second[test]
    return tests


def where(name, build):
    return pathlib.Path(str(build) + RUNS[name][0])


def stale(at):
    """Whether scenarios came or went since the build was set up."""
    listed = subprocess.run([ROOT / "tests/scenario/run", "--list"], stdout=subprocess.PIPE, text=True, check=True)
    now = {line.split("|")[0] for line in listed.stdout.splitlines()}
    tests = json.loads((at / "meson-info" / "intro-tests.json").read_text())
    return now != {t["name"] for t in tests if any(s.endswith(":scenario") for s in t["suite"])}


def make(name, build, polite):
    """Set up and build one configuration; what went wrong, or None."""
    at = where(name, build)
    nice = ["nice", "-n", "10"] if polite else []
    steps = []
    if not (at / "build.ninja").exists():
        steps.append(["meson", "setup", *RUNS[name][1], str(at), str(ROOT)])
    elif stale(at):
        steps.append(["meson", "setup", "--reconfigure", str(at)])
    steps.append([*nice, "ninja", "-C", str(at), "--quiet"])
    for cmd in steps:
        done = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            return done.stdout + f"{name}: does not build"
    return None


class Builds(threading.Thread):
    """Makes the configurations one after the other; wait(name) returns when that one is there."""

    def __init__(self, names, build):
        super().__init__(daemon=True)
        self.names, self.build = names, build
        self.ready = {n: threading.Event() for n in names}
        self.wrong = {}

    def run(self):
        for i, name in enumerate(self.names):
            try:
                self.wrong[name] = make(name, self.build, polite=i > 0)
            except Exception as e:  # whoever waits must not wait for ever
                self.wrong[name] = f"{name}: {e}"
            self.ready[name].set()

    def wait(self, name):
        self.ready[name].wait()
        return self.wrong[name]


def command(name, args):
    """`meson test` for one configuration."""
    cmd = ["meson", "test", "-C", str(where(name, args.build)), "--print-errorlogs",
           # With AON_LONG every case of the scenarios, for as long as it takes.
           "--timeout-multiplier", "0" if os.environ.get("AON_LONG") else str(PATIENCE)]
    if args.test:  # which that build may leave out by default
        return [*cmd, *args.test]
    cmd.append("--no-rebuild")
    suites = ["meta", "unit"] if args.quick else RUNS[name][3 if args.all else 2]
    return [*cmd, "--num-processes", str(AT_ONCE), *(w for s in suites for w in ("--suite", s))]


def run(name, builds, args):
    wrong = builds.wait(name)
    if wrong:
        print(wrong, flush=True)
        return [0, 1, 0]
    log = where(name, args.build) / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    cmd = command(name, args)
    code = subprocess.run(cmd, env=environment(args)).returncode
    tests = results(log)
    if code and not args.test:
        tests = run_again(name, cmd, log, tests, environment(args))
        code = bool(failed(tests)) or not tests
    total = [0, 0, 0]
    reasons = collections.Counter()
    for test in tests.values():
        n = count(test)
        total = [a + b for a, b in zip(total, n)]
        if n[2]:
            reasons[f"{test['name']}: {skipped_why(test)}"] += n[2]
    if code and not total[1]:
        total[1] = 1
    args.failures += [(name, tests[n]) for n in failed(tests)]
    for why, times in sorted(reasons.items()):
        print(f"{name}: skipped {times} in {why}")
    print(f"{name}: {total[0]} passed, {total[1]} failed, {total[2]} skipped\n", flush=True)
    return total


def tell(failures):
    """What failed, once more at the end, where a reader of a long log looks first."""
    for build, test in failures:
        out = (test["stdout"] or "") + (test.get("stderr") or "")
        bad = [m.start() for m in re.finditer(r"^not ok\b", out, re.M)] or [max(0, len(out) - TOLD)]
        print(f"{build}: {test['name']} failed ({test['result']}, {test['duration']:.0f} s):")
        for at in bad[:5]:
            print("    " + out[at:at + TOLD].replace("\n", "\n    ").rstrip())


def slowness(build):
    """How slow the machine is now (bench/speed.c); None where no benchmark was built."""
    speed = build.resolve() / "bench/speed"
    return float(subprocess.check_output([speed])) if speed.exists() else None


def remember(args, seconds):
    """BUILD/check.json: how long it took, for the rows check_s and quick_s of `make bench`."""
    path = args.build / "check.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    key = "quick_s" if args.quick else "all_s" if args.all else "check_s"
    known[key] = {"value": round(seconds, 1), "date": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[2], "slow": slowness(args.build)}
    path.write_text(json.dumps(known, indent=1) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", choices=RUNS, action="append", help="this configuration alone")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--all", action="store_true")
    p.add_argument("--test", action="append", help="this test alone")
    p.add_argument("--since", type=float, default=time.time(), help="when it began, in seconds of the epoch")
    p.add_argument("build", type=pathlib.Path)
    args = p.parse_args()
    args.failures = []
    names = args.only or (["plain"] if args.quick or args.test else list(RUNS))
    builds = Builds(names, args.build)
    builds.start()
    total = [0, 0, 0]
    for name in names:
        total = [a + b for a, b in zip(total, run(name, builds, args))]
    good = total[0] and not total[1]
    if good and not args.only and not args.test:
        remember(args, time.time() - args.since)
    tell(args.failures)
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
