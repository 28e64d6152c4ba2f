# SPDX-License-Identifier: Apache-2.0
"""Tiles of a timeline, as the API gives them."""
import struct

CELLS = 512


def varint(b, at):
    v = shift = 0
    while True:
        v |= (b[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if b[at - 1] < 128:
            return v, at


def zigzag(v):
    return v >> 1 ^ -(v & 1)


def tiles(body):
    """What docs/tiles.md says that the bytes are."""
    at, out = 0, []
    while at < len(body):
        length, magic, version, kind, level, flags, track, t0, events, lost, epoch = struct.unpack_from(
            "<I4sBBBBIQIII", body, at)
        assert magic == b"AONT" and version == 1 and length >= 36, (magic, version, length)
        t = {"kind": kind, "L": level, "flags": flags, "track": track, "t0": t0, "n": events, "cells": {}, "events": []}
        b, at = body[at + 36:at + length], at + length
        if kind == 2:
            p = CELLS // 8
            for i in range(CELLS):
                if not b[i // 8] >> i % 8 & 1:
                    continue
                mask, p, share = b[p], p + 1, {}
                for k in range(8):
                    if mask >> k & 1:
                        share[k], p = b[p], p + 1
                starts, p = varint(b, p)
                name, p = varint(b, p)
                t["cells"][i] = (share, starts, name)
            assert p == len(b)
        if kind == 1:
            p, end, eid = 0, t0, 0
            for _ in range(events):
                gap, p = varint(b, p)
                dur, p = varint(b, p)
                name, p = varint(b, p)
                delta, p = varint(b, p)
                start, eid = end + zigzag(gap), eid + zigzag(delta)
                end = start + dur
                t["events"].append((start, dur, name, eid))
            assert p == len(b)
        out.append(t)
    return out
