#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""What rocprofv3 recorded, as its JSON and as its SQLite file: the same events from both."""
import gzip
import json
import sqlite3
import subprocess

from aontest import Place, done, find, ok
from clitest import aon

UUID = "_0007f6a2_1c2d_7b3e_8a4f_5b6c7d8e9f00"
T0 = 5_000_000_000_000
KINDS = {
    "NONE": [], "HIP_RUNTIME_API": ["none", "hipLaunchKernel", "hipMemcpyAsync",
                                    "hipDeviceSynchronize"],
    "MARKER_CORE_RANGE_API": ["roctxMarkA", "roctxThreadRangeA"],
    "MEMORY_COPY": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST"],
    "KERNEL_DISPATCH": ["NONE", "COMPLETE"],
    "MEMORY_ALLOCATION": ["MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE",
                          "MEMORY_ALLOCATION_FREE"],
}
# agent: (handle, node, type, product, gfx, index, units)
AGENTS = [(100, 0, "CPU", "AMD EPYC 9654", "AMD EPYC 9654", 0, 0),
          (200, 1, "GPU", "AMD Instinct MI300X", "gfx942", 0, 304),
          (300, 2, "GPU", "AMD Instinct MI300X", "gfx942", 1, 304)]
KERNELS = {1: "Cijk_Ailk_Bljk_BBS_BH_MT256x256x64", 2: "void add<float>(float*, int)"}


