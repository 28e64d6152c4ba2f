# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no
"""Budgets of the node, of jobs and of processes: shown, set by those who may, and kept by hard stops."""
import json
import os
import shutil
import subprocess

from aontest import (Daemon, Place, account_of, aon, app, balanced, done, emitted, find, lost, ok, skip,
                     wait_for, wait_joined)

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def rows(got):
    """Of each process: its settings by key."""
    return [{**p, **{r["key"]: r for r in p["budget"]}} for p in json.loads(got.stdout)["processes"]]


def ask(place, *args):
    return aon("budget", *args, env={"AON_RUN_DIR": str(place.run)})


def process():
    with Place() as p, Daemon(p, {"measure": "on", "measure_after_s": 0}) as d:
        a = app(p, "app_cost", "-s", 60, env={"TORCHELASTIC_RUN_ID": "job.7"})
        b = app(p, "app_cost", "-s", 60)
        wait_joined(d, a.pid), wait_joined(d, b.pid)
        got = rows(ask(p, "--pid", a.pid, "--json"))
        ok(len(got) == 1 and got[0]["pid"] == a.pid and got[0]["job"] == "job.7"
           and got[0]["max_slowdown"]["value"] == "1", "a process has the node's limits", got)
        got = rows(ask(p, "--pid", a.pid, "max_slowdown=0.3", "--json"))
        ok(got[0]["max_slowdown"]["value"] == "0.3", "until it gets its own", got)
        got = rows(ask(p, "--pid", b.pid, "--json"))
        ok(got[0]["max_slowdown"]["value"] == "1", "and others keep theirs", got)
        got = rows(ask(p, "--job", "job.7", "max_slowdown=2", "fidelity=quarter", "--json"))
        ok(got[0]["max_slowdown"]["value"] == "0.3" and got[0]["fidelity"]["value"] == "quarter",
           "what was said of a process stands over what is said of its job", got)
        got = rows(ask(p, "--pid", a.pid, "max_slowdown=-", "--json"))
        ok(got[0]["max_slowdown"]["value"] == "2", "and is taken back with -", got)
        moved = wait_for(lambda: [x for x in rows(ask(p, "--pid", a.pid, "--json"))
                                  if x["moved"] and x["fidelity"]["used"] == 4], 20)
        ok(moved and "quarter" in moved[0]["moved"] and "setting" in moved[0]["moved"],
           "a fidelity level that was set is moved to, and the move says why", rows(ask(p, "--pid", a.pid, "--json")))
        late = app(p, "app_cost", "-s", 60, env={"TORCHELASTIC_RUN_ID": "job.7"})
        wait_joined(d, late.pid)
        got = rows(ask(p, "--pid", late.pid, "--json"))
        ok(got and got[0]["max_slowdown"]["value"] == "2", "a rank that comes later has its job's limits", got)
        bad = [ask(p, "--pid", a.pid, x) for x in ("pools_mib=9", "max_slowdown=x", "fidelity=low", "fidelity")]
        ok([x.returncode for x in bad] == [1, 1, 1, 2] and "only max_slowdown" in bad[0].stderr
           and "in steps of" in bad[1].stderr and "one of" in bad[2].stderr,
           "what cannot be set is refused with the reason", [x.stderr for x in bad])
        gone = ask(p, "--pid", 1), ask(p, "--job", "nobody's")
        ok([x.returncode for x in gone] == [1, 1] and all(x.stderr and not x.stdout for x in gone),
           "who is not here is not shown", gone)
        text = ask(p, "--job", "job.7")
        ok(text.returncode == 0 and "last move" in text.stdout and "GIVEN UP" in text.stdout
           and "changes of the fidelity level" in text.stdout, "a table says what was given up", text.stdout)
        d.flush()
        ok("job job.7: fidelity = quarter, set by uid" in aon("store", "journal", p.store).stdout,
           "who set what is in the journal")
        for x in (a, b, late):
            x.kill()
            x.communicate()


