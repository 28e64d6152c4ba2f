/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.tbl.h - the faults of a simulated job, once.
 *
 *	FAULT(ID, "code", word, PART, SCOPE, by, least, most, COURSE, every, "what it is")
 *
 * PART is what `by` works on (fault.h), SCOPE what rank= or node= names. by: a factor, or
 * milliseconds where the part is a pause. Codes and ranges: the taxonomy F1-F30 that the
 * cluster's diagnosis is scored on; published magnitudes where there are any. `every`: steps from
 * one bout to the next, of courses that come and go.
 */
/* clang-format off */
FAULT(THERMAL,      "F1",  thermal_throttle,   COMPUTE,    RANK,  1.2,  1.0, 10,  RAMP,   20,  "the GPU's clock falls as it heats up")
FAULT(POWER,        "F2",  power_cap,          COMPUTE,    NODE,  1.3,  1.0, 10,  SUDDEN, 0,   "the GPUs of a node run at a lower clock")
FAULT(HBM,          "F3",  hbm_degraded,       MEMORY,     RANK,  1.2,  1.0, 10,  LADDER, 0,   "the GPU's memory is slower")
FAULT(SLOW_GPU,     "F4",  slow_gpu,           KERNEL,     RANK,  1.08, 1.0, 10,  SUDDEN, 0,   "the GPU is slower than its peers")
FAULT(FOREIGN,      "F5",  foreign_process,    KERNEL,     RANK,  1.4,  1.0, 10,  ONOFF,  5,   "another process runs on the GPU")
FAULT(NVLINK,       "F6",  nvlink_degraded,    LINK,       NODE,  2,    1.0, 100, SUDDEN, 0,   "links between the GPUs of a node are slower")
FAULT(PCIE,         "F7",  pcie_downgrade,     PCIE,       RANK,  4,    1.0, 100, SUDDEN, 0,   "the GPU's link to host and NIC is narrower")
FAULT(CONTENTION,   "F8",  cpu_contention,     CPU,        NODE,  3,    1.0, 100, ONOFF,  5,   "other programs use the node's CPUs")
FAULT(SLOW_CPU,     "F9",  slow_cpu,           HOST,       NODE,  2,    1.0, 100, SUDDEN, 0,   "the node's CPUs are slower: clock, NUMA")
FAULT(GC,           "F10", python_gc,          GC,         ALL,   150,  0,   1e7, SPIKE,  50,  "Python collects garbage on a rank, in a forward pass")
FAULT(ALLOCATOR,    "F11", allocator_thrash,   ALLOC,      RANK,  20,   0,   1e7, SPIKE,  3,   "the allocator frees and allocates, and waits for the GPU")
FAULT(STRAY_SYNC,   "F12", stray_sync,         SYNC,       ALL,   1,    1,   1,   SUDDEN, 0,   "the host waits for the GPU after each layer")
FAULT(STORAGE,      "F13", storage_slow,       LOAD_ADD,   NODE,  500,  0,   1e8, ONOFF,  5,   "storage stalls: batches come late")
FAULT(PREPROCESS,   "F14", slow_preprocessing, LOAD,       ALL,   20,   1.0, 1e6, SUDDEN, 0,   "batches take longer to prepare than a step")
FAULT(LENGTHS,      "F15", length_imbalance,   LENGTH,     ALL,   1.3,  1.0, 10,  SUDDEN, 0,   "packed sequences: micro-batches differ in work")
FAULT(LAST_STAGE,   "F16", last_stage,         STAGE,      LAST,  2.07, 1.0, 10,  SUDDEN, 0,   "the last stage has more work than the others")
FAULT(EXPERTS,      "F17", expert_imbalance,   EXPERT,     RANK,  1.8,  1.0, 100, SUDDEN, 0,   "a rank's experts get more tokens than others'")
FAULT(SERIAL,       "F18", serialised_streams, SERIAL,     ALL,   1,    1,   1,   SUDDEN, 0,   "compute waits for each gradient collective")
FAULT(NIC,          "F19", nic_degraded,       NET,        RANK,  2,    1.0, 100, SUDDEN, 0,   "the rank's NIC is slower")
FAULT(FLAP,         "F20", link_flap,          NET_ADD,    RANK,  3000, 0,   1e7, SPIKE,  10,  "the rank's network link goes down and comes back")
FAULT(CONGESTION,   "F21", congestion,         NET,        NODE,  2.5,  1.0, 100, LADDER, 0,   "the network to a node is congested")
FAULT(SWITCH,       "F22", switch_fault,       NET,        NODE,  3,    1.0, 100, SUDDEN, 0,   "a switch is faulty: node=A-B are behind it")
FAULT(LOSS,         "F23", silent_loss,        NET,        RANK,  1.5,  1.0, 100, SUDDEN, 0,   "packets of the rank get lost and are sent again")
FAULT(GDR,          "F24", no_gdr,             NET,        NODE,  2.5,  1.0, 100, SUDDEN, 0,   "the NICs of a node go through the host's memory")
FAULT(PROXY,        "F25", proxy_starved,      NET_ADD,    RANK,  1000, 0,   1e7, SPIKE,  5,   "the thread that feeds the rank's NIC does not run")
FAULT(CHECKPOINT,   "F26", checkpoint_stall,   CHECKPOINT, ALL,   2000, 0,   1e8, EVERY,  10,  "all ranks wait while a checkpoint is written")
FAULT(CRASH,        "F27", crash,              CRASH,      RANK,  1,    1,   1,   SUDDEN, 0,   "the GPU falls off the bus: the rank stops")
FAULT(TRANSPORT,    "F28", transport_hang,     TRANSPORT,  RANK,  1,    1,   1,   SUDDEN, 0,   "a collective of the rank's group never ends")
FAULT(DESYNC,       "F29", desync,             DESYNC,     RANK,  1,    1,   1,   SUDDEN, 0,   "the rank skips a collective")
FAULT(HOST_HANG,    "F30", host_hang,          HOST_HANG,  RANK,  1,    1,   1,   SUDDEN, 0,   "the rank's host never comes back from its loader")
FAULT(CORRUPTION,   "SDC", silent_corruption,  NONE,       RANK,  1,    1,   1,   SUDDEN, 0,   "wrong results without a delay: invisible here")
/* clang-format on */
#undef FAULT
