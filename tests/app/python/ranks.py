# SPDX-License-Identifier: Apache-2.0
"""ranks.py N PORT SCRIPT ARGS: N processes with what torchrun puts into their environment, for a torch whose own
does not run here. Ends as the first that fails does."""
import os
import subprocess
import sys

world, port = sys.argv[1:3]
env = dict(os.environ, WORLD_SIZE=world, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, OMP_NUM_THREADS="1")
all = [subprocess.Popen([sys.executable, *sys.argv[3:]], env=dict(env, RANK=str(r), LOCAL_RANK=str(r)))
       for r in range(int(world))]
sys.exit(max(abs(p.wait()) for p in all))
