#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""aon whatif: a replay without a change is the recording, changes move what depended on them, and
bad words are refused."""
import json

from aontest import Place, data, done, ok, skip
from clitest import aon

KINETO = ["kineto/kineto_tb", "kineto/hta/df_index_resolver", "kineto/hta/critical_path/alexnet",
          "kineto/hta/trace_diff", "kineto/hta/nccl_parser_config", "kineto/hta/ns_resolution_trace",
          "kineto/hta/negative_queue_length_values_check", "tracelens/traces/h100",
          "tracelens/traces/mi300", "tracelens/traces/inference"]


def trace(place):
    """Ten steps: 100 us of host, a launch, a kernel of 20 us, a call that waits for it."""
    ev = []

    def x(cat, name, tid, ts, dur, **args):
        ev.append({"ph": "X", "cat": cat, "name": name, "pid": 1 if cat != "kernel" else 0,
                   "tid": tid, "ts": ts, "dur": dur, "args": args})

    for i in range(10):
        t = 1000 * i
        x("user_annotation", f"ProfilerStep#{i}", 5, t, 1000)
        x("cpu_op", "aten::mm", 5, t + 100, 20)
        x("cuda_runtime", "cudaLaunchKernel", 5, t + 105, 10, correlation=2 * i + 1)
        x("kernel", "gemm_k", 7, t + 120, 600, correlation=2 * i + 1, stream=7, device=0)
        x("cuda_runtime", "cudaDeviceSynchronize", 5, t + 130, 600, correlation=2 * i + 2)
    path = place.path / "t.json"
    path.write_text(json.dumps({"traceEvents": ev}))
    return path


def whatif(place, *args):
    r = aon(place, "whatif", *args, "--json")
    return json.loads(r.stdout) if r.returncode == 0 else {"error": r.stderr.decode()}


def changes(place, path):
    base = whatif(place, path)
    ok(base.get("measured_ns") == base.get("replayed_ns") == base.get("predicted_ns") == 10_000_000
       and base["steps"] == 10, "no change gives the recording back", base)
    half = whatif(place, path, "--scale", "gemm_k=0.5")
    ok(half.get("predicted_ns") == 7_000_000, "half the kernel comes off every step that waits for it", half)
    word = whatif(place, path, "--scale", "gemm=0.5")
    ok(word.get("predicted_ns") == 7_000_000, "a class of kernels stands for its kernels", word)
    ok(whatif(place, path, "--no-sync").get("predicted_ns", 10**9) < 7_000_000,
       "without the waits the program runs ahead")
    ok(whatif(place, path, "--free-host").get("predicted_ns", 10**9) < 7_500_000,
       "without the program's own time calls and kernels are left")
    path_ns = base.get("critical_path", {})
    ok(sum(path_ns.get("by_kind", {}).values()) == base.get("measured_ns"),
       "the critical path adds up to the span", path_ns)
    for words, code in ((["--scale", "nosuch=1"], 1), (["--scale", "gemm"], 2),
                        (["--scale", "gemm=-1"], 2), (["--scale", "=1"], 2)):
        r = aon(place, "whatif", path, *words)
        ok(r.returncode == code and r.stderr.startswith(b"aon whatif: ") and not r.stdout,
           f"{words[1]!r} is refused in one line, exit {code}", r.stderr)
    text = aon(place, "whatif", path, "--scale", "gemm=0.5")
    ok(b"A step takes 1.00 ms now; with the change 700" in text.stdout, "the text says it in a sentence", text.stdout)


def nothing(place):
    path = place.path / "cpu.json"
    path.write_text('{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}')
    r = aon(place, "whatif", path)
    ok(r.returncode in (0, 3), "a trace without GPU work is replayed or said to be none", r.stderr)
    r = aon(place, "whatif", place.path / "absent.json")
    ok(r.returncode == 1 and b"absent.json" in r.stderr, "an absent file is named", r.stderr)


def recorded(place, root):
    for folder in KINETO:
        for path in sorted(p for p in (root / folder).rglob("*.json*") if p.name != "execution_details.json"):
            w = whatif(place, path)
            off = abs(w["replayed_ns"] / w["measured_ns"] - 1) if w.get("measured_ns") else None
            ok(off is not None and off <= 0.02 or "nothing to replay" in w.get("error", ""),
               f"{path.parent.name}/{path.name[:40]}: replayed to the measured time",
               w.get("error", off))
    base = whatif(place, root / "param/dlrm_kineto")
    ok(base.get("collectives_matched", 0) > 0 and base["replayed_ns"] == base["measured_ns"],
       "eight ranks are replayed together, their collectives matched", base)
    fed = whatif(place, root / "kineto/kineto_tb/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
                 "--scale-host", "enumerate(DataLoader)=0")
    ok(fed.get("predicted_ns", 1) < 0.8 * fed.get("measured_ns", 1),
       "ResNet50 whose input costs nothing takes a fifth less or better", fed)


def main():
    with Place() as place:
        changes(place, trace(place))
        nothing(place)
        root = data()
        if root:
            recorded(place, root)
        else:
            skip("recorded traces", "the shared data is not here")
    done()


main()
