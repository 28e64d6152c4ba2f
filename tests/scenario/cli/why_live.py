#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=400 sanitize=no long=yes
"""Programs without a GPU and with one problem each, in the default settings: the end of `aon run`, `aon why` and `aon report`
name it first, with the same figures."""
import json
import pathlib
import re
import subprocess

from aontest import ROOT, Place, done, ok, skip_all
from clitest import aon, find
from torchtest import APPS, torches

APP = APPS / "torch_why.py"
PROBLEMS = {"loader": ("input_bound", r"num_workers=0", r"num_workers"),
            "code": ("host_code", r"reweigh \(torch_why.py:\d+\)", r"reweigh"),
            "gc": ("gc", r"garbage collector", r"gc\.freeze")}


def record(p, db, *argv):
    for f in p.path.glob("why.db*"):
        f.unlink()
    r = aon(p, "run", "-o", db, "--", *argv, timeout=200)
    return r, json.loads(aon(p, "why", "--json", db).stdout)


def named(p, python, problem):
    """A busy machine samples rarely: a longer run has enough."""
    family, title, action = PROBLEMS[problem]
    db = p.path / "why.db"
    for seconds in (12, 45):
        r, why = record(p, db, python, APP, problem, seconds)
        first = why["findings"][0] if why["findings"] else {}
        if re.search(title, first.get("title", "")):
            break
    ok(first.get("family") == family and re.search(title, first["title"]), f"{problem}: the first finding is {family}, and names it", why)
    ok(first and re.search(action, first["action"]) and first["share"] > 0.5 and first["device"] is None,
       f"{problem}: it has its share and says what to do", first)
    sentence = first.get("title", "?")[:60]
    end, said = r.stderr.decode(), aon(p, "report", db).stdout.decode()
    ok(sentence in end and end.index(sentence) < end.index("Where a step goes"), f"{problem}: aon run ends with it, before its tables", end)
    ok(sentence in said and said.index(sentence) < said.index("Where a step goes"), f"{problem}: so does aon report", said)
    figures = set(re.findall(re.escape(sentence) + r".*?: ([\d.]+ \S+ of [\d.]+ \S+) a step", end + said))
    ok(len(figures) == 1, f"{problem}: with the same figures", figures)


def in_c(p):
    """Plain C that marks its steps and ranges: ranges are named without a sample."""
    source, program, db = p.path / "c.c", p.path / "c", p.path / "c.db"
    source.write_text("""
#include <aon/aon.h>
#include <unistd.h>
int main(void)
{
	for (int i = 0; i < 40; i++) {
		aon_step_begin(i);
		aon_range_push("solve");
		usleep(1000);
		aon_range_pop();
		aon_range_push("pack halo");
		usleep(20000);
		aon_range_pop();
		aon_step_end(i);
	}
	return 0;
}
""")
    lib = pathlib.Path(str(find("aon"))).parent / "src/app/client"
    r = subprocess.run(["cc", "-I", ROOT / "include", source, "-o", program, f"-L{lib}", "-l:libaon.so.0", f"-Wl,-rpath,{lib}"],
                       capture_output=True, text=True)
    if r.returncode:
        ok(True, "plain C # SKIP no libaon to link with: " + r.stderr.replace("\n", " ")[:80])
        return
    aon(p, "run", "--no-report", "-o", db, "--", program)
    why = json.loads(aon(p, "why", "--json", db).stdout)
    first = why["findings"][0] if why["findings"] else {}
    ok(first.get("family") == "host_code" and "pack halo" in first["title"] + str(first["seen"]) or "main" in first.get("title", ""),
       "plain C: the range, or the code in it, is named", why)


with Place() as place:
    found = torches()
    if not found:
        skip_all("no torch")
    for problem in PROBLEMS:
        named(place, found[0][1], problem)
    in_c(place)
done()
