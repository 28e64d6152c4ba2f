/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind.tbl.h - kinds of faults, for people: F1 to F30 in order (docs/sim.md).
 *
 *	KIND(word, "what it is", "what to do")
 */
/* clang-format off */
KIND(unknown,            "cause unknown",                    "take a capture of this place and of a healthy one, and compare them (aon capture, aon diff)")
KIND(thermal_throttle,   "the GPU is too hot and lowers its clock",        "look at its cooling; nvidia-smi -q -d TEMPERATURE,PERFORMANCE; drain the node if it stays")
KIND(power_cap,          "the GPUs are held at a power limit",             "look at the power limit and at the rack's supply; nvidia-smi -q -d POWER")
KIND(hbm_degraded,       "the GPU's memory is slower, with errors",        "look at remapped rows and ECC counts; swap the GPU or leave it out")
KIND(slow_gpu,           "the GPU is slower than its peers",                "exclude it, or give it the least work; run a burn-in on it")
KIND(foreign_process,    "something else uses the GPU now and then",       "look at what else runs there (nvidia-smi pmon, aon ps)")
KIND(nvlink_degraded,    "links between the host's GPUs are slower",       "look at NVLink's errors and lanes (nvidia-smi nvlink -e -s); reset or leave the host out")
KIND(pcie_downgrade,     "the GPU's link to host and NIC is narrower",     "look at width and generation (nvidia-smi -q -d PCIE, lspci -vv); reseat or reboot")
KIND(cpu_contention,     "other programs use the host's CPUs",                     "look at what else runs there; give the job its own CPUs")
KIND(slow_cpu,           "the host's CPUs are slower",                     "look at governor, NUMA binding and CPU clocks of the host")
KIND(python_gc,          "Python collects garbage within steps",           "turn automatic collection off and collect on all ranks in the same step (gc.disable, gc.collect)")
KIND(allocator_thrash,   "memory is allocated and freed within steps",     "let the allocator keep its memory (expandable_segments, max_split_size); avoid new shapes")
KIND(stray_sync,         "hosts wait for the GPU unnecessarily",     "look for .item(), print and timers in the step; aon why of one rank says where")
KIND(storage_slow,       "the host's storage stalls",                      "look at the mount of the host; stage data locally")
KIND(slow_preprocessing, "batches take longer to prepare than a step",     "more loader workers, prefetching, or less work for a batch")
KIND(length_imbalance,   "sequences of unequal length",                    "balance micro-batches by the sum of squared lengths, not by tokens alone")
KIND(last_stage,         "a stage has more work than the others",          "move layers off it: the loss and its matrix belong to its share")
KIND(expert_imbalance,   "a rank's experts get more tokens than others'",  "balance routing (auxiliary loss, capacity), or place busy experts apart")
KIND(serialised_streams, "collectives and compute wait for each other",     "look for a dependency between streams that is new (aon why of one rank)")
KIND(nic_degraded,       "a NIC is slower",                                "look at its rate and errors (ibstat, ethtool -S); test it against another host")
KIND(link_flap,          "a network link goes down and comes back",        "look at the port's counters and cable")
KIND(congestion,         "the network to a host is congested",             "look at ECN and CNP counts and at who shares the links")
KIND(switch_fault,       "a leaf switch is slow or faulty",                "look at the switch's ports; place the job elsewhere meanwhile")
KIND(silent_loss,        "packets get lost and are sent again",            "look at errors and drops along the path; test with large packets")
KIND(no_gdr,             "NICs of a host go through its memory",           "look at GPUDirect, IOMMU, ACS and huge pages of the host")
KIND(proxy_starved,      "the thread that feeds a NIC does not run",       "give NCCL's proxy threads CPUs of their own")
KIND(checkpoint_stall,   "checkpoints delay the job",                    "write them less often, or beside the step")
KIND(crash,              "a process or its GPU is gone",                   "look at dmesg for Xid and at the process' end; restart without the host")
KIND(transport_hang,     "a collective does not end although all ranks arrived",  "look at the NICs and links of its members; NCCL_DEBUG=INFO, aon stacks")
KIND(desync,             "ranks are in different collectives",               "find where the program of that rank diverges (aon stacks --job)")
KIND(host_hang,          "a host does not reach the collective",           "look where it hangs (aon stacks PID on its node)")
/* clang-format on */
#undef KIND
