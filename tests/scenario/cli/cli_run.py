#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""`aon run` is not there: input, output, exit status, signals, the terminal and job control are
the program's own, with a private aond and with the node's."""
import json
import os
import signal
import subprocess
import sys
import time

from aontest import Daemon, Place, done, find, ok, report, wait_for
from clitest import Terminal, aon, env_for

SH = "/bin/sh"


def leftovers(place):
    """Run directories and daemons that nobody ended."""
    dirs = [n for n in os.listdir(place.path) if n.startswith("aon-") and not n.endswith(".db")]
    mine = subprocess.run(["pgrep", "-f", f"aond .*{place.path}"], capture_output=True, text=True)
    return dirs + mine.stdout.split()


STATUS = [  # program, return code as subprocess tells it
    (["true"], 0), (["false"], 1), ([SH, "-c", "exit 42"], 42), ([SH, "-c", "exit 255"], 255),
    ([SH, "-c", "kill -TERM $$"], -signal.SIGTERM), ([SH, "-c", "kill -KILL $$"], -signal.SIGKILL),
    ([SH, "-c", "kill -SEGV $$"], -signal.SIGSEGV), ([SH, "-c", "kill -PIPE $$"], -signal.SIGPIPE),
    ([SH, "-c", "kill -USR1 $$"], -signal.SIGUSR1), (["no-such-program-here"], 127),
    (["/etc/passwd"], 126), (["/"], 126),
]


def status(place):
    for argv, want in STATUS:
        r = aon(place, "run", "--no-report", "--", *argv)
        ok(r.returncode == want and r.stdout == b"", f"exit status of {' '.join(argv)}", r)
    ok(not [n for n in os.listdir(place.path) if n.endswith(".db")],
       "a run that nobody joined leaves no store", os.listdir(place.path))


def streams(place):
    data = bytes(range(256)) * 4096
    r = aon(place, "run", "--", "cat", input=data)
    ok(r.stdout == data and r.returncode == 0, "stdin and stdout are the program's, byte for byte")
    r = aon(place, "run", "--no-report", "--", SH, "-c", "echo to stderr >&2", input=b"")
    ok(r.stderr.endswith(b"to stderr\n") and r.stderr.count(b"\n") <= 2 and r.stdout == b"",
       "with --no-report stderr has nothing at the end", r.stderr)
    r = aon(place, "run", "--", "true")
    ok(b"nothing of true was recorded" in r.stderr and b"aon attach PID" in r.stderr and r.returncode == 0,
       "a program without libaon gets a sentence with reasons, and what shows its time", r.stderr)
    env = env_for(place)
    r = aon(place, "run", "--no-report", "--", "env")
    got = dict(line.split("=", 1) for line in r.stdout.decode().splitlines() if "=" in line)
    diff = {k for k in set(got) | set(env) if got.get(k) != env.get(k)} - {"_", "PWD", "OLDPWD"}
    diff.discard("OPENCL_LAYERS")  # a build without OpenCL's headers has no such probe
    ok(diff == {"AON_RUN", "AON_RUN_DIR", "AON_JOIN_MS", "NVTX_INJECTION64_PATH",
                "NCCL_PROFILER_PLUGIN", "CUDA_INJECTION64_PATH",
                "AON_TORCH", "AON_JAX", "PYTHONPATH"},
       "the environment is kept but for aon's three variables and the probes'", diff)
    r = aon(place, "run", "--no-report", "--probe", "none", "--", "env")
    ok(not any(v in r.stdout for v in (b"NVTX_INJECTION64_PATH", b"OPENCL_LAYERS",
                                       b"NCCL_PROFILER_PLUGIN", b"CUDA_INJECTION64_PATH",
                                       b"AON_TORCH", b"AON_JAX")),
       "--probe none loads nothing", r.stdout)
    ok(4 <= len(got.get("AON_RUN", "")) <= 8 and int(got["AON_RUN"], 16) >= 0,
       "the run's id is 4 to 8 hex digits", got.get("AON_RUN"))
    r = aon(place, "run", "--no-report", "--", sys.executable, "-c",
            "import os; print(sorted(int(f) for f in os.listdir('/proc/self/fd')))")
    fds = json.loads(r.stdout)
    ok(set(fds) <= {0, 1, 2, 3}, "the program inherits no descriptor of aon", fds)
    r = subprocess.run(f"{find('aon')} run --no-report -- sh -c 'exit 9' 2>&-", shell=True,
                       env=env, cwd=place.path)
    ok(r.returncode == 9, "a closed stderr changes nothing", r.returncode)


def popen(place, *argv, **kw):
    return subprocess.Popen([find("aon"), "run", "--no-report", "--", *argv], env=env_for(place),
                            cwd=place.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)


LOOP = """
import os, signal, sys, time
got = []
for s in %s:
    signal.signal(s, lambda n, f: got.append(n))
