#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a recorded trace into what the stand-in GPU replays (replay.h).

    replay.py TRACE OUT [process]     TRACE: Kineto JSON (.json, .json.gz) or nsys .sqlite

As a module: read(trace) gives the list of ops, write(ops, out) the file. Of an nsys file with
several processes the one with most kernels is taken, or the given one.
"""
import gzip
import json
import sqlite3
import struct
import sys
from decimal import Decimal
from pathlib import Path

KERNEL, MEMCPY, MEMCPY2, MEMSET, SYNC, RUNTIME, DRIVER = 10, 1, 22, 2, 38, 5, 4
DIRS = {"HtoD": 1, "DtoH": 2, "HtoA": 3, "AtoH": 4, "AtoA": 5, "AtoD": 6, "DtoA": 7, "DtoD": 8,
        "HtoH": 9, "PtoP": 10}
MEMORY = {"Pageable": 1, "Pinned": 2, "Device": 3, "Array": 4, "Managed": 5}
SYNCS = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
NONE = 0xFFFFFFFF
OP = struct.Struct("<6I5Q14I")
HEAD = struct.Struct("<8s2IQ")


def op(kind, start, end, **more):
    row = dict(kind=kind, corr=0, device=0, context=0, stream=0, graph=0, node=0, start=start, end=end,
               launch=None, bytes=0, name="", grid=(0, 0, 0), block=(0, 0, 0), regs=0, smem_static=0,
               smem_dynamic=0, value=0, src=0, dst=0)
    assert set(more) <= set(row), set(more) - set(row)
    row.update(more)
    return row


def ns(us):
    return int(Decimal(us) * 1000)


def kineto_place(a):
    """Which device, context, stream and launch an event of the device is of."""
    return dict(device=a.get("device", 0), context=a.get("context", 0), stream=a.get("stream", 0) & NONE,
                corr=a.get("correlation", 0) & NONE, graph=a.get("graph id", 0) or 0,
                node=a.get("graph node id", 0) or 0)


def kineto_event(e):
    """One event of Kineto as an op, or None. Its shared memory is static and dynamic in one."""
    cat, a = e.get("cat", "").lower().replace("gpu_", "").replace("cuda_", ""), e.get("args", {})
    if e.get("ph") != "X" or "dur" not in e:
        return None
    start = ns(e["ts"])
    end = start + ns(e["dur"])
    name = e["name"]
    if cat == "kernel" and "stream" in a:
        return op(KERNEL, start, end, name=name, grid=tuple(a.get("grid", (0, 0, 0))),
                  block=tuple(a.get("block", (0, 0, 0))), regs=a.get("registers per thread", 0),
                  smem_dynamic=a.get("shared memory", 0), **kineto_place(a))
    if cat == "memcpy" and "stream" in a:
        way = name.replace("Memcpy ", "").split(" ")[0]
        src, _, dst = name[name.find("(") + 1:name.rfind(")")].partition(" -> ")
        return op(MEMCPY, start, end, bytes=a.get("bytes", 0), value=DIRS.get(way, 0),
                  src=MEMORY.get(src, 0), dst=MEMORY.get(dst, 0), **kineto_place(a))
    if cat == "memset" and "stream" in a:
        return op(MEMSET, start, end, bytes=a.get("bytes", 0),
                  dst=MEMORY.get(name[name.find("(") + 1:name.rfind(")")], 0), **kineto_place(a))
    if cat == "sync":
        return op(SYNC, start, end, value=SYNCS.get(a.get("cuda_sync_kind", name), 0),
                  src=a.get("wait_on_cuda_event_id", 0) & NONE, **kineto_place(a))
    if cat in ("runtime", "driver") and "correlation" in a:
        return op(RUNTIME if cat == "runtime" else DRIVER, start, end, name=name,
                  corr=a["correlation"] & NONE, value=a.get("cbid", 0) or 0, src=int(e["tid"]) & NONE)
    return None


def read_kineto(path):
    text = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path, encoding="utf-8")
    with text as f:
        trace = json.load(f, parse_float=Decimal)
    if not isinstance(trace, dict) or "traceEvents" not in trace:
        raise ValueError(f"{path}: no traceEvents: not a Kineto trace")
    return [o for o in map(kineto_event, trace["traceEvents"]) if o]


def rows_of(db, table):
    try:
        cursor = db.execute(f"SELECT * FROM CUPTI_ACTIVITY_KIND_{table}")
    except sqlite3.OperationalError:
        return
    names = [c[0] for c in cursor.description]
    for row in cursor:
        yield {k: v for k, v in zip(names, row) if v is not None}


def nsys_place(r):
    return dict(device=r["deviceId"], context=r["contextId"], stream=r["streamId"] & NONE,
                corr=r.get("correlationId", 0), graph=r.get("graphId", 0), node=r.get("graphNodeId", 0))


def read_nsys(path, process=None):
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    text = dict(db.execute("SELECT id, value FROM StringIds"))
    kernels = list(rows_of(db, "KERNEL"))
    if process is None:
        pids = [r.get("globalPid") for r in kernels]
        process = max(set(pids), key=pids.count)

    def mine(table):
        for r in kernels if table == "KERNEL" else rows_of(db, table):
            if (r.get("globalPid") or r.get("globalTid", 0)) & ~0xFFFFFF == process & ~0xFFFFFF:
                yield r

    ops = [op(KERNEL, r["start"], r["end"], name=text[r["demangledName"]],
              grid=(r["gridX"], r["gridY"], r["gridZ"]), block=(r["blockX"], r["blockY"], r["blockZ"]),
              regs=r["registersPerThread"], smem_static=r["staticSharedMemory"],
              smem_dynamic=r["dynamicSharedMemory"], **nsys_place(r)) for r in mine("KERNEL")]
    ops += [op(MEMCPY2 if r["copyKind"] == 10 else MEMCPY, r["start"], r["end"], bytes=r["bytes"],
               value=r["copyKind"], src=r.get("srcKind", -1) + 1, dst=r.get("dstKind", -1) + 1,
               **nsys_place(r)) for r in mine("MEMCPY")]
    ops += [op(MEMSET, r["start"], r["end"], bytes=r["bytes"], dst=r.get("memKind", -1) + 1,
               **nsys_place(r)) for r in mine("MEMSET")]
    ops += [op(SYNC, r["start"], r["end"], value=r["syncType"] & 7, src=r["eventId"] & NONE,
               **nsys_place(r)) for r in mine("SYNCHRONIZATION")]
    ops += [op(RUNTIME, r["start"], r["end"], name=text[r["nameId"]], corr=r.get("correlationId", 0),
               src=r["globalTid"] & 0xFFFFFF, dst=r["returnValue"] & NONE) for r in mine("RUNTIME")]
    return ops


def read(path, process=None):
    """The ops of a trace in the order of their launch, from time 0 on."""
    path = Path(path)
    ops = read_nsys(path, process) if path.suffix == ".sqlite" else read_kineto(path)
    if not ops:
        raise ValueError(f"{path}: nothing of a device is in it")
    calls = {o["corr"]: o["start"] for o in ops if o["kind"] in (RUNTIME, DRIVER)}
    first = min(min(o["start"], calls.get(o["corr"], o["start"])) for o in ops)
    for o in ops:
        host = o["kind"] in (RUNTIME, DRIVER, SYNC)
        o["launch"] = o["start"] if host else min(calls.get(o["corr"], o["start"]), o["start"])
        for t in ("launch", "start", "end"):
            o[t] -= first
    return sorted(ops, key=lambda o: (o["launch"], o["start"]))


def write(ops, out):
    text, at = bytearray(b"\0"), {"": 0}
    for o in ops:
        if o["name"] not in at:
            at[o["name"]] = len(text)
            text += o["name"].encode() + b"\0"
    with open(out, "wb") as f:
        f.write(HEAD.pack(b"simrepl1", len(ops), len(text), max(o["end"] for o in ops)))
        for o in ops:
            f.write(OP.pack(o["kind"], o["corr"], o["device"], o["context"], o["stream"], o["graph"],
                            o["node"], o["launch"], o["start"], o["end"], o["bytes"], at[o["name"]],
                            *o["grid"], *o["block"], o["regs"], o["smem_static"], o["smem_dynamic"],
                            o["value"], o["src"], o["dst"], 0))
        f.write(text)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    write(read(sys.argv[1], int(sys.argv[3]) if len(sys.argv) == 4 else None), sys.argv[2])
