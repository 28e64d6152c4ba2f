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

STARTS = re.compile(r"^(.*): +U (?:pthread_create|thrd_create|MHD_start_daemon)\b", re.M)


def main():
    tests = json.loads((pathlib.Path(sys.argv[1]) / "meson-info/intro-tests.json").read_text())
    units = {t["cmd"][0]: (t["name"], "aon:threads" in t["suite"]) for t in tests
             if "aon:unit" in t["suite"] and pathlib.Path(t["cmd"][0]).name.startswith("test_")}
    starts = set(STARTS.findall(subprocess.check_output(["nm", "-A", "-D", "--undefined-only", *units], text=True)))
    bad = [(name, listed) for program, (name, listed) in units.items() if listed != (program in starts)]
    for name, listed in bad:
        print(f"{name}: {'' if listed else 'not '}in the suite threads, but starts {'no ' if listed else ''}threads: "
              "see tests/unit/meson.build")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
