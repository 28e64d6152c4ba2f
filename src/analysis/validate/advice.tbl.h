/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice.tbl.h - every setting that is checked: what it should be, when it matters, why, what to do. Text, JSON, page,
 * docs and tests follow.
 *
 *	ADVICE(id, "word of the fact", how, "what it should be", level, "when it matters", "why", "what to do")
 *
 * how: IS one of the words with bars, MOST at most, LEAST at least. level: WARN costs time, FAIL is broken.
 * A fact that is unknown here is skipped and counted as unknown.
 */
/* clang-format off */
ADVICE(governor,         "cpu/governor", IS,    "performance", WARN, "GPUs wait for launches", "a core that clocks down launches kernels late", "cpupower frequency-set -g performance")
ADVICE(idle_states,      "cpu/idle_exit_us", MOST,  "50", WARN, "work comes in bursts, and latency counts", "a core that sleeps deeply takes that long to wake up", "cpupower idle-set -D 50, or a maximum C-state on the kernel's command line")
ADVICE(turbo,            "cpu/turbo", IS,    "on", WARN, "one thread launches for each GPU", "cores stay at their base clock, however cool they are", "turn turbo or boost on in the BIOS, or write to /sys/devices/system/cpu/cpufreq/boost")
ADVICE(numa_balancing,   "kernel/numa_balancing", IS,    "0", WARN, "there is more than one NUMA node", "pages are unmapped to track their use: launches and copies stall", "sysctl kernel.numa_balancing=0")
ADVICE(zone_reclaim,     "kernel/zone_reclaim", IS,    "0", WARN, "data loading fills the page cache", "a full NUMA node reclaims its own cache instead of asking the next: allocations stall", "sysctl vm.zone_reclaim_mode=0")
ADVICE(thp,              "memory/thp", IS,    "madvise|always", WARN, "tensors and caches of the host are large", "small pages make copies from pageable memory and data loading slow", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
ADVICE(thp_defrag,       "memory/thp_defrag", IS,    "madvise|defer|defer+madvise|never", WARN, "memory is fragmented", "a page fault compacts memory first, for milliseconds", "echo defer+madvise > /sys/kernel/mm/transparent_hugepage/defrag")
ADVICE(hugepages,        "memory/hugepages_idle_percent", MOST,  "5", WARN, "memory of the host is short", "reserved huge pages that no program uses are lost to all others", "sysctl vm.nr_hugepages=0, or as many as are used")
ADVICE(iommu,            "kernel/iommu", IS,    "off|passthrough", WARN, "GPUs and network cards move much data", "every DMA is translated", "iommu=pt on the kernel's command line, unless guests need it")
ADVICE(acs,              "pcie/acs_redirects", MOST,  "0", WARN, "GPUs and network cards below one switch talk to each other", "traffic between them goes up to the root complex and back", "turn ACS off in the BIOS, or with setpci, where no guests need it")
ADVICE(relaxed_order,    "pcie/strictly_ordered", MOST,  "0", WARN, "many writes are under way on one link, as with RDMA", "writes of GPUs and NICs wait for each other", "turn relaxed ordering on in the BIOS, or with setpci")
ADVICE(pcie_width,       "pcie/degraded", MOST,  "0", FAIL, "always", "a device has fewer PCIe lanes than it can use", "reseat the card or the riser; look at pcie/degraded_at")
ADVICE(nic_speed,        "pcie/nic_slow", MOST,  "0", WARN, "the network is faster than the slot", "a network card runs at an older generation of PCIe than it can", "look at the slot, the riser and the BIOS; pcie/nic_slow_at says which")
ADVICE(mtu,              "net/fast_mtu_min", LEAST, "4200", WARN, "data goes over Ethernet, including RoCE", "a fast network card sends small packets", "ip link set DEV mtu 9000, also on the switch")
ADVICE(net_links,        "net/fast_down", MOST,  "0", WARN, "jobs span nodes", "a fast network port has no link", "look at the cable and at net/fast_down_at")
ADVICE(ib_links,         "ib/down", MOST,  "0", FAIL, "jobs span nodes", "an InfiniBand port is not active", "look at the cable, the subnet manager and ib/down_at")
ADVICE(irqbalance,       "service/irqbalance", IS,    "no", WARN, "network cards interrupt much", "interrupts of network cards move between cores", "systemctl disable --now irqbalance, and pin them")
ADVICE(clocksource,      "kernel/clocksource", IS,    "tsc|kvm-clock|arch_sys_counter|hyperv_clocksource_tsc_page", WARN, "programs ask for the time often, as profilers do", "asking for the time is a system call or worse", "clocksource=tsc on the kernel's command line")
ADVICE(memory_speed,     "memory/slowed", MOST,  "0", WARN, "data is prepared by the CPU", "DIMMs run slower than they can", "look at the BIOS and at how many DIMMs a channel has")
ADVICE(memory_errors,    "memory/uncorrected", MOST,  "0", FAIL, "always", "memory has errors that could not be corrected", "replace the DIMM that edac names")
ADVICE(memory_corrected, "memory/corrected", MOST,  "1000", WARN, "always", "memory corrects many errors", "watch the DIMM that edac names")
ADVICE(throttled,        "cpu/throttles", MOST,  "0", WARN, "cores are busy", "cores were throttled since boot", "look at cooling and power limits")
ADVICE(gpu_driver,       "gpu/nvml", IS,    "ok", FAIL, "always", "the GPU driver does not answer correctly", "look at the kernel log for Xid and NVRM; reload the driver or reboot")
ADVICE(gpu_lost,         "gpu/lost", MOST,  "0", FAIL, "always", "a GPU is on the bus, but the driver does not list it", "look at the kernel log for Xid 79; reset it or reboot")
ADVICE(gpu_persistence,  "gpu/persistence_off", MOST,  "0", WARN, "programs come and go", "the driver is loaded again for each program", "nvidia-smi -pm 1, or nvidia-persistenced")
ADVICE(gpu_ecc,          "gpu/ecc_off", MOST,  "0", WARN, "results count", "errors of GPU memory go unnoticed", "nvidia-smi -e 1")
ADVICE(gpu_power,        "gpu/power_lowered", MOST,  "0", WARN, "GPUs are busy", "a power limit is below the default: clocks fall under load", "nvidia-smi -pl DEFAULT, unless the limit is intended")
ADVICE(gpu_slowed,       "gpu/slowed", MOST,  "0", FAIL, "always", "the hardware slows a GPU's clocks: heat, or a power brake", "look at fans, inlet temperature and power supplies")
ADVICE(gpu_pcie,         "gpu/pcie_narrow", MOST,  "0", FAIL, "data comes from the host", "a GPU has fewer PCIe lanes than it can use", "reseat it; look at its riser")
ADVICE(gpu_pcie_gen,     "gpu/pcie_slow", MOST,  "0", WARN, "data comes from the host", "a GPU at full clocks runs at an older generation of PCIe than it can", "look at the slot, the riser and the BIOS")
ADVICE(gpu_nvlink,       "gpu/nvlinks_down", MOST,  "0", FAIL, "GPUs of the node talk to each other", "a link between GPUs is down", "reset the GPUs, look at the fabric manager, reseat the baseboard")
ADVICE(gpu_peer_memory,  "gpu/peer_memory", IS,    "module|dma-buf", WARN, "jobs span nodes", "GPUs cannot send from their own memory: everything goes through the host's", "modprobe nvidia_peermem")
ADVICE(gpu_remap,        "gpu/remap_pending", MOST,  "0", WARN, "always", "a row of GPU memory waits to be remapped", "reset the GPU or reboot")
ADVICE(gpu_remap_failed, "gpu/remap_failed", MOST,  "0", FAIL, "always", "GPU memory could not be repaired", "replace the GPU")
ADVICE(gpu_uncorrected,  "gpu/uncorrected", MOST,  "0", FAIL, "always", "GPU memory has errors that could not be corrected", "drain the node; run the vendor's field diagnostic")
ADVICE(gemm_wrong,       "measured/gemm_wrong", MOST,  "0", FAIL, "always", "the device computed wrong results", "drain the node; run the vendor's field diagnostic")
ADVICE(all_reduce_wrong, "measured/all_reduce_wrong", MOST, "0", FAIL, "always", "sums among GPUs were wrong", "drain the node; look at links and ECC")
ADVICE(burn_errors,      "log/gpu_burn/errors", MOST,  "0", FAIL, "always", "gpu-burn counted wrong results", "drain the node; replace the GPU")
ADVICE(nccl_wrong,       "log/nccl/wrong", MOST,  "0", FAIL, "always", "nccl-tests counted wrong results", "drain the node; look at links and ECC")
ADVICE(stream_wrong,     "log/stream/failed", MOST,  "0", FAIL, "always", "STREAM computed wrong results", "look at memory errors")
ADVICE(fio_errors,       "log/fio/errors", MOST,  "0", FAIL, "always", "fio had errors", "look at the kernel log and at the disk's health")
/* clang-format on */
#undef ADVICE
