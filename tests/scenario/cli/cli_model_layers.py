#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=120
"""aon model collective, attention, conv, elementwise, norm, step: what they say holds together, their
JSON is as documented, and bad questions are refused."""
import json

import aonschema
from aontest import Place, done, ok
from clitest import aon

D = ["--device", "H100_SXM"]


def ask(place, *args):
    r = aon(place, "model", *args, "--json")
    a = json.loads(r.stdout) if r.returncode == 0 else {"error": r.stderr.decode()}
    ok("error" not in a and not aonschema.check(a), f"{args[0]}: as docs/json.md has it", a)
    return a


def close(a, b, part=1e-4):
    return abs(a - b) <= part * abs(b)


def collective(place):
    c = ["collective", *D, "--op", "all-reduce", "--bytes", str(1 << 30)]
    a = ask(place, *c, "--ranks", "8")
    ok(close(a["algorithm_bytes_per_s"], (1 << 30) / a["ns"] * 1e9), "bytes by time", a)
    ok(close(a["bus_bytes_per_s"], 1.75 * a["algorithm_bytes_per_s"]), "and 2 (n-1)/n of them on the bus", a)
    ok(a["limiter"] == "link" and a["ranks_per_node"] == 8, "a large one in a node is limited by its links", a)
    far = ask(place, *c, "--ranks", "16", "--net", "12.5")
    ok(far["limiter"] == "network" and close(far["bus_bytes_per_s"], 100e9, 0.05), "two nodes by 8 adapters of 12.5 GB/s",
       far)
    half = ask(place, *c, "--ranks", "16", "--net", "12.5", "--nics", "4")
    ok(close(half["ns"] / far["ns"], 2, 0.05), "half of the adapters take twice as long", (far, half))
    ok(ask(place, *["all_reduce" if x == "all-reduce" else x for x in c], "--ranks", "8") == a, "all_reduce is all-reduce", a)
    r = aon(place, "model", *c, "--ranks", "8")
    ok(b"limited by link" in r.stdout and b"8 a node" in r.stdout, "so in words", r)


def layers(place):
    a = ask(place, "attention", *D, "--heads", "32", "--q", "4096", "--dtype", "fp16")
    ok(a["flops"] == 4 * 32 * 4096 * 4096 * 128 and a["limiter"] == "compute", "attention counts two products", a)
    ok(close(a["roof_fraction"], a["roof_ns"] / a["ns"]) and a["roof_fraction"] < 1, "no more than the roof", a)
    d = ask(place, "attention", *D, "--heads", "32", "--kv-heads", "8", "--q", "1", "--kv", "8192", "--batch", "64")
    ok(d["limiter"] == "memory" and d["roof_fraction"] > 0.5, "decoding is limited by memory", d)
    v = ask(place, "conv", *D, "--image", "56x56", "--channels", "64", "--filters", "64", "--pad", "1", "--batch", "32")
    ok(v["flops"] == 2 * 32 * 56 * 56 * 64 * 64 * 9 and v["out_height"] == 56, "a convolution counts its products", v)
    w = ask(place, "conv", *D, "--image", "224x200", "--channels", "3", "--filters", "64", "--kernel", "7", "--stride",
            "2", "--pad", "3")
    ok((w["out_height"], w["out_width"]) == (112, 100), "and its result's size", w)
    e = ask(place, "elementwise", *D, "--elements", "1000000000", "--inputs", "2")
    ok(e["memory_bytes"] == 6e9 and e["limiter"] == "memory" and e["roof_fraction"] > 0.8, "a sum moves three tensors", e)
    n = ask(place, "norm", *D, "--rows", "4096", "--width", "4096")
    ok(n["memory_bytes"] == 2 * 2 * 4096 * 4096 and n["limiter"] == "memory", "a norm reads and writes", n)


