#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of reading a trace: 600,000 rows of Kineto JSON imported and broken down, against HTA on the same file in
the same run; and ten million rows into a store, in time and memory.

Rounds are processes, and a disturbance only makes one longer, so the shortest counts.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get("AON_BUILD") or os.getcwd())
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
PYTHON = CACHE / "hta-venv/bin/python"
ROUNDS, ROWS, MANY = 7, 600_000, 10_000_000
HTA = r"""
import sys, time
from hta.trace_analysis import TraceAnalysis
t = time.monotonic()
a = TraceAnalysis(trace_dir=sys.argv[1])
a.get_temporal_breakdown(visualize=False)
print(time.monotonic() - t)
"""


def wanted(*ids):
    names = os.environ.get("BENCH_IDS", "").split()
    return not names or any(i in names for i in ids)


def row(name, value, unit, bar, ok, note, **more):
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "note": note, **more}),
          flush=True)


def run(*argv):
    """Seconds, MB at the most, and whether it succeeded."""
    t = time.monotonic()
    p = subprocess.Popen([str(a) for a in argv], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - t, used.ru_maxrss / 1024, p.returncode == 0


def generate(path, rows):
    subprocess.run([BUILD / "bench/gen_trace", path, str(rows)], check=True)
    return path.stat().st_size / 1e6


def small(place):
    """Import and breakdown, and HTA."""
    trace = place / "rank0.json"
    size = generate(trace, ROWS)
    runs = [run(BUILD / "aon", "report", "--json", trace) for _ in range(ROUNDS)]
    seconds, mb = min(r[0] for r in runs), max(r[1] for r in runs)
    good = all(r[2] for r in runs)
    note = f"aon report --json of {ROWS:,} rows, {size:.0f} MB, shortest of {ROUNDS}"
    row("import_s", round(seconds, 4) if good else None, "s", 0.5, good and seconds <= 0.5, note)
    row("import_rss_mb", round(mb, 1), "MB", 120, good and mb <= 120, note.replace("shortest", "largest"))
    if not wanted("hta_ratio"):
        return
    if not PYTHON.exists():
        row("hta_ratio", None, "x", 50, None, "HTA is not installed: tools/setup bench", least=True)
        return
    folder = place / "hta"
    folder.mkdir()
    trace.rename(folder / trace.name)
    r = subprocess.run([PYTHON, "-c", HTA, folder], capture_output=True, text=True)
    if r.returncode:
        row("hta_ratio", None, "x", 50, None, f"HTA failed: {r.stderr.strip()[-80:]}", least=True)
        return
    hta = float(r.stdout.split()[-1])
    row("hta_ratio", round(hta / seconds, 1), "x", 50, good and hta / seconds >= 50,
        f"HTA 0.5.0 took {hta:.1f} s to load and break down the same file", least=True)


def many(place):
    """Linear: as long for a row as a smaller file takes. Bounded: no more memory than that plus a few."""
    if shutil.disk_usage(place).free < 6e9:
        row("import_10m_s", None, "s", None, None, "needs 6 GB of disk")
        return
    trace, store = place / "many.json", place / "many.db"
    spent = []
    for rows in (ROWS, MANY):
        size = generate(trace, rows)
        r = run(BUILD / "aon", "import", trace, "-o", store)
        store.unlink(missing_ok=True)
        spent.append(r)
    trace.unlink()
    (one, one_mb, a), (ten, ten_mb, b) = spent
    bar = one * MANY / ROWS * 1.25
    row("import_10m_s", round(ten, 2), "s", round(bar, 2), a and b and ten <= bar and ten_mb <= one_mb + 64,
        f"aon import of {MANY:,} rows, {size:,.0f} MB, {ten_mb:.0f} MB of memory; {ROWS:,} rows: {one:.2f} s, {one_mb:.0f} MB")


def main():
    with tempfile.TemporaryDirectory(prefix="aon-bench-") as place:
        if wanted("import_s", "import_rss_mb", "hta_ratio"):
            small(pathlib.Path(place))
        if wanted("import_10m_s"):
            many(pathlib.Path(place))


if __name__ == "__main__":
    sys.exit(main())
