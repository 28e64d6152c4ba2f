# SPDX-License-Identifier: Apache-2.0
"""Collectives of every kind over gloo in several groups, as torchrun starts it. Says what it called and, where
torch has one, what torch's own Flight Recorder has of it."""
import json
import os
import sys

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
called = []


def each(name, group, sizes):
    """One after the other, each done before the next is called: their order is certain."""
    for n, dtype in sizes:
        t = torch.ones(n, dtype=dtype)
        bytes = t.numel() * t.element_size()
        if name == "all_reduce":
            dist.all_reduce(t, group=group)
        elif name == "broadcast":
            dist.broadcast(t, 0, group=group)
        elif name == "reduce":
            dist.reduce(t, 0, group=group)
        elif name == "all_gather":
            dist.all_gather([torch.empty_like(t) for _ in range(dist.get_world_size(group))], t, group=group)
        elif name == "gather":
            out = [torch.empty_like(t) for _ in range(world)] if rank == 0 else None
            dist.gather(t, out, 0, group=group)
        elif name == "barrier":
            dist.barrier(group=group)
            bytes, dtype = 0, None
        called.append([number(group), "gloo:" + name, bytes, str(dtype)])


numbers = {}


def number(group):
    return numbers.setdefault(group, len(numbers))


F, D, L, H = torch.float32, torch.float64, torch.int64, torch.float16
number(None)
both = dist.new_group([0, 1])
number(both)
for r in range(world):  # all must call it, for all groups
    alone = dist.new_group([r])
    if r == rank:
        mine = alone
number(mine)
each("all_reduce", None, [(100, F), ((3, 5), D), (7, L), (9, H), (70000, F)])
each("broadcast", None, [(33, L), (4, torch.uint8)])
each("all_gather", both, [(12, F), (1, torch.int32)])
each("barrier", both, [(0, F)])
each("reduce", None, [(6, D)])
each("gather", None, [(5, F)])
each("all_reduce", both, [(64, F)])
each("all_reduce", mine, [(11, D)])
each("barrier", None, [(0, F)])
# Several at once: the threads of the group may begin them in any order.
at_once = [(torch.ones(1000 * (i + 1)), i) for i in range(12)]
for w in [dist.all_reduce(t, group=both, async_op=True) for t, i in at_once]:
    w.wait()
called += [[number(both), "gloo:all_reduce", 4000 * (i + 1), "torch.float32"] for t, i in at_once]
dist.barrier()
dump = getattr(torch._C._distributed_c10d, "_dump_fr_trace_json", None)
told = {"rank": rank, "pid": os.getpid(), "called": called, "recorder": json.loads(dump()) if dump else None}
dist.destroy_process_group()
with open(os.path.join(sys.argv[1], f"told.{rank}.json"), "w") as f:
    json.dump(told, f)