print('ready', flush=True)
end = time.monotonic() + 10
while len(got) < %d and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.3)
print(got, flush=True)
"""


def signals(place):
    for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1,
                signal.SIGUSR2, signal.SIGALRM, signal.SIGRTMIN + 3, signal.SIGWINCH):
        p = popen(place, sys.executable, "-c", LOOP % ([int(sig)], 1))
        p.stdout.readline()
        p.send_signal(sig)
        out = p.communicate(timeout=30)[0]
        ok(json.loads(out) == [int(sig)] and p.returncode == 0,
           f"{signal.Signals(sig).name if sig in list(signal.Signals) else sig} is sent on, once",
           out)
    p = popen(place, "sleep", "30")
    wait_for(lambda: subprocess.run(["pgrep", "-P", str(p.pid), "sleep"],
                                    capture_output=True).stdout, 10)
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=30)
    ok(p.returncode == -signal.SIGTERM, "SIGTERM to aon ends both by SIGTERM", p.returncode)

    ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    r = aon(place, "run", "--no-report", "--", SH, "-c", "kill -HUP $$; echo lives",
            preexec_fn=ignore)
    ok(r.stdout == b"lives\n", "what was ignored stays ignored", r)
    r = aon(place, "run", "--no-report", "--", "true",
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    ok(r.returncode == 0, "a parent that ignores SIGCHLD changes nothing", r)


def terminal(place):
    """The terminal's own signals reach the program once; Ctrl-Z stops both, fg goes on."""
    py = LOOP % ([int(signal.SIGINT)], 1)
    t = Terminal([find("aon"), "run", "--no-report", "--", sys.executable, "-c", py], 80, 24,
                 env_for(place), place.path)
    t.until(b"ready")
    t.send(b"\x03")
    t.end()
    ok(b"[2]" in t.out, "Ctrl-C reaches the program once", t.out)

    t = Terminal([find("aon"), "run", "--no-report", "--", SH, "-c", "echo up; exec sleep 30"], 80, 24, env_for(place),
                 place.path)
    t.until(b"up\r\n")
    t.send(b"\x03")
    st = t.end()
    ok(st is not None and os.WIFSIGNALED(st) and os.WTERMSIG(st) == signal.SIGINT,
       "Ctrl-C ends aon by SIGINT when it ends the program so", st)

    script = f"{find('aon')} run --no-report -- {SH} -c 'echo up; until [ -e go ]; do sleep 0.05; done; echo on; exit 3'\n"
    t = Terminal(["/bin/bash", "--norc", "--noprofile", "-i"], 120, 24,
                 env_for(place, PS1="prompt> ", HISTFILE=""), place.path)
    t.until(b"prompt> ")
    t.send(script.encode())
    t.until(b"up\r\n")
    t.send(b"\x1a")
    stopped = t.until(b"Stopped")
    (place.path / "go").touch()  # what was not stopped would go on now
    t.read(0.5)
    quiet = b"on\r\n" not in t.out.split(b"Stopped")[-1]
    t.send(b"fg\n")
    on = t.until(b"on\r\n")
    time.sleep(0.5)
    t.send(b"echo code=$?\n")
    code = t.until(b"code=3")
    t.send(b"exit\n")
    t.end()
    ok(stopped and quiet, "Ctrl-Z stops the job", t.out)
    ok(on and code, "fg continues it, and its exit status is its own", t.out)


