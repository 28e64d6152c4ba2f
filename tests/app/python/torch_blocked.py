# SPDX-License-Identifier: Apache-2.0
"""Threads of a torch program that block in every way: locks, queues, sleep, select, operators, autograd."""
import queue
import select
import sys
import threading
import time

import torch

torch.set_num_threads(4)
lock = threading.Lock()
lock.acquire()


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        time.sleep(0.01)
        return g * 2


def gets():
    queue.Queue().get()


def locks():
    lock.acquire()


def sleeps():
    while True:
        time.sleep(0.02)


def selects():
    select.select([sys.stdin], [], [])


def multiplies():
    a = torch.randn(500, 500)
    while True:
        (a @ a).sum()
        time.sleep(0.001)


def trains():
    layer = torch.nn.Linear(256, 256)
    while True:
        Slow.apply(layer(torch.randn(64, 256))).sum().backward()


for f in gets, locks, sleeps, selects, multiplies, trains:
    threading.Thread(target=f, daemon=True).start()
time.sleep(1)
print("there", flush=True)
sys.stdin.read()
