#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=400
"""Parquet files as pyarrow writes them, value for value; and exports of nsys as a folder of them, which say the same as
the SQLite file."""
import json
import os
import pathlib
import random
import shutil
import sqlite3
import struct
import subprocess
import sys

from aontest import Place, SANITIZED, data, done, find, ok, skip_all
from clitest import aon

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "aon"
sys.path.insert(0, str(CACHE / "parquet"))
try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    skip_all("pyarrow is not in the cache: tools/setup check")

TABLES = int(os.environ.get("AON_PARQUET_TABLES", "320"))
CODECS = ("none", "snappy", "gzip", "zstd")
NAMES = "abcdef"


def ints(bits, signed):
    lo, hi = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def draw(r):
        kind = r.random()
        if kind < 0.3:
            return r.randint(lo, hi)
        return r.choice((lo, hi, 0, 1)) if kind < 0.4 else r.randint(max(lo, -50), min(hi, 50))
    return draw


def text(r):
    if r.random() < 0.02:
        return "y" * r.randint(200, 5000)
    return r.choice(("", "void gemm<float>(int)", "\u00e9\u4e2d", "x" * r.randint(0, 60), str(r.randint(-99, 99))))


KINDS = {
    pa.int8(): ints(8, True), pa.int16(): ints(16, True), pa.int32(): ints(32, True), pa.int64(): ints(64, True),
    pa.uint8(): ints(8, False), pa.uint16(): ints(16, False), pa.uint32(): ints(32, False), pa.uint64(): ints(64, False),
    pa.bool_(): lambda r: r.random() < 0.5,
    pa.float64(): lambda r: r.choice((0.0, -1.5, 1e300, r.gauss(0, 1e6))),
    pa.float32(): lambda r: struct.unpack("f", struct.pack("f", r.gauss(0, 100)))[0],
    pa.string(): text, pa.binary(): lambda r: r.randbytes(r.randint(0, 20)),
}


def column(r, kind, rows):
    """Values, and whether the column may be NULL."""
    draw, nulls = KINDS[kind], r.choice((0, 0, 0.1, 0.9, 1))
    step = r.random() < 0.3 and kind == pa.int64()
    runs, at, out = r.random() < 0.4, 0, []
    for _ in range(rows):
        if step:
            at += r.randint(0, 5000)
            v = at
        elif runs and out and r.random() < 0.95:
            v = next((x for x in reversed(out) if x is not None), None) if len(out) < 50 else out[-1]
            v = draw(r) if v is None else v
        else:
            v = draw(r)
        out.append(None if r.random() < nulls else v)
    return out, bool(nulls) or r.random() < 0.5


def shown(v):
    """As parquet_dump prints it."""
    if v is None or isinstance(v, float) and v != v:
        return None
    if isinstance(v, bool):
        return int(v)
    if isinstance(v, int):
        return v if v < 1 << 63 else v - (1 << 64)
    if isinstance(v, float):
        return v
    return (v.encode() if isinstance(v, str) else v).hex()


def dump(path, names):
    p = subprocess.run([find("parquet_dump"), str(path), *names], capture_output=True, text=True)
    rows = [[float.fromhex(v) if isinstance(v, str) and v.lstrip("-")[:2] in ("0x", "in") else v
             for v in json.loads(line)] for line in p.stdout.splitlines()]
    return p.returncode, rows, p.stderr


def options(r, kinds):
    dictionary = r.choice((True, False, [NAMES[0]]))
    o = {"compression": r.choice(CODECS), "use_dictionary": dictionary, "data_page_version": r.choice(("1.0", "2.0")),
         "row_group_size": r.choice((1, 7, 100, 1 << 20)), "data_page_size": r.choice((1, 64, 1000, 1 << 20)),
         "write_batch_size": r.choice((1, 10, 1024)), "version": r.choice(("1.0", "2.4", "2.6")),
         "dictionary_pagesize_limit": r.choice((1, 50, 1 << 20)), "write_statistics": r.random() < 0.5,
         "write_page_index": r.random() < 0.2, "write_page_checksum": r.random() < 0.2}
    if dictionary is False and r.random() < 0.5:
        o["column_encoding"] = {n: "DELTA_BINARY_PACKED" for n, k in zip(NAMES, kinds)
                                if pa.types.is_integer(k)} or None
    return {k: v for k, v in o.items() if v is not None}


