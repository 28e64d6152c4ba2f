# SPDX-License-Identifier: Apache-2.0
"""Shared by the scenarios of the app's side: compares the truth that a program reports (tests/app/app.h) with the
store's accounts, and its result with a run without aon."""
import json
import time

from aontest import Daemon, Place, accounts, app, balanced, ok, report


def told(out):
    """The last line of a program that is JSON, {} when there is none."""
    for line in reversed(out.strip().splitlines()):
        try:
            return json.loads(line)
        except ValueError:
            continue
    return {}


def run(place, name, *args, timeout=120, **kw):
    """A program to its end: (exit code, what it told, stderr)."""
    p = app(place, name, *args, **kw)
    out, err = p.communicate(timeout=timeout)
    return p.returncode, told(out), err


def without(place, name, *args, **kw):
    """The same program with libaon inert."""
    return run(place, name, *args, env={**kw.pop("env", {}), "AON_OFF": 1}, **kw)


def same_as_without(place, text, got, name, *args, **kw):
    """I1: result and exit code are those of a run without aon."""
    bare = without(place, name, *args, **kw)
    return ok((got[0], got[1].get("result")) == (bare[0], bare[1].get("result")) and
              "result" in got[1], f"{text}: same result and exit code as without aon",
              f"with {got[0]} {str(got[1])[:300]} {got[2][-500:]}\nwithout {bare}")


def truth(*said, joined=1):
    """{pid: records} of the processes that had a session (or had none), summed."""
    by = {}
    for one in said:
        for pid, n, had in one.get("truth", []):
            if had == joined and n:
                by[pid] = by.get(pid, 0) + n
    return by


def quiet(daemon, seconds=3.0):
    """Waits until no session is left; how long it took, None when it did not happen."""
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        if not daemon.status().get("sessions", []):
            return time.monotonic() - start
        time.sleep(0.02)
    return None


def rows(place):
    """Processes in the store."""
    return report(place.store, "--all").get("processes", [])


def exact(place, daemon, text, *said):
    """I3: what each process emitted is what the store says it emitted, and each account adds up."""
    daemon.flush()
    got, want, late = {}, truth(*said), truth(*said, joined=0)
    for p in rows(place):
        if p["accounting"]["emitted"]:
            got[p["pid"]] = got.get(p["pid"], 0) + p["accounting"]["emitted"]
    # Who had no session yet when it told may have got one while it ended, and then all is there.
    want.update({k: n for k, n in late.items() if k in got and k not in want})
    bad = [a for a in accounts(place.store) if not balanced(a)]
    differ = {k: (want.get(k), got.get(k)) for k in {*want, *got} if want.get(k) != got.get(k)}
    return ok(not differ and not bad and want,
              f"{text}: {sum(want.values())} records of {len(want)} processes accounted, to the record",
              f"pid: (truth, store) {differ}\nunbalanced {bad}\n{daemon.text()[-1500:]}")


def case(name, *args, text, sets=None, timeout=120, env=None):
    """The usual scenario: one program under one aond. Returns (what it told, accounts)."""
    with Place() as p, Daemon(p, sets) as d:
        got = run(p, name, *args, timeout=timeout, env=env or {})
        same_as_without(p, text, got, name, *args, timeout=timeout, env=env or {})
        exact(p, d, text, got[1])
        ok(d.alive(), f"{text}: aond lives", d.text()[-1500:])
        return got[1], accounts(p.store)


