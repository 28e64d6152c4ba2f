#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network learns to read digits: what `make demo` watches.

    aon run -- env DEV=CL python3 examples/train_tinygrad.py [steps]

tinygrad (PyPI) compiles each step into a handful of kernels; DEV=CL runs them by OpenCL, on a GPU
or, with PoCL, on the CPU. The digits are drawn here, moved about and spoilt with noise, so nothing
is downloaded. Nothing of tinygrad is changed: aon sees its kernels by itself.
"""
import ctypes
import random
import sys

from tinygrad import Context, Tensor, TinyJit, nn

SIDE, BATCH = 16, 64
FONT = """
.###.  ..#..  .###.  .###.  ...#.  #####  .###.  #####  .###.  .###.
#...#  .##..  #...#  #...#  ..##.  #....  #....  ....#  #...#  #...#
#...#  ..#..  ....#  ....#  .#.#.  ####.  ####.  ...#.  #...#  #...#
#...#  ..#..  ..##.  ..##.  #..#.  ....#  #...#  ..#..  .###.  .####
#...#  ..#..  .#...  ....#  #####  ....#  #...#  .#...  #...#  ....#
#...#  ..#..  #....  #...#  ...#.  #...#  #...#  .#...  #...#  ....#
.###.  .###.  #####  .###.  ...#.  .###.  .###.  .#...  .###.  .###.
"""
GLYPHS = list(zip(*(line.split() for line in FONT.split("\n") if line)))


def draw(digit, rng):
    """SIDE x SIDE pixels: the digit, twice as large, somewhere, under noise."""
    left, top = rng.randrange(SIDE - 9), rng.randrange(SIDE - 13)
    pixels = [rng.gauss(0, 0.3) for _ in range(SIDE * SIDE)]
    for y in range(14):
        for x in range(10):
            if GLYPHS[digit][y // 2][x // 2] == "#":
                pixels[min(top + y, SIDE - 1) * SIDE + left + x] += 1
    return pixels


def digits(n, seed):
    rng = random.Random(seed)
    labels = [rng.randrange(10) for _ in range(n)]
    pixels = [p for digit in labels for p in draw(digit, rng)]
    return Tensor(pixels).reshape(n, 1, SIDE, SIDE).realize(), Tensor(labels).realize()


class Net:
    def __init__(self, rng):
        self.conv, self.out = nn.Conv2d(1, 8, 5), nn.Linear(8 * 6 * 6, 10)
        # Drawn here: tinygrad would compile a dozen kernels for it, each of which runs once.
        for p in nn.state.get_parameters(self):
            p.replace(Tensor([rng.uniform(-0.1, 0.1) for _ in range(p.numel())]).reshape(p.shape).realize())

    def __call__(self, x):
        return self.out(self.conv(x).relu().max_pool2d().flatten(1))


def aon():
    """Marks steps, if aon is there: with `aon run` it is, once the first kernel has run."""
    try:
        lib = ctypes.CDLL("libaon.so.0")
        return lambda n: lib.aon_step_begin(ctypes.c_uint64(n)), lambda n: lib.aon_step_end(ctypes.c_uint64(n))
    except OSError:
        return lambda n: None, lambda n: None


def main(steps):
    batches = [digits(BATCH, seed) for seed in range(16)]
    net = Net(random.Random(1))
    optimizer = nn.optim.SGD(nn.state.get_parameters(net), lr=0.1)

    @TinyJit
    def step(images, labels):
        optimizer.zero_grad()
        loss = net(images).sparse_categorical_crossentropy(labels)
        loss.backward()
        optimizer.step()
        return loss.realize()

    begin, end = aon()
    for n in range(1, steps + 1):
        begin(n)
        loss = step(*batches[n % len(batches)]).item()
        end(n)
        if n % (steps // 5 or 1) == 0:
            print(f"step {n:4}  loss {loss:.3f}", flush=True)
    images, labels = digits(BATCH, seed=99)
    guesses = [max(range(10), key=row.__getitem__) for row in net(images).tolist()]
    right = sum(a == b for a, b in zip(guesses, labels.tolist()))
    print(f"{right} of {BATCH} digits that it has not seen are read right")


if __name__ == "__main__":
    with Context(TRAINING=1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