def step(place):
    a = ask(place, "step", *D, "--model", "llama2-7b", "--seq", "4096", "--batch", "32", "--pp", "4",
            "--micro-batches", "8")
    parts, turn = a["step_parts_ns"], a["forward_ns"] + a["backward_ns"]
    ok(a["params"] == 6738415616 and a["gpus"] == 4, "the preset has the parameters of its weights", a)
    ok(close(sum(parts.values()), a["ns"]), "the parts add up", a)
    ok(close(parts["bubble"] / (parts["bubble"] + 8 * turn), 3 / 11), "a bubble of (p-1)/(m+p-1)", a)
    ok(close(a["mfu"], a["flops"] / a["ns"] / 1e-9 / 4 / 989.4e12, 1e-3), "MFU is operations due by peak", a)
    ok(close(sum(v for k, v in a["gpu_bytes"].items() if k != "total"), a["gpu_bytes"]["total"]), "memory adds up", a)
    four = ask(place, "step", *D, "--model", "llama2-7b", "--seq", "4096", "--batch", "32", "--pp", "4",
               "--micro-batches", "8", "--interleave", "4")["step_parts_ns"]
    ok(close(four["bubble"], parts["bubble"] / 4, 0.05) and close(four["pp"], 4 * parts["pp"]), "interleaved stages", four)
    tp, sp = (ask(place, "step", *D, "--model", "llama2-7b", "--seq", "4096", "--tp", "8", *more)["step_parts_ns"]
              for more in ([], ["--sequence-parallel"]))
    ok(sp["passes"] < tp["passes"] and sp["gemm"] == tp["gemm"], "tokens shared between products", (tp, sp))
    own = ask(place, "step", *D, "--layers", "32", "--hidden", "4096", "--heads", "32", "--ffn", "11008", "--vocab",
              "32000", "--seq", "4096", "--batch", "32", "--pp", "4", "--micro-batches", "8")
    ok(own["preset"] is None and own["ns"] == a["ns"] and own["params"] == a["params"], "the same by its sizes", own)
    ok(ask(place, "step", *D, "--model", "llama2-7b", "--batch", "32", "--pp", "4", "--micro-batches", "8") ==
       ask(place, "step", *D, "--model", "llama2-7b", "--seq", "4096", "--batch", "32", "--pp", "4", "--micro-batches", "8"),
       "a preset has the length that it was trained with")
    d = ask(place, "step", *D, "--model", "llama2-7b", "--mode", "decode", "--seq", "1024", "--batch", "64")
    ok(d["limiter"] == "memory" and d["gpu_bytes"]["kv_cache"] == 64 * 1024 * 524288 and d["fits"], "decoding", d)
    r = aon(place, "model", "step", "--device", "L4", "--model", "llama2-7b", "--seq", "4096")
    ok(r.returncode == 0 and b"It does not fit: L4 has" in r.stdout and b"MFU" in r.stdout, "says that it does not fit", r)


def own_device(place):
    f = place.path / "mine.json"
    f.write_text(json.dumps({"schema": "aon.devices/1", "devices": [
        {"key": "HALF", "name": "Half", "like": "H100_SXM", "memory_Bps": 1.676e12},
        {"key": "LONE", "name": "Lone", "sms": 4, "memory_Bps": 1e11, "vector_flops": {"fp32": 1e12}}]}))
    env = {"AON_DEVICES": f}
    ask_norm = ["model", "norm", "--rows", "65536", "--width", "4096", "--json", "--device"]
    mine, h100 = (json.loads(aon(place, *ask_norm, d, env=env).stdout) for d in ("HALF", "H100_SXM"))
    ok(close(mine["ns"] / h100["ns"], 2, 0.01), "a device of one's own file, with half the bandwidth", (mine, h100))
    lone = json.loads(aon(place, *ask_norm, "LONE", env=env).stdout)
    ok(lone["ns"] > 10 * h100["ns"] and lone["limiter"] == "memory", "one of which little is known", lone)
    for words, said in ((["collective", "--op", "p2p", "--bytes", "1", "--ranks", "2"], b"no links to others"),
                        (["step", "--model", "llama2-7b", "--seq", "8"], b"LONE has no bf16")):
        r = aon(place, "model", *words, "--device", "LONE", env=env)
        ok(r.returncode == 1 and said in r.stderr and not r.stdout, f"{words[0]}: what it lacks is said", r)


