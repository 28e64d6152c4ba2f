#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=240 sanitize=no long=yes
"""aon attach on real programs, and samples of a store: the first sentence names the code; go tool pprof and
OpenTelemetry's own classes read what is written; if sampling is not allowed, the reason is printed."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import aonschema
from aontest import BUILD, Place, done, find, ok, skip, skip_all
from clitest import Terminal, aon, env_for
from servetest import Server

OTLP = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "aon" / "otlp"
PROGRAM = """
import sys, time
def load_item(n):
    return sum(i * i for i in range(n))
def rest():
    time.sleep(0.02)
def main():
    print("up", flush=True)
    while True:
        end = time.monotonic() + 0.06
        while time.monotonic() < end:
            load_item(3000)
        rest()
main()
"""


def start(place, **kw):
    """80 ms: 60 of load_item(), 20 of sleep."""
    script = place.path / "train.py"
    script.write_text(PROGRAM)
    os.chmod(script, 0o644)
    # A launcher of pyenv is a shell: the interpreter itself.
    p = subprocess.Popen([os.path.realpath(sys.executable), str(script)], stdout=subprocess.PIPE, cwd="/", **kw)
    p.stdout.readline()
    return p


def end(p):
    p.kill()
    p.wait()
    p.stdout.close()


def named(place):
    p = start(place)
    pb, lines, otlp = (place.path / f"x.{e}" for e in ("pb.gz", "collapsed", "otlp"))
    r = aon(place, "attach", p.pid, "--seconds", 5, "-o", pb)
    text = r.stdout.decode()
    m = re.match(r"Thread (\d+) spends (\d+) % \(±[\d.<]+\) in load_item \(train.py:\d+\), (mostly )?(running|waiting for a CPU)", text)
    ok(r.returncode == 0 and m and int(m[1]) == p.pid and 50 <= int(m[2]) <= 95,
       "the first sentence is the answer: the function, its share, the state", (text, r.stderr))
    ok(re.search(r"sleep +train.py:\d+ rest", text) and "SHARE" in text and "the sampler took" in text,
       "then a row for each function and state, and what it cost", text)
    r = aon(place, "attach", p.pid, "--seconds", 4, "--hz", 99, "--json", "-o", lines)
    said = json.loads(r.stdout)
    wrong = aonschema.check(said)
    one = said["sampled"]["threads"][0]
    own = sum(x["share"] for x in one["rows"] if x["code"] and x["code"]["function"].endswith("load_item"))
    slept = next((x["share"] for x in one["states"] if x["state"] == "sleep"), 0)
    ok(not wrong and one["enough"] and one["thread"] == p.pid and own > 0.5 and 0.05 < slept < 0.45,
       "as JSON, by its schema", (wrong[:3], one["rows"][:3], one["states"]))
    ok(abs(sum(x["share"] for x in one["rows"]) - 1) < 0.01 and all(0 < x["error"] < 0.2 for x in one["rows"]),
       "shares add up, and each has an error")
    ok(any(re.match(rf"{p.pid};.*load_item \(train.py:\d+\)", x) for x in lines.read_text().splitlines()) and
       any(x.split(" ")[-1].isdigit() and ";[sleep] " in x for x in lines.read_text().splitlines()),
       "collapsed stacks: the state stands on top", lines.read_text()[:500])
    if shutil.which("go"):
        for index, unit in (("time", "m?s"), ("samples", "")):
            r = subprocess.run(["go", "tool", "pprof", f"-sample_index={index}", "-top", pb], capture_output=True, text=True)
            ok(r.returncode == 0 and re.search(rf"\d{unit} .*load_item", r.stdout), f"go tool pprof -top: {index}", (r.stdout, r.stderr))
        r = subprocess.run(["go", "tool", "pprof", "-tags", pb], capture_output=True, text=True)
        ok("state:" in r.stdout and "thread:" in r.stdout and "sleep" in r.stdout, "and has thread and state as labels", r)
    else:
        skip("go tool pprof", "no go")
    aon(place, "attach", p.pid, "--seconds", 2, "-o", otlp)
    open_otlp(otlp)
    end(p)


def open_otlp(path):
    if not (OTLP / "opentelemetry").is_dir():
        return skip("OTLP is read by OpenTelemetry", "opentelemetry-proto is not in the cache: tools/setup check")
    sys.path.insert(0, str(OTLP))
    from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
    d = ProfilesData.FromString(path.read_bytes())
    k = d.dictionary
    count, took = d.resource_profiles[0].scope_profiles[0].profiles
    text = [k.string_table[t.type_strindex] for t in (count.sample_type, took.sample_type)]
    s = max(took.samples, key=lambda x: x.values[0])
    names = [k.string_table[k.function_table[k.location_table[i].lines[0].function_index].name_strindex]
             for i in k.stack_table[s.stack_index].location_indices]
    attr = {k.string_table[k.attribute_table[i].key_strindex]: k.attribute_table[i].value.string_value for i in s.attribute_indices}
    ok(text == ["samples", "time"] and any("load_item" in n or "rest" in n for n in names) and
       set(attr) == {"thread.name", "thread.state"}, "OpenTelemetry reads it: names, values, attributes", (text, names, attr))
    ok(not k.string_table[0] and not k.location_table[0].lines and not k.stack_table[0].location_indices and
       sum(x.values[0] for x in count.samples) >= 20, "the first entry of each table is empty")


def live(place):
    p = start(place)
    t = Terminal([find("aon"), "attach", str(p.pid)], 100, 30, env_for(place), place.path)
    ok(t.until(b"load_item") and t.until(b"q: end and report"), "on a terminal: a live list", t.out[-800:])
    time.sleep(2)
    t.send(b"q")
    status = t.end()
    ok(status == 0 and b"spends" in t.out.split(b"\x1b[?1049l")[-1], "q ends it, and the report stays", (status, t.out[-800:]))
    t = Terminal([find("aon"), "attach", str(p.pid)], 100, 30, env_for(place), place.path)
    t.until(b"load_item")
    t.send(b"\x03")
    status = t.end()
    ok(status == 0 and b"\x1b[?1049l" in t.out and p.poll() is None, "so does Ctrl-C, and the program runs on", status)
    end(p)
    p = start(place)
    t = subprocess.Popen([find("aon"), "attach", str(p.pid), "--seconds", "30"], stdout=subprocess.PIPE, env=env_for(place))
    time.sleep(2)
    end(p)
    out = t.communicate(timeout=20)[0].decode()
    ok(t.returncode == 0 and "spends" in out and "it ended" in out, "a program that ends meanwhile is reported", out)


def refused(place):
    r = aon(place, "attach", 999999999)
    ok(r.returncode == 1 and b"no such process" in r.stderr, "nobody there: exit 1", r)
    for args in (("1", "-o", "x.json"), ("1", "--hz", "0"), ("1", "--seconds", "x"), ("x",), ()):
        ok(aon(place, "attach", *args).returncode == 2, f"misuse: attach {' '.join(args)}")
    if os.geteuid():
        return skip("another user's process", "only root can become somebody else")
    p = start(place)
    r = subprocess.run([find("aon"), "attach", str(p.pid), "--seconds", "1"], capture_output=True, text=True, env=env_for(place),
                       user=65534, group=65534, extra_groups=[], cwd="/")
    ok(r.returncode == 1 and "belongs to user 0" in r.stdout, "another user's: exit 1, and who may", (r.stdout, r.stderr))
    end(p)
    return None


def strange(place):
    """What a process calls its files and functions does not reach the terminal as it is."""
    lib = place.path / "libaon-\x1b[31m.so"
    lib.write_bytes(b"x" * 4096)
    code = "import mmap, sys, time\nf = open(sys.argv[1])\nm = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\nprint(1, flush=True)\n" \
           "f = (lambda: time.sleep(1e6))\nf.__code__ = f.__code__.replace(co_name='\\x1b[31mred')\nf()"
    p = subprocess.Popen([os.path.realpath(sys.executable), "-c", code, str(lib)], stdout=subprocess.PIPE)
    p.stdout.readline()
    r = aon(place, "attach", p.pid, "--seconds", 2)
    ok(r.returncode == 0 and b"31mred" in r.stdout and b"\x1b" not in r.stdout, "escapes in names are not printed", r.stdout)
    end(p)


def stored(place):
    """The store that tests/unit/query/test_where.c makes: 40 % in a loader's code, 30 % each in the loop and behind the GIL."""
    db = place.path / "where.db"
    subprocess.run([BUILD / "tests" / "unit" / "test_where", str(db)], check=True)
    r = aon(place, "report", db, "--by", "stack")
    text = r.stdout.decode()
    ok(r.returncode == 0 and "Thread 4711 spends 40 % (±2) in __getitem__ (dataset.py:42), running." in text.splitlines()[1],
       "aon report --by stack: the sentence", (text, r.stderr))
    ok("While its GPU is idle, 70 %" in text and "dataset.py:42 __getitem__ in PIL.Image.resize" in text and
       "held by worker.py:5 unpack in pickle_loads" in text, "gaps, the library's function, who held the GIL", text)
    text = aon(place, "report", db, "--by", "stack", "--gap", "--part", "rest").stdout.decode()
    ok("100 % (±0.4) in log (train.py:30)" in text and "__getitem__" not in text, "--gap and --part choose", text)
    text = aon(place, "report", db, "--by", "stack", "--part", "forward").stdout.decode()
    ok("There are no samples of that." in text, "a part without samples says so", text)
    said = json.loads(aon(place, "report", db, "--by", "stack", "--json").stdout)
    ok(not aonschema.check(said) and said["processes"][0]["samples"] == 600 and
       [x["cause"] for x in said["processes"][0]["gaps"]] == ["input", "host"], "as JSON, by its schema", aonschema.check(said)[:3])
    ok(aon(place, "report", db, "--gap").returncode == 2 and aon(place, "report", db, "--by", "stack", "--rank", 3).returncode == 1,
       "--gap alone is misuse, a rank that is not there a failure")
    why = json.loads(aon(place, "why", db, "--json").stdout)
    cpu = next((f for f in why["findings"] if f["family"] == "host_code"), {"seen": [], "evidence": {}})
    ok(any("180 samples in these gaps: in log (train.py:30), running" in s for s in cpu["seen"]) and
       cpu["evidence"].get("samples") == 180 and "log (train.py:30)" in cpu["action"], "aon why names the code", cpu)
    top = json.loads(aon(place, "top", "--store", db, "--once", "--all", "--json").stdout)
    ok(top["processes"][0]["code"]["samples"] > 30, "aon top has where the thread was last", top["processes"][0])
    empty = place.path / "none.db"
    subprocess.run([find("cli_fixture"), str(empty)], check=True)
    r = aon(place, "report", empty, "--by", "stack")
    ok(r.returncode == 3 and b"holds no samples" in r.stderr, "a store without samples says so: exit 3", r)


