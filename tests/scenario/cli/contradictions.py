#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=600 sanitize=no
"""One thing has one figure: what aon why, aon report and the page's API say of the same input is
compared by name, in text and JSON."""
import collections
import json
import re

import verdictkit
from aontest import Place, data, done, ok, skip
from clitest import aon
from servetest import Server

TRACES = ("kineto/kineto_tb/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz", "param/dlrm_kineto",
          "tracelens/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz",
          "kineto/hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
          "tracelens/traces/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "nsys/nsys_ai/h100_2gpu_1s.sqlite",
          "tracelens/traces/perf_model/normalization/normalization_layer_test.json.gz")
JOBS = (("slow_gpu:rank=3,by=1.5", "dp=8"), ("slow_preprocessing:by=100", "dp=4"), ("nic_degraded:rank=9,by=16", "dp=16"))

WAIT = 300  # seconds: the machine may be busy

# Contradictions by kind that are still printed. A number may only fall.
STILL = {"part of a step": 8, "step": 3}

TITLE = re.compile(r"^(\d+) +(.+?) {2,}(\S+ \S+?)(?: a step)? \((\S+) %\) +(\w+)$", re.M)
ROW = re.compile(r"^ +(\d+) +(.+?) {2,}(\S+ (?:ns|us|µs|ms|s)) +(\S+) +(low|medium|high)$", re.M)
STEP = re.compile(r"of (\S+ (?:ns|us|µs|ms|s)) a step\.")
PART = re.compile(r"^    (\S.*?) {2,}([<\d.]+) +([<\d.]+)\b", re.M)


class Said:
    """Figures by name, with the screens that show them."""

    def __init__(self):
        self.by = collections.defaultdict(list)

    def __call__(self, name, screen, value):
        self.by[name].append((screen, value))

    def contradictions(self):
        """(name, [(screen, value)]) of what is not everywhere the same."""
        for name, some in self.by.items():
            first = some[0][1]
            if any(not alike(first, v) for _, v in some):
                yield name, some


def alike(a, b):
    """The same as far as it was printed: a text has three digits, a share whole percents."""
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return a == b
    if isinstance(a, tuple) or isinstance(b, tuple):  # a printed share: (percent, digits after the point)
        a, b = (x if isinstance(x, tuple) else (x, 3) for x in (a, b))
        return abs(a[0] - b[0]) <= 0.51 * 10.0 ** -min(a[1], b[1])
    return verdictkit.same(a, b)


def percent(text):
    """A printed share; None where it is only a bound."""
    return None if "<" in text else (float(text), len(text.partition(".")[2]))


def ns(text):
    return (verdictkit.times(text) or [None])[0]


def of_findings(said, screen, findings):
    """The figures of findings in JSON."""
    for f in findings:
        key = f"{f['id']}: {f['title']}"
        for name in ("family", "confidence", "action", "expect", "not"):
            said(f"{key}: {name}", screen, f[name])
        for name in ("cost_ns", "gain_lo_ns", "gain_hi_ns"):
            said(f"{key}: {name}", screen, f[name])
        said(f"{key}: share", screen, (100 * f["share"], 3))
        said(f"{key}: seen", screen, " | ".join(f["seen"]))
        if got := verdictkit.range_of(f["expect"]):
            if f["per"] == "step" and f["id"] == 1:
                said("step", f"{screen}, expect of {f['family']}", got[2])


def of_text(said, screen, text, table):
    """The figures of a text: titles of findings with cost, share and confidence."""
    for n, title, cost, share, sure in table.findall(text):
        key = f"{n}: {title.strip()}"
        if ns(cost) is not None:
            said(f"{key}: cost_ns", screen, ns(cost))
        if percent(share):
            said(f"{key}: share", screen, percent(share))
        said(f"{key}: confidence", screen, sure)
    for step in STEP.findall(text)[:1]:
        said("step", screen, ns(step))


def of_split(said, report, overview):
    """Where a step goes: the parts of a twentieth or more are the same in text and on the page; all are 100 %."""
    part = report.partition("Where a step goes")[2].partition("\n\n")[0]
    rows = [(n, ms, share) for n, ms, share in PART.findall(part) if "<" not in ms + share]
    if not rows or " ms " not in part.split("\n")[0]:
        return
    page = [p["ns"] / 1e6 for p in overview["split"]]
    for name, ms, share in rows:
        if float(share) < 5:
            continue
        half = 0.51 * 10.0 ** -len(ms.partition(".")[2])
        there = min(page, key=lambda p, v=float(ms): abs(p - v))
        said(f"part of a step: {name}", "report", float(ms))
        said(f"part of a step: {name}", "page, nearest", float(ms) if abs(there - float(ms)) <= half else there)
    total = sum(float(share) for _, _, share in rows)
    said("parts of a step, %", "report, sum", 100.0 if abs(total - 100) <= 3 else total)
    said("parts of a step, %", "must be", 100.0)


