#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""aon export, read back by others: every GPU event of a trace is in every format, once, with its
times; Kineto -> aon -> Kineto loses none; HTA, TensorBoard's plugin, Perfetto's protos and pprof
take the files and count the same."""
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
from decimal import Decimal

from aontest import LONG, SANITIZED, Place, data, done, find, ok, skip
from clitest import aon, env_for

DATA = data() or pathlib.Path("/nonexistent")
READERS = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon/export"
WORK = {"kernel": "kernel", "Kernel": "kernel", "gpu_memcpy": "copy", "Memcpy": "copy",
        "gpu_memset": "memset", "Memset": "memset"}
FORMATS = {"perfetto": "t.pftrace", "kineto": "t.json", "pprof": "t.pb.gz",
           "collapsed": "t.collapsed", "csv": "t.csv"}


def row(cat, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": args}


def hand_made():
    """Every kind, and what is hard: overlaps, names with anything in them, no launch, no rank."""
    odd = 'k;"q",\n\x1b[31m<b>é世\ud800'
    rows = [
        {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "ts": 0, "args": {"name": "py;thon"}},
        row("user_annotation", "ProfilerStep#3", 77, 77, 1000, 900.5),
        row("cpu_op", "aten::mm", 77, 77, 1010.001, 100, **{"External id": 5}),
        row("cpu_op", "aten::inner", 77, 77, 1020, 50, **{"Sequence number": 31, "Fwd thread id": 0}),
        row("cpu_op", "InnerBackward0", 77, 77, 1600, 5, **{"Sequence number": 31, "Fwd thread id": 1}),
        row("cuda_runtime", "cudaLaunchKernel", 77, 77, 1030, 5, correlation=9),
        row("cuda_runtime", "cudaMemcpyAsync", 77, 77, 1200, 5, correlation=10),
        row("cuda_runtime", "cudaDeviceSynchronize", 77, 77, 1300, 50),
        row("python_function", "train.py(3): f", 77, 77, 1400, 10),
        row("kernel", odd, 0, 7, 1050.5, 40.123, correlation=9, device=0, stream=7, grid=[2, 3, 4],
            block=[32, 1, 1], **{"registers per thread": 24, "shared memory": 1024, "External id": 5}),
        row("kernel", "overlaps", 0, 7, 1060, 100, correlation=9, device=0, stream=7, grid=[1, 1, 1],
            block=[1, 1, 1]),
        row("kernel", "never launched", 0, 13, 1070, 7, correlation=999, device=0, stream=13),
        row("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, 1210, 20, correlation=10, device=0,
            stream=7, bytes=4096),
        row("gpu_memset", "Memset (Device)", 1, 7, 1240, 1.001, correlation=11, device=1, stream=7,
            bytes=64),
        row("kernel", "n" * 2000, 0, 13, 1100, 3, correlation=12, device=0, stream=13, dtype="Float", **{
            "Collective name": "c" * 4000, "Process Group Name": "g" * 4000, "Group size": 8,
            "In msg nelems": 6, "Out msg nelems": 7, "Seq": 41}),
        row("gpu_user_annotation", "drawn", 0, 7, 1050, 200),
        {"ph": "C", "name": "loss", "pid": 77, "tid": 77, "ts": 1500, "args": {"value": -2.5}},
        {"ph": "C", "name": "left", "pid": 77, "tid": 77, "ts": 1501, "args": {"value": -3}},
        {"ph": "i", "name": "now", "pid": 77, "tid": 77, "ts": 1502, "s": "t"},
        {"ph": "i", "name": "[memory]", "pid": 77, "tid": 77, "ts": 1503, "s": "t", "args": {
            "Device Type": 1, "Device Id": 0, "Addr": 12345, "Bytes": -512, "Total Allocated": 99}},
    ]
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100", "numSms": 108,
            "totalGlobalMem": 40 << 30}], "distributedInfo": {"rank": 2, "world_size": 4},
            "traceEvents": rows}


# --- readers that know nothing of aon ---

def ns(v):
    return int(Decimal(str(v)) * 1000)


def kineto(path):
    """The GPU work of a Kineto file as sorted tuples, times in ns."""
    raw = open(path, "rb").read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    doc = json.loads(raw.decode("utf-8", "surrogateescape"), parse_float=str, strict=False)
    rows = doc["traceEvents"] if isinstance(doc, dict) else doc
    out = []
    for r in rows:
        if r.get("ph") == "X" and r.get("cat") in WORK:
            a = r.get("args", {})
            # A copy's or memset's size has three names; a kernel's geometry is its own.
            size = a.get("bytes", a.get("Bytes", a.get("size", 0))) if WORK[r["cat"]] != "kernel" else 0
            name = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in r["name"])
            out.append((WORK[r["cat"]], name, ns(r["ts"]), max(0, ns(r.get("dur", 0))),
                        int(a.get("device", r["pid"])), int(a.get("correlation", 0)),
                        str(a.get("grid") or [0, 0, 0]), int(size or 0)))
    return sorted(out), doc


def varints(buf, at=0):
    while at < len(buf):
        v = shift = 0
        while True:
            b = buf[at]
            at += 1
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                break
        yield v, at


def fields(buf):
    """(field, value) of a protobuf message: numbers, or bytes."""
    at = 0
    while at < len(buf):
        key, at = next(varints(buf, at))
        kind = key & 7
        if kind == 0:
            v, at = next(varints(buf, at))
        elif kind == 1:
            v, at = struct.unpack_from("<Q", buf, at)[0], at + 8
        elif kind == 2:
            n, at = next(varints(buf, at))
            v, at = buf[at:at + n], at + n
            assert len(v) == n
        else:
            raise ValueError(f"wire type {kind}")
        yield key >> 3, v


class Perfetto:
    """Slices (category, name, start, duration), counters, flows: ends are matched to begins."""

    def __init__(self, path):
        self.slices, self.instants, self.counters, self.flows = [], [], [], collections.Counter()
        self.tracks, self.machines, self.bad, self.notes = {}, set(), [], []
        names, cats, keys, open_ = {}, {}, {}, {}
        for f, packet in fields(open(path, "rb").read()):
            p = dict(fields(packet))
            seq = p.get(10)
            self.machines.add(p.get(98, 0))
            if 12 in p:
                for field, entry in fields(p[12]):
                    e = dict(fields(entry))
                    {1: cats, 2: names, 3: keys}[field][seq, e[1]] = e[2].decode()
            if 60 in p:
                d = dict(fields(p[60]))
                self.tracks[d[1]] = d
            if 11 in p:
                self.event(p, seq, names, cats, keys, open_)
        self.bad += [("open", k) for k, v in open_.items() if v]
        self.bad += [("parent", d) for d in self.tracks.values() if 5 in d and d[5] not in self.tracks]

    def event(self, p, seq, names, cats, keys, open_):
        e, track = {}, None
        notes = {}
        for f, v in fields(p[11]):
            if f == 4:
                a = dict(fields(v))
                notes[keys[seq, a[1]]] = a.get(3, a.get(6, b"") if 3 not in a else 0)
            elif f == 47:
                self.flows[v] += 1
            else:
                e[f] = v
        track = e[11]
        if track not in self.tracks:
            self.bad.append(("track", track))
        name = names.get((seq, e.get(10)), e.get(23, b"").decode())
        what = (cats.get((seq, e.get(3))), name)
        if e[9] == 1:
            open_.setdefault(track, []).append((what, p[8], notes))
        elif e[9] == 2:
            if not open_.get(track):
                self.bad.append(("end", track))
                return
            what, start, notes = open_[track].pop()
            self.slices.append((*what, start, p[8] - start))
            self.notes.append((*what, notes))
        elif e[9] == 3:
            self.instants.append(what)
        elif e[9] == 4:
            v = struct.unpack("<d", struct.pack("<Q", e[44]))[0] if 44 in e else \
                struct.unpack("<q", struct.pack("<Q", e[30]))[0]
            self.counters.append((self.tracks[track][2].decode(), v))


def pprof(path):
    """(total of the first value, of the second, stacks as tuples of names, root last)."""
    buf = gzip.open(path).read()
    strings, functions, lines, samples = [], {}, {}, []
    for f, v in fields(buf):
        if f == 6:
            strings.append(v.decode())
        elif f == 5:
            m = dict(fields(v))
            functions[m[1]] = m[2]
        elif f == 4:
            m = dict(fields(v))
            lines[m[1]] = dict(fields(m[4]))[1]
        elif f == 2:
            m = dict(fields(v))
            samples.append(([i for i, _ in varints(m[1])], [i for i, _ in varints(m[2])]))
    stacks = {tuple(strings[functions[lines[i]]] for i in ids): v for ids, v in samples}
    return sum(v[0] for v in stacks.values()), sum(v[1] for v in stacks.values()), stacks


# --- tests ---

def export(place, *args, want=0, text=None, **kw):
    r = aon(place, "export", *args, **kw)
    ok(r.returncode == want, text or f"export {' '.join(str(a) for a in args[-2:])}", r)
    return r


def every_format(place, source, text):
    """All formats of one trace agree with its JSON, and with each other."""
    work, doc = kineto(source)
    paths = {f: place.path / name for f, name in FORMATS.items()}
    said = {}
    for f, path in paths.items():
        r = export(place, source, "-o", path, "--json", text=f"{text}: {f}")
        said[f] = json.loads(r.stdout)["files"][0] if r.returncode == 0 else {}
    total = sum(w[3] for w in work)
    ok({s.get("gpu_events") for s in said.values()} == {len(work)}, f"{text}: GPU events in all formats",
       said)
    again, _ = kineto(paths["kineto"])
    ok(again == work, f"{text}: Kineto again, field by field",
       (list(set(work) - set(again))[:2], list(set(again) - set(work))[:2]))
    p = Perfetto(paths["perfetto"])
    slices = sorted((c, n, s, d) for c, n, s, d in p.slices if c in ("kernel", "copy", "memset"))
    ok(slices == sorted(w[:4] for w in work) and not p.bad, f"{text}: Perfetto's slices",
       (p.bad[:3], len(slices), len(work)))
    rows = list(csv.DictReader(io.StringIO(paths["csv"].read_text())))
    got = sorted((r["kind"], r["name"], int(r["start_ns"]), int(r["dur_ns"])) for r in rows
                 if r["kind"] in ("kernel", "copy", "memset"))
    ok(got == sorted(w[:4] for w in work) and len(rows) == said["csv"]["events"], f"{text}: CSV's rows",
       (len(got), len(rows)))
    ns_, count, stacks = pprof(paths["pprof"])
    ok((ns_, count) == (total, len(work)), f"{text}: pprof's time and count", (ns_, total, count))
    lines = paths["collapsed"].read_text().splitlines()
    ok(sum(int(line.rsplit(" ", 1)[1]) for line in lines) == total and len(lines) == len(stacks),
       f"{text}: collapsed stacks' time", len(lines))
    return p, stacks, doc


def by_hand(place):
    source = place.path / "hand.json"
    source.write_text(json.dumps(hand_made()))
    p, stacks, _ = every_format(place, source, "by hand")
    ok(p.counters == [("loss", -2.5), ("left", -3), ("[memory] allocated", 99)] or
       sorted(p.counters) == sorted([("loss", -2.5), ("left", -3), ("[memory] allocated", 99)]),
       "counters, below 0 and fractions, too", p.counters)
    ok(sorted(p.instants) == [("alloc", "[memory]"), ("mark", "now")], "moments", p.instants)
    ok(("step", "ProfilerStep#3", 1000000, 900500) in p.slices, "steps", p.slices[:5])
    notes = {n: a for _, n, a in p.notes}
    odd = [a for n, a in notes.items() if n.startswith("k;")]
    ok(odd and odd[0]["grid"] == b"2 x 3 x 4" and odd[0]["registers per thread"] == 24 and
       odd[0]["correlation"] == 9, "a kernel's launch is in its annotations", odd)
    comm = notes["n" * 2000]
    ok(comm["collective"] == b"c" * 4000 and comm["bytes in"] == 24 and comm["group size"] == 8,
       "and what a collective is", comm.keys())
    ok(sorted(p.flows.values()) == [2, 3], "flows from a call to all that it launched", p.flows)
    names = {d[2].decode() for d in p.tracks.values() if 2 in d}
    ok({"GPU 0 NVIDIA A100", "stream 7", "steps"} <= names, "tracks have names", names)
    tops = {s[0][:2]: s for s in stacks}
    ok(("overlaps", "aten::inner", "aten::mm") in stacks and
       ("never launched", "(launch not seen)") in stacks, "stacks are the ranges around the launch",
       tops)
    again = json.loads((place.path / "t.json").read_text())
    kinds = collections.Counter((r["ph"], r.get("cat")) for r in again["traceEvents"])
    ok(again["distributedInfo"]["rank"] == 2 and kinds["s", "ac2g"] == 2 and kinds["f", "ac2g"] == 3 and
       kinds["C", None] == 2 and again["deviceProperties"][0]["numSms"] == 108,
       "Kineto: rank, device, arrows, counters", kinds)
    comm = [r["args"] for r in again["traceEvents"] if r["name"] == "n" * 2000][0]
    ok((comm["Collective name"], comm["In msg nelems"], comm["Out msg nelems"], comm["Seq"], comm["dtype"]) ==
       ("c" * 4000, 6, 7, 41, "Float"), "Kineto: collectives", comm)
    memory = [r["args"] for r in again["traceEvents"] if r["name"] == "[memory]"]
    ok(memory == [{"Device Type": 1, "Device Id": 0, "Addr": 12345, "Bytes": -512, "Total Allocated": 99}],
       "Kineto: memory", memory)
    second = place.path / "second.json"
    export(place, place.path / "t.json", "-o", second, text="what was exported can be imported")
    ok(second.read_bytes() == (place.path / "t.json").read_bytes(), "and exports to the same bytes")


def ways(place):
    """Where the bytes go: a file, a pipe, a folder, a terminal; and what is refused."""
    source = place.path / "hand.json"
    r = export(place, source, "-f", "csv", text="to a pipe")
    ok(r.stdout == (place.path / "t.csv").read_bytes() and not r.stderr, "the same bytes to a pipe", r)
    packed = place.path / "t2.json.gz"
    export(place, source, "-o", packed)
    ok(gzip.decompress(packed.read_bytes()) == (place.path / "t.json").read_bytes(), "gz by its ending")
    pipe = place.path / "pipe.csv"
    os.mkfifo(pipe)
    with open(os.open(pipe, os.O_RDWR), "rb", buffering=0) as f:  # a writer that stays: nothing waits
        export(place, source, "-f", "csv", "-o", pipe)
        got = os.read(f.fileno(), 1 << 16)
    ok(pipe.is_fifo() and got == (place.path / "t.csv").read_bytes(), "a pipe or a device is written to, and not replaced", got[:80])
    other = hand_made()
    other["distributedInfo"]["rank"] = 3
    (place.path / "other.json").write_text(json.dumps(other))
    both = (source, place.path / "other.json")
    export(place, *both, "-f", "kineto", "-o", f"{place.path}/ranks/", text="two ranks to a folder")
    ok(sorted(os.listdir(place.path / "ranks")) == ["rank-2.json", "rank-3.json"] and
       (place.path / "ranks/rank-2.json").read_bytes() == (place.path / "t.json").read_bytes(),
       "a file for each rank", os.listdir(place.path / "ranks"))
    export(place, *both, "-o", place.path / "x.json", want=2, text="two ranks to one Kineto file: refused")
    export(place, *both, "-o", place.path / "two.pftrace", text="two ranks to one Perfetto file")
    p = Perfetto(place.path / "two.pftrace")
    ok(p.machines == {1, 2} and not p.bad and sum(c == "kernel" for c, *_ in p.slices) == 8,
       "two machines", p.machines)
    export(place, *both, "-o", place.path / "two.collapsed", text="two ranks to collapsed stacks")
    roots = {line.split(";")[0] for line in (place.path / "two.collapsed").read_text().splitlines()}
    ok(roots == {"rank 2", "rank 3"}, "the lowest frame is the rank", roots)
    for args, text in (((source,), "no format"), ((source, "-o", "x.tiff"), "an unknown ending"),
                       ((source, "-f", "tiff"), "an unknown format"),
                       ((source, "-f", "csv", "--json"), "--json without a file")):
        export(place, *args, want=2, text=f"{text}: misuse")
    export(place, place.path / "nothing.json", "-f", "csv", want=1, text="no such file")
    (place.path / "cut.json").write_bytes(source.read_bytes()[:1500])
    r = export(place, place.path / "cut.json", "-o", place.path / "cut.csv", want=1, text="a cut file")
    ok(b"damaged" in r.stderr and (place.path / "cut.csv").stat().st_size > 200,
       "says so, and exports what is whole", r)
    r = subprocess.run([find("aon"), "export", source, "-f", "csv"], env=env_for(place),
                       stdout=open("/dev/full", "wb"), stderr=subprocess.PIPE)
    ok(r.returncode == 1 and b"No space left" in r.stderr, "a full disk", r)
    missing = place.path / "no/such/t.csv"
    export(place, source, "-o", missing, want=1, text="a folder that is not there")
    ok(not [f for f in os.listdir(place.path) if f.endswith(".part")], "nothing is left half done")


def told(path):
    """What a reader joins by: steps, sequence numbers, correlation ids, each with its times in ns."""
    out = collections.Counter()
    for r in json.loads(path.read_text(), parse_float=str)["traceEvents"]:
        a = r.get("args", {})
        if r["ph"] != "X":
            continue
        when = (ns(r["ts"]), ns(r["dur"]))
        if r["name"].startswith("ProfilerStep#"):
            out["step", r["name"], *when] += 1
        for key in ("Seq", "Sequence number", "Fwd thread id", "correlation"):
            if a.get(key):
                out[key, a[key], a.get("Process Group Name", "")[:100], *when] += 1  # a store cuts names
    return out


def round_trip(place):
    """A store that no trace was imported into: what joins its rows is in the file, and comes back."""
    db = place.path / "job.db"
    aon(place, "sim", "--layout", "dp=2", "--steps", "5", "-o", db)
    export(place, db, "-f", "kineto", "-o", f"{place.path}/once/", text="a simulated store as Kineto")
    export(place, f"{place.path}/once/", "-f", "kineto", "-o", f"{place.path}/twice/", text="and again")
    steps = json.loads(aon(place, "report", "--json", db).stdout)["steps"]
    for rank in (0, 1):
        once, twice = (told(place.path / d / f"rank-{rank}.json") for d in ("once", "twice"))
        want = {("step", f"ProfilerStep#{s['step']}", s["start_ns"], s["dur_ns"]) for s in steps if s.get("rank", rank) == rank}
        got = {k for k in once if k[0] == "step"}
        ok(got == want and len(got) == 5, f"rank {rank}: its steps, to the nanosecond", (sorted(got)[:2], sorted(want)[:2]))
        kinds = collections.Counter(k[0] for k in once)
        ok(once == twice and kinds["Seq"] > 5 and kinds["correlation"] > 50, f"rank {rank}: and all that joins its rows", kinds)
    hand, via = place.path / "hand.json", place.path / "hand.db"
    aon(place, "import", hand, "-o", via)
    export(place, via, "-o", place.path / "via.json")
    a, b = told(hand), told(place.path / "via.json")
    ok(a == b and sum(k[0] == "Sequence number" for k in a) == 2, "operators keep their sequence numbers in a store", (a - b, b - a))


def stores(place):
    """From a program's own store, and through one."""
    db = place.path / "own.db"
    aon(place, "run", "--no-report", "-o", db, "--", find("nccl_app"), "6", "ops", "3")
    export(place, db, "-o", place.path / "own.pftrace", text="a program's own store")
    p = Perfetto(place.path / "own.pftrace")
    got = [n for c, n in p.instants if c == "collective"] + [n for c, n, *_ in p.slices if c == "collective"]
    ok(len(got) == 21 and not p.bad, "its collectives", got)
    imported = place.path / "imported.db"
    r = aon(place, "import", place.path / "hand.json", "-o", imported)
    export(place, imported, "-o", place.path / "through.json", text="a store of an imported trace")
    a, b = kineto(place.path / "through.json")[0], kineto(place.path / "hand.json")[0]
    ok(r.returncode == 0 and a == b, "Kineto -> store -> Kineto, by hand", (a, b))


