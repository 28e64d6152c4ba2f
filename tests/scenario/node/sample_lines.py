#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=240 sanitize=no
"""Native source lines and inlined functions: a C program of -O2 -g waits in a function that is inlined twice. aon stacks, aon
attach, a recording and what is exported have the line and the chain; so they do with the debug information in a file of its
own. Without any the function is named as before. A file that lies costs its own lines only."""
import gzip
import json
import os
import re
import shutil
import subprocess

import aonsample
from aontest import BUILD, ROOT, Place, done, find, ok, skip, skip_all
from clitest import aon

SOURCE = """#include <stdio.h>
#include <time.h>
#include <aon/aon.h>
static inline __attribute__((always_inline)) void wait_for_input(unsigned int us)
{
	struct timespec t = { 0, us * 1000L };
	nanosleep(&t, NULL); /* waits */
}
static inline __attribute__((always_inline)) void load(unsigned int us)
{
	wait_for_input(us); /* calls wait_for_input */
}
static __attribute__((noinline)) int compute(int i)
{
	load(20000); /* calls load */
	return i + 1;
}
int main(int argc, char *argv[])
{
	int n = argc > 1 ? 150 : 1 << 30;
	(void)argv;
	printf("there\\n");
	fflush(stdout);
	for (int i = 0; i < n;) {
		aon_step_begin(i);
		i = compute(i); /* calls compute */
		aon_step_end(i - 1);
	}
	return 0;
}
"""
LINE = {what: 1 + SOURCE[:SOURCE.index(f"/* {what} */")].count("\n") for what in ("waits", "calls wait_for_input", "calls load", "calls compute")}
CHAIN = [("wait_for_input", LINE["waits"], True), ("load", LINE["calls wait_for_input"], True), ("compute", LINE["calls load"], False),
         ("main", LINE["calls compute"], False)]
PLAIN = [("compute", 0, False), ("main", 0, False)]


def build(place, compiler, name):
    lib, source, exe = BUILD / "src/app/client", place.path / "step.c", place.path / name
    source.write_text(SOURCE)
    r = subprocess.run([compiler, "-O2", "-g", "-Wl,--build-id", "-I", ROOT / "include", source, "-o", exe, f"-L{lib}", "-l:libaon.so.0", f"-Wl,-rpath,{lib}"],
                       capture_output=True, text=True)
    return exe if r.returncode == 0 else None


class Running:
    def __init__(self, *argv):
        self.p = subprocess.Popen([*map(str, argv)], stdout=subprocess.PIPE, env={**os.environ, "AON_OFF": "1"})
        self.p.stdout.readline()

    def __enter__(self):
        return self.p.pid

    def __exit__(self, *exc):
        self.p.kill()
        self.p.wait()
        self.p.stdout.close()


def stood(frames, want):
    """Those of the program, of one stack."""
    return [f for f in frames if f[0] in {w[0] for w in want}] == want


def looks(pid, want, where):
    said = {}
    for _ in range(20):
        r = subprocess.run([find("aon-stacks"), "--json", str(pid)], capture_output=True, text=True)
        frames = [(f["name"], f["line"] or 0, f["inlined"]) for g in json.loads(r.stdout)["groups"] for f in g["frames"]]
        if stood(frames, want):
            break
    ok(stood(frames, want), f"{where}: aon-stacks has the lines, and what is inlined", r.stdout)
    # With lines, the last part of the source is its file.
    for _ in range(5):
        said = aonsample.attach(pid, hz=100, seconds=1)
        rows = [s for s in said.samples if s.stack and said.state(s) == "sleep"]
        stacks = [[(f.name, f.line, bool(f.flags & 4)) for f in said.stacks[s.stack]] for s in rows]
        if rows and all(stood(x, want) for x in stacks):
            break
    ok(rows and all(stood(x, want) for x in stacks), f"{where}: so has each sample, from the first one on", stacks[:1])
    blamed = {(said.blame(s).name, said.blame(s).line, said.blame(s).flags & aonsample.USER) for s in rows}
    ok(blamed == {(want[0][0], want[0][1], aonsample.USER)}, f"{where}: its innermost function is to blame", blamed)


