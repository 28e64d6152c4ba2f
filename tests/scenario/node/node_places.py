# SPDX-License-Identifier: Apache-2.0
# test: timeout=120 needs=root
"""What others put where aond works, and what others may see there: nothing is followed, nothing
is changed, nothing is shown; a refusal is one line."""
import fcntl
import mmap
import os
import socket
import stat
import subprocess

from aontest import *
from aonraw import Raw

NOBODY = 65534


def as_nobody(fn):
    """Runs fn as nobody in a child; what it returned (a short text), or the exception's name."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(w, str(fn()).encode())
        except OSError as e:
            os.write(w, type(e).__name__.encode())
        except BaseException as e:
            os.write(w, repr(e).encode())
        os._exit(0)
    os.close(w)
    os.waitpid(pid, 0)
    text = os.read(r, 4096).decode()
    os.close(r)
    return text


def run_once(place, *args):
    """aond that is expected not to stay: (code, its lines)."""
    try:
        r = subprocess.run([find("aond"), "--run-dir", str(place.run), "--store", str(place.store),
                            *args], capture_output=True, text=True, timeout=5)
        return r.returncode, [x for x in r.stderr.splitlines() if x]
    except subprocess.TimeoutExpired as e:
        return None, (e.stderr or b"").decode().splitlines()


def refused(place, text, *args):
    code, lines = run_once(place, *args)
    return ok(code == 1 and len(lines) == 1, f"{text}: refused in one line", f"{code} {lines}")


# --- traps ---

def traps():
    """An attacker could write to the run directory once: what is there is not used blindly."""
    with Place() as place:
        victim = place.path / "victim"
        victim.write_text("precious")
        os.chmod(victim, 0o640)

        def kept():
            return victim.read_text() == "precious" and stat.S_IMODE(victim.stat().st_mode) == 0o640

        for name in ("aond.sock", "admin.sock", "gate", "aond.lock"):
            for kind in ("symlink", "hardlink", "fifo", "directory", "file of another"):
                make_trap(place.run / name, kind, victim)
                with Daemon(place, start=False) as d:
                    d.start(wait=2)
                    if d.ping():
                        good = kept()
                        d.stop()
                    else:
                        good = kept() and d.proc.wait(5) == 1
                    ok(good and kept(), f"{kind} at {name}: nothing of others is touched",
                       d.text()[-600:])
                clear(place)


def make_trap(path, kind, victim):
    if kind == "symlink":
        path.symlink_to(victim)
    elif kind == "hardlink":
        os.link(victim, path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        path.write_text("x")
        os.chown(path, NOBODY, NOBODY)


def clear(place):
    for f in place.run.iterdir():
        if f.is_dir() and not f.is_symlink():
            f.rmdir()
        else:
            f.unlink()
    for f in place.path.glob("store.db*"):
        f.unlink()
    (place.path / "aond.log").unlink(missing_ok=True)


def run_dirs():
    with Place() as place:
        os.chmod(place.run, 0o777)
        refused(place, "a run directory that all can write to")
        os.chmod(place.run, 0o755)
        os.chown(place.run, NOBODY, NOBODY)
        refused(place, "a run directory of another user")
        os.chown(place.run, 0, 0)
        link = place.path / "link"
        link.symlink_to(place.run)
        place.run = link
        refused(place, "a run directory that is a link")
        place.run = place.path / "file"
        place.run.write_text("")
        refused(place, "a run directory that is a file")
        place.run = place.path / "no" / "such"
        refused(place, "a run directory without a parent")
    with Place() as place:  # /tmp itself, as it were
        sticky = place.path / "sticky"
        sticky.mkdir()
        os.chmod(sticky, 0o1777)
        place.run = sticky / "run"
        with Daemon(place) as d:
            ok(d.ping() and stat.S_IMODE(place.run.stat().st_mode) == 0o755,
               "in a sticky directory aond makes a directory of its own")
        as_nobody(lambda: (sticky / "evil").mkdir())
        place.run = sticky / "evil"
        refused(place, "a directory that another made there before")
        place.run = sticky
        code, lines = run_once(place)
        ok(code == 1 and len(lines) == 1,
           "the sticky directory itself, where others make files: refused in one line",
           f"{code} {lines}")


def stores():
    with Place() as place:
        target = place.path / "target"
        target.write_text("precious")
        place.store.symlink_to(target)
        with Daemon(place, start=False) as d:
            d.start(wait=2)
            ok(target.read_text() == "precious", "a store that is a link: the file is untouched",
               d.text()[-500:])
    with Place() as place:
        d = place.path / "closed"
        d.mkdir(mode=0o700)
        place.store = d / "no" / "deep" / "store.db"
        refused(place, "a store where there is no directory")


# --- two of them ---

def second():
    with Place() as place, Daemon(place) as d:
        refused(place, "a second aond in the run directory")
        ok(d.ping(), "and the first does not notice")
        other = Place()
        other.store = place.store
        refused(other, "a second aond on the store")
        other.__exit__()
        p = app(place, "steady", "-n", 1000, stdin=subprocess.PIPE)
        e = emitted(p)
        d.flush()
        same(accounts(place.store), e, "the first goes on recording")


# --- eyes of others ---

def eyes():
    with Place() as place, Daemon(place) as d:
        p = app(place, "steady", "-r", 1000, "-w", stdin=subprocess.PIPE)
        wait_joined(d, p.pid)
        d.flush()
        denied = {"PermissionError"}
        pid = d.pid
        for name in ("store.db", "store.db-wal", "store.db-shm"):
            path = place.path / name
            if path.exists():
                ok(as_nobody(lambda: open(path, "rb").read(1)) in denied,
                   f"another user cannot read {name}", oct(path.stat().st_mode))

        def admin():
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.connect(str(place.run / "admin.sock"))

        ok(as_nobody(admin) in denied, "another user cannot reach the admin socket")
        ok(as_nobody(lambda: os.listdir(f"/proc/{pid}/fd")) in denied,
           "another user cannot look at aond's descriptors")
        ok(as_nobody(lambda: os.listdir(f"/proc/{pid}/map_files")) in denied,
           "nor at its mappings")
        ok(as_nobody(lambda: open(f"/proc/{pid}/mem", "rb")) in denied, "nor at its memory")
        ok(as_nobody(lambda: open(place.run / "gate", "r+b")) in denied,
           "another user cannot write the door")
        ok(as_nobody(lambda: len(open(place.run / "gate", "rb").read())) == "4096",
           "but reads it")
        r = as_nobody(lambda: Raw(place).join())
        ok(r == "0", "and joins", r)
        gate(place)
        finish(p)


def gate(place):
    r = Raw(place)
    r.join()
    g, pool = r.fds[0], r.fds[1]

    def tried(what):
        try:
            what()
            return "done"
        except (PermissionError, OSError, ValueError) as e:
            return type(e).__name__

    ok(tried(lambda: mmap.mmap(g, 4096)) == "PermissionError",
       "a process cannot map its gate to write")
    ok(tried(lambda: os.write(g, b"x")) == "PermissionError", "nor write to it")
    ok(tried(lambda: os.ftruncate(g, 0)) == "PermissionError", "nor cut it")
    ok(tried(lambda: fcntl.fcntl(g, 1033, 0x8)) == "PermissionError", "nor seal it further")
    ok(tried(lambda: os.ftruncate(pool, 0)) == "PermissionError", "nor cut its pool")
    ok(tried(lambda: mmap.mmap(os.open(f"/proc/self/fd/{g}", os.O_RDWR), 4096)) != "done",
       "nor open it again to write")
    r.close()


traps()
run_dirs()
stores()
second()
eyes()
done()
