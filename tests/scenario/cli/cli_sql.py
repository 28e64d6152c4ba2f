#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon sql and aon_sqlite.so: the queries of docs/sql.md on a store whose answers are known."""
import csv
import io
import json
import re
import shutil
import subprocess

from aontest import ROOT, BUILD, SANITIZED, Place, done, find, ok, skip
from clitest import aon, on_terminal, state

DOC = ROOT / "docs" / "sql.md"
EXTENSION = BUILD / "src" / "query" / "sql" / "aon_sqlite.so"

# By number in docs/sql.md: the whole answer, or its first rows.
ANSWERS = {
    1: [["gemm_128x128", 160, 88.0, 550.0], ["add_kernel", 160, 0.64, 4.0]],
    2: [["gemm_128x128", 1, 80, 48.0, 600.0, 600.0, 600.0]],
    3: [[0, 7, 160, 40.32], [1, 7, 160, 48.32]],
    4: [[1, 20, 10.0, 10.0, 10.0], [2, 20, 10.0, 10.0, 10.0]],
    6: [[100, 0, 10.0, 2.016, 8]],
    7: [["gemm_128x128", 4, 2.0], ["add_kernel", 4, 0.016]],
    8: [[0, 7, "add_kernel", "gemm_128x128", 2996.0]],
    9: [["gemm_128x128", 160, 50.0, 50.0]],
    10: [["forward", 160, 44.32], ["backward", 160, 44.32]],
    11: [[0, 160, 80, 50.0], [1, 160, 80, 50.0]],
    12: [["DtoH", 40, 0.16384, 0.4, 0.4096], ["HtoD", 40, 41.94304, 4.0, 10.48576]],
    14: [[200, 20, 100.0]],
    15: [[100, 500.0], [200, 500.0]],
    16: [[108, 1, 1, 256, 1, 1, 64, 160, 550.0]],
    17: [[100, "power", 1, 300.0, 309.5, 319.0], [200, "power", 1, 300.0, 309.5, 319.0]],
    18: [[0, "gemm_128x128", 160, 88.0], [0, "add_kernel", 160, 0.64]],
    19: [[100, "rank0", 565, 562, 0, 3, 0], [200, "rank1", 565, 562, 0, 3, 0]],
    22: [["host_code", 5.53675, 56.0, "high", "make forward cheaper or take it out of the loop"],
         ["comm_exposed", 1.0, 10.0, "high", "overlap it: start collectives as soon as their input is ready, on their own "
          "stream; larger buckets; fewer bytes (bf16, sharding)"]],
    23: [["gemm", 160, 88.0], ["elementwise", 160, 0.64]],
    24: [["gemm_128x128", 160, 88000000], ["add_kernel", 160, 640000]],
}


def queries():
    return re.findall(r"^(\d+)\. .*?\n```sql\n(.*?)```", DOC.read_text(), re.S | re.M)


def documented(place, store):
    found = queries()
    ok(len(found) >= 20, f"docs/sql.md has {len(found)} queries")
    for number, query in found:
        r = aon(place, "sql", "--json", query, store)
        rows = json.loads(r.stdout or "{}").get("rows", [])
        want = ANSWERS.get(int(number))
        good = r.returncode == 0 and (rows[:len(want)] == want if want else len(rows) > 0)
        ok(good, f"query {number} {'has the right answer' if want else 'runs'}",
           (query, want, rows[:5], r.stderr))


def forms(place, store):
    query = "select 1 as a, 'x,\"y' || char(10) || 'z' as b, null as c, 2.5 as d, x'0aff' as e"
    want = ["1", 'x,"y\nz', "", "2.5", "0aff"]
    r = aon(place, "sql", "--csv", query, store).stdout.decode()
    ok(list(csv.reader(io.StringIO(r))) == [["a", "b", "c", "d", "e"], want], "CSV is CSV", r)
    r = aon(place, "sql", "--tsv", query, store).stdout.decode()
    ok(r == "a\tb\tc\td\te\n1\tx,\"y\\nz\t\t2.5\t0aff\n", "TSV escapes what would break it", r)
    r = json.loads(aon(place, "sql", "--json", query, store).stdout)
    ok(r == {"schema": "aon.sql/1", "columns": ["a", "b", "c", "d", "e"],
             "rows": [[1, want[1], None, 2.5, "0aff"]]}, "JSON keeps types", r)
    r = aon(place, "sql", "-", store, input=b"select 6 * 7").stdout
    ok(r == b"6 * 7\n   42\n", "a query on stdin", r)
    r = aon(place, "sql", "select name from kernel where 0", store).stdout
    ok(r == b"name\n", "no rows: the head alone", r)
    out, _ = on_terminal(place, ["sql", "select *, char(27)||'[2J' as evil from kernel limit 3", store], 80)
    lines = re.sub(rb"\x1b\[[0-9]*m", b"", out).decode().splitlines()
    ok(all(len(x) <= 80 for x in lines) and "columns that do not fit" in lines[-1],
       "on a terminal nothing wraps, and what is left out is said", lines)
    out, _ = on_terminal(place, ["sql", "select char(27)||'[2J' as evil", store], 80)
    ok(b"\x1b[2J" not in out, "a value cannot speak to the terminal", out)
    r = aon(place, "sql", "--tables", store).stdout.decode()
    ok(all(re.search(rf"^{t} ", r, re.M) for t in
           "kernel copy memset sync collective counter mark api op step range process device window finding".split()),
       "--tables lists them", r)


