# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""What recording costs is measured, told, and kept within the budget."""
import concurrent.futures
import json
import pathlib
import re

from aontest import BUILD, Daemon, Place, aon, app, balanced, done, emitted, ok, skip, wait_for

# A machine that is held up slows a program's pace: that may be an alarm, but none that is to begin a capture here.
ON = {"measure": "on", "measure_after_s": 0, "escalate_s": 0}


def overhead(place, *args):
    got = aon("overhead", "--json", *args, place.store)
    return json.loads(got.stdout) if got.returncode == 0 else got


def one(place, daemon, *args, **kw):
    """What the program says of itself, and what the store says of it."""
    proc = app(place, "app_cost", *args, **kw)
    said = emitted(proc)
    wait_for(lambda: not daemon.session(proc.pid))
    daemon.flush()
    rows = [p for p in overhead(place)["processes"] if p["pid"] == proc.pid]
    return said, rows[0]["overhead"] if rows else None, rows


def measured():
    """Lengths of steps are said, so the machine's noise does not matter: one percent is one."""
    with Place() as p, Daemon(p, {**ON, "max_slowdown": 0}) as d:
        said, o, rows = one(p, d, "-s", 9)
        ok(said["off"] > 0 and abs(said["off"] - o["left_out"]) <= 64,
           "steps are left out, and as many are told", f"{said['off']} {o}")
        ok(o["steps"] == said["steps"], "every step is seen, left out or not", o)
        ok(o["pairs"] > 50 and o["slowdown_lo"] <= 0.01 <= o["slowdown_hi"]
           and abs(o["slowdown"] - 0.01) < 0.003, "a slowdown of 1 % is measured as that", o)
        ok(o["fidelity"] == "all" and o["moves"] == 0 and o["budget"] is None,
           "without a budget nothing moves", o)
        ok(rows[0]["series"]["slowdown"], "and is told over time", rows)
        ok(all(balanced(a) for a in [x["accounting"] for x in json.loads(
            aon("report", "--json", p.store).stdout)["processes"]]), "every record is accounted for")
        text = aon("overhead", p.store)
        ok(text.returncode == 0 and "app_cost" in text.stdout and " to " in text.stdout,
           "as a table for people", text.stdout)
        none = aon("overhead", "--job", "nobody", p.store)
        ok(none.returncode == 3 and "nobody" in none.stderr, "a job that was not seen: exit 3", none)


def kept():
    with Place() as p, Daemon(p, ON) as d:
        said, o, _ = one(p, d, "-s", 12, "-x", 100)
        ok(o["moves"] >= 1 and o["fidelity"] not in ("all", "no-ops"),
           "ten percent is more than the budget: less is recorded", o)
        ok(said["cost"] < 0.01, f"so that it costs {100 * said['cost']:.2f} % in the end", said["cost"])
        journal = aon("store", "journal", p.store).stdout
        ok("measured slowdown" in journal, "the journal says why", journal)
        alarms = [x for x in journal.splitlines() if " alarm " in x and "throughput_drop" not in x]
        ok(not alarms, "that steps are faster when they are left out is no alarm", journal)


def burst():
    with Place() as p, Daemon(p, {**ON, "max_slowdown": 0.1}) as d:
        said, o, _ = one(p, d, "-s", 4, "-x", 0, "-e", 2000)
        ok(o["moves"] >= 1 and o["fidelity"] != "all", "a burst of records is answered by a lower fidelity level", o)
        ok("accounted cost" in aon("store", "journal", p.store).stdout, "the journal says why")


def launches_run():
    """No steps: slots of time, and how many launches they had. Ten percent of these is too much."""
    with Place() as p, Daemon(p, ON) as d:
        proc = app(p, "app_cost", "-l", 100, "-s", 600, "-x", 100)

        def moved():
            d.flush()
            got = overhead(p)
            rows = [x["overhead"] for x in got["processes"] if x["pid"] == proc.pid] if isinstance(got, dict) else []
            return rows and rows[0]["moves"] and rows[0]

        o = wait_for(moved, 120)
        proc.kill()
        proc.communicate()
        return o, aon("store", "journal", p.store).stdout, aon("overhead", p.store).stdout


def lag_run():
    """What recording costs comes and goes within ten steps: blocks of five are too short to see all of it."""
    with Place() as p, Daemon(p, {**ON, "max_slowdown": 0}) as d:
        proc = app(p, "app_cost", "-s", 600, "-x", 100, "-t", 10, "-p", 1000)
        text = wait_for(lambda: d.flush() is not None and "lasts into" in (t := aon("store", "journal", p.store).stdout) and t, 90)
        proc.kill()
        proc.communicate()
        return text


