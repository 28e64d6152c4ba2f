# SPDX-License-Identifier: Apache-2.0
# test: timeout=900 sanitize=no long=yes
"""`make demo` without make: PyTorch's ranks and tinygrad's kernels in a report, and the example in C where they cannot be."""
import os
import pathlib
import pty
import re
import signal
import subprocess
import urllib.request

from aontest import ROOT, BUILD, SANITIZED, Place, done, ok, skip, skip_all



def demo(cache):
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.run([ROOT / "tools/demo", BUILD], cwd=ROOT, env=env, capture_output=True, text=True,
                          timeout=1200)


def demo_on_terminal(cache):
    """The demo's end on a terminal, of the example in C alone: what the page answers, and how Ctrl-C ends it."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), "TORCH_PYTHON": ""}
    p = subprocess.Popen([ROOT / "tools/demo", BUILD], cwd=ROOT, env=env,
                         stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    out, page = "", None
    try:
        while not (url := re.search(r"(http://127\.0\.0\.1:\d+/\S*)\s", out)):
            out += os.read(ours, 65536).decode(errors="replace")
        with urllib.request.urlopen(url[1], timeout=60) as r:
            page = r.status
        os.killpg(p.pid, signal.SIGINT)
        code = p.wait(60)
    except OSError as e:  # the demo ended without an address
        code = e
    finally:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
        os.close(ours)
    return page, code, out


def main():
    if SANITIZED:
        skip_all("a sanitizer's runtime must come before Python's")
    if not (BUILD / "train").exists():
        skip_all("not a build of make all")
    with Place() as p:
        r = demo(p.path)
        ok(r.returncode == 0 and "in C instead" in r.stdout and re.search(r"200 steps in .*run", r.stdout) and
           "gemm fc2 inputs" in r.stdout, "without tinygrad: the example in C, and a report of its ranges",
           r.stdout + r.stderr)
        ok("aon open" in r.stdout, "where nobody looks it says how to, and ends", r.stdout)
        page, code, out = demo_on_terminal(p.path)
        ok(page == 200 and code in (0, 130, -signal.SIGINT), "on a terminal it serves the page until Ctrl-C",
           (page, code, out[-600:]))
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    r = demo(cache) if (cache / "aon/demo/.has").exists() else None
    if not r or "in C instead" in r.stdout:
        skip("tinygrad's training", "no tinygrad, or no OpenCL driver: tools/setup demo")
    else:
        ok(r.returncode == 0 and re.search(r"1 GPU, .*200 steps in", r.stdout) and "are read right" in r.stdout,
           "tinygrad trains, and its steps are seen", r.stdout + r.stderr)
        ok(re.search(r"^    r_\d\S* +\d+ ", r.stdout, re.M) and "clBuildProgram" in r.stdout,
           "its kernels and their compilation are in the report", r.stdout)
        if "Without PyTorch" in r.stdout:
            skip("PyTorch's training", "no torch: tools/setup demo")
        else:
            ranks = re.findall(r"^    ([01]) +python3 .* 110 ", r.stdout, re.M)
            ok(ranks == ["0", "1"] and "are in their place" in r.stdout,
               "PyTorch trains on two ranks: each is known, and all of its steps", r.stdout + r.stderr)
            # Steps are left out once a run takes longer than half a minute: their collectives are then estimated.
            sums = [int(n) for n in re.findall(r"^    gloo:all_reduce.*? (\d+) ", r.stdout, re.M)]
            ok(len(sums) == 2 and all(90 <= n <= 130 for n in sums) and "aten::mm" in r.stdout,
               "their collectives and operators are in the report", r.stdout)
        ok("0 lost" in r.stdout and "warning" not in r.stderr, "nothing is lost, and the screen is tidy",
           r.stdout + r.stderr)
    done()


main()