def failures(place, store):
    before = state(place.path)
    for args, code, text in (
            (["select nam from kernel"], 1, "no such column: nam\n  select nam from kernel\n         ^"),
            (["select *\nfrom none_such"], 1, "no such table: none_such"),
            (["drop table kernel"], 1, "a query only reads"),
            (["attach 'evil.db' as e"], 1, "a query only reads"),
            (["vacuum into 'evil.db'"], 1, "a query only reads"),
            (["select load_extension('/x')"], 1, "not allowed"),
            (["--timeout", "0.2", "with recursive c(n) as (select 1 union all select n+1 from c)"
              " select count(*) from c"], 1, "stopped after 0.2 s"),
            (["--csv", "--json", "select 1"], 2, "one of --csv, --tsv and --json")):
        r = aon(place, "sql", *args, store)
        ok(r.returncode == code and text in r.stderr.decode(), f"refused: {args[-1]}", r.stderr.decode())
    ok(aon(place, "sql").returncode == 2, "no query is misuse")
    r = aon(place, "sql", "select 1", place.path / "none.db")
    ok(r.returncode == 1 and b"none.db" in r.stderr, "a store that is not there is named", r.stderr)
    ok(state(place.path) == before, "no file was made or changed")


def imported(place):
    """The store of a trace of rank 3: ten steps of 10 ms, each a wait of 4 ms for the next batch, then a kernel."""
    events = []
    for i in range(10):
        us = 1e6 + i * 10000
        events += [{"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": 7, "ts": us + at, "dur": dur, "args": args}
                   for cat, name, pid, at, dur, args in (
                       ("user_annotation", f"ProfilerStep#{i}", 7, 0, 10000, {}),
                       ("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 7, 10, 4000, {}),
                       ("cuda_runtime", "cudaLaunchKernel", 7, 4100, 10, {"correlation": i + 1}),
                       ("kernel", "gemm_128", 0, 4200, 5800, {"correlation": i + 1, "device": 2, "stream": 7}))]
    path = place.path / "rank3.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events,
                                "distributedInfo": {"rank": 3, "world_size": 8}}))
    store = place.path / "rank3.db"
    r = aon(place, "import", path, "-o", store)
    assert r.returncode == 0, r.stderr
    return store


def findings(place, store):
    keys = ["id", "family", "title", "rank", "device", "cost_ns", "per", "confidence", "gain_lo_ns", "gain_hi_ns",
            "action", "expect"]
    rank3 = imported(place)
    for what, db in (("recorded", store), ("imported", rank3)):
        rows = json.loads(aon(place, "sql", "--json", f"select {','.join(keys)} from finding", db).stdout)["rows"]
        why = json.loads(aon(place, "why", "--json", db).stdout)["findings"]
        ok(rows and rows == [[f[k] for k in keys] for f in why], f"findings are those of aon why: {what}", (rows, why))
        rows = json.loads(aon(place, "sql", "--json", "select seen, share from finding", db).stdout)["rows"]
        ok([r[0] for r in rows] == ["; ".join(f["seen"]) for f in why] and
           all(abs(r[1] - f["share"]) < 1e-5 for r, f in zip(rows, why)), f"with their evidence: {what}", rows)
    rows = json.loads(aon(place, "sql", "--json", "select family, rank, device from finding limit 1", rank3).stdout)["rows"]
    ok(rows == [["input_bound", 3, 2]], "of the rank and device of the trace", rows)
    rows = json.loads(aon(place, "sql", "--json", "select count(*) from finding a, finding b", store).stdout)["rows"]
    ok(rows == [[4]], "joined with themselves", rows)


SCRIPT = """
import sqlite3, sys
con = sqlite3.connect(":memory:")
con.enable_load_extension(True)
con.load_extension(sys.argv[1])
assert con.execute("select aon_open(?)", [sys.argv[2]]).fetchone()[0] == 1004
con.execute("select aon_open(?, 'b_')", [sys.argv[2]])
print(con.execute("select count(*), min(family) from finding").fetchone())
print(con.execute("select count(*) from kernel a join b_kernel b on a.id = b.id").fetchone()[0])
con.execute("create table mine as select name, sum(dur) as d from kernel group by name")
print(con.execute("select d from mine order by d").fetchall())
for bad in ("delete from kernel", "select aon_open('/no/such')", "select aon_open(?1, 'a b')"):
    try:
        con.execute(bad, [sys.argv[2]] if "?" in bad else [])
        print("not refused:", bad)
    except sqlite3.OperationalError:
        pass
"""


def extension(place, store):
    if SANITIZED:
        skip("aon_sqlite in other programs", "the sanitizer's library would have to be theirs")
        return
    if shutil.which("sqlite3"):
        r = subprocess.run(["sqlite3", ":memory:", f".load {EXTENSION}", f"select aon_open('{store}')",
                            "select name, count(*) from kernel group by name"],
                           capture_output=True, text=True, timeout=60)
        ok(r.stdout == "1004\nadd_kernel|160\ngemm_128x128|160\n", "in the sqlite3 shell", r)
    else:
        skip("in the sqlite3 shell", "sqlite3 is not installed")
    for python in ("/usr/bin/python3", "python3"):
        able = subprocess.run([python, "-c", "import sqlite3;sqlite3.Connection.enable_load_extension"],
                              capture_output=True)
        if able.returncode == 0:
            r = subprocess.run([python, "-c", SCRIPT, EXTENSION, store], capture_output=True, text=True,
                               timeout=60)
            ok(r.stdout == "(2, 'comm_exposed')\n320\n[(640000,), (88000000,)]\n", "in Python, two stores at once", r)
            return
    skip("in Python", "no Python here can load extensions of SQLite")


place = Place()
db = str(place.path / "sql.db")
subprocess.run([find("sql_fixture"), db], check=True)
documented(place, db)
findings(place, db)
forms(place, db)
failures(place, db)
extension(place, db)
done()