def private(place):
    out = place.path / "out.db"
    r = aon(place, "run", "-o", out, "--name", "one", "--", find("emitter"), "-j", "2000", "-n", "1000")
    told = json.loads(r.stdout.decode().strip().splitlines()[-1])
    got = report(out)["accounting"]
    ok(r.returncode == 0 and got["emitted"] - got["samples"] == told["emitted"] and got["in_flight"] == 0 and
       got["emitted"] == got["stored"] + got["lost"] + got["overwritten"],
       "-o FILE: all that was emitted is accounted for", f"{told}\n{got}")
    text = r.stderr.decode()
    ok("run one" in text and "Records:" in text and f"aon report {out} --run one" in text and
       text.strip().splitlines()[-1].startswith("aon cost:"),
       "the report: what, evidence, accounting, next command, our cost last", text)
    r = aon(place, "run", "-o", out, "--name", "two", "--", find("emitter"), "-j", "2000", "-n", "1000")
    runs = [p["run"] for p in report(out)["processes"]]
    ok(sorted(runs) == ["one", "two"] and "run two" in r.stderr.decode() and
       f"{out} is there already: this run is added to it." in r.stderr.decode() and "is added" not in text,
       "a second run is added to the file, and aon says so", runs)
    r = aon(place, "run", "-o", place.path / "no" / "x.db", "--", "true")
    ok(r.returncode == 1 and not (place.path / "no").exists() and r.stderr.count(b"\n") == 1 and
       b"its folder" in r.stderr, "-o in a folder that is not there: said, and no folder is made", r)
    ok(len(report(out, "--run", "two")["processes"]) == 1, "--run chooses one of them")
    r = aon(place, "run", "--", find("emitter"), "-j", "2000", "-n", "1000")
    made = [n for n in os.listdir(place.path) if n.startswith("aon-") and n.endswith(".db")]
    ok(len(made) == 1 and b"No aond here" in r.stderr and made[0].encode() in r.stderr,
       "without a daemon: says so, and records into ./aon-ID.db", r.stderr)
    r = aon(place, "report")
    ok(r.returncode == 0 and made[0].encode() in r.stderr and b"emitter" in r.stdout,
       "report without a name reads the newest and says which", r)
    p = popen(place, find("emitter"), "-j", "2000", "-n", "10", "-h", "60")
    time.sleep(0.3)
    p.kill()
    p.wait()
    gone = wait_for(lambda: not [x for x in leftovers(place) if x.isdigit()], 20)
    ok(gone, "a killed aon takes its aond along", leftovers(place))
    for n in leftovers(place):
        subprocess.run(["rm", "-rf", str(place.path / n)])
    r = aon(place, "run", "--no-report", "-o", out, "--", "no-such-program-here")
    ok(r.returncode == 127 and out.exists(), "a store that was there stays")


def node(place):
    with Daemon(place) as d:
        r = aon(place, "run", "--", find("emitter"), "-j", "2000", "-n", "1000")
        text = r.stderr.decode()
        told = json.loads(r.stdout.decode().strip().splitlines()[-1])
        got = report(place.store)["accounting"]
        ok(r.returncode == 0 and got["emitted"] - got["samples"] == told["emitted"] and "No aond" not in text and
           str(place.store) in text, "the node's aond is used when it answers", f"{text}\n{got}")
        out = place.path / "mine.db"
        aon(place, "run", "-o", out, "--", find("emitter"), "-j", "2000", "-n", "1000")
        ok(len(report(out)["processes"]) == 1 and len(report(place.store)["processes"]) == 1,
           "-o FILE has an aond of its own")
        r = aon(place, "ps", "--all")
        ok(r.returncode == 0 and b"emitter" in r.stdout, "ps finds the node's store", r)
        d.stop()


with Place() as p:
    status(p)
    streams(p)
    signals(p)
    terminal(p)
    ok(not leftovers(p), "nothing is left behind", leftovers(p))
    private(p)
    ok(not leftovers(p), "nothing is left behind by private runs", leftovers(p))
    node(p)
done()