def opencl_run():
    """The same of a plain OpenCL program, until some of its launches were left out; None: there is no OpenCL here."""
    layer = BUILD / "src/app/probe/opencl/libaon-opencl.so"
    if not (BUILD / "tests/app/cl_loop").exists() or not list(pathlib.Path("/etc/OpenCL/vendors").glob("*.icd")):
        return None
    with Place() as p, Daemon(p, {**ON, "max_slowdown": 0}) as d:
        proc = app(p, "cl_loop", "plain", 10**9, env={"OPENCL_LAYERS": layer, "AON_JOIN_MS": 2000})

        def left_out():
            d.flush()
            got = overhead(p)
            rows = [x for x in got["processes"] if x["pid"] == proc.pid] if isinstance(got, dict) else []
            return rows and rows[0]["overhead"]["left_out"] > 20 and rows[0]["overhead"]

        o = wait_for(left_out, 120)
        proc.kill()
        proc.communicate()
        return o


def launches(run, o):
    if o is None:
        skip("an OpenCL program without steps", "no OpenCL loader or driver: pocl-opencl-icd")
    else:
        # Slots without a launch are not counted: of those that are left out there were, too.
        ok(o and o["measured_by"] == "launches" and o["left_out"] < o["steps"], "an OpenCL program without steps, too", o)
    o, journal, text = run
    ok(o and o["measured_by"] == "launches" and o["left_out"] > 0, "a program without steps is measured by its launches", o)
    said = re.search(r"measured slowdown; accounted [0-9.]+ %, measured ([0-9.]+) %", journal)
    ok(said and 5 < float(said[1]) < 15, "ten percent is found as that, and the ladder goes down", journal)
    ok("no steps were seen" in text and "app_cost" in text, "the table says what was measured", text)


def ranks():
    """Two ranks of a job leave out the same steps, or nothing would be measured."""
    with Place() as p, Daemon(p, {**ON, "max_slowdown": 0}) as d:
        env = {"TORCHELASTIC_RUN_ID": "job7", "WORLD_SIZE": "2"}
        procs = [app(p, "app_cost", "-s", 6, env={**env, "RANK": r}) for r in (0, 1)]
        said = [emitted(x) for x in procs]
        # Of the last that both came to. They run side by side, not in step: when they are told of a
        # change they are at different ones. By chance they would differ in half of all.
        last = min(s["steps"] for s in said)
        first = last - 4096
        sets = [{n for n in s["left_out"] if first <= n < last} for s in said]
        ok(sets[0] and len(sets[0] ^ sets[1]) < len(sets[0] | sets[1]) / 5,
           "two ranks leave out the same steps",
           f"{len(sets[0])} {len(sets[1])} {sorted(sets[0] ^ sets[1])[:20]}")


def off():
    with Place() as p, Daemon(p, {"measure": "off", "measure_after_s": 0, "max_slowdown": 0}) as d:
        said, o, _ = one(p, d, "-s", 2)
        ok(said["off"] == 0 and o["slowdown"] is None and o["left_out"] == 0,
           "where it is not wanted no step is left out", o)


def budget():
    with Place() as p:
        env = {"AON_RUN_DIR": str(p.run)}
        none = aon("budget", env=env)
        ok(none.returncode == 1 and "no aond answers" in none.stderr and not none.stdout,
           "budget without an aond: exit 1, and what to do", none)
        with Daemon(p, {"max_slowdown": 0.7}) as d:
            rows = {r["key"]: r for r in json.loads(aon("budget", "--json", env=env).stdout)["budget"]}
            ok(rows["max_slowdown"]["value"] == "0.7" and rows["pools_mib"]["used"] >= 0
               and rows["measure"]["value"] == "off", "budget shows limits and what is used", rows)
            got = aon("budget", "max_slowdown=0.3", "measure=on", env=env)
            ok(got.returncode == 0 and "0.3 %" in got.stdout, "and changes them at once", got)
            got = aon("budget", "slowdown_permille=4", "rung=pulse", "--json", env=env)
            rows = {x["key"]: x for x in json.loads(got.stdout)["budget"]} if got.returncode == 0 else {}
            ok(rows and rows["max_slowdown"]["value"] == "0.4" and rows["fidelity"]["value"] == "heartbeat" and rows["fidelity"]["name"] == "fidelity",
               "also by their former names", got)
            aon("budget", "max_slowdown=0.3", "fidelity=all", env=env)
            bad = [aon("budget", x, env=env) for x in ("max_slowdown=x", "nothing=1", "store_max_mib=9", "tier")]
            ok([b.returncode for b in bad] == [1, 1, 1, 2] and "next start" in bad[2].stderr
               and "in steps of" in bad[0].stderr, "what cannot be set is refused with the reason",
               [b.stderr for b in bad])
            d.flush()
            ok("max_slowdown = 0.3, set by uid" in aon("store", "journal", p.store).stdout,
               "who changed what is in the journal")


with concurrent.futures.ThreadPoolExecutor(2) as beside:
    without_steps, lag = beside.submit(launches_run), beside.submit(lag_run)
    budget()
    measured()
    kept()
    burst()
    ranks()
    off()
    ok(" 10 steps" in (lag.result() or ""), "a cost that outlasts a block is seen, and blocks become longer", lag.result())
    launches(without_steps.result(), opencl_run())
done()
