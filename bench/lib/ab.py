# SPDX-License-Identifier: Apache-2.0
"""An outside A/B test: processes with aon and processes without, and the confidence of their difference.

Two processes, one of each kind, live side by side on one core and take turns: only one of them runs at a time, for a
fraction of a second, and a coin says which of them begins a round. So disturbances of the machine affect both. A round
gives one difference, log(with / without). Two processes differ by themselves, too, for as long as they live (where
their memory lies): so after some rounds both end, and two new ones begin. The figure is the median round of each such
pair; the interval is Wilcoxon's over pairs, which only assumes that they are symmetric around the truth.
"""
import itertools
import json
import math
import random
import statistics
import subprocess
import sys
import time

WIDE = 2.0  # points
MEASURES = {"wall": "median_ms", "cpu": "cpu_ms"}


def wilcoxon(values, alpha=0.05):
    """Low end, Hodges-Lehmann's estimate, high end; the ends None when there are too few for one."""
    walsh = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2))
    n, ways, left = len(values), [1], 0
    for i in range(1, n + 1):  # how many subsets of 1..n have each sum
        ways = [(ways[s] if s < len(ways) else 0) + (ways[s - i] if s >= i else 0) for s in range(len(ways) + i)]
    out = 0
    for w in ways:
        left += w
        if left / 2 ** n > alpha / 2:
            break
        out += 1
    ends = (walsh[out - 1], walsh[-out]) if out else (None, None)
    return ends[0], statistics.median(walsh), ends[1]


class Interval:
    """Of log ratios; shown as what is added, in percent."""

    def __init__(self, logs):
        self.lo, self.mid, self.hi = (None if v is None else 100 * math.expm1(v) for v in wilcoxon(logs))

    def ends(self):
        return [self.lo, self.mid, self.hi]

    def __str__(self):
        if self.lo is None:
            return f"{self.mid:+.2f} % (too few pairs)"
        return f"{self.mid:+.2f} % ({self.lo:+.2f} to {self.hi:+.2f})"

    def agrees(self, lo, mid, hi):
        """Whether another estimate with its own interval can be of the same thing: the difference of the two is not
        beyond what both leave open. None: this one leaves so much open that it cannot tell."""
        if self.lo is None or self.hi - self.lo > WIDE:
            return None
        other = hi - mid if self.mid > mid else mid - lo
        mine = self.mid - self.lo if self.mid > mid else self.hi - self.mid
        return abs(self.mid - mid) <= math.hypot(other, mine)


class Arm:
    """A process that does so many steps on request."""

    def __init__(self, argv, env):
        self.proc = subprocess.Popen(argv, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def turn(self, steps):
        self.proc.stdin.write(f"{steps}\n")
        self.proc.stdin.flush()
        line = self.proc.stdout.readline()
        if not line:
            raise RuntimeError(f"a program has ended with {self.proc.wait()}")
        return json.loads(line)

    def end(self):
        self.proc.stdin.close()
        try:
            self.proc.wait(30)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        self.proc.stdout.close()


def pair(with_aon, without, seconds, turn_s, coin):
    """Two processes until `seconds` are over; the median round of each measure."""
    arms = [with_aon(), without()]
    try:
        warm = [a.turn(50) for a in arms]
        steps = max(5, int(turn_s / (warm[1]["median_ms"] / 1e3)))
        for a in arms:
            a.turn(steps)
        rounds, end = {m: [] for m in MEASURES}, time.monotonic() + seconds
        while time.monotonic() < end or len(rounds["wall"]) < 5:
            got, first = [None, None], coin.random() < 0.5
            for which in (first, not first):
                got[which] = arms[which].turn(steps)
            for m, key in MEASURES.items():
                rounds[m].append(math.log(got[0][key] / got[1][key]))
        return {m: statistics.median(v) for m, v in rounds.items()}, len(rounds["wall"])
    finally:
        for a in arms:
            a.end()


def compare(with_aon, without, pairs, seconds, turn_s=0.15, say=None, seed=1):
    """{"wall": Interval, "cpu": Interval, "pairs":, "rounds":} of so many pairs of processes, `seconds` each."""
    coin, seen, rounds = random.Random(seed), {m: [] for m in MEASURES}, 0
    for n in range(pairs):
        got, more = pair(with_aon, without, seconds, turn_s, coin)
        rounds += more
        for m, v in got.items():
            seen[m].append(v)
        if say:
            say(f"A/B pair {n + 1} of {pairs}: wall {100 * math.expm1(got['wall']):+.2f} %, CPU {100 * math.expm1(got['cpu']):+.2f} %; "
                f"so far wall {Interval(seen['wall'])}, CPU {Interval(seen['cpu'])}")
    return {**{m: Interval(v) for m, v in seen.items()}, "pairs": pairs, "rounds": rounds}


def progress(text):
    print(f"    {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
