#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a person waits for aon doctor --gpu, with all of its work, on the strict stand-in with its costs.

doctor_gpu_s      the checks that are made by default; the bar is the quarter of an hour that its documentation says
"""
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/scenario/lib"))
os.environ.setdefault("AON_BUILD", os.getcwd())
from aontest import Place, find  # noqa: E402
from cudatest import sim_env  # noqa: E402

BAR = 900


def main():
    with Place() as place:
        env = sim_env(place, CUDA_INJECTION64_PATH="", SIM_STRICT=1, AON_GPU_CONF=place.path / "gpu.conf")
        begin = time.monotonic()
        p = subprocess.run([find("aon"), "doctor", "--gpu", "--json"], env=env, capture_output=True, text=True)
        took = time.monotonic() - begin
    checks = json.loads(p.stdout)["checks"]
    bad = [c["id"] for c in checks if c["result"] != "pass"]
    note = ", ".join(f"{c['id']} {c['ms'] / 1000:.1f}" for c in checks) + (f"; failed: {' '.join(bad)}" if bad else "")
    print(json.dumps({"id": "doctor_gpu_s", "value": round(took, 1), "unit": "s", "bar": BAR, "ok": took <= BAR and p.returncode < 3,
                      "note": note}), flush=True)


main()