def traces():
    """Real ones: the small ones and a large one of each kind; all with AON_LONG."""
    found = [p for d in ("kineto", "param/dlrm_kineto", "tracelens/traces") if (DATA / d).is_dir()
             for p in sorted((DATA / d).rglob("*.json*"))
             if "execution_trace/benchmark_simple_add_et" not in str(p) and "mtia" not in str(p)]
    large = ("nccl_data.json.gz", "test.json.gz", "Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz")
    return [p for p in found if LONG or p.stat().st_size < 60 << 10 or
            (not SANITIZED and p.name in large)]


def real(place):
    found = traces()
    if not found:
        skip("real traces", "no recorded traces beside the source tree")
        return
    total, bad, seen = 0, [], 0
    for i, path in enumerate(found):
        work, doc = kineto(path)
        if not isinstance(doc, dict) or "traceEvents" not in doc:
            continue
        via = path
        if i % 4 == 0:  # one in four through a store
            via = place.path / "real.db"
            for f in place.path.glob("real.db*"):
                f.unlink()
            aon(place, "import", path, "-o", via)
        r = aon(place, "export", via, "-o", place.path / "real.json")
        again = kineto(place.path / "real.json")[0] if r.returncode == 0 else None
        key = lambda w: (w[0], w[1][:1000], *w[2:6])  # a store cuts names
        if again is None or sorted(map(key, again)) != sorted(map(key, work)):
            bad.append((path.name, r.stderr[-200:], len(work), len(again or []),
                        list(set(map(key, work)) - set(map(key, again or [])))[:2],
                        list(set(map(key, again or [])) - set(map(key, work)))[:2]))
        total += len(work)
        seen += 1
    ok(seen and not bad, f"Kineto -> aon -> Kineto loses no GPU event: {total} of {seen} real traces", bad)
    for name in ("nccl_data.json.gz", "event_sync_trace.json.gz", "step_based_trace_2543932.json.gz"):
        path = next((p for p in found if p.name == name), None)
        if path:
            every_format(place, path, name)