def refused(place):
    coll, att = ["collective", *D, "--op", "all-reduce"], ["attention", *D, "--heads", "8"]
    conv, st = ["conv", *D, "--channels", "4", "--filters", "4"], ["step", *D, "--model", "llama2-7b"]
    huge = str(1 << 63)
    for words, code, said in (
            (["collective", *D], 2, b"--op is needed"), (["collective", *D, "--op", "dance"], 2, b"--op takes all-reduce"),
            (coll, 2, b"--bytes N is needed"), ([*coll, "--bytes", "8"], 2, b"--ranks N is needed"),
            ([*coll, "--bytes", "0", "--ranks", "8"], 2, b"above 0"),
            ([*coll, "--bytes", "8", "--ranks", "0"], 2, b"above 0"),
            ([*coll, "--bytes", "8", "--ranks", "4294967296"], 2, b"at most"),
            ([*coll, "--bytes", huge, "--ranks", "8"], 1, b"too large"),
            ([*coll, "--bytes", "8", "--ranks", "8", "--net", "fast"], 2, b"--net takes GB/s"),
            ([*coll, "--bytes", "8", "--ranks", "8", "--net", "-1"], 2, b"--net takes GB/s"),
            ([*coll, "--bytes", "8", "--ranks", "8", "--m", "4"], 2, b"--m is not for collective"),
            (["collective", "--device", "H10", "--op", "p2p"], 1, b"near: H100_SXM"),
            (att, 2, b"--q N is needed"), ([*att, "--q", "8", "--kv-heads", "3"], 2, b"multiple of --kv-heads"),
            ([*att, "--q", "8", "--kv", "4", "--causal"], 2, b"--q cannot be more"),
            ([*att, "--q", huge, "--batch", huge], 1, b"too large"),
            (["attention", "--device", "A100", "--heads", "8", "--q", "8", "--dtype", "fp8"], 1, b"has no fp8"),
            (conv, 2, b"--image HxW is needed"), ([*conv, "--image", "8x"], 2, b"--image takes HxW"),
            ([*conv, "--image", "0x8"], 2, b"--image takes HxW"), ([*conv, "--image", "2"], 2, b"larger than the image"),
            ([*conv, "--image", "8", "--groups", "3"], 2, b"multiples of --groups"),
            ([*conv, "--image", "8", "--batch", huge], 1, b"too large"),
            (["elementwise", *D, "--elements", huge], 1, b"too large"), (["norm", *D, "--rows", "1"], 2, b"--width N"),
            (["step", *D, "--seq", "8"], 2, b"--layers is needed"),
            (["step", *D, "--layers", "2", "--hidden", "64", "--heads", "2", "--ffn", "128", "--vocab", "99"], 2, b"--seq N is needed"),
            (["step", *D, "--model", "llama", "--seq", "8"], 1, b"there are gpt2-xl"),
            ([*st, "--seq", "8", "--batch", "9", "--dp", "2"], 1, b"no multiple of dp x micro"),
            ([*st, "--seq", "8", "--tp", "3"], 1, b"no multiple of tp"), ([*st, "--seq", "8", "--zero", "7"], 1, b"zero"),
            ([*st, "--seq", "8", "--mode", "dream"], 2, b"--mode takes train"),
            ([*st, "--seq", "8", "--batch", huge], 1, b"more than 2^32")):
        r = aon(place, "model", *words)
        ok(r.returncode == code and said in r.stderr and r.stderr.startswith(b"aon model: ") and not r.stdout
           and r.stderr.count(b"\n") == 1, f"{' '.join(words)!r} is refused in one line, exit {code}", r)


with Place() as p:
    collective(p)
    layers(p)
    step(p)
    own_device(p)
    refused(p)
done()
