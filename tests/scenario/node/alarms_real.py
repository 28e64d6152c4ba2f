#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""What is done to real programs is reported: a CPU quota, SIGSTOP, a slow loader, a storm of garbage collections, a leak, a
part that sleeps. What else runs on the machine may change their steps just before: who is missed then is tried again."""
from aontest import SANITIZED, Daemon, Place, done, ok, skip, skip_all
from faultkit import CHECKPOINTS, FAULTS, Rig, alarms


def tried(faults, told, said):
    with Place() as p, Daemon(p, {"escalate_s": 0}) as d:
        rig = Rig(p, faults)
        try:
            rig.run()
            told.update(rig.wait(45))
            hangs = [a for a in alarms(p) if a["kind"] == "hang"]
            if "SIGSTOP" in rig.proc:
                hangs = [a for a in hangs if f"pid {rig.proc['SIGSTOP'].pid}:" not in a["text"]]
            said.append((alarms(p), d.text()[-2000:]))
            return hangs
        finally:
            rig.end()


if SANITIZED:
    skip_all("Python cannot load a sanitized libaon; alarms_kinds.py has C programs")
told, said, hangs = {}, [], []
for turn in range(3):
    left = [f for f in FAULTS if told.get(f, turn > 0) is False or turn == 0]
    if left:
        hangs += tried(left, told, said)
for name in FAULTS:
    if name in told:
        ok(told[name], f"{name}: told", said)
    else:
        skip(f"{name}: told", "no cgroup with a CPU quota can be made here")
ok(not hangs, "and only who was stopped is said to hang", hangs)
with Place() as p, Daemon(p, {"escalate_s": 0}) as d:
    rig = Rig(p, CHECKPOINTS, onset=50)
    try:
        rig.run()
        rig.stands()
        said = [a for a in alarms(p) if a["kind"] in ("hang", "hang_over")]
        for name, proc in rig.proc.items():
            ok(not any(f"pid {proc.pid}:" in a["text"] for a in said), f"{name}: no hang", said)
    finally:
        rig.end()
done()
