# SPDX-License-Identifier: Apache-2.0
# kind: the features of each batch are asked from a service over TCP, which answers after a while
# family: input_bound host_code cpu_bound io
# culprit: plant_f
# action: ahead|thread|worker|overlap|cache|batch|wait|cheaper
# needs: torch
# draw: ms=10..50 width=256..448 batch=64..160
import multiprocessing
import socket

import plant_mod
import torch
import torch.nn.functional as F

import planted
from planted import P


def main():
    width, batch = int(P["width"]), int(P["batch"])
    listener = socket.create_server(("127.0.0.1", 0))
    service = multiprocessing.get_context("fork").Process(
        target=plant_mod.serve, args=(listener, P["ms"] / 1e3 if planted.ON else 0, batch * width * 4), daemon=True)
    service.start()
    client = plant_mod.PlantC(listener.getsockname(), batch * width * 4)
    model = planted.mlp()
    opt = torch.optim.AdamW(model.parameters())
    y = torch.randint(10, (batch,))
    for step in planted.steps():
        with planted.cost():
            x = torch.frombuffer(client.plant_f(step), dtype=torch.float32).view(batch, width)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    planted.done()
    service.kill()


main()
# file: plant_mod.py
import socket
import struct
import time


class PlantC:
    def __init__(self, address, size):
        self.socket = socket.create_connection(address)
        self.size = size

    def plant_f(self, key):
        self.socket.sendall(struct.pack("<q", key))
        got = bytearray(self.size)
        view, at = memoryview(got), 0
        while at < self.size:
            at += self.socket.recv_into(view[at:])
        return got


def serve(listener, seconds, size):
    s, _ = listener.accept()
    answer = struct.pack("<f", 0.125) * (size // 4)
    while s.recv(8):
        time.sleep(seconds)
        s.sendall(answer)