HTA = """
import json, sys, warnings
warnings.simplefilter("ignore")
from hta.trace_analysis import TraceAnalysis
out = []
for d in sys.argv[1:]:
    a = TraceAnalysis(trace_dir=d)
    rows = {r: a.t.get_trace(r) for r in sorted(a.t.get_all_traces())} if hasattr(a.t, "get_all_traces") else dict(a.t.traces)
    out.append({"gpu": {int(r): int((df.stream >= 0).sum()) for r, df in rows.items()},
                "linked": {int(r): int((df[df.stream >= 0].index_correlation > 0).sum()) for r, df in rows.items()},
                "breakdown": a.get_temporal_breakdown(visualize=False).to_dict("records")})
print("RESULT" + json.dumps(out))
"""
TENSORBOARD = """
import json, sys, warnings
warnings.simplefilter("ignore")
if __name__ == "__main__":
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.io.cache import Cache
    out = []
    for f in sys.argv[1:]:
        d = RunProfileData.parse("worker", "span", f, Cache())
        d.process()
        out.append({"steps": d.steps_names, "costs": d.avg_costs.costs, "gpus": sorted(d.gpu_metrics_parser.gpu_ids),
                    "kernels": sum(str(getattr(e, "type", "")) == "Kernel" for e in d.events)})
    print("RESULT" + json.dumps(out))
"""
PROTOS = """
import json, sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
t = Trace()
t.ParseFromString(open(sys.argv[1], "rb").read())
print("RESULT" + json.dumps([sum(p.track_event.type == k for p in t.packet if p.HasField("track_event"))
                             for k in (1, 2, 3, 4)]))
"""


