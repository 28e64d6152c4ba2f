# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""Signal handlers that emit, small signal stacks, cancelled threads, late destructors."""
import subprocess

from aontest import LONG, SANITIZED, Daemon, Place, accounts, app, balanced, done, ok, skip
from apptest import case, same_as_without, told

BIG = {"pool_kib": 16384}


def storm():
    seconds = 30 if LONG else 2
    e, accts = case("app_signal", "prof", seconds, text="SIGPROF at 10 kHz", sets=BIG)
    ok(e.get("handled", 0) > 100 * seconds, f"the handler ran {e.get('handled')} times")
    ok(e.get("result") == 0, "errno was kept in every handler and around every emit", e)
    nested = sum(a["lost_by"]["nested"] for a in accts)
    ok(nested <= e.get("by_handler", 0), f"{nested} records lost as nested, and counted")


def stacks():
    if SANITIZED not in ("", "none"):
        skip("emits on small stacks", "a sanitizer's frames are larger")
        return
    now = {"LD_BIND_NOW": 1}  # else the program's first call is what takes the stack
    e, _ = case("app_signal", "small", text="an emit on the smallest signal stack", env=now)
    ok(abs(e.get("own", 1 << 20)) <= 256, f"an emit takes {e.get('own')} bytes of stack", e)
    e, _ = case("app_signal", "first", text="joining in a handler on a small stack", env=now)
    ok(0 < e.get("own", 0) <= 2048, f"joining takes {e.get('own')} bytes of stack", e)


def cancelled():
    rounds = 2000 if LONG else 100
    with Place() as p, Daemon(p, BIG) as d:
        proc = app(p, "app_threads", "cancel", rounds, stdin=subprocess.PIPE)
        line = proc.stdout.readline()
        d.flush()
        used = (d.session(proc.pid) or {}).get("chunks_used", 99)
        ok(used <= 2, f"no chunk stays with a thread that is gone: {used} used", d.status())
        out, err = proc.communicate(timeout=30)
        got = proc.returncode, told(line), err
        same_as_without(p, f"{8 * rounds} threads cancelled while they emit", got, "app_threads",
                        "cancel", rounds, stdin=subprocess.DEVNULL)
        d.flush()
        accts = accounts(p.store)
        n, e = sum(a["emitted"] for a in accts), got[1]
        ended, begun = sum(t[1] for t in e["truth"]), e["begun"]
        ok(all(map(balanced, accts)) and ended <= n <= begun,
           f"every emit that returned is accounted, none twice: {ended} <= {n} <= {begun}",
           f"{accts} {e}")
        ok(e["truth"][0][2] == 1, "the process is still joined", e)


storm()
stacks()
cancelled()
e, accts = case("app_threads", "late", 2000, text="destructors that emit after ours")
ok(sum(a["lost_by"]["late"] for a in accts) >= 2000, "what comes too late is counted as late", accts)
done()
