# SPDX-License-Identifier: Apache-2.0
"""Shared by the tools that fit constants to measured tables: the choice of rows, and Nelder and Mead's simplex."""

import math
import pathlib

TABLES = pathlib.Path(__file__).resolve().parents[1].parent / "shared/data/perf_tables"


def fnv(text):
    h = 0xCBF29CE484222325
    for b in text.encode():
        h = ((h ^ b) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def even(row, measured):
    """Whether constants may be fitted to a row of a table: by its key, all columns that are not
    `measured` (what their names begin with)."""
    return fnv(",".join(v for k, v in row.items() if not k.startswith(measured))) % 2 == 0


def simplex(f, x, step, steps=1500):
    pts = [list(x)] + [[v + step * (i == j) for j, v in enumerate(x)] for i in range(len(x))]
    pts = sorted(((f(p), p) for p in pts), key=lambda q: q[0])
    for _ in range(steps):
        best, worst = pts[0], pts[-1]
        mid = [sum(q[1][j] for q in pts[:-1]) / len(x) for j in range(len(x))]

        def at(k):
            p = [m + k * (m - w) for m, w in zip(mid, worst[1])]
            return f(p), p

        new = at(1.0)
        if new[0] < best[0]:
            new = min(new, at(2.0), key=lambda q: q[0])
        elif new[0] >= pts[-2][0]:
            new = at(-0.5)
        if new[0] < worst[0]:
            pts[-1] = new
        else:
            near = [[(a + b) / 2 for a, b in zip(best[1], q[1])] for q in pts[1:]]
            pts = [best] + [(f(p), p) for p in near]
        pts.sort(key=lambda q: q[0])
        if pts[-1][0] - pts[0][0] < 1e-6:
            break
    return pts[0]


def fit(model, sets, start, prior=()):
    """Constants, all positive, so that model(constants, *arguments) is close to what was measured.
    sets: [[(arguments, time)]], each set weighs the same. What disturbs a measurement makes it
    longer, never shorter: so the 35th percentile, not the middle, and no row counts without limit
    (fitted to one half of the even rows, XLA's collectives have the least errors on the other half
    with the 30th to the 40th).
    prior: (which constant, about where, how firmly), against constants that few rows speak of."""
    def loss(x):
        p, total = [math.exp(v) for v in x], 0.0
        for rows in sets:
            for args, time in rows:
                e = math.log(time / model(p, *args))
                total += min((0.35 if e > 0 else 0.65) * abs(e), 0.25) / len(rows)
        return total / len(sets) + sum(w * math.log(p[i] / at) ** 2 for i, at, w in prior)
    best = None
    for scale in (1.0, 0.5, 2.0):
        x = [math.log(s * (scale if i < 2 else 1)) for i, s in enumerate(start)]
        got = simplex(loss, simplex(loss, x, 0.25)[1], 0.1)
        if best is None or got[0] < best[0]:
            best = got
    return [math.exp(v) for v in best[1]]
