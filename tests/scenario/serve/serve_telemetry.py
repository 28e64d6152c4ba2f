# SPDX-License-Identifier: Apache-2.0
# test: timeout=240
"""Telemetry by the API: the usual series of the run's GPUs and of the host, in cells; what ended, what happened."""
import json

from aontest import Place, done, ok, wait_for
from clitest import fixture
from nodekit import node
from servetest import Server


def of(reply, metric, device):
    return next((s for s in reply["series"] if s["metric"] == metric and s["device"] == device), None)


def values(s):
    """What it was, one after another, without repeats."""
    out = []
    for p in s["points"]:
        v = round(p[2], 2) if len(p) > 1 and p[1] == p[3] else None if len(p) == 1 else "between"
        if v != "between" and (not out or out[-1] != v):
            out.append(v)
    return out


def test_values(s, run):
    r = s.get(f"run/{run}/telemetry?n=2000")
    power = of(r, "DCGM_FI_DEV_POWER_USAGE", "nvidia0")
    ok(power and [v for v in values(power) if v is not None] == [301.23, 180], "power of a GPU of the run, as it changed", power)
    ok(r["cells"] <= 2000 and r["width_ns"] * r["cells"] >= r["asof"] and all(
        p[0] < r["cells"] and (len(p) == 1 or p[1] <= p[2] <= p[3]) for x in r["series"] for p in x["points"]), "in cells: least, mean, most")
    ok(any(len(p) == 4 and p[3] == 36 for p in of(r, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "nvidia0")["points"]), "and why its clock is low")
    lost = of(r, "DCGM_FI_DEV_POWER_USAGE", "nvidia1")
    ok(lost and len(lost["points"][-1]) == 1, "what fell off the bus ends there", lost)
    ok({x["gpu"] for x in r["series"]} == {0, 1, None}, "GPUs that the run does not use are left out", {x["device"] for x in r["series"]})
    cpu = next((x for x in r["series"] if x["name"] == "CPU user"), None)
    ok(cpu and cpu["how"] == "rate" and any(0 < p[3] < 1000 for p in cpu["points"] if len(p) > 1), "the host's cores as a rate", cpu)
    ok(any(e["what"] == "xid" and "Xid 79" in e["text"] and e["at_ns"] < r["asof"] + 10**10 for e in r["events"]), "the XID is among the events", r["events"])


def test_choice(s, run):
    names = s.get(f"run/{run}/series")["series"]
    pick = [x["id"] for x in names if x["metric"] == "DCGM_FI_DEV_SM_CLOCK" and x["device"] in ("nvidia5", "nvidia0")]
    r = s.get(f"run/{run}/telemetry?n=50&series={','.join(map(str, pick))}")
    ok(len(names) > 100 and [x["id"] for x in r["series"]] == sorted(pick, key=lambda i: next(x["gpu"] for x in names if x["id"] == i)),
       "others are had by their ids", [len(names), pick, r["series"]])
    ok(all(x["help"] for x in names), "of all it is known what they are")
    end = r["asof"]
    near = s.get(f"run/{run}/telemetry?t0={end // 2}&t1={end // 2 + 1000000}&n=10&series={pick[0]}")
    ok(near["width_ns"] == 100000 and near["series"][0]["points"] and len(near["series"][0]["points"][0]) == 4, "between two polls the value holds", near)
    for bad in ("series=x", "series=1,", "n=0", "n=2001", "t0=5&t1=5"):
        status, _, body = s.ask(f"/api/v1/run/{run}/telemetry?{bad}")
        ok(status == 400 and json.loads(body)["error"], f"{bad} is refused", body)


with Place() as place:
    with node(place) as d, Server(place, place.store) as s:
        run = wait_for(lambda: next((x["id"] for x in s.get("runs")["runs"] if x["gpus"] == 2), None), 30)
        wait_for(lambda: of(s.get(f"run/{run}/telemetry"), "DCGM_FI_DEV_POWER_USAGE", "nvidia1") and
                 len(of(s.get(f"run/{run}/telemetry"), "DCGM_FI_DEV_POWER_USAGE", "nvidia1")["points"][-1]) == 1, 40)
        test_values(s, run)
        test_choice(s, run)
    with Server(place, fixture(place.path / "bare.db")) as s:
        r = s.get(f"run/{s.run()}/telemetry")
        ok(r["series"] == [] and r["events"] == [] and s.get(f"run/{s.run()}/series")["series"] == [], "a store without telemetry has none", r)
done()
