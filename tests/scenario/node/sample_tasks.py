#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""Tasks of asyncio: the awaits of the one that runs, and where the others wait while the loop idles, in every Python that is here."""
import json
import re
import time

import aonschema
from aonsample import Program, attach, last, pythons
from aontest import aon, done, ok, skip, wait_for

TASK = 2  # the kind of a frame
TASKS = """
import asyncio, time
async def deepest():
    await asyncio.sleep(1000)
async def middle():
    await deepest()
async def worker():
    await middle()
async def reader(q):
    await q.get()
async def ended():
    pass
def spin():
    end = time.monotonic() + 0.03
    while time.monotonic() < end: pass
async def inner():
    spin()
async def busy():
    while True:
        await inner()
        await asyncio.sleep(0.1)
async def main():
    q = asyncio.Queue()
    tasks = [asyncio.create_task(worker()) for _ in range(3)] + [asyncio.create_task(reader(q)), asyncio.create_task(ended())]
    await asyncio.sleep(0.01)
    if BUSY: tasks.append(asyncio.create_task(busy()))
    print("there", flush=True)
    await asyncio.gather(*tasks)
asyncio.run(main())
"""
# A coroutine that awaits so many others, and one that awaits itself, which Python refuses.
DEEP = """
import asyncio
async def down(n):
    await (down(n - 1) if n else asyncio.sleep(1000))
async def main():
    tasks = [asyncio.create_task(down(100)) for _ in range(1000)]
    await asyncio.sleep(0)
    print("there", flush=True)
    await asyncio.gather(*tasks)
asyncio.run(main())
"""


def code(busy):
    return TASKS.replace("BUSY", str(busy))


def frames(pid):
    said = json.loads(aon("stacks", "--json", pid).stdout)
    assert not aonschema.check(said), aonschema.check(said)
    return said["groups"][0]["frames"]


def waits(pid):
    """{innermost function of the program: how many wait there} by aon stacks."""
    out = {}
    for f in frames(pid):
        m = re.match(r"\[(\d+) tasks?\] (.+)", f["name"])
        if m and f["file"] == "<string>":
            out[last(m[2])] = int(m[1])
    return out


def idle(minor, exe):
    want = {"deepest": 3, "middle": 3, "worker": 3, "reader": 1, "main": 1}
    with Program(code(False), exe=exe) as p:
        got = wait_for(lambda: waits(p.pid) == want and waits(p.pid), 30) or waits(p.pid)
        ok(got == want, f"Python 3.{minor}: aon stacks says where tasks wait, and how many", (got, frames(p.pid)))
        chains = set()
        for _ in range(4):  # one task a second, drawn: eight times the same one is rare, but happens
            said = attach(p.pid, "--tid", p.pid, hz=20, seconds=8)
            chains |= {tuple(last(f.name) for f in said.stacks[s.stack] if f.kind == TASK and f.file == "<string>") for s in said.samples if s.stack}
            if len(chains) >= 2:
                break
        ok({("deepest", "middle", "worker"), ("reader",), ("main",)} >= chains and len(chains) >= 2, f"Python 3.{minor}: samples of a loop that idles have the awaits of a task, in turn",
           chains)
        blamed = {last(said.blame(s).name) for s in said.samples if s.stack}
        ok(blamed and blamed <= {"deepest", "reader", "main"}, f"Python 3.{minor}: the innermost of the program is to blame", blamed)


def runs(minor, exe):
    with Program(code(True), exe=exe) as p:
        said = attach(p.pid, "--tid", p.pid, hz=200, seconds=3)
        spun = [[last(n) for n in said.names(s)] for s in said.samples if "spin" in [last(n) for n in said.names(s)]]
        good = sum(n[-3:] == ["busy", "inner", "spin"] for n in spun)
        ok(len(spun) > 20 and good >= 0.98 * len(spun), f"Python 3.{minor}: of a task that runs its awaits are frames ({good} of {len(spun)})", spun[:3])
        ok(not any(f.kind == TASK for s in said.samples if s.stack and "spin" in [last(n) for n in said.names(s)] for f in said.stacks[s.stack]),
           f"Python 3.{minor}: and none that waits is there")


def shown():
    """As people see it."""
    with Program(code(False)) as p:
        text = aon("attach", p.pid, "--seconds", 3).stdout
        ok("deepest" in text or "reader" in text or "main" in text, "aon attach names the code that waits", text)


def bounded(minor, exe):
    with Program(DEEP, exe=exe) as p:
        t = time.monotonic()
        got = frames(p.pid)
        took = time.monotonic() - t
        ok(len(got) <= 48 and took < 8 and any("tasks] down" in f["name"] for f in got), f"Python 3.{minor}: a thousand tasks a hundred deep, in {took:.1f} s", got[-3:])


known = list(pythons())
for minor, exe in known:
    idle(minor, exe)
    runs(minor, exe)
    bounded(minor, exe)
if not known:
    skip("tasks", "no Python 3.10 to 3.15 here")
shown()
done()
