/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_rec.tbl.h - the fields of the record of a rank's step, once (docs/step-record.md).
 * The order is that on the wire: new fields need a new version.
 *
 *	TIME(name, "what it is", "who fills it")          nanoseconds
 *	CLASS(NAME, "word", "kernels that count there")
 *	OP(NAME, "word", synchronising)                   of a collective
 *	COUNTER(type, name, NAME, "what it is", "who fills it")
 *
 * synchronising: no rank leaves before all have come, so the one with the shortest stay came last.
 */
/* clang-format off */
#ifdef TIME
TIME(step,    "from the start of this step to the start of the next",     "steps")
TIME(compute, "a kernel ran, not counting communication",               "kernels")
TIME(comm,    "a collective was under way",                              "collectives, kernels of NCCL")
TIME(exposed, "the part of comm while no kernel ran",                                 "both of these")
TIME(copy,    "a copy between host and device was under way",           "copies")
TIME(idle,    "none of the above",                                       "all of these")
TIME(host,    "the part of idle while the host was not waiting: it came too late",  "calls, idle")
TIME(input,   "the host waited for its batch",                          "DataLoader waits, ranges")
TIME(launch,  "the host was in calls that launch",                      "calls")
TIME(sync,    "the host was in calls that wait for the GPU",            "calls")
TIME(alloc,   "the host was in calls that allocate or free memory",     "calls")
TIME(gc,      "Python collected garbage",                               "ranges of libaon-torch")
TIME(ckpt,    "a checkpoint was written",                               "ranges")
TIME(issue,   "mean time from a launch to the start of its kernel",  "calls, kernels")
TIME(stall,   "the longest piece of idle",                              "idle")
TIME(pass,    "the part of compute in forward passes",                          "ranges, where there are any; else 0")
#undef TIME
#endif

#ifdef CLASS
CLASS(GEMM,      "gemm",      "matrix products that are no expert's")
CLASS(ATTENTION, "attention", "attention")
CLASS(POINTWISE, "pointwise", "normalisation, activations, additions, rotations")
CLASS(EMBED,     "embed",     "embedding, logits, loss")
CLASS(EXPERT,    "expert",    "what experts of a mixture do")
CLASS(OPTIMIZER, "optimizer", "optimizer")
CLASS(COPY,      "copy",      "copies and memsets of the device")
CLASS(OTHER,     "other",     "all else")
#undef CLASS
#endif

#ifdef OP
OP(OTHER,          "other",          0)
OP(ALL_REDUCE,     "all_reduce",     1)
OP(ALL_GATHER,     "all_gather",     1)
OP(REDUCE_SCATTER, "reduce_scatter", 1)
OP(ALL_TO_ALL,     "all_to_all",     1)
OP(BROADCAST,      "broadcast",      0)
OP(REDUCE,         "reduce",         0)
OP(SEND,           "send",           0)
OP(RECV,           "recv",           1)
OP(BARRIER,        "barrier",        1)
#undef OP
#endif

#ifdef COUNTER
COUNTER(uint16_t, sm_mhz_min,   SM_MIN,   "lowest clock of the SMs",                   "NVML")
COUNTER(uint16_t, sm_mhz,       SM,       "clock of the SMs in the mean",              "NVML")
COUNTER(uint16_t, mem_mhz,      MEM,      "clock of the memory",                       "NVML")
COUNTER(uint16_t, power_w,      POWER,    "power of the GPU",                          "NVML")
COUNTER(uint32_t, throttle,     THROTTLE, "reasons for a lower clock, as NVML's bits", "NVML")
COUNTER(uint32_t, temp_c,       TEMP,     "temperature of the GPU",                    "NVML")
COUNTER(uint32_t, ecc,          ECC,      "corrected errors and remapped rows",        "NVML")
COUNTER(uint32_t, pcie_replay,  PCIE,     "PCIe packets sent again",                   "NVML")
COUNTER(uint32_t, nvlink_err,   NVLINK,   "errors of NVLinks",                         "NVML")
COUNTER(uint32_t, nic_retrans,  RETRANS,  "packets that the NIC sent again",           "/sys/class/infiniband")
COUNTER(uint32_t, nic_cnp,      CNP,      "congestion notices to the NIC",             "/sys/class/infiniband")
COUNTER(uint32_t, major_faults, FAULTS,   "major page faults of the process",          "/proc")
COUNTER(float,    runq_ns,      RUNQ,     "the process wanted a CPU and had none",     "/proc/PID/schedstat")
COUNTER(float,    iowait_ns,    IOWAIT,   "the process waited for storage",            "/proc/PID/stat")
#undef COUNTER
#endif
/* clang-format on */
