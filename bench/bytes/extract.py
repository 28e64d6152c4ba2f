#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turn the nanosecond GPU traces of a data folder into one file of events for bytes.c.

usage: extract.py DATA

To stdout, little endian: for each trace a label of 64 bytes, a u32 count, a u32 of zero, then
`count` events as src/data/model/event.h lays them out (48 bytes). Kernels, copies and memsets in
order of start; names, geometries and tracks become ids in order of first sight, as in a store.
"""
import gzip
import json
import pathlib
import sqlite3
import struct
import sys

KINETO = {  # label: path below DATA
    "V100": "kineto/hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "A100 NCCL": "kineto/hta/nccl_parser_config/nccl_data.json.gz",
    "H100 Qwen": "tracelens/traces/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "MI300X Qwen": "tracelens/traces/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "MI210 gpu_only": "tracelens/traces/mi210/gpu_only_trace/gpu_only_trace.json.gz",
}
NSYS = {
    "A100 CloverLeaf": "nsys/pipit/perlmutter-cloverleaf-cuda.sqlite",
    "H100 nsys": "nsys/nsys_ai/h100_2gpu_1s.sqlite",
}
KERNEL, COPY, MEMSET = 8, 9, 10  # enum event_kind
KINDS = {"kernel": KERNEL, "gpu_memcpy": COPY, "gpu_memset": MEMSET}
DIRECTION = {"HtoD": 1, "DtoH": 2, "DtoD": 3, "HtoH": 4, "PtoP": 5}


class Ids(dict):
    """Gives each key the next number, from 2 on: 0 is none, 1 is "(other)"."""

    def __missing__(self, key):
        self[key] = len(self) + 2
        return self[key]


def nanoseconds(us):
    """Exact, from the digits: a double cannot hold microseconds since 1970 to the nanosecond."""
    whole, _, part = str(us).partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def kineto(path):
    names, geos, lanes = Ids(), Ids(), Ids()
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as f:
        trace = json.load(f, parse_float=str)
    for e in trace["traceEvents"]:
        kind = KINDS.get(e.get("cat"))
        if kind is None or e.get("ph") != "X":
            continue
        arg = e["args"]
        flags = 0
        if kind == KERNEL:
            a = geos[tuple(arg.get("grid", ())), tuple(arg.get("block", ())),
                     arg.get("registers per thread", 0), arg.get("shared memory", 0)]
        else:
            a = int(arg.get("bytes", 0))
        if kind == COPY:
            flags = next((v for k, v in DIRECTION.items() if k in e["name"]), 0) << 4
        yield (nanoseconds(e["ts"]), nanoseconds(e.get("dur", 0)), a,
               int(arg.get("graph node id", 0)), names[e["name"]],
               int(arg.get("correlation", 0)) & 0xffffffff,
               lanes[arg.get("device"), arg.get("stream")], kind, flags, 0)


def nsys(path):
    names, geos, lanes = Ids(), Ids(), Ids()
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    db.row_factory = sqlite3.Row
    tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master")}
    for kind, table in ((KERNEL, "KERNEL"), (COPY, "MEMCPY"), (MEMSET, "MEMSET")):
        table = "CUPTI_ACTIVITY_KIND_" + table
        for r in db.execute(f"SELECT * FROM {table}") if table in tables else ():
            flags = 0
            if kind == KERNEL:
                a = geos[tuple(r[k] for k in (
                    "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
                    "registersPerThread", "staticSharedMemory", "dynamicSharedMemory"))]
                name = names[r["demangledName"]]
            else:
                a = r["bytes"]
                name = names[table, r["copyKind"] if kind == COPY else 0]
            if kind == COPY:
                flags = (r["copyKind"] & 15) << 4
            graph = r["graphNodeId"] if "graphNodeId" in r.keys() else 0
            yield (r["start"], r["end"] - r["start"], a, graph or 0, name,
                   (r["correlationId"] or 0) & 0xffffffff,
                   lanes[r["globalPid"], r["deviceId"], r["streamId"]], kind, flags, 0)


def main():
    data, out = pathlib.Path(sys.argv[1]), sys.stdout.buffer
    for read, traces in ((kineto, KINETO), (nsys, NSYS)):
        for label, path in traces.items():
            events = sorted(read(data / path))
            out.write(struct.pack("<64sII", label.encode(), len(events), 0))
            for e in events:
                out.write(struct.pack("<QQQQIIIBBH", *e))


if __name__ == "__main__":
    main()
