/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.tbl.h - every probe that `aon run` can put into a program, once.
 *
 *	PROBE(name, "library", "VARIABLE that loads it", "variable for what the user had set", "what")
 *
 * The fourth column is where `aon run` keeps the user's previous value. NULL: not needed, because the
 * variable is a list separated by colons. "": the variable holds one library; if the user has set it,
 * the user's value stays and the probe is not loaded.
 */
/* clang-format off */
PROBE(nvtx,   "libaon-nvtx.so",   "NVTX_INJECTION64_PATH", "AON_NVTX_CHAIN", "NVTX ranges and marks")
PROBE(opencl, "libaon-opencl.so", "OPENCL_LAYERS",         NULL,             "OpenCL kernels and copies")
PROBE(cuda,   "libaon-cuda.so",   "CUDA_INJECTION64_PATH", "AON_CUDA_CHAIN", "CUDA kernels, copies and graphs")
PROBE(nccl,   "libaon-nccl.so",   "NCCL_PROFILER_PLUGIN",  "",               "NCCL collectives")
PROBE(torch,  "libaon-torch.so",  "AON_TORCH",             "AON_TORCH_HAD",  "steps and operators of PyTorch")
PROBE(jax,    "libaon-jax.so",    "AON_JAX",               "AON_JAX_HAD",    "steps and compilations of JAX")
/* clang-format on */
#undef PROBE