def drawn(place, seed):
    r = random.Random(seed)
    rows = r.choice((0, 1, 2, 9, 63, 257, 1500))
    kinds = [r.choice(list(KINDS)) for _ in range(r.randint(1, len(NAMES)))]
    cols = [column(r, k, rows) for k in kinds]
    schema = pa.schema([pa.field(n, k, nullable=may) for n, k, (_, may) in zip(NAMES, kinds, cols)])
    table = pa.Table.from_arrays([pa.array(v, k) for k, (v, _) in zip(kinds, cols)], schema=schema)
    o, path = options(r, kinds), place.path / "drawn.parquet"
    pq.write_table(table, path, **o)
    names = list(NAMES[:len(kinds)])
    back = [shown_row for shown_row in zip(*([shown(v) for v in pq.read_table(path).column(n).to_pylist()]
                                             for n in names))]
    code, got, err = dump(path, names)
    same = code == 0 and [tuple(x) for x in got] == back
    return same, f"seed {seed}: {rows} rows of {kinds} {o}: {err} {[(a, b) for a, b in zip(got, back) if tuple(a) != b][:2]}"


def values(place):
    bad = [why for same, why in (drawn(place, seed) for seed in range(TABLES)) if not same]
    ok(not bad, f"{TABLES} drawn tables have the values that pyarrow reads", f"{len(bad)}: {bad[:2]}")


def refusals(place):
    """What the reader does not know is told by its name."""
    path = place.path / "odd.parquet"
    cases = {
        "codec": (pa.table({"a": list(range(500))}), {"compression": "lz4"}, "codec"),
        "nesting": (pa.table({"a": [[1, 2], [3]]}), {}, "column a: of a type"),
        "encoding": (pa.table({"a": ["x", "y"]}), {"use_dictionary": False, "column_encoding": {"a": "DELTA_BYTE_ARRAY"}},
                     "encoding 7"),
        "decimals": (pa.table({"a": pa.array([1, 2], pa.decimal128(20))}), {}, "column a: of a type"),
    }
    for name, (table, o, word) in cases.items():
        pq.write_table(table, path, **o)
        code, _, err = dump(path, ["a"])
        ok(code == 1 and word in err, f"refused by name: {name}", err)
    pq.write_table(pa.table({"a": [[1]], "b": [7], "s": [{"a": 1}]}), path)
    code, rows, err = dump(path, ["b", "missing"])
    ok(code == 0 and rows == [[7, None]], "columns that nobody asks for may be of any type", err)


def convert(db, folder, **o):
    """Each table of an SQLite file as nsys would write it as Parquet."""
    folder.mkdir()
    con = sqlite3.connect(db)
    con.text_factory = lambda b: b.decode(errors="surrogateescape")
    for (name,) in con.execute("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'").fetchall():
        cur = con.execute(f'SELECT * FROM "{name}"')
        names, rows = [d[0] for d in cur.description], cur.fetchall()
        cols = [[row[i] for row in rows] for i in range(len(names))]
        cols = [c if len({type(v) for v in c if v is not None}) < 2 else [None if v is None else str(v) for v in c] for c in cols]
        table = pa.table({n: pa.array(c, None if any(v is not None for v in c) else pa.int64())
                          for n, c in zip(names, cols)})
        pq.write_table(table, folder / f"{name}.parquet", **o)
    return folder


def exports(place, root):
    for name, o in (("nsys_ai/h100_2gpu_1s.sqlite", {}),
                    ("nsys_ai/h100_2gpu_1s.sqlite", {"compression": "zstd", "use_dictionary": False,
                                                     "data_page_version": "2.0", "row_group_size": 1000}),
                    *((str(p.relative_to(root / "nsys")), {"compression": "gzip"})
                      for p in sorted((root / "nsys").rglob("*.sqlite")) if "h100_2gpu" not in p.name)):
        db, folder = place.path / "one.sqlite", place.path / "one_pqtdir"
        shutil.copy(root / "nsys" / name, db)
        shutil.rmtree(folder, ignore_errors=True)
        convert(db, folder, **o)
        a, b = (aon(place, "report", "--json", x) for x in (db, folder))
        ok(a.returncode == b.returncode == 0 and a.stdout.replace(b"one.sqlite", b"one_pqtdir") == b.stdout,
           f"{name} {o}: aon report --json of the folder is that of the SQLite file, to the byte",
           f"{a.stderr} {b.stderr} {a.stdout[:300]} {b.stdout[:300]}")
        a, b = (aon(place, "why", x) for x in (db, folder))
        ok(a.stdout.replace(b"one.sqlite", b"one_pqtdir") == b.stdout, f"{name}: so is aon why", f"{a.stdout} {b.stdout}")