class Run:
    """A recording: rows of every kind, with times that are known."""

    def __init__(self, steps=3):
        self.calls, self.kernels, self.copies, self.memory, self.messages = [], [], [], [], {}
        corr, dispatch, t = 0, 0, T0
        for step in range(steps):
            corr += 1
            self.messages[corr] = f"ProfilerStep#{step}"
            self.calls.append(("MARKER_CORE_RANGE_API", 1, corr, t, t + 1_000_000, 41))
            corr += 1
            self.calls.append(("HIP_RUNTIME_API", 2, corr, t + 1_000, t + 9_000, 41))
            self.copies.append((1, corr, t + 12_000, t + 42_000, 200, 100, 65536, 0))
            for i in range(4):
                corr, dispatch = corr + 1, dispatch + 1
                begin = t + 50_000 + i * 20_000
                self.calls.append(("HIP_RUNTIME_API", 1, corr, begin, begin + 5_000, 41))
                self.kernels.append((dispatch, 1 + i % 2, corr, t + 200_000 + i * 100_001,
                                     t + 200_000 + i * 100_001 + 90_007, 200, 2 + i % 2, 1))
            corr += 1
            self.calls.append(("HIP_RUNTIME_API", 3, corr, t + 140_000, t + 600_000, 41))
            t += 1_100_000
        corr += 1
        self.messages[corr] = "a mark"
        self.calls.append(("MARKER_CORE_RANGE_API", 0, corr, t, t, 41))
        self.memory = [(1, T0 + 10, 200, 0x7f00_0000_1000, 1 << 20), (2, t + 5, 0, 0x7f00_0000_1000, 0)]

    def json(self, **more):
        kinds = list(KINDS)

        def base(kind, op, corr, start, end, thread=41):
            return {"size": 64, "kind": kinds.index(kind), "operation": op, "thread_id": thread,
                    "correlation_id": {"internal": corr, "external": 0}, "start_timestamp": start,
                    "end_timestamp": end}

        def handle(v):
            return {"handle": v}

        tool = {
            "metadata": {"node": {"hostname": "node7"}, "pid": 41, "init_time": T0,
                         "fini_time": T0 + 9, "command": ["/usr/bin/python3", "train.py"]},
            "agents": [{"size": 1, "id": handle(h), "type": 2 if kind == "GPU" else 1,
                        "cu_count": units, "name": gfx, "product_name": product, "node_id": node,
                        "logical_node_type_id": index, "gpu_index": index if kind == "GPU" else -1,
                        "mem_banks": [{"heap_type": 1}]}
                       for h, node, kind, product, gfx, index, units in AGENTS],
            "counters": [],
            "strings": {"callback_records": [], "buffer_records":
                        [{"kind": k, "operations": v} for k, v in KINDS.items()],
                        "marker_api": [{"key": k, "value": v} for k, v in self.messages.items()]},
            "code_objects": [],
            "kernel_symbols": [{"kernel_id": 0, "kernel_name": ""}] +
                              [{"kernel_id": k, "kernel_name": "_Z" + str(k),
                                "formatted_kernel_name": v} for k, v in KERNELS.items()],
            "summary": [{"domain": "HIP_API", "stats": {"count": 3}}],
            "callback_records": {"counter_collection": []},
            "buffer_records": {
                "kernel_dispatch": [
                    {**base("KERNEL_DISPATCH", 1, corr, a, b), "stream_id": handle(stream),
                     "dispatch_info": {"agent_id": handle(agent), "queue_id": handle(queue),
                                       "kernel_id": kernel, "dispatch_id": d,
                                       "group_segment_size": 1024,
                                       "workgroup_size": {"x": 256, "y": 1, "z": 1},
                                       "grid_size": {"x": 1000, "y": 2, "z": 1}}}
                    for d, kernel, corr, a, b, agent, stream, queue in self.kernels],
                "hip_api": [base(k, op, corr, a, b, tid) for k, op, corr, a, b, tid in self.calls
                            if k.startswith("HIP")],
                "hsa_api": [],
                "marker_api": [base(k, op, corr, a, b, tid) for k, op, corr, a, b, tid in self.calls
                               if k.startswith("MARKER")],
                "memory_copy": [{**base("MEMORY_COPY", op, corr, a, b), "dst_agent_id": handle(to),
                                 "src_agent_id": handle(frm), "bytes": n, "stream_id": handle(stream)}
                                for op, corr, a, b, to, frm, n, stream in self.copies],
                "memory_allocation": [{**base("MEMORY_ALLOCATION", op, 0, at, at + 7),
                                       "agent_id": handle(agent), "address": hex(address),
                                       "allocation_size": n}
                                      for op, at, agent, address, n in self.memory],
                "scratch_memory": [{"size": 1}]},
        }
        return {"rocprofiler-sdk-tool": [{**tool, **more}]}

    def rocpd(self, path, uuid=UUID):
        """The tables as rocprofv3 makes them, with its columns that matter and one that does not."""
        node = {h: n for h, n, *_ in AGENTS}
        strings, events = {}, []

        def string(s):
            return strings.setdefault(s, len(strings) + 1)

        def event(kind, corr):
            message = self.messages.get(corr) if kind.startswith("MARKER") else None
            events.append((len(events) + 1, string(kind), corr, 0,
                           json.dumps({"message": message}) if message else "{}"))
            return len(events)

        db = sqlite3.connect(path)
        tables = {
            "rocpd_metadata": "id, tag, value", "rocpd_string": "id integer primary key, guid, string",
            "rocpd_info_node": "id integer primary key, hash, hostname",
            "rocpd_info_process": "id integer primary key, guid, nid, ppid, pid, command",
            "rocpd_info_thread": "id integer primary key, guid, nid, pid, tid, name",
            "rocpd_info_agent": "id integer primary key, guid, nid, pid, type, absolute_index, "
                                "logical_index, type_index, name, product_name, extdata",
            "rocpd_info_kernel_symbol": "id integer primary key, kernel_name, display_name, "
                                        "arch_vgpr_count",
            "rocpd_event": "id integer primary key, category_id, stack_id, correlation_id, extdata",
            "rocpd_region": "id integer primary key, nid, pid, tid, start, end, name_id, event_id",
            "rocpd_track": "id integer primary key, nid, pid, tid, name_id",
            "rocpd_sample": "id integer primary key, track_id, timestamp, event_id",
            "rocpd_kernel_dispatch":
                "id integer primary key, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, "
                "stream_id, start, end, private_segment_size, group_segment_size, workgroup_size_x, "
                "workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id",
            "rocpd_memory_copy": "id integer primary key, nid, pid, tid, start, end, name_id, "
                                 "dst_agent_id, src_agent_id, size, queue_id, stream_id, event_id",
            "rocpd_memory_allocate": "id integer primary key, nid, pid, tid, agent_id, type, level, "
                                     "start, end, address, size, event_id",
        }
        for name, columns in tables.items():
            db.execute(f"CREATE TABLE IF NOT EXISTS `{name}{uuid}` ({columns})")
            db.execute(f"CREATE VIEW IF NOT EXISTS `{name}` AS SELECT * FROM `{name}{uuid}`")

        def put(table, rows):
            for row in rows:
                db.execute(f"INSERT INTO `{table}{uuid}` VALUES ({','.join('?' * len(row))})", row)

        put("rocpd_info_node", [(9, 1, "node7")])
        put("rocpd_info_process", [(41, "g", 9, 1, 41, "/usr/bin/python3")])
        put("rocpd_info_thread", [(41, "g", 9, 41, 41, None)])
        put("rocpd_info_agent", [(n, "g", 9, 41, kind, n, n, index, gfx, product,
                                  json.dumps({"cu_count": units}))
                                 for _, n, kind, product, gfx, index, units in AGENTS])
        put("rocpd_info_kernel_symbol", [(k, "_Z", v, 0) for k, v in KERNELS.items()])
        put("rocpd_region", [(corr, 9, 41, tid, a, b, string(KINDS[k][op]), event(k, corr))
                             for k, op, corr, a, b, tid in self.calls if a != b])
        put("rocpd_track", [(1, 9, 41, 41, string("MARKER_CORE_RANGE_API"))])
        put("rocpd_sample", [(corr, 1, a, event(k, corr)) for k, _, corr, a, b, _ in self.calls
                             if a == b])
        put("rocpd_kernel_dispatch",
            [(d, 9, 41, 41, node[agent], kernel, d, queue, stream, a, b, 0, 1024, 256, 1, 1, 1000, 2,
              1, event("KERNEL_DISPATCH", corr))
             for d, kernel, corr, a, b, agent, stream, queue in self.kernels])
        put("rocpd_memory_copy",
            [(i, 9, 41, 41, a, b, string(KINDS["MEMORY_COPY"][op]), node[to], node[frm], n, None,
              stream, event("MEMORY_COPY", corr))
             for i, (op, corr, a, b, to, frm, n, stream) in enumerate(self.copies)])
        put("rocpd_memory_allocate",
            [(i, 9, 41, 41, node.get(agent), "ALLOC" if op == 1 else "FREE", "REAL", at, at + 7,
              address, n, event("MEMORY_ALLOCATION", 0))
             for i, (op, at, agent, address, n) in enumerate(self.memory)])
        put("rocpd_event", events)
        put("rocpd_string", [(i, "g", s) for s, i in strings.items()])
        db.commit()
        db.close()
        return path