def reader(place, program, *args):
    script = place.path / "reader.py"
    script.write_text(program)
    r = subprocess.run([sys.executable, script, *map(str, args)], capture_output=True, text=True,
                       env={**os.environ, "PYTHONPATH": str(READERS)}, cwd=place.path, timeout=200)
    line = next((x for x in r.stdout.splitlines() if x.startswith("RESULT")), None)
    return json.loads(line[6:]) if line else r.stdout[-500:] + r.stderr[-1500:]


def others(place):
    """The tools themselves: their own reading of the source and of our export is the same."""
    source = DATA / "kineto/hta/nccl_parser_config/nccl_data.json.gz"
    if SANITIZED or not source.exists():
        skip("other tools", "a sanitizer, or no real traces")
        return
    pb = place.path / "n.pb.gz"
    export(place, source, "-o", pb)
    if shutil.which("go"):
        r = subprocess.run(["go", "tool", "pprof", "-raw", pb], capture_output=True, text=True)
        total = sum(int(x) for x in re.findall(r"^\s+(\d+)\s+\d+:", r.stdout, re.M))
        ok(r.returncode == 0 and total == pprof(pb)[0], "go tool pprof: the same time", (total, r.stderr))
    else:
        skip("go tool pprof", "no go")
    if not (READERS / "hta").is_dir():
        skip("HTA, TensorBoard, Perfetto's protos", "not here: tools/setup check gets them from PyPI")
        return
    for d in ("theirs", "ours"):
        (place.path / d).mkdir()
    shutil.copy(source, place.path / "theirs/rank-0.json.gz")
    export(place, source, "-o", place.path / "ours/rank-0.json.gz")
    export(place, DATA / "param/dlrm_kineto", "-f", "kineto", "-o", f"{place.path}/dlrm/")
    shutil.copytree(DATA / "param/dlrm_kineto", place.path / "dlrm_theirs")
    got = reader(place, HTA, "theirs", "ours")
    ok(isinstance(got, list) and got[0] == got[1] and got[1]["gpu"]["0"] > 2000,
       "HTA: the same GPU events, links and breakdown", got)
    got = reader(place, HTA, "dlrm_theirs", "dlrm")
    ok(isinstance(got, list) and got[0] == got[1] and len(got[1]["gpu"]) == 8, "HTA: eight ranks", got)
    got = reader(place, TENSORBOARD, place.path / "theirs/rank-0.json.gz", place.path / "ours/rank-0.json.gz")
    ok(isinstance(got, list) and got[0] == got[1] and got[1]["kernels"], "TensorBoard: the same", got)
    path = place.path / "n.pftrace"
    export(place, source, "-o", path)
    p = Perfetto(path)
    got = reader(place, PROTOS, path)
    ok(got == [len(p.slices), len(p.slices), len(p.instants), len(p.counters)],
       "Perfetto's own protos: the same events", got)


with Place() as place_:
    by_hand(place_)
    ways(place_)
    stores(place_)
    round_trip(place_)
    real(place_)
    others(place_)
done()
