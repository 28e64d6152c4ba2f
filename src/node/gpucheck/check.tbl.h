/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.tbl.h - what aon-gpu-check can do.
 *
 *	CHECK(name, "what it proves")   ARM(name): a part of a check, in a process of its own
 */
/* clang-format off */
CHECK(env,        "driver, runtime, every libcupti in reach")
CHECK(inject,     "what cuInit() costs and each call of CUPTI returns")
CHECK(stride,     "lengths of records as learnt, and as CUPTI walks")
CHECK(count,      "one record and one callback for each launch")
CHECK(names,      "names of kernels, when modules come and go")
CHECK(time,       "times of records against the GPU's own clock")
CHECK(graph,      "nodes of graphs, and changes of their level")
CHECK(endure,     "millions of kernels of graphs")
CHECK(lateness,   "how late records come, also at the end")
CHECK(deadlock,   "threads that make graphs beside flushes and changes")
CHECK(neighbours, "other profilers beside the probe")
CHECK(fork,       "processes that fork beside the probe")
CHECK(cost,       "what a launch costs")
CHECK(memory,     "memory that CUPTI takes")
CHECK(nvml,       "what NVML tells of each GPU")
CHECK(counters,   "counters of the GPU's hardware")
ARM(init)
ARM(loop)
ARM(room)
ARM(nothing)
/* clang-format on */
#undef CHECK
#undef ARM