def dump(path):
    r = subprocess.run([find("trace_dump"), str(path)], capture_output=True, text=True)
    return r.returncode, json.loads(r.stdout) if r.stdout.startswith("{") else r.stdout, r.stderr


def events(path):
    r = subprocess.run([find("trace_dump"), "-e", str(path)], capture_output=True, text=True)
    return [line.split(" ", 9) for line in r.stdout.splitlines()]


def truth(run, path, what):
    code, d, err = dump(path)
    rows = events(path)
    kernels = sorted((int(x[1]), int(x[2]), x[9], int(x[5])) for x in rows if x[0] == "kernel")
    want = sorted((a, b - a, KERNELS[k], corr) for _, k, corr, a, b, *_ in run.kernels)
    ok(code == 0 and kernels == want, f"{what}: every kernel with its time, name and launch",
       f"{err} {kernels[:3]} {want[:3]}")
    launches = {x[5] for x in rows if x[0] in ("api", "sync")}
    ok(all(str(k[3]) in launches for k in kernels), f"{what}: each kernel's call is there")
    ok([x["name"] for x in d["devices"]] == ["AMD Instinct MI300X"] and d["devices"][0]["sms"] == 304
       and sorted({x["stream"] for x in d["lanes"] if "device" in x and x["stream"] >= 0}) == [0, 2, 3],
       f"{what}: the device, its units and its streams", d)
    steps = [x for x in rows if x[0] == "step"]
    ok(len(steps) == 3 and [x[9] for x in rows if x[0] == "mark"] == ["a mark"],
       f"{what}: markers are steps and marks by their messages", steps)
    copies = [x for x in rows if x[0] == "copy"]
    ok(len(copies) == 3 and {x[3] for x in copies} == {"65536"}, f"{what}: copies have bytes", copies)
    sizes = [x[3] for x in rows if x[0] == "alloc"]
    ok(sizes == ["1048576", "1048576"], f"{what}: what is freed has the size of its allocation", sizes)
    return rows