def of_devices(said, report, devices):
    for screen, some in (("report --json", report["devices"]), ("page", devices["devices"])):
        for d in some:
            for k, v in d.items():
                if k.endswith("_ns"):
                    said(f"rank {d['rank']} GPU {d['device']}: {k}", screen, v)
    for screen, some in (("report --json", report["steps"]),):
        for s in some:
            said(f"rank {s['rank']} step {s['step']}: busy + idle", screen, s["busy_ns"] + s["idle_ns"])
            said(f"rank {s['rank']} step {s['step']}: busy + idle", "its length", s["dur_ns"])


def of_accounts(said, why, report, diff):
    """The account is one: of aon why, of aon report, and of what aon diff takes a step apart into."""
    for screen, some in (("why --json", why["account"]), ("report --json", report["account"])):
        for a in some:
            for k, v in {"base": a["base_ns"], **a["parts"]}.items():
                said(f"rank {a['rank']} GPU {a['device']}: account: {k}", screen, v)
    if not why["account"]:
        return
    n = sum(a["steps"] for a in why["account"]) or len(why["account"])
    mean = lambda *of: sum(a["parts"].get(k, 0) for a in why["account"] for k in of) / n
    part = {p["part"]: p["a_ns"] for p in diff["parts"]}
    classes = sum(v for k, v in part.items() if not k.startswith("idle_") and not k.endswith("_exposed"))
    for name, of, value in (("compute", ("compute",), classes), ("comm", ("comm", "comm_transfer", "comm_wait"), part["comm_exposed"]),
                            ("copy", ("copy",), part["copy_exposed"]), ("input", ("input",), part["idle_input"]),
                            ("sync", ("sync",), part["idle_sync"]), ("host", ("host",), part["idle_host"]),
                            ("launch", ("launch",), part["idle_launch"])):
        said(f"mean step: {name}", "why --json, account", round(mean(*of)))
        said(f"mean step: {name}", "diff", value)
    said("mean step", "why --json, account", round(sum(a["base_ns"] for a in why["account"]) / n))
    said("mean step", "diff", diff["a"]["step_ns"])
    said("difference to itself", "diff", diff["delta_ns"])
    said("difference to itself", "must be", 0)


def compare(place, path, what):
    """Everything that is said of one input."""
    said = Said()
    text, report = (aon(place, c, path, timeout=WAIT).stdout.decode() for c in ("why", "report"))
    why, table = (json.loads(aon(place, c, "--json", path, timeout=WAIT).stdout) for c in ("why", "report"))
    diff = json.loads(aon(place, "diff", "--json", path, path, timeout=WAIT).stdout)
    of_accounts(said, why, table, diff)
    shown = min(3, len(why["findings"]))
    of_findings(said, "why --json", why["findings"])
    of_text(said, "why", text, TITLE)
    of_text(said, "report", report, ROW)
    with Server(place, path) as s:
        run = s.run()
        page, findings, devices, whatif = (s.get(f"run/{run}/{v}") for v in ("overview", "findings", "devices", "whatif"))
    of_findings(said, "page, findings", findings["findings"])
    of_findings(said, "page, overview", page["findings"])
    if page["verdict"] and why["findings"]:
        said("verdict", "page", page["verdict"].strip())
        for screen, t in (("why", text), ("report", report)):
            said("verdict", screen, " ".join(t.partition("\n\n")[2].partition("\n\n")[0].partition("\n   ")[0].split()))
    of_split(said, report, page)
    if whatif["steps"] and "step" in said.by:
        said("step", "page, what if", whatif["measured_ns"] / whatif["steps"])
    of_devices(said, table, devices)
    if table["devices"] and why["findings"]:
        busy = sum(d["busy_ns"] for d in table["devices"]) / sum(d["span_ns"] for d in table["devices"])
        said("busy", "report --json", (100 * busy, 1))
        said("busy", "page", (100 * page["busy"], 1))
    ok(shown == 0 or len(TITLE.findall(text)) >= 1, f"{what}: its findings are on the screens", text[:400])
    return list(said.contradictions()), len(said.by)


def main():
    found, names = collections.defaultdict(list), 0
    with Place() as place:
        inputs = [(root / t, t) for t in TRACES] if (root := data()) else []
        if not inputs:
            skip("recorded traces", "they are not beside the tree")
        for n, (fault, layout) in enumerate(JOBS):
            store = place.path / f"job{n}.db"
            aon(place, "sim", "--layout", layout, "--fault", fault, "-o", store, timeout=WAIT)
            inputs.append((store, fault))
        for path, what in inputs:
            bad, n = compare(place, path, what)
            names += n
            for name, some in bad:
                kind = re.sub(r"^\d+: .*: |rank \d+ (GPU|step) \d+: |(?<=part of a step): .*", "", name)
                found[kind].append(f"{what}: {name}: " + "; ".join(f"{s}: {v}" for s, v in some))
    ok(names > 50 * len(inputs), f"{names} figures were compared")
    for kind in sorted(set(found) | set(STILL)):
        ok(len(found[kind]) <= STILL.get(kind, 0), f"{kind}: {len(found[kind])} contradictions, at most {STILL.get(kind, 0)}", "\n".join(found[kind]))
    done()


main()
