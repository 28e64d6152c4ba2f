# SPDX-License-Identifier: Apache-2.0
"""Kernels of tinygrad on OpenCL, and what tinygrad itself says of each: a line of JSON for each kernel that ran, with its
name, launch, floating-point operations and bytes of global memory."""
import json
import os

os.environ.update({"DEV": "CL", "CCACHE": "0", "CACHELEVEL": "0"})  # compiled anew: a kept binary has no text

from tinygrad import Device, Tensor  # noqa: E402
from tinygrad.engine import realize  # noqa: E402

true = realize.track_stats


def tell(ctx, call, *args):
    program = call.src[0]
    if hasattr(program.arg, "launch_dims"):
        e, (groups, items) = realize.estimate_uop(call), program.arg.launch_dims(ctx.var_vals)
        print(json.dumps({"name": program.arg.function_name, "groups": groups, "items": items or [1], "flops": int(e.ops),
                          "bytes": int(e.mem)}), flush=True)
    return true(ctx, call, *args)


def ones(*shape):
    return Tensor.ones(*shape).contiguous().realize()


realize.track_stats = tell
(ones(256, 128) @ ones(128, 64)).realize()
(ones(48, 100).relu() * 2 + 1).realize()
(ones(320, 96).exp() + 1).sum(axis=1).realize()
ones(40, 72).softmax().realize()
ones(56, 80).layernorm().realize()
(ones(96, 64) + ones(96, 64).T.contiguous().T).realize()
(ones(17, 33).sigmoid() * 3).max().realize()
(ones(30, 10)[:, :1] * ones(1, 12)).realize()
ones(2, 8, 16, 16).conv2d(ones(16, 8, 3, 3)).relu().realize()
Device["CL"].synchronize()
