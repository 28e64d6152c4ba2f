# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""aon capture --trigger: waits for what a process does, within its limits; the past is in the trace."""
import json
import signal
import subprocess

import aonschema
from aontest import Daemon, Place, aon, app, app_env, done, find, ok, wait_for

CALM = {"escalate_s": 0}


def capture(p, *args):
    """(exit status, JSON objects, stderr)"""
    r = subprocess.run([find("aon"), "capture", "--json", *map(str, args)], env=app_env(p), cwd=p.path,
                       capture_output=True, text=True, timeout=120)
    return r.returncode, [json.loads(x) for x in r.stdout.splitlines()], r.stderr


def begin(p, *args):
    return subprocess.Popen([find("aon"), "capture", "--json", *map(str, args)], env=app_env(p), cwd=p.path,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def listed(p):
    return json.loads(aon("capture", "--list", "--json", env=app_env(p)).stdout or '{"captures": []}')["captures"]


def ranks(p, *args):
    env = {"TORCHELASTIC_RUN_ID": "j9", "WORLD_SIZE": 2}
    return [app(p, "app_cost", "-s", 120, "-b", 10000, "-p", 2000, "-e", 5, *args, env={**env, "RANK": r})
            for r in (0, 1)]


def stop(procs):
    for x in procs:
        x.kill()
        x.communicate()


def misuse(p):
    for text, place, word in (("step_ms > 1.2 *", 15, "expected more"), ("stepms > 3", 0, "exposed_comm"),
                              ("step_ms > 1 2", 12, "expected an operator"), ("p50 > 3", 0, "p50 of what?")):
        r = aon("capture", "--trigger", text, env=app_env(p))
        lines = r.stderr.splitlines()
        ok(r.returncode == 2 and word in lines[0] and lines[1:3] == [f"  {text}", f"  {' ' * place}^"],
           f"what is wrong with '{text}' is said, and where", r.stderr)
    for args in (["--count", 2], ["--trigger", "alarms > 0", "--expires", "2d"], ["--trigger", "alarms > 0", "--kineto"],
                 ["--trigger", "alarms > 0", "--count", 2, "-o", "-"]):
        ok(capture(p, *args)[0] == 2, f"misuse: {' '.join(map(str, args))}")


def fires(p, d):
    """A step that takes longer than is usual, of programs that come after the trigger."""
    c = begin(p, "--job", "j9", "--steps", 5, "--before", "30s", "--trigger", "step_ms > 1.3 * p50", "-o", "a.csv")
    wait_for(lambda: [x["state"] for x in listed(p)] == ["armed"])
    ok("when step_ms > 1.3 * p50" in listed(p)[0]["what"], "an armed capture is listed with its trigger", listed(p))
    procs = ranks(p, "-j", 700)
    out, err = c.communicate(timeout=120)
    said = json.loads(out) if out else {}
    got = said.get("processes", [])
    ok(c.returncode == 0 and "step_ms 1" in said["fired"] and "(p50 " in said["fired"],
       "it fires when a step takes longer than is usual, and says both", (said, err))
    ok(len(got) == 2 and len({(x["first_step"], x["last_step"]) for x in got}) == 1 and
       got[0]["first_step"] <= 700 < got[0]["last_step"],
       "the steps that it fired for are in the trace, of all ranks the same", got)
    text = aon("audit", p.store).stdout
    ok("armed: step_ms > 1.3 * p50" in text and "5 steps and 30000 ms before" in text,
       "the audit log says who armed it, and what it captured", text)
    return procs


def again(p, d, procs):
    rc, said, err = capture(p, "--steps", 2, "--before", "100ms", "--trigger", "steps_s > 0 and events_s >= steps_s",
                            "--count", 3, "--cooldown", "1s", "-o", "b.csv")
    begins = [x["begin_ns"] for x in said]
    ok(rc == 0 and len(said) == 3 and all((p.path / f"b{x}.csv").exists() for x in ("", ".2", ".3")),
       "three times are three files", (rc, said, err))
    ok(all(b - a >= 10**9 for a, b in zip(begins, begins[1:])), "and not sooner than it may again", begins)
    rc, said, err = capture(p, "--trigger", "step_ms > 1e9 or quiet_s > 1e6", "--expires", "1s", "-o", "c.csv")
    ok(rc == 1 and "did not fire" in err and not (p.path / "c.csv").exists(), "its time can end before it fires", err)
    rc, said, err = capture(p, "--trigger", "gpu_busy < 50 or exposed_comm < 50 or memory_mb < 50", "--expires", "5s")
    ok(rc == 1 and "did not fire" in err, "what is not known of a process does not fire", (said, err))


def cancelled(p, d, procs):
    for how in ("SIGINT", "SIGKILL", "--cancel"):
        c = begin(p, "--trigger", "step_ms > 1e9", "-o", f"{how}.csv")
        wait_for(lambda: [x["state"] for x in listed(p)] == ["armed"])
        if how == "--cancel":
            aon("capture", "--cancel", listed(p)[0]["id"], env=app_env(p))
        else:
            c.send_signal(getattr(signal, how))
        err = c.communicate(timeout=60)[1]
        ok(c.returncode not in (0, None) and wait_for(lambda: not listed(p)) and not (p.path / f"{how}.csv").exists(),
           f"{how}: nothing is left of what was armed", (err, listed(p)))


def stands(p, d, procs):
    """A trigger that stays when its command has ended, and when aond has."""
    rc, said, err = capture(p, "--keep", "--job", "j9", "--steps", 2, "--before", "1s", "--cooldown", "1s", "--trigger", "steps_s > 0")
    ok(rc == 0 and not aonschema.check(said[0]), "it is set, and the command is done", (rc, said, err))
    raised = lambda *a: json.loads(aon("capture", "--raised", *a, "--json", "--store", p.store, cwd=p.path).stdout)
    ok(wait_for(lambda: raised("list")["captures"], 60), "it fires with nobody there", listed(p))
    got = raised("list")["captures"][0]
    ok(got["alarm"] == "trigger" and got["pid"] in [x.pid for x in procs], "what it captured is with what alarms raised", got)
    said = raised(1, "-o", "stands.csv")
    ok(said["files"][0]["events"] > 0 and said["processes"][0]["last_step"] > said["processes"][0]["first_step"], "and read as that", said)
    d.kill()
    d.start()
    ok(len(listed(p)) == 1 and "stands" in listed(p)[0]["what"] and listed(p)[0]["state"] == "armed", "the next aond has it", listed(p))
    for i in range(3):
        ok(capture(p, "--keep", "--trigger", f"step_ms > 1e{i + 6}")[0] == 0, f"there may be {i + 2}")
    rc, said, err = capture(p, "--keep", "--trigger", "step_ms > 1e9")
    ok(rc == 1 and "four triggers" in err, "not five", err)
    for args in (["--keep"], ["--keep", "--trigger", "alarms > 0", "--pid", 1], ["--keep", "--trigger", "alarms > 0", "-o", "x.csv"]):
        ok(capture(p, *args)[0] == 2, f"misuse: {' '.join(map(str, args))}")
    for x in listed(p):
        aon("capture", "--cancel", x["id"], env=app_env(p))
    ok(listed(p) == [] and (p.run / "triggers").read_text() == "", "each can be removed", listed(p))
    text = aon("audit", p.store).stdout
    ok("stands: steps_s > 0" in text, "the audit log says who set it", text)


def gpu(p):
    """Kernels of 1 us, 2000 a second: half a thousandth is no idle GPU's, and no busy one's."""
    x = app(p, "emitter", "-k", "kernel", "-n", 1000000, "-r", 2000)
    rc, said, err = capture(p, "--pid", x.pid, "--duration", "10ms", "--trigger",
                            "gpu_busy > 0.01 and gpu_busy < 20 and comm == 0 and exposed_comm == 0", "-o", "gpu.csv")
    ok(rc == 0 and "gpu_busy 0." in said[0]["fired"], "how busy a GPU is can be waited for", (rc, said, err))
    stop([x])


def day(p):
    with Daemon(p, {**CALM, "captures_day": 1}) as d:
        procs = ranks(p)
        rc, said, err = capture(p, "--steps", 1, "--before", "1ms", "--trigger", "steps_s > 0", "--count", 2,
                                "--cooldown", "1s", "-o", "day.csv")
        ok(rc == 1 and len(said) == 1 and "captures_day" in err, "what a day allows is no more", (rc, said, err))
        rc, said, err = capture(p, "--steps", 1, "-o", "more.csv")
        ok(rc == 1 and "captures_day" in err, "by hand neither", err)
        ok("capture" in aon("audit", p.store).stdout, "which is in the audit log")
        stop(procs)


def main():
    with Place() as p:
        with Daemon(p, CALM) as d:
            misuse(p)
            procs = fires(p, d)
            again(p, d, procs)
            cancelled(p, d, procs)
            stands(p, d, procs)
            stop(procs)
            gpu(p)
        day(p)
    done()


main()