def own_file(place, exe):
    """The debug information beside a stripped program, by .gnu_debuglink; and in .debug; and another program's, which is not taken."""
    debug, bare = place.path / "step.dbg", place.path / "bare"
    subprocess.run(["objcopy", "--only-keep-debug", exe, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", exe, bare], check=True)
    with Running(bare) as pid:
        looks(pid, CHAIN, "a debug file beside it")
    (place.path / ".debug").mkdir()
    debug.rename(place.path / ".debug/step.dbg")
    with Running(bare) as pid:
        looks(pid, CHAIN, "one in .debug")
    # Without a build-id the CRC counts.
    for f in (bare, place.path / ".debug/step.dbg"):
        subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", f], check=True)
    with Running(bare) as pid:
        looks(pid, PLAIN, "one whose CRC is another's, or whose file is not as it was linked")


def in_a_container(place, exe):
    """By the build-id below /usr/lib/debug, as the process sees it: a container has its own."""
    own, bare = place.path / "debug", place.path / "by_id"
    inside = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /usr/lib/debug && exec "$1"', str(own)]
    own.mkdir()
    if os.geteuid() or subprocess.run([*inside, "true"], capture_output=True).returncode:
        return skip("a debug file by its build-id", "nothing can be mounted at /usr/lib/debug")
    number = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", exe], capture_output=True, text=True).stdout)[1]
    debug = own / f".build-id/{number[:2]}/{number[2:]}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", exe, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", exe, bare], check=True)
    with Running(*inside, bare) as pid:
        looks(pid, CHAIN, "by the build-id, where the process sees it")
    return None


def damaged(place, exe):
    """Its debug information is noise: libdw's child may die of it, nobody else does."""
    data, bad = bytearray(exe.read_bytes()), place.path / "bad"
    for line in subprocess.run(["readelf", "-SW", exe], capture_output=True, text=True).stdout.splitlines():
        m = re.search(r"\.debug_(info|abbrev|line|rnglists)\s+PROGBITS\s+\w+ (\w+) (\w+)", line)
        if m:
            at, size = int(m[2], 16), int(m[3], 16)
            data[at:at + size] = bytes((i * 167 + 13) % 251 for i in range(size))
    bad.write_bytes(data)
    bad.chmod(0o755)
    with Running(bad) as pid:
        for _ in range(20):
            r = subprocess.run([find("aon-stacks"), "--json", str(pid)], capture_output=True, text=True, timeout=60)
            names = [f["name"] for g in json.loads(r.stdout)["groups"] for f in g["frames"]]
            if "compute" in names:
                break
        ok(r.returncode == 0 and "compute" in names, "debug information of noise: the stack is there", r.stdout)
        said = aonsample.attach(pid, hz=100, seconds=2)
        rows = [s for s in said.samples if s.stack]
        ok(rows and all("compute" in [f.name for f in said.stacks[s.stack]] for s in rows), "and so are samples", said.stacks)


def varint(data, at):
    v = shift = 0
    while True:
        v |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return v, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            v, at = varint(data, at)
        elif key & 7 == 2:
            n, at = varint(data, at)
            v, at = data[at:at + n], at + n
        else:
            v, at = data[at:at + 8], at + 8
        yield key >> 3, v


def pprof_places(data):
    """Of each location, its functions and lines."""
    strings = [v.decode() for k, v in fields(data) if k == 6]
    functions = {}
    for f in (dict(fields(v)) for k, v in fields(data) if k == 5):
        functions[f[1]] = (strings[f[2]], strings[f.get(4, 0)])
    return [[(*functions[line[1]], line.get(2, 0)) for line in (dict(fields(x)) for n, x in fields(v) if n == 4)] for k, v in fields(data) if k == 4]


def recorded(place, exe):
    db, pb, text, otlp = (place.path / f"x.{e}" for e in ("db", "pb", "txt", "otlp"))
    aon(place, "run", "-o", db, "--", exe, "short", timeout=200)
    code = rf"wait_for_input \(step\.c:{LINE['waits']}\), inlined in compute"
    r = aon(place, "report", "--by", "stack", db).stdout.decode()
    ok(re.search(rf"spends \d+ % .*in {code}, (mostly )?sleeping", r), "the first sentence of a report has the line, and what it is inlined in", r)
    ok(re.search(rf"sleep +step\.c:{LINE['waits']} wait_for_input in \S+, inlined in compute", r), "so has its table", r)
    why = aon(place, "why", db).stdout.decode()
    ok(re.search(rf"wait_for_input \(step\.c:{LINE['waits']}\)", why), "aon why names the culprit by file and line", why)
    for fmt, to in (("pprof", pb), ("collapsed", text), ("otlp-profile", otlp)):
        aon(place, "export", "-f", fmt, "-o", to, db)
    data = pb.read_bytes()
    want = [(n, str(place.path / "step.c"), line) for n, line, _ in CHAIN]
    places = pprof_places(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    ok(want[:3] in places and [want[3]] in places, "pprof: one location has all three functions, the innermost first", places)
    ok(re.search(rf";main \(step\.c:\d+\);compute \(step\.c:\d+\);load \(step\.c:\d+\)_\[i\];wait_for_input \(step\.c:{LINE['waits']}\)_\[i\]", text.read_text()),
       "collapsed: what is inlined is marked", text.read_text()[:600])
    lines = [dict(fields(x)) for k, v in fields(otlp.read_bytes()) if k == 2 for n, loc in fields(v) if n == 2 for m, x in fields(loc) if m == 3]
    ok({line.get(2) for line in lines} >= {w[2] for w in want}, "OTLP: all lines are there", lines)
    sql = aon(place, "sql", "--tsv", "select function, line, inlined, user from stack where function in ('wait_for_input', 'load', 'compute', 'main') "
              "group by 1, 2 order by frame", db).stdout.decode()
    ok([tuple(x.split("\t")) for x in sql.split("\n")[1:] if x] == [(n, str(line), str(int(i)), "1") for n, line, i in CHAIN], "SQL: so they are", sql)


if not shutil.which("cc") or not shutil.which("objcopy"):
    skip_all("no compiler")
with Place() as place:
    program = build(place, "cc", "step")
    with Running(program) as pid:
        first = subprocess.run([find("aon-stacks"), "--lines", str(pid)], capture_output=True, text=True).stdout
        if "step.c" not in first:
            skip_all("this build has no libdw")
        looks(pid, CHAIN, "debug information in the program")
    own_file(place, program)
    in_a_container(place, program)
    damaged(place, program)
    recorded(place, program)
    clang = next((c for c in ("clang", "clang-15", "clang-14") if shutil.which(c)), None)
    other = clang and build(place, clang, "clang")
    if other:  # it makes no .debug_aranges
        with Running(other) as pid:
            looks(pid, CHAIN, "built by clang")
    else:
        skip("built by clang", "no clang that links")
done()
