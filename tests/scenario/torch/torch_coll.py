#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Collectives over gloo, in several groups, from an unmodified program: name, group, bytes, type and number of each
are what the program called and what torch's own Flight Recorder has; a trace of Kineto's words has them, too."""
import json
import socket

from aontest import Place, done, ok
from clitest import aon
from torchtest import APPS, run, torches

TYPES = {"torch.float32": "f32", "torch.float64": "f64", "torch.float16": "f16", "torch.int64": "i64",
         "torch.int32": "i32", "torch.uint8": "u8", "None": ""}
WORDS = {"Float": "f32", "Double": "f64", "Half": "f16", "Long": "i64", "Int": "i32", "Byte": "u8"}
BYTES = {"f32": 4, "f64": 8, "f16": 2, "i64": 8, "i32": 4, "u8": 1}
AT_ONCE = 12  # at the end of their group, see tests/app/python/torch_coll.py
QUERY = ("SELECT c.pid, l.name AS track, c.name, c.bytes, c.sequence, c.dur FROM collective c JOIN track l "
         "ON l.id = c.track ORDER BY c.sequence")


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def recorded(p, pid):
    """{group: [(name, bytes, number)]} of a process, and the lanes' names."""
    rows = json.loads(aon(p, "sql", "--json", QUERY, p.path / "run.db").stdout)["rows"]
    groups, lanes = {}, set()
    for row in rows:
        of, lane, name, size, number, dur = row if isinstance(row, list) else list(row.values())
        if of == pid:
            groups.setdefault(lane.split(" ")[1], []).append((name, size, number))
            lanes.add(lane)
    return groups, lanes


def name_of(title, dtype):
    return f"{title} {dtype}" if dtype else title


def called(told):
    """The same by what the program called. It numbers groups as it makes them."""
    groups = {}
    for group, title, size, dtype in told["called"]:
        of = groups.setdefault(group, [])
        of.append((name_of(title, TYPES[dtype]), size, len(of) + 1))
    return groups


def elements(sizes):
    n = 1
    for s in sizes:
        n *= s
    return n


def flight(told):
    """The same by torch's Flight Recorder."""
    groups = {}
    for e in told["recorder"]["entries"]:
        words = [WORDS[t] for t in e["input_dtypes"]]
        size = sum(elements(s) * BYTES[w] for s, w in zip(e["input_sizes"], words))
        groups.setdefault(e["process_group"][0], []).append(
            (name_of(e["profiling_name"], words[0] if words else ""), size, e["collective_seq_id"]))
    return groups


def loose(groups):
    """Those that were called at once may begin in another order where a thread is kept from running: which has
    which of their numbers is left open."""
    out = {}
    for g, ops in groups.items():
        cut = len(ops) - AT_ONCE if g == "1" else len(ops)
        out[g] = (sorted(ops[:cut], key=lambda o: o[2]), sorted(o[:2] for o in ops[cut:]), sorted(o[2] for o in ops))
    return out


def each(p, version, python):
    r, rep = run(p, python, APPS / "ranks.py", 2, port(), APPS / "torch_coll.py", p.path,
                 env={"GLOO_SOCKET_IFNAME": "lo"})
    ok(r.returncode == 0, f"{version}: the program runs", r)
    for rank in range(2):
        told = json.loads((p.path / f"told.{rank}.json").read_text())
        groups, lanes = recorded(p, told["pid"])
        last = groups.get("0", [])[-1:]
        ok(last and last[0][0] == "gloo:barrier", f"{version} rank {rank}: up to the last barrier", groups)
        alone = str(2 + rank)
        want = {{0: "0", 1: "1", 2: alone}[g]: ops for g, ops in called(told).items()}
        want["0"].append(("gloo:barrier", 0, len(want["0"]) + 1))
        ok(loose(groups) == loose(want), f"{version} rank {rank}: group, name, type, bytes and number as called",
           (loose(groups), loose(want)))
        ok(lanes == {f"gloo 0 {rank}/2", f"gloo 1 {rank}/2", f"gloo {alone} 0/1"},
           f"{version} rank {rank}: rank and ranks of each group", lanes)
        if told["recorder"]:
            ok(loose(groups) == loose(flight(told)), f"{version} rank {rank}: as torch's Flight Recorder has them",
               (loose(groups), loose(flight(told))))
    aon(p, "export", p.path / "run.db", "--format", "kineto", "-o", f"{p.path}/kineto/")
    trace = json.loads((p.path / "kineto/rank-1.json").read_text())["traceEvents"]
    big = [e["args"] for e in trace if e.get("args", {}).get("In msg nelems") == 70000]
    ok(len(big) == 1 and big[0]["Collective name"] == "all_reduce" and big[0]["dtype"] == "Float" and
       big[0]["Group size"] == 2 and big[0]["Process Group Name"] == "0" and big[0]["Seq"] == 5,
       f"{version}: in Kineto's words", big)


with Place() as place:
    for which in torches():
        each(place, *which)
done()
