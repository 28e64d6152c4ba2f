#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unit tests that start threads are those of the suite "threads", which runs under TSan: check-threads.py BUILD

A program starts threads if it imports a function that does. Static libraries bring in only the files that are
called, so that a test which links one without using its threads is left out.
"""
import json
import pathlib
import re
import subprocess
import sys

STARTS = re.compile(r" U (pthread_create|thrd_create|MHD_start_daemon)\b")


def starts_threads(program):
    return bool(STARTS.search(subprocess.check_output(["nm", "-D", "--undefined-only", program], text=True)))


def main():
    tests = json.loads((pathlib.Path(sys.argv[1]) / "meson-info/intro-tests.json").read_text())
    bad = 0
    for t in tests:
        suites, program = {s.split(":")[-1] for s in t["suite"]}, pathlib.Path(t["cmd"][0])
        if "unit" not in suites or not program.name.startswith("test_"):
            continue
        if starts_threads(program) != ("threads" in suites):
            bad += 1
            print(f"{t['name']}: {'not ' if 'threads' not in suites else ''}in the suite threads, but starts "
                  f"{'no ' if 'threads' in suites else ''}threads: see tests/unit/meson.build")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
