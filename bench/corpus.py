#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the cross-rank diagnosis finds of drawn jobs with known faults (docs/diagnosis.md).

corpus_recall     of faults that cost 1 % or more, those that an act names
corpus_precision  acts that are true
corpus_culprit    of faults with any finding, those whose culprit was the first place named
corpus_detect_s   simulated time from a fault's first step to its name, median
diagnose_ms_4096  CPU for each step of 4,096 ranks

Seeds follow from the release: nobody can have tuned on them. AON_LONG=1: ten times as many cases."""
import hashlib
import json
import os
import pathlib
import re
import subprocess

BUILD = pathlib.Path(os.environ.get("AON_BUILD", os.getcwd()))
LONG = bool(os.environ.get("AON_LONG"))
# By ranks: cases. Most of the drawn layouts are of these sizes; larger ones cost minutes each.
SIZES = (("8-64", 1500 if LONG else 150), ("65-512", 150 if LONG else 12))


def release():
    out = subprocess.run([BUILD / "aon", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"\d+\.\d+\.\d+", out).group()


def seed(tag):
    return int.from_bytes(hashlib.sha256(b"aon-test" + tag.encode()).digest()[:4], "little")


def score(*args):
    out = subprocess.run([BUILD / "bench/lab/aon-lab", "score", "--json", "--against", "aon", *map(str, args)],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return json.loads(out)["scores"][0]


def row(name, value, unit, bar, least, note):
    ok = value >= bar if least else value <= bar
    print(json.dumps({"id": name, "value": value, "unit": unit, "bar": bar, "ok": ok, "least": least, "note": note}), flush=True)


def corpus(ids):
    tag = release()
    runs = [score("--cases", n, "--seed", seed(tag), "--ranks", ranks) for ranks, n in SIZES]
    total = {k: sum(r[k] for r in runs) for k in ("events", "detected", "noticed", "top1", "acts", "acts_right", "acts_vague", "acts_victim")}
    note = f"{total['events']} faults of {sum(n for _, n in SIZES)} jobs, seed of {tag}"
    kinds = {}
    for r in runs:
        for k, (found, of) in r["by_kind"].items():
            a, b = kinds.get(k, (0, 0))
            kinds[k] = (a + found, b + of)
    missed = ", ".join(f"{k} {a}/{b}" for k, (a, b) in sorted(kinds.items(), key=lambda x: int(x[0][1:])) if a < b)
    if "corpus_recall" in ids:
        row("corpus_recall", total["detected"] / total["events"], "", 0.95, True, note + (f"; not all of {missed}" if missed else ""))
    if "corpus_precision" in ids:
        right = total["acts_right"] + total["acts_vague"]
        row("corpus_precision", right / total["acts"], "", 0.95, True,
            f"{total['acts']} acts, {total['acts_vague']} too wide, {total['acts_victim']} name who only waits")
    if "corpus_culprit" in ids:
        row("corpus_culprit", total["top1"] / total["noticed"], "", 0.90, True, note)
    if "corpus_detect_s" in ids:
        row("corpus_detect_s", max(r["detect_s"] for r in runs), "s", 30, False, "the worse of the sizes' medians")


def large():
    r = score("--cases", 2, "--seed", 4, "--layouts", "tp8pp8dp64", "--ranks", "4096-4096", "--steps", 64)
    row("diagnose_ms_4096", r["cpu_ms_step_most_ranks"], "ms", 20, False, f"{r['most_ranks']} ranks, the dearer of two jobs of 64 steps")


def main():
    ids = os.environ.get("BENCH_IDS", "corpus_recall corpus_precision corpus_culprit corpus_detect_s diagnose_ms_4096").split()
    if any(i.startswith("corpus_") for i in ids):
        corpus(ids)
    if "diagnose_ms_4096" in ids:
        large()


if __name__ == "__main__":
    main()
