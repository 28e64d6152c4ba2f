# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""Leases on hardware that one tool can have: aon makes room, comes back, and says who has it until when."""
import json
import os
import subprocess

from aontest import BUILD, Daemon, Place, aon, done, find, ok, wait_for
from cudatest import note, start


def ask(place, *args):
    return aon("lease", *args, env={"AON_RUN_DIR": str(place.run)})


def table(place):
    got = ask(place, "--json")
    return json.loads(got.stdout)["leases"] if got.returncode == 0 else got.stderr


def rows(place, hw):
    return [(x["of"], x["by"], x["tool"]) for x in table(place) if x["hw"] == hw]


def on(d, p):
    return wait_for(lambda: note(d, p.pid).startswith("cuda on"), 60)


def held(d, p):
    return wait_for(lambda: "cuda waiting" in note(d, p.pid), 60)


def cupti():
    with Place() as place, Daemon(place) as d:
        ok(ask(place).returncode == 0 and table(place) == [], "at first nobody has anything", table(place))
        p = start(place, "rate=2000", "launches=10000000", "storm")
        ok(on(d, p) and rows(place, "cupti") == [(p.pid, "aon", None)], "aon has the CUPTI of a process that it records", table(place))
        tool = subprocess.Popen(["sleep", "600"])
        got = ask(place, "take", "cupti", p.pid, "--for", 600, "--holder", tool.pid, "--tool", "nsys")
        ok(got.returncode == 0 and "yours" in got.stdout, "a tool takes it", got)
        ok(held(d, p), "aon leaves", note(d, p.pid))
        got = [x for x in table(place) if x["hw"] == "cupti"]
        ok(len(got) == 1 and got[0]["by"] == "lease" and got[0]["tool"] == "nsys" and got[0]["pid"] == tool.pid and
           got[0]["uid"] == os.getuid() and 0 < got[0]["left_ms"] <= 600000, "who has it until when is told", got)
        status = d.status()["leases"]
        ok([{**x, "left_ms": 0} for x in status] == [{**x, "left_ms": 0} for x in got], "also in aond's status", status)
        text = ask(place).stdout
        ok("nsys" in text and "cupti" in text and str(p.pid) in text, "and for people", text)
        tool.kill()
        tool.wait()
        ok(on(d, p) and rows(place, "cupti") == [(p.pid, "aon", None)], "when its holder ends, however that ends, aon is back", table(place))
        ask(place, "take", "cupti", p.pid, "--for", 600)
        held(d, p)
        got = ask(place, "release", "cupti", p.pid)
        ok(got.returncode == 0 and on(d, p), "so it is when it is given back", (got, note(d, p.pid)))
        ask(place, "take", "cupti", p.pid, "--for", 1)
        ok(wait_for(lambda: not any(x["by"] == "lease" for x in table(place)), 30) and on(d, p),
           "or when its time is over", table(place))
        ok(ask(place, "release", "cupti", p.pid).returncode == 1, "what nobody has cannot be given back")
        ok(aon("yield", p.pid, 600, env={"AON_RUN_DIR": str(place.run)}).returncode == 0 and held(d, p) and
           rows(place, "cupti") == [(p.pid, "lease", "aon yield")], "aon yield is a lease as well", table(place))
        for args, rc in ((["take"], 2), (["take", "gpu"], 2), (["take", "cupti"], 2), (["take", "cupti", "x"], 2), (["take", "pm", "7"], 2),
                         (["take", "pm", "--for", "0"], 2), (["give"], 2), (["take", "cupti", "4000000"], 1),
                         (["take", "pm", "--holder", "4000000"], 1)):
            got = ask(place, *args)
            ok(got.returncode == rc and got.stderr and "\n" not in got.stderr.strip(), f"aon lease {' '.join(args)}: exit {rc}", got)
        d.flush()
        log = json.loads(aon("audit", "--json", place.store).stdout)["lines"]
        ok([x["text"].rsplit(" of ", 1)[0] for x in log if " of cupti" in x["text"]] == ["end of the holder", "release", "expiry"],
           "the log says how each ended", log)
        p.kill()
        p.communicate()