def users():
    """A user may say less of own processes, and only that."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        skip("a user tightens own processes", "needs root and setpriv")
        return
    with Place() as p, Daemon(p) as d:
        for name in ("aon", "emitter_static"):
            shutil.copy(find(name), p.path / name)
            os.chmod(p.path / name, 0o755)
        env = {"AON_RUN_DIR": str(p.run), "PATH": os.environ["PATH"]}
        for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if k in os.environ:
                env[k] = os.environ[k]
        mine = subprocess.Popen([*NOBODY, p.path / "emitter_static", "-n", "100", "-j", "1000", "-h", "60"], env=env,
                                stdout=subprocess.PIPE)
        theirs = app(p, "app_cost", "-s", 60)
        wait_joined(d, mine.pid), wait_joined(d, theirs.pid)

        def as_user(*args):
            return subprocess.run([*NOBODY, p.path / "aon", "budget", *map(str, args)], env=env,
                                  capture_output=True, text=True)

        got = as_user("--pid", mine.pid, "max_slowdown=0.5", "fidelity=half", "--json")
        ok(got.returncode == 0 and rows(got)[0]["max_slowdown"]["value"] == "0.5", "a user tightens", got)
        got = as_user("--pid", mine.pid, "max_slowdown=0.8", "--json")
        ok(got.returncode == 0 and rows(got)[0]["max_slowdown"]["value"] == "0.8",
           "and loosens what it tightened", got)
        bad = [as_user("--pid", mine.pid, x) for x in ("max_slowdown=1.1", "max_slowdown=0")]
        ok(all(x.returncode == 1 and "only the node's admin" in x.stderr for x in bad),
           "but no further than what holds without it", bad)
        bad = [as_user("--pid", theirs.pid), as_user("--pid", theirs.pid, "max_slowdown=0.1"),
               as_user(), as_user("max_slowdown=0.1")]
        ok(all(x.returncode == 1 and x.stderr and not x.stdout for x in bad),
           "others' processes and the node's limits are not the user's", bad)
        ask(p, "--pid", mine.pid, "max_slowdown=5")
        got = as_user("--pid", mine.pid, "max_slowdown=4", "--json")
        ok(rows(got)[0]["max_slowdown"]["value"] == "4", "what the admin loosened is there to use", got)
        jobs = [as_user("--job", f"j{i}", "max_slowdown=0.1") for i in range(5)]
        ok("too many jobs" in jobs[4].stderr and "too many" not in jobs[3].stderr,
           "limits of jobs that one user may have are few", jobs)
        for x in (mine, theirs):
            x.kill()
            x.communicate()


def disk():
    with Place() as p, Daemon(p, {"disk_mib_day": 1}) as d:
        proc = app(p, "app_cost", "-s", 60, "-e", 3000)
        full = wait_for(lambda: d.counter("disk_level") == 2, 60)
        ok(full, "what may be written in a day comes to its end", d.status().get("counters"))
        got = json.loads(ask(p, "--json").stdout)["budget"]
        row = next(r for r in got if r["key"] == "disk_mib_day")
        ok(row["given_up"] >= 1 and row["used"] >= 1, "budget says so, and what was given up", row)
        before = d.counter("windows")
        wait_for(lambda: d.counter("windows_dropped") > 2, 30)
        ok(d.counter("windows") == before and d.counter("windows_dropped") > 2, "then not even rollups are written")
        ask(p, "disk_mib_day=0")
        ok(wait_for(lambda: d.counter("disk_level") == 0, 10), "the admin may lift it")
        proc.kill()
        proc.communicate()
        wait_for(lambda: not d.session(proc.pid))
        d.flush()
        a = account_of(p.store, proc.pid)
        ok(a and balanced(a[0]) and lost(a[0], "rolled_up") > 0, "every record is accounted for", a)
        journal = aon("store", "journal", p.store).stdout
        ok("until tomorrow (disk_mib_day" in journal, "the journal says why", journal)


def disk_of_one():
    with Place() as p, Daemon(p, {"max_slowdown": 0, "cpu_percent": 0}) as d:
        a = app(p, "app_cost", "-s", 60, "-e", 3000)
        wait_joined(d, a.pid)
        ask(p, "--pid", a.pid, "disk_mib_day=1")
        got = wait_for(lambda: [x for x in rows(ask(p, "--pid", a.pid, "--json"))
                                if x["disk_mib_day"]["given_up"] > 0], 60)
        ok(got and "disk_mib_day" in got[0]["moved"] and d.counter("disk_level") == 0,
           "one process has written what it may: its events are rolled up, others' are not", got)
        a.kill()
        a.communicate()


def memory():
    """The hard stop: less than it has, then room again."""
    with Place() as p, Daemon(p) as d:
        proc = app(p, "app_cost", "-s", 60, "-e", 100)
        wait_joined(d, proc.pid)
        used = wait_for(lambda: next(r for r in json.loads(ask(p, "--json").stdout)["budget"]
                                     if r["key"] == "memory_mib")["used"])
        ask(p, f"memory_mib={max(int(used * 0.9), 1)}")
        ok(wait_for(lambda: d.counter("shed_level") == 2, 20), "over its budget of memory aond only counts records",
           d.status().get("counters"))
        late = app(p, "app_cost", "-s", 1, "-e", 1)
        emitted(late)
        ok(d.counter("refused_memory") and not d.session(late.pid), "further processes are refused")
        ask(p, "memory_mib=0")
        ok(wait_for(lambda: d.counter("shed_level") == 0, 20), "the admin may lift it")
        proc.kill()
        proc.communicate()
        wait_for(lambda: not d.session(proc.pid))
        d.flush()
        a = account_of(p.store, proc.pid)
        ok(a and balanced(a[0]) and lost(a[0], "budget") > 0, "every record is accounted for", a)
        ok("processes are refused (memory_mib" in aon("store", "journal", p.store).stdout, "the journal says why")


def default_cpu():
    """1 % of a core for each GPU of the node, and not less than aond needs."""
    with Place() as p:
        for gpus, percent in ((0, 15), (2, 5), (8, 8)):
            for i in range(gpus):
                gpu = p.path / "gpus" / f"0000:{i:02x}:00.0"
                gpu.mkdir(parents=True, exist_ok=True)
                (gpu / "information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\n")
            with Daemon(p, {"cpu_percent": -1, "gpus_dir": p.path / "gpus", "gpus_amd_dir": ""}):
                row = next(r for r in json.loads(ask(p, "--json").stdout)["budget"] if r["key"] == "cpu_percent")
                ok(row["value"] == str(percent), f"{gpus} GPUs: {row['value']} % of a core unless told", row)


def restart():
    with Place() as p, Daemon(p) as d:
        proc = app(p, "app_cost", "-s", 60, "-e", 10, env={"AON_JOB": "kept"})
        wait_joined(d, proc.pid)
        ask(p, "--pid", proc.pid, "max_slowdown=0.7")
        ask(p, "--job", "kept", "rung=quarter")  # the name until 0.1
        ask(p, "--job", "later", "fidelity=half")
        d.kill()
        d.start()
        wait_joined(d, proc.pid)
        row = rows(ask(p, "--pid", proc.pid, "--json"))[0]
        ok(row["max_slowdown"]["value"] == "0.7" and row["fidelity"]["value"] == "quarter",
           "limits of a process and of its job outlive aond", row)
        ask(p, "--pid", proc.pid, "max_slowdown=-")
        later = app(p, "app_cost", "-s", 60, "-e", 10, env={"AON_JOB": "later"})
        d.kill()
        d.start()
        wait_joined(d, proc.pid)
        wait_joined(d, later.pid)
        got = [rows(ask(p, "--pid", x.pid, "--json"))[0] for x in (proc, later)]
        ok(got[0]["max_slowdown"]["value"] == "1" and got[1]["fidelity"]["value"] == "half",
           "what was taken back stays so, and who comes later is of its job", got)
        for x in (proc, later):
            x.kill()
            x.communicate()


process()
users()
memory()
default_cpu()
restart()
disk()
disk_of_one()
done()
