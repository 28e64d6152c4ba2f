# SPDX-License-Identifier: Apache-2.0
"""faulty.py FAULT STEPS: a loop of steps, with a fault from the STEPS-th on, until its input ends.

none      nothing of its own: what it is done to comes from outside (SIGSTOP, a CPU quota)
loader    the next batch comes late, between steps
gc        garbage is collected, time and again, within steps
leak      each step keeps 32 KiB, for longer than eight windows, and the program says what it has allocated
sleeps    a part of a step sleeps
writes    a checkpoint of nine seconds, once: it is written as no range says
saves     the same by a range, and nothing is written meanwhile"""
import gc
import os
import select
import sys
import time

import aon

fault, onset = sys.argv[1], int(sys.argv[2])
kept, heap = [], []


def work():
    """Of the processor: a millisecond of it, however long that takes."""
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass


def load(bad):
    time.sleep(0.06 if bad and fault == "loader" else 0.001)


def train(i, bad):
    if fault in ("none", "gc"):
        work()
    else:
        time.sleep(0.002)
    if not bad:
        return
    if fault == "gc" and i % 2 == 0:
        if not heap:
            heap.extend([j] for j in range(600000))
        gc.collect()
    elif fault == "leak" and len(kept) < 4000:
        kept.append(bytearray(os.urandom(1 << 10) * 32))
    elif fault == "sleeps":
        time.sleep(0.06)


def checkpoint():
    end = time.monotonic() + 9
    with open(os.devnull, "wb", 0) as f, aon.range("save_checkpoint" if fault == "saves" else "epilogue"):
        while time.monotonic() < end:
            if fault == "writes":
                f.write(bytes(1 << 20))
            time.sleep(0.05)
    print("saved", flush=True)


i = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    bad = i >= onset
    load(bad)
    with aon.step():
        train(i, bad)
    if fault == "leak":
        aon.counter("[memory] allocated", 20000000 + (len(kept) << 15))
    if i == onset:
        print("bad", flush=True)
        if fault in ("writes", "saves"):
            checkpoint()
    i += 1
