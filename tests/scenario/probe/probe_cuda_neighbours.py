#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# test: timeout=300
"""The user's own profiler beside the CUDA probe, on the strict stand-in: it sees what it would see
without aon, twice, with graphs; aon comes back by itself and says which interval it did not see."""
from aontest import Daemon, Place, balanced, done, find, ok
from cudatest import clean, count, events, lost_by, run, stored

LAUNCHES, NODES = 300, 40
IN_TRACE = LAUNCHES + 20 * NODES  # kernels of the stretch with the profiler
KINDS = ("old", "new", "xla")


def traces(place):
    return (place.path / "seen").read_text().split()


def profiled(place, kind, **extra):
    options = extra.pop("options", ())
    return run(place, f"launches={LAUNCHES}", f"nodes={NODES}", *options, "profiled",
               APP_PROFILER=find("cuda_kineto.so"), PROFILER=kind, PROFILER_OUT=place.path / "seen",
               **extra)


def without_aon():
    """What the tool sees when nobody is beside it: the truth of the other cases."""
    with Place() as place:
        r = profiled(place, "new", CUDA_INJECTION64_PATH="")
        ok(clean(r) and traces(place) == [str(IN_TRACE)] * 2, "without aon", f"{r} {traces(place)}")


def neighbours():
    for kind in KINDS:
        with Place() as place, Daemon(place) as d:
            r = profiled(place, kind)
            rep = stored(d)
            ok(clean(r) and traces(place) == [str(IN_TRACE)] * 2,
               f"{kind}: the profiler sees every kernel, twice, and no buffer of aon's",
               f"{r} {traces(place)}")
            n = count(rep, "kernel")
            most = r["kernels"] - 2 * IN_TRACE
            ok(most - 120 <= n <= most,
               f"{kind}: aon has the others: {n} of {most}, it may miss those before it came back",
               lost_by(rep))
            ok(balanced(rep["accounting"]), f"{kind}: every record is accounted for",
               rep["accounting"])
            ext = [e for e in events(place.store, "range") if e["name"].startswith("externally")]
            ok(len(ext) == 2 and all("cuda_kineto.so" in e["name"] for e in ext),
               f"{kind}: two intervals that aon did not see, with whose they are", ext)
            ok(all(e["dur"] < 5e9 for e in ext), f"{kind}: it came back within five seconds",
               [e["dur"] / 1e9 for e in ext])


def late():
    """A library that is loaded after cuInit()."""
    with Place() as place, Daemon(place) as d:
        r = profiled(place, "old", options=("late=1",))
        ok(clean(r) and traces(place) == [str(IN_TRACE)] * 2, "a profiler that is loaded late",
           f"{r} {traces(place)}")
        ok(count(stored(d), "kernel") > LAUNCHES, "aon records beside it")


def main():
    for case in (without_aon, neighbours, late):
        case()
    done()


if __name__ == "__main__":
    main()
