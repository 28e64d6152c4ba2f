#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""In unsampled steps nobody listens to torch's ranges: what that costs is measured like the rest. A torch whose
optimizers have no hooks is listened to all the time."""
import json
import subprocess

from aontest import BUILD, Daemon, Place, aon, app_env, done, ok, report
from torchtest import APPS, torches


def train(p, python, seconds, *more):
    env = {"AON_JOIN_MS": 2000, "AON_TORCH": BUILD / "src/app/probe/torch/libaon-torch.so", "PYTHONPATH": BUILD / "python"}
    r = subprocess.run([python, APPS / "torch_left.py", str(seconds), *map(str, more)], env=app_env(p, **env), capture_output=True, text=True, timeout=200)
    return json.loads(r.stdout.splitlines()[-1]) if r.stdout else {"failed": r.stderr}


def measured(version, python):
    hooks = tuple(int(v) for v in version.split(".")[:2]) >= (2, 0)
    with Place() as p, Daemon(p, {"measure": "on", "measure_after_s": 0, "max_slowdown": 0}) as d:
        said = train(p, python, 100 if hooks else 4)
        d.flush()
        heard = {int(k): v for k, v in said.get("heard", {}).items()}
        got = [x for x in json.loads(aon("overhead", "--json", p.store).stdout or "{}").get("processes", []) if x["pid"] == said.get("pid")]
        o = got[0]["overhead"] if got else {}
        # The last step's end may still be on its way out of a probe that is told of it by the next one.
        ok(o and 0 <= said["steps"] - o["steps"] <= 1, f"{version}: every step is seen, left out or not", f"{said} {o}")
        if not hooks:
            ok(not heard.get(0), f"{version}: without hooks of optimizers every range is heard", said)
            return
        ok(set(heard) == {0, 6} and heard[0] >= 150, f"{version}: a step's ranges are heard all, or none", said)
        ok(abs(heard.get(0, 0) - o["left_out"]) <= 64, f"{version}: none in steps that are left out", f"{said} {o}")
        ok(0 < o["stays_on"] < 0.2, f"{version}: what stays on in them is reckoned", o)
        mine = [r for r in report(p.store, "--all").get("ranges", []) if r["name"] == "mine"]
        ok(mine and mine[0]["count"] == heard.get(6), f"{version}: what was heard is in the store", f"{mine} {said}")


def grouped(version, python):
    """With a process group the listener stays: torch's copies at the nodes of the backward pass are reckoned."""
    with Place() as p, Daemon(p, {"measure": "on", "measure_after_s": 0, "max_slowdown": 0, "ops_every": 5}) as d:
        said = train(p, python, 6, "group", p.path / "store")
        d.flush()
        got = [x for x in json.loads(aon("overhead", "--json", p.store).stdout or "{}").get("processes", []) if x["pid"] == said.get("pid")]
        ns = got[0]["overhead"]["stays_on"] * said["s"] / said["steps"] * 1e9 if got else 0
        # aond's figure is a mean that grows with the seconds; without the nodes it is a tenth of this.
        ok(300 * 40 < ns < 300 * 1000, f"{version}: with a process group 300 nodes are reckoned", f"{ns} ns a step {said} {got}")


for t in torches():
    measured(*t)
grouped(*torches()[0])
done()