def counters():
    """The node's counters: of all processes at once, those that join meanwhile with them; dcgm shares their lock."""
    with Place() as place, Daemon(place) as d:
        env = {"AON_COUNTERS": "pm", "level": "134"}
        p = start(place, "rate=2000", "launches=10000000", "storm", **env)
        pm = lambda q: note(d, q.pid)
        ok(wait_for(lambda: "counters on" in pm(p), 60) and rows(place, "pm") == [(p.pid, "aon", None)], "aon samples counters", pm(p))
        ok(ask(place, "take", "dcgm", "--for", 600, "--tool", "dcgm-exporter").returncode == 0, "DCGM takes its lock")
        ok(wait_for(lambda: "counters waiting: externally profiled: aon lease" in pm(p), 60) and "cuda on" in pm(p),
           "aon stops sampling, and only that", pm(p))
        q = start(place, "rate=2000", "launches=10000000", "storm", **env)
        ok(wait_for(lambda: "counters waiting" in pm(q), 60), "who joins meanwhile does not begin", pm(q))
        ok(rows(place, "pm") == [] and rows(place, "dcgm") == [(0, "lease", "dcgm-exporter")], "the table says so", table(place))
        ok(ask(place, "release", "dcgm").returncode == 0 and
           wait_for(lambda: "counters on" in pm(p) or "counters on" in pm(q), 60), "and it goes on when that is free", (pm(p), pm(q)))
        for x in (p, q):
            x.kill()
            x.communicate()


def killed():
    """aond is killed while tools have leases: the next one knows them, and who has none any more."""
    with Place() as place, Daemon(place) as d:
        p = start(place, "rate=2000", "launches=10000000", "storm")
        on(d, p)
        tool, gone = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
        ask(place, "take", "cupti", p.pid, "--for", 600, "--holder", tool.pid, "--tool", "ncu")
        ask(place, "take", "pm", "--for", 600, "--holder", gone.pid, "--tool", "nsys")
        held(d, p)
        d.flush()
        d.kill()
        gone.kill()
        gone.wait()
        d.start()
        got = [(x["hw"], x["of"], x["pid"], x["tool"], 500000 < x["left_ms"] <= 600000) for x in table(place) if x["hw"] == "cupti"]
        ok(got == [("cupti", p.pid, tool.pid, "ncu", True)], "a new aond knows who has it, and until when", table(place))
        ok(wait_for(lambda: not rows(place, "pm"), 30), "who ended meanwhile has it no longer", table(place))
        ok(held(d, p), "aon does not come back", note(d, p.pid))
        tool.kill()
        tool.wait()
        ok(on(d, p) and rows(place, "cupti") == [(p.pid, "aon", None)], "until its holder ends: then at once", note(d, p.pid))
        log = json.loads(aon("audit", "--json", place.store).stdout)["lines"]
        ok(f"cupti {p.pid} for 600000 ms, ncu" in [x["text"] for x in log], "the log has outlived it", log)
        ask(place, "take", "cupti", p.pid, "--for", 600)
        d.kill()
        p.kill()
        p.communicate()
        d.start()
        ok(table(place) == [], "of a process that is gone there is no lease", table(place))


def collectors():
    """What collectors measure by the counters waits for a lease, and DCGM with it; the stand-ins of NVML and DCGM say what was called."""
    with Place() as place, Daemon(place) as d:
        calls, state = place.path / "calls", place.path / "state"
        state.write_text(f"- gpus 1\n- engine 1\n* 1002 0.8\n- log {calls}\n")
        gpm = place.path / "gpm"
        gpm.write_text("- gpus 1\n0 name H100\n0 uuid GPU-0\n0 gpm.1 50\n0 gpm.5 42.5\n")
        run = [find("aon-collect"), "--run-dir", place.run, "--all", "--interval", "100", f"dcgm={BUILD}/tests/sim/libsim-dcgm.so",
               f"nvml={BUILD}/tests/sim/libsim-nvml.so"]
        p = subprocess.Popen(run, env={**os.environ, "AON_DCGM_STATE": str(state), "AON_NVML_STATE": str(gpm)}, stderr=subprocess.DEVNULL)
        log = lambda: calls.read_text().split("\n")[:-1] if calls.exists() else []
        said = lambda what: wait_for(lambda: what in (d.flush(), aon("store", "journal", place.store).stdout)[1], 20)
        try:
            ok(wait_for(lambda: log() == ["watch"], 30), "DCGM's counters are watched", log())
            ask(place, "take", "pm", "--for", 600, "--tool", "ncu")
            ok(wait_for(lambda: log() == ["watch", "unwatch", "paused"], 20), "a lease makes aon leave them, then DCGM pauses", log())
            ok(said("dcgm: not measured: a tool has a lease"), "which is said")
            ok(said("GPM: not measured: a tool has a lease"), "GPM is not asked either")
            ask(place, "release", "pm")
            ok(wait_for(lambda: log()[3:] == ["resumed", "watch"], 20), "afterwards DCGM goes on, and aon", log())
            ok(said("GPM: measured again"), "and GPM")
            ask(place, "take", "dcgm", "--for", 600)
            ok(wait_for(lambda: log()[5:] == ["unwatch"], 20), "DCGM is not paused for its own lease", log())
            p.terminate()
            p.wait(20)
            ok("resumed" not in log()[5:], "nor resumed", log())
        finally:
            p.kill()
            p.wait()


cupti()
counters()
collectors()
killed()
done()
