#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two trainings, one after the other: PyTorch on two ranks, then tinygrad on OpenCL. What `make demo` watches.
#
#	aon run -- examples/train_both.sh
#
# TORCH_PYTHON is the Python that has PyTorch, if that is not the first one.
set -eu
here=$(dirname "$0")
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
# -r and -t, of a rank that is not there: torch 1.13 in Python 3.11 does not find its word for none.
OMP_NUM_THREADS=1 "${TORCH_PYTHON:-python3}" -m torch.distributed.run --nproc_per_node 2 --master_port "$port" \
	-r 9:1 -t 9:1 "$here/train_torch.py"
DEV=CL python3 "$here/train_tinygrad.py"
