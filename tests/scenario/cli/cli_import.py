#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon import as a person meets it: files, folders, pipes, damage, names that are hostile."""
import gzip
import json
import signal
import sqlite3
import subprocess

from aontest import Place, done, find, ok
from clitest import Terminal, aon, env_for, state

HOSTILE = "\x1b[2J\x1b]0;pwn\x07<script>\u202e gemm"


def span(cat, name, ts, dur, pid=7, tid=7, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def rows(n=50):
    out = [span("user_annotation", "ProfilerStep#3", 0.5, 100000, **{"External id": 1})]
    for i in range(1, n):
        t = i * 100
        out += [span("cpu_op", "aten::mm", t, 90, **{"External id": i}),
                span("cuda_runtime", "cudaLaunchKernel", t + 10, 5.25, correlation=i, **{"External id": i}),
                span("kernel", HOSTILE, t + 40, 50.125, 0, 7, device=0, stream=7, correlation=i,
                     grid=[i, 1, 1], block=[32, 1, 1])]
    return out


def trace(path, events=None, rank=None, **more):
    doc = {"traceEvents": rows() if events is None else events, **more}
    if rank is not None:
        doc["distributedInfo"] = {"rank": rank, "world_size": 4}
    text = json.dumps(doc)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def dump(*args):
    r = subprocess.run([find("trace_dump"), *map(str, args)], capture_output=True, text=True)
    return r.returncode, json.loads(r.stdout) if r.stdout.startswith("{") else r.stdout, r.stderr


def events(path):
    r = subprocess.run([find("trace_dump"), "-e", str(path)], capture_output=True, text=True, check=True)
    return [line.split(" ", 9) for line in r.stdout.splitlines()]


def plain(place):
    t = trace(place.path / "job.pt.trace.json", rank=2)
    before = t.read_bytes()
    r = aon(place, "import", t)
    out = r.stdout.decode()
    ok(r.returncode == 0 and "148" in out and "aon report aon-job.db" in out and not r.stderr,
       "what was read is said in numbers, with the next command", f"{r.returncode} {out} {r.stderr}")
    ok((place.path / "aon-job.db").exists() and t.read_bytes() == before, "the trace is only read")
    r = aon(place, "import", t)
    ok(r.returncode == 1 and b"exists" in r.stderr and r.stderr.count(b"\n") == 1,
       "a store that is there is not written over", r.stderr)
    r = aon(place, "import", "--json", t, "-o", "j.db")
    d = json.loads(r.stdout)
    f = d["files"][0]
    ok(r.returncode == 0 and d["schema"] == "aon.import/1" and f["rank"] == 2 and f["events"] == 148
       and f["imported"] == 148 and f["lost"] == 0, "as JSON, too", r.stdout)
    code, a, _ = dump(place.path / "j.db")
    _, b, _ = dump(t)
    ok(code == 0 and a["files"] == b["files"] and a["kinds"] == b["kinds"],
       "a store holds what the trace held", f"{a}\n{b}")
    r = aon(place, "store", "check", "j.db")
    ok(r.returncode == 0, "the store is sound", r.stdout + r.stderr)
    r = aon(place, "report", "j.db")
    ok(r.returncode == 0 and b"\x1b" not in r.stdout, "hostile names reach no terminal", r.stdout)


def inputs(place):
    text = (place.path / "job.pt.trace.json").read_bytes()
    r = aon(place, "import", "-", "-o", "pipe.db", input=gzip.compress(text[:999]) + gzip.compress(text[999:]))
    ok(r.returncode == 0 and dump(place.path / "pipe.db")[1]["files"][0]["rows"] == 148,
       "standard input is read, and gzip of several members known by its content", r.stderr)
    folder = place.path / "ranks"
    folder.mkdir()
    for i in (10, 2, 0):
        trace(folder / f"rank-{i}.json.gz", rank=None)
    (folder / "notes.txt").write_text("not a trace\n")
    r = aon(place, "import", "--json", folder, "-o", "ranks.db")
    ok(r.returncode == 0 and [f["rank"] for f in json.loads(r.stdout)["files"]] == [0, 2, 10],
       "a folder's traces are the ranks of a job, by their names; other files are passed over", r.stdout)
    code, d, _ = dump(place.path / "ranks.db")
    ok(code == 0 and [f["rank"] for f in d["files"]] == [0, 2, 10] and d["kinds"]["kernel"][0] == 147,
       "ranks stay apart in a store", d)
    (folder / "sub").mkdir()
    r = aon(place, "import", folder / "sub", "-o", "none.db")
    ok(r.returncode == 1 and b"no trace in it" in r.stderr and not (place.path / "none.db").exists(),
       "a folder without a trace is refused, and leaves no store", r.stderr)


def damage(place):
    text = (place.path / "job.pt.trace.json").read_bytes()
    cut = place.path / "cut.json"
    cut.write_bytes(text[:len(text) // 2])
    r = aon(place, "import", "--json", cut, "-o", "cut.db")
    f = json.loads(r.stdout)["files"][0]
    ok(r.returncode == 1 and b"damaged" in r.stderr and b"byte" in r.stderr and f["imported"] > 60
       and f["lost"] == 1 and f["broke_at"] <= len(text) // 2,
       "of a cut file what is whole is imported, the place is said, and it exits 1", f"{r.stderr} {f}")
    code, d, _ = dump(place.path / "cut.db")
    ok(code == 1 and d["files"][0]["lost"] == 1 and d["files"][0]["broke_at"] == f["broke_at"],
       "a store remembers that its file was damaged", d)
    packed = bytearray(gzip.compress(text))
    packed[-6] ^= 0xff
    bad = place.path / "sum.json.gz"
    bad.write_bytes(packed)
    r = aon(place, "import", bad, "-o", "sum.db")
    ok(r.returncode == 1 and b"incorrect data check at byte" in r.stderr, "a wrong sum is damage", r.stderr)
    cases = {
        "nothing": (b"", "empty"),
        "text": (b"hello\n" * 9, "not a trace"),
        "other JSON": (b'{"a": 1}', "not a trace"),
        "an execution trace": (b'{"schema": "1.0.1", "nodes": [{"id": 1}]}', "execution trace"),
        "sums of Proton": (b'[{"children": [{"children": [], "frame": {"name": "k", "type": "function"}, '
                           b'"metrics": {"count": 1, "device_id": "0", "device_type": "CUDA", "time (ns)": 5}}],'
                           b'"frame": {"name": "ROOT", "type": "function"}, "metrics": {}}, {"CUDA": {}}]',
                           'data="trace"'),
        "parquet": (b"PAR1" + bytes(40) + b"PAR1", "--type parquetdir"),
        "Arrow": (b"ARROW1" + bytes(40), "--type parquetdir"),
        "another's SQLite": (None, "no export of Nsight Systems"),
        "random bytes": (bytes(range(7, 256)), "not a trace"),
    }
    before = None
    for what, (content, word) in cases.items():
        path = place.path / "bad.bin"
        path.unlink(missing_ok=True)
        if content is None:
            with sqlite3.connect(path) as db:
                db.execute("create table t(a)")
        else:
            path.write_bytes(content)
        before = state(place.path)
        r = aon(place, "import", path, "-o", "bad.db")
        ok(r.returncode == 1 and word in r.stderr.decode() and r.stderr.count(b"\n") == 1 and not r.stdout
           and state(place.path) == before, f"{what}: refused in one line, nothing left behind", r.stderr)
    r = aon(place, "import")
    ok(r.returncode == 2, "without an operand it is misuse")
    r = aon(place, "import", place.path / "missing.json", "-o", "m.db")
    ok(r.returncode == 1 and b"No such file" in r.stderr and not (place.path / "m.db").exists(),
       "a file that is not there is said so", r.stderr)


def dialects(place):
    """Rows whose answer is known, one table."""
    start, graph = 1_000_000, {"External id": 5, "external id": 9}
    tr = trace(place.path / "dialects.json", [
        span("Operator", "aten::a", 1, 2, 7, "7", **{"External id": 3}),
        span("cpu_op", "aten::b", "1694128201545123.457", 0.001),
        span("Runtime", "cudaGraphLaunch", 5, 1, correlation=8, **graph),
        span("Kernel", "k1", 6, 1, 0, "stream 7", device=0, stream=7, correlation=8),
        span("Kernel", "k2", 7, 1, 0, 7, device=0, stream=7, correlation=8, **{"graph node id": 4}),
        span("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 8, 1, 0, 7, bytes=64, stream="0x7"),
        span("cuda_sync", "Event Sync", 9, 1, 0, -1, stream=4294967295, wait_on_stream=7,
             wait_on_cuda_event_record_corr_id=6),
        span("gpu_user_annotation", "step", 9, 1, 0, 7),
        {"ph": "B", "name": "outer", "pid": 7, "tid": 9, "ts": 1},
        {"ph": "B", "name": "inner", "pid": 7, "tid": 9, "ts": 2},
        {"ph": "E", "pid": 7, "tid": 9, "ts": 4},
        {"ph": "E", "pid": 7, "tid": 9, "ts": 6},
        {"ph": "E", "pid": 7, "tid": 9, "ts": 7},
        {"ph": "B", "name": "open", "pid": 7, "tid": 9, "ts": 10},
        {"ph": "i", "name": "[memory]", "pid": 7, "tid": 7, "ts": 3,
         "args": {"Device Type": 1, "Device Id": 0, "Addr": 77, "Bytes": -512, "Total Allocated": 1024}},
        {"ph": "C", "name": "gpu", "pid": 0, "ts": 4, "args": {"util": 2, "eff": 0.5}},
        {"ph": "i", "name": "Record Window End", "pid": "Traces", "tid": "x", "ts": 1},
        {"ph": "s", "id": 1, "pid": 7, "tid": 7, "ts": 1, "cat": "ac2g", "name": "ac2g"},
    ], rank=1, baseTimeNanoseconds=start, deviceProperties=[{"id": 0, "name": "A100", "numSms": 108}])
    _, d, _ = dump(tr)
    e = {x[9]: x for x in events(tr)}
    f = d["files"][0]
    ok(f["rank"] == 1 and f["world"] == 4 and f["wall_offset_ns"] == start and
       d["devices"] == [{"device": 0, "name": "A100", "sms": 108, "memory_bytes": 0}],
       "rank, base time and devices are found behind the rows", d)
    ok(e["aten::b"][1:3] == ["1694128201545123457", "1"], "nanoseconds come from the digits", e["aten::b"])
    ok(e["aten::a"][6] == e["cudaGraphLaunch"][6], "a thread's id in quotes is the same thread")
    ok(e["cudaGraphLaunch"][4] == "9" and e["k1"][5] == e["k2"][5] == "8" and e["k2"][4] == "4",
       "kernels of a graph share its launch, and keep their node")
    ok(e["Memcpy DtoH (Device -> Pageable)"][6] == e["k1"][6] and e["k1"][0] == "kernel"
       and int(e["Memcpy DtoH (Device -> Pageable)"][4]) >> 63 == 1, "streams in any form are one lane")
    ok(e["Event Sync"][0] == "sync" and e["Event Sync"][3] == "8" and e["Event Sync"][4] == "6"
       and e["step"][0] == "range", "waits and projected annotations are no GPU work")
    ok(e["outer"][1:3] == ["1000", "5000"] and e["inner"][1:3] == ["2000", "2000"] and e["open"][7] == "1",
       "begins and ends pair up; what stays open is marked so", (e["outer"], e["inner"], e["open"]))
    ok(e["[memory]"][0] == "alloc" and e["[memory]"][3:5] == ["512", "77"] and
       e["[memory] allocated"][3] == "1024", "memory rows are allocations and what is held then")
    ok(e["gpu: util"][3] == "2" and e["gpu: eff"][7] == "2", "each series of a counter is one")
    ok(f["rows"] == 18 and f["left"] == 3 and f["lost"] == 0, "arrows and notes are left, not lost", f)


def proton(place):
    """As Triton's Proton writes it: a document in each line, kernels by stream or by a name."""
    path = place.path / "proton.chrome_trace"
    docs = [{"displayTimeUnit": "us", "traceEvents": [
        {"name": "matmul", "cat": "kernel", "ph": "X", "ts": 1.5 + 10 * i, "dur": 4.25, **where,
         "args": {"call_stack": ["ROOT", "step", "matmul"]}} for i in range(3)]}
        for where in ({"tid": 7}, {"tid": "kernels", "pid": 0})]
    path.write_text("\n".join(map(json.dumps, docs)) + "\n")
    code, d, err = dump(path)
    ok(code == 0 and d["kinds"] == {"kernel": [6, 25500]} and all("device" in x for x in d["lanes"]),
       "kernels of Proton's Chrome traces are GPU work", f"{d} {err}")
    r = aon(place, "report", path)
    ok(r.returncode == 0 and b"matmul" in r.stdout, "aon report shows them", r.stderr + r.stdout)


def execution_trace(place):
    """Shapes of operators from a PyTorch execution trace of the same run, in its old and new form."""
    kineto = trace(place.path / "run.pt.trace.json", [
        span("cpu_op", "aten::mm", 1, 2, **{"External id": 3}),
        span("cpu_op", "aten::add", 4, 2, **{"External id": 4}),
        span("cpu_op", "aten::other", 7, 2, **{"External id": 5}),
        span("cuda_runtime", "cudaLaunchKernel", 1.5, 1, correlation=9, **{"External id": 3}),
        span("kernel", "gemm", 3, 5, 0, 7, device=0, stream=7, correlation=9)])
    node = {"name": "aten::mm", "id": 9, "rf_id": 3, "inputs": [], "input_shapes": [[64, 32], [32, 16], []],
            "input_types": ["Tensor(c10::BFloat16)", "Tensor(c10::BFloat16)", "Int"]}
    old, new = place.path / "old_et.json", place.path / "new_et.json"
    old.write_text(json.dumps({"schema": "1.0.1", "pid": 1, "nodes": [node, {**node, "rf_id": 5}]}))
    new.write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [
        {"id": 2, "name": "aten::mm", "attrs": [{"name": "rf_id", "type": "uint64", "value": 3}],
         "inputs": {"values": [], "shapes": node["input_shapes"], "types": node["input_types"]}}]}))

    def shapes(*paths):
        code, d, err = dump(*paths)
        r = subprocess.run([find("trace_dump"), "-e", *map(str, paths)], capture_output=True, text=True)
        rows = [x.split(" ", 9) for x in r.stdout.splitlines()]
        return code, d, {x[9]: int(x[4]) >> 33 for x in rows}, err
    for et in (old, new):
        code, d, got, err = shapes(kineto, et)
        ok(code == 0 and len(d["files"]) == 1 and got["aten::mm"] and not got["aten::other"]
           and not got["aten::add"], f"{et.name}: an operator of the same id and name gets its shapes",
           f"{got} {err}")
    r = aon(place, "why", kineto, old)
    ok(r.returncode == 0, "aon why takes both", r.stderr)
    for args, word in (((old,), "before it"), ((old, kineto), "before it")):
        r = aon(place, "why", *args)
        ok(r.returncode == 1 and word in r.stderr.decode() and r.stderr.count(b"\n") == 1,
           "alone or first it is refused with what to give", r.stderr)
    other = trace(place.path / "other.pt.trace.json", [span("cpu_op", "aten::x", 1, 2, **{"External id": 3})])
    r = aon(place, "why", other, old)
    ok(r.returncode == 1 and b"another run" in r.stderr, "one of another run is refused", r.stderr)
    old.write_text(old.read_text()[:200])
    r = aon(place, "why", kineto, old)
    ok(r.returncode == 1 and b"at byte" in r.stderr, "a damaged one is refused with the place", r.stderr)


def jax(place):
    """As JAX's profiler writes it: no categories, a process for each device."""
    def meta(what, pid, name, **tid):
        return {"ph": "M", "name": what, "pid": pid, "args": {"name": name}, **tid}

    def row(pid, tid, name, ts, **args):
        return {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": ts, "dur": 2.5, "args": args}

    tr = trace(place.path / "jax.trace.json", [
        meta("process_name", 1, "/device:GPU:4"), meta("thread_name", 1, "Stream #13(Compute)", tid=13),
        meta("thread_name", 1, "XLA Ops", tid=99), meta("process_name", 701, "/host:CPU"),
        row(701, 5, "cuLaunchKernel", 1, correlation_id="72"),
        row(701, 5, "PjitFunction(f)", 0),
        row(1, 13, "fusion_3", 5, correlation_id="72", hlo_op="fusion.3"),
        row(1, 13, "MemcpyH2D", 9, memcpy_details="kind_src:pageable size:112 dest:4 async:0"),
        row(1, 99, "fusion.3", 5)])
    e = {x[9]: x for x in events(tr)}
    _, d, _ = dump(tr)
    ok(e["fusion_3"][0] == "kernel" and e["fusion_3"][5] == "72" and e["cuLaunchKernel"][0] == "api"
       and e["cuLaunchKernel"][5] == "72" and e["fusion.3"][0] == "range" and e["MemcpyH2D"][0] == "copy"
       and e["MemcpyH2D"][3] == "112" and e["PjitFunction(f)"][0] == "range"
       and {x["device"] for x in d["lanes"] if "device" in x} == {4},
       "devices of JAX's JSON are told by their processes' names", e)


def names(place):
    path = place.path / "names.json"
    with open(path, "w", encoding="utf8") as out:
        out.write('{"traceEvents": [')
        for i in range(120_000):
            out.write(f'{{"ph":"X","cat":"cpu_op","name":"n{i}","pid":1,"tid":1,"ts":{i},"dur":1}},\n')
        out.write("]}")
    r = aon(place, "import", "--json", path, "-o", "names.db")
    ok(r.returncode == 0 and json.loads(r.stdout)["names_over"] == 0, "120,000 names are kept", r.stderr)
    _, d, _ = dump(place.path / "names.db")
    ok(d["names"] >= 120_000, "and are all in the store", d["names"])


def bar(place):
    big = place.path / "big.json"
    with open(big, "w", encoding="utf8") as out:
        out.write("[" + ",\n".join(json.dumps(x) for x in rows(40_000)) + "]")
    t = Terminal([find("aon"), "import", str(big), "-o", "big.db"], 100, 24, env_for(place), str(place.path))
    t.read(60)
    text = t.out.decode(errors="replace")
    ok("%" in text and "big.json" in text, "on a terminal a bar shows how far it is", text[:300])


def interrupted(place):
    big = place.path / "big.json"
    p = subprocess.Popen([find("aon"), "import", "-", "-o", "half.db"], stdin=subprocess.PIPE, cwd=place.path,
                         env=env_for(place), stderr=subprocess.PIPE)
    p.stdin.write(big.read_bytes())
    p.send_signal(signal.SIGINT)
    try:
        p.stdin.write(big.read_bytes() * 3)
        p.stdin.close()
    except BrokenPipeError:
        pass
    code = p.wait(60)
    left = sorted(x.name for x in place.path.iterdir() if "half.db" in x.name)
    ok(code != 0 and not left, "an import that is interrupted leaves nothing", f"{code} {left}")


def main():
    with Place() as place:
        plain(place)
        inputs(place)
        damage(place)
        dialects(place)
        jax(place)
        proton(place)
        execution_trace(place)
        names(place)
        bar(place)
        interrupted(place)
    done()


main()
