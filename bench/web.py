#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of a timeline of ten million events for the browser: the time until the first picture, and of a frame while
it is panned and zoomed. In headless Chromium, which draws with the CPU.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

BUILD = pathlib.Path(os.environ.get("AON_BUILD") or os.getcwd())
ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
COLD = 5  # servers
BARS = {"timeline_first_paint_s": (1, "s"), "timeline_frame_p95_ms": (16, "ms")}


def row(name, value, note):
    bar, unit = BARS[name]
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar,
                      "ok": None if value is None else value <= bar, "note": note}), flush=True)


def missing():
    for tool in ("node", "chromium"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    if not (CACHE / "web/node_modules/playwright-core").is_dir():
        return "playwright-core is not there (tools/setup bench)"
    return None if (ROOT / "web/dist/index.html").exists() else "the page was not built"


def look(page, store):
    """What the browser finds at a server of its own. The browser runs by then: the server is as new as can be."""
    serve = subprocess.Popen([BUILD / "aon", "serve", "--json", store], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        page.stdin.write(serve.stdout.readline().decode().strip() + "\n")
        page.stdin.flush()
        return json.loads(page.stdout.readline())
    finally:
        serve.terminate()
        serve.wait(30)


def main():
    why = missing()
    if why:
        for name in BARS:
            row(name, None, why)
        return 0
    with tempfile.TemporaryDirectory(prefix="aon-bench-", dir=BUILD) as place:
        store = pathlib.Path(place) / "big.db"
        subprocess.run([BUILD / "bench/big_store", store], check=True)
        page = subprocess.Popen(["node", ROOT / "web/test/speed.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        late = threading.Timer(300, page.kill)
        late.start()
        try:
            r = look(page, store)
            cold = [look(page, store) for _ in range(COLD)]
            page.stdin.close()
            page.wait()
        finally:
            late.cancel()
            page.kill()
    paint = statistics.median(c["paint"] for c in cold)
    row("timeline_first_paint_s", round(paint, 2),
        f"{r['events']:,} events; from the address of a server that was just started to the picture, median of {COLD}; all of the run after "
        f"{statistics.median(c['whole'] for c in cold):.2f} s; of a server that has read it {r['warm']:.2f} s, median of {r['rounds']}")
    row("timeline_frame_p95_ms", round(r["p95"], 1),
        f"best of {r['rounds']} rounds of {r['frames']} frames, panned and zoomed without a limit of the rate, {r['tracks']} tracks; p50 {r['p50']:.1f}, "
        f"the script's part p95 {r['script']:.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
