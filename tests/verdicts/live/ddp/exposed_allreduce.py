# SPDX-License-Identifier: Apache-2.0
# kind: gradients of large embeddings are reduced while there is nothing left to compute
# family: comm_exposed slow_collectives
# culprit: all_reduce allreduce
# action: bucket|overlap|accumul|compress|hide|larger batch|fewer|sparse
# needs: torch
# ranks: 2
# draw: mb=12..48 width=64..128 batch=16..32
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import planted
from planted import P, RANK

dist.init_process_group("gloo")
torch.set_num_threads(1)
rows = int(P["mb"] * (1 << 20)) // 4 // P["width"] if planted.ON else 64
model = torch.nn.Sequential(torch.nn.Embedding(rows, P["width"]), planted.mlp())
model = DistributedDataParallel(model)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randint(rows, (P["batch"],)), torch.randint(10, (P["batch"],))
for _ in planted.steps(of=planted.blocked_ns):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()
if RANK == 0:
    planted.done()
planted.leave()
