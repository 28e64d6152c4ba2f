#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run every test: plain, ASan+UBSan, TSan. Ends with "N passed, N failed, N skipped".

A TAP test counts by its points, any other by itself. Details are in the testlog of each build.

Up to five tests that fail run once more, alone: what passes then is named as unsteady, and its
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

RUNS = {
    # name: (suffix of the build directory, Meson options, options of `meson test`)
    "plain": ("", [], []),
    "asan": (
        "-asan",
        ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dbench=false"],
        ["--suite", "unit", "--suite", "scenario", "--suite", "fuzz"],
    ),
    "tsan": (
        "-tsan",
        ["-Db_sanitize=thread", "-Db_lundef=false", "-Dbench=false"],
        ["--suite", "unit", "--suite", "threads"],
    ),
}
ENV = {
    "ASAN_OPTIONS": "detect_leaks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}
AGAIN_MAX = 5  # more than that is no accident
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


def run_again(name, cmd, log, tests):
    """The results after what failed was run once more, alone."""
    again = failed(tests)
    if not again or len(again) > AGAIN_MAX:
        return tests
    log.rename(log.with_name("testlog-first.json"))
    # The log names a test "project:suite / test"; meson test wants the last part.
    words = [n.split(" / ")[-1] for n in again]
    subprocess.run([*cmd, "--num-processes", "1", *words], env={**os.environ, **ENV})
    second = results(log)
    for test in again:
        if test in second and not count(second[test])[1]:
            print(f"{name}: unsteady: {test} failed, then passed alone", flush=True)
            tests[test] = second[test]
    return tests


def run(name, build):
    suffix, options, select = RUNS[name]
    where = pathlib.Path(str(build) + suffix)
    if not (where / "build.ninja").exists():
        done = subprocess.run(["meson", "setup", *options, str(where)], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            print(done.stdout + f"{name}: cannot be set up", flush=True)
            return [0, 1, 0]
    log = where / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    if subprocess.run(["ninja", "-C", str(where), "--quiet"]).returncode:
        print(f"{name}: does not build", flush=True)
        return [0, 1, 0]
    cmd = ["meson", "test", "-C", str(where), "--no-rebuild", "--print-errorlogs", *select]
    if os.environ.get("AON_LONG"):  # every case of the scenarios, for as long as it takes
        cmd += ["--timeout-multiplier", "0"]
    code = subprocess.run(cmd, env={**os.environ, **ENV}).returncode
    tests = results(log)
    if code:
        tests = run_again(name, cmd, log, tests)
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
    for why, times in sorted(reasons.items()):
        print(f"{name}: skipped {times} in {why}")
    print(f"{name}: {total[0]} passed, {total[1]} failed, {total[2]} skipped\n", flush=True)
    return total


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--only", choices=RUNS, action="append", help="this run alone")
    p.add_argument("build", type=pathlib.Path)
    args = p.parse_args()
    total = [0, 0, 0]
    for name in args.only or RUNS:
        total = [a + b for a, b in zip(total, run(name, args.build))]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