def small_export(place):
    """A folder as nsys makes it, of a few rows."""
    folder = place.path / "run_rank3_pqtdir"
    folder.mkdir()
    pid = 77 << 24
    pq.write_table(pa.table({"id": [1, 2], "value": ["cudaLaunchKernel", "gemm"]}), folder / "StringIds.parquet")
    pq.write_table(pa.table({"start": [-500, 0], "end": [-400, 90], "globalTid": [pid | 9] * 2, "correlationId": [5, 6],
                             "nameId": [1, 1]}), folder / "CUPTI_ACTIVITY_KIND_RUNTIME.parquet")
    pq.write_table(pa.table({"start": [100, 500], "end": [400, 700], "deviceId": [0, 0], "streamId": [7, 7],
                             "contextId": [1, 1], "globalPid": [pid] * 2, "correlationId": [5, 6], "shortName": [2, 2]}),
                   folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet")
    return folder


def folders(place):
    folder = small_export(place)
    r = aon(place, "report", "--json", folder)
    d = json.loads(r.stdout or "{}")
    ok(r.returncode == 0 and d["files"][0]["rank"] == 3 and d["kernels"][0]["name"] == "gemm",
       "a folder of tables is one trace", f"{r.stderr} {r.stdout[:900]}")
    both = place.path / "job"
    both.mkdir()
    for rank in (0, 1):
        shutil.copytree(folder, both / f"rank{rank}_pqtdir")
    d = json.loads(aon(place, "report", "--json", both).stdout or "{}")
    ok([f["rank"] for f in d.get("files", [])] == [0, 1], "folders in a folder are the ranks of a job", d.get("files"))

    kernels = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    whole = kernels.read_bytes()
    for name, content, word in (("cut short", whole[:len(whole) // 2], b"no footer"), ("empty", b"", b"too short"),
                                ("not parquet", b"x" * 300, b"not a parquet file"),
                                ("encrypted", whole[:-4] + b"PARE", b"encrypted")):
        kernels.write_bytes(content)
        r = aon(place, "report", folder)
        ok(r.returncode == 1 and b"CUPTI_ACTIVITY_KIND_KERNEL" in r.stderr and word in r.stderr and b"Traceback" not in r.stderr,
           f"a table that is {name} is named", r.stderr)
    kernels.write_bytes(whole)
    r = aon(place, "report", kernels)
    ok(r.returncode == 1 and b"whole folder" in r.stderr, "one table alone: give the folder", r.stderr)
    other = place.path / "other"
    other.mkdir()
    pq.write_table(pa.table({"id": [1]}), other / "StringIds.parquet")
    r = aon(place, "report", other)
    ok(r.returncode == 1 and b"without events" in r.stderr, "a folder without events says so", r.stderr)
    (other / "StringIds.parquet").rename(other / "x.parquet")
    r = aon(place, "report", other)
    ok(r.returncode == 1 and b"parquetdir" in r.stderr, "a parquet file of other tools says what would be read", r.stderr)


def bombs(place):
    """What a file claims to have is not believed, and what it inflates to has a limit."""
    folder = place.path / "bomb_pqtdir"
    folder.mkdir()
    n = 3_000_000
    zeros = pa.repeat(0, n)
    kernels, ranges = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet", folder / "NVTX_EVENTS.parquet"
    pq.write_table(pa.table({k: zeros for k in ("start", "end", "deviceId", "streamId")}), kernels, compression="zstd",
                   row_group_size=n, max_rows_per_page=n)
    long = pa.repeat(pa.scalar("x" * (4 << 20)), 40)
    few = pa.repeat(59, 40)
    pq.write_table(pa.table({"start": few, "end": few, "globalTid": few, "eventType": few, "text": long}), ranges,
                   compression="zstd", use_dictionary=False, write_batch_size=1, data_page_size=1)
    size = sum(f.stat().st_size for f in folder.iterdir())
    # A sanitizer reserves more address space than any limit of ours.
    limited = [] if SANITIZED else ["bash", "-c", 'ulimit -v 1500000; exec "$@"', "-"]
    r = subprocess.run([*limited, find("aon"), "report", folder], capture_output=True, timeout=120)
    ok(r.returncode == 1 and b"rows in" in r.stderr, f"{n} rows in {size} bytes are refused", r.stderr)
    kernels.unlink()
    r = subprocess.run([*limited, find("aon"), "report", folder], capture_output=True, timeout=120)
    ok(r.returncode == 1 and b"1024 times its size" in r.stderr, "pages that inflate without end are cut off", r.stderr)


with Place() as place:
    values(place)
    refusals(place)
    folders(place)
    bombs(place)
    if data():
        exports(place, data())
done()