def commands(place, path, what):
    for args in (("why", path), ("report", path), ("report", "--by", "kernel", path)):
        r = aon(place, *args)
        ok(r.returncode == 0 and not r.stderr, f"{what}: aon {' '.join(map(str, args[:-1]))} reads it",
           r.stderr + r.stdout[-300:])
    r = aon(place, "report", path)
    ok(b"MI300X" in r.stdout, f"{what}: the device is named", r.stdout)


def damage(place, text, db):
    half = place.path / "half.json"
    half.write_text(text[:len(text) * 3 // 4])
    code, d, err = dump(half)
    ok(code == 1 and d["files"][0]["imported"] > 0 and "byte" in d["files"][0]["why"],
       "three quarters of the JSON: what is whole is imported, and the place is said", f"{d} {err}")
    doc = json.loads(text)
    del doc["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"][2]["start_timestamp"]
    doc["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"][3]["dispatch_info"]["agent_id"] = 7
    bad = place.path / "bad.json"
    bad.write_text(json.dumps(doc))
    code, d, err = dump(bad)
    ok(code == 1 and d["files"][0]["lost"] == 2 and "kernel_dispatch" in d["files"][0]["why"],
       "rows without a time or an agent are lost, and where is said", d)
    raw = db.read_bytes()
    cut = place.path / "cut.db"
    cut.write_bytes(raw[:len(raw) // 2 // 4096 * 4096])
    code, d, err = dump(cut)
    ok(code in (1, 2) and (err or d["files"][0]["why"]), "half of the database is damaged", f"{code} {d} {err}")
    r = aon(place, "why", bad)
    ok(r.returncode == 1, "a damaged file's exit status says so", r.stdout)
    empty = place.path / "empty.json"
    empty.write_text('{"rocprofiler-sdk-tool": [{"metadata": {"pid": 1}, "buffer_records": {}}]}')
    r = aon(place, "why", empty)
    ok(r.returncode == 1 and b"--sys-trace" in r.stderr and r.stderr.count(b"\n") == 1,
       "a file without records is refused with how to record some", r.stderr)


def counters_only(place, run):
    doc = run.json()
    tool = doc["rocprofiler-sdk-tool"][0]
    rows = tool["buffer_records"]["kernel_dispatch"]
    tool["callback_records"]["counter_collection"] = [
        {"thread_id": 41, "stream_id": x["stream_id"], "records": [],
         "dispatch_data": {k: x[k] for k in ("correlation_id", "start_timestamp", "end_timestamp",
                                             "dispatch_info")}} for x in rows]
    path = place.path / "pmc.json"
    path.write_text(json.dumps(doc, indent=1))
    n = [x for x in events(path) if x[0] == "kernel"]
    ok(len(n) == len(rows), "kernels with counters are counted once", len(n))
    tool["buffer_records"]["kernel_dispatch"] = []
    path.write_text(json.dumps(doc))
    n = [x for x in events(path) if x[0] == "kernel"]
    ok(len(n) == len(rows), "and are read where only counters were collected", len(n))


def main():
    with Place() as place:
        run = Run()
        text = json.dumps(run.json(), indent=1)
        js = place.path / "results.json"
        js.write_text(text)
        a = truth(run, js, "JSON")
        db = run.rocpd(place.path / "results.db")
        b = truth(run, db, "rocpd")

        def bare(rows):
            return sorted((*x[:4], x[5], x[7], x[8], x[9]) for x in rows)
        ok(bare(a) == bare(b), "both files say the same", f"{bare(a)[:4]} {bare(b)[:4]}")
        packed = place.path / "results.json.gz"
        packed.write_bytes(gzip.compress(text.encode()))
        ok(events(packed) == a, "gzip is read as well")
        run.rocpd(db, "_second")
        ok(len(events(db)) == 2 * len(b), "a merged file has the rows of all its runs")
        commands(place, js, "JSON")
        commands(place, db, "rocpd")
        counters_only(place, run)
        damage(place, text, db)
    done()


main()