def rolled(place):
    """The stores that tests/unit/data/test_rolled.c makes, with all their samples and with a part of them overwritten: windows have those."""
    said, tree = [], []
    for gone in (0, 5, 13):
        db = place.path / f"rolled{gone}.db"
        subprocess.run([BUILD / "tests" / "unit" / "test_rolled", str(db), str(gone)], check=True)
        n = aon(place, "sql", "--json", "select count(*) n from sample", db).stdout
        left = json.loads(n)["rows"][0][0]
        ok((left == 0) == (gone == 13) and (left < 1164) == (gone > 0), f"{left} samples are not overwritten")
        report = json.loads(aon(place, "report", db, "--by", "stack", "--all", "--json").stdout)
        said.append([(s["state"], s["samples"], round(s["share"], 6)) for p in report["processes"] for s in p["states"]])
        with Server(place, db) as s:
            a = s.get(f"run/{s.run()}/stacks?weight=samples")
            tree.append((a["samples"], sorted((a["names"][i], n[2], n[3]) for i, n in enumerate(a["nodes"]))))
    ok(said[0] and said[0] == said[1] == said[2], "the report counts them from windows as from events", said)
    ok(tree[0][0] == 1164 and tree[0] == tree[1] == tree[2], "and so does the flame graph", tree)


try:
    find("aon-sample")
except FileNotFoundError:
    skip_all("aon-sample was not built")
with Place() as here:
    stored(here)
    rolled(here)
    refused(here)
    strange(here)
    named(here)
    live(here)
done()
