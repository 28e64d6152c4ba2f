# SPDX-License-Identifier: Apache-2.0
# test: timeout=300 sanitize=no long=yes
"""Programs whose GPU waits for one planted cause: the report's first sentence names the function, and its state where that is
the point. Of a program whose GPU is busy no code is named."""
import os
import sys

import causekit
from aontest import LONG, done, ok, skip

SOME = ("parse", "gil_python", "sleep", "lock_convoy", "socket", "flush_log", "dataloader", "hog")
SEED = sys.argv[1] if len(sys.argv) > 1 else "1"
TRIES = 3


def busy():
    """Whether this machine has no CPU to spare: the program then waits for one most of the time, and that is what is named."""
    return os.getloadavg()[0] > os.cpu_count()


def case(kind, healthy=False):
    if why := causekit.why_not(kind):
        return skip(kind, why)
    for _ in range(TRIES):
        v = causekit.run(kind, SEED, healthy, enough=90)
        if v.right or not busy():
            break
    w = v.windows
    ok(w["n"] == w["rolled"] and (w["busy"] > w["idle"] if healthy else w["idle"] > 0),
       f"{kind}: windows have the same samples, {'of a busy GPU' if healthy else 'some of an idle GPU'}", w)
    return ok(v.right, f"{kind}: {'no code is named while its GPU is busy' if healthy else 'it is named'}", f"{v}\n{v.text}\n{v.all}")


for name in causekit.KINDS if LONG else SOME:
    case(name)
for name in causekit.HEALTHY if LONG else ("sleep",):
    case(name, healthy=True)
done()
