# SPDX-License-Identifier: Apache-2.0
"""Two ranks over gloo, of which the last does not come to the third all-reduce until a file appears."""
import os
import sys
import time

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, here = dist.get_rank(), sys.argv[1]
t = torch.ones(1000)
for i in range(3):
    if i == 2:
        with open(os.path.join(here, f"rank.{rank}"), "w") as f:
            f.write(str(os.getpid()))
        while rank == 1 and not os.path.exists(os.path.join(here, "come")):
            time.sleep(0.05)
    dist.all_reduce(t)
dist.destroy_process_group()
