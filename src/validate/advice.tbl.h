/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advice.tbl.h - every setting that is looked at: what it should be, why, what to do. Text, JSON, docs and tests follow.
 *
 *	ADVICE(id, "word of the fact", how, "what it should be", level, "why", "what to do")
 *
 * how: IS one of the words with bars, MOST at most, LEAST at least. level: WARN costs time, FAIL is broken.
 * A fact that is not known here is skipped, and said so.
 */
/* clang-format off */
ADVICE(governor,        "cpu/governor",          IS,    "performance", WARN, "a core that clocks down launches kernels late", "cpupower frequency-set -g performance")
ADVICE(idle_states,     "cpu/idle_exit_us",      MOST,  "50",          WARN, "a core that sleeps deeply takes that long to wake up", "cpupower idle-set -D 50, or a maximum C-state on the kernel's command line")
ADVICE(numa_balancing,  "kernel/numa_balancing", IS,    "0",           WARN, "pages are unmapped to see who uses them: launches and copies stall", "sysctl kernel.numa_balancing=0")
ADVICE(huge_pages,      "memory/thp",            IS,    "madvise|always", WARN, "small pages make copies from pageable memory and data loading slow", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
ADVICE(iommu,           "kernel/iommu",          IS,    "off|passthrough", WARN, "every DMA is translated", "iommu=pt on the kernel's command line, unless guests need it")
ADVICE(acs,             "pcie/acs_redirects",    MOST,  "0",           WARN, "traffic between GPUs and NICs goes through the root complex", "turn ACS off in the BIOS, or with setpci, where no guests need it")
ADVICE(relaxed_order,   "pcie/strictly_ordered", MOST,  "0",           WARN, "writes of GPUs and NICs wait for each other", "turn relaxed ordering on in the BIOS, or with setpci")
ADVICE(pcie_width,      "pcie/degraded",         MOST,  "0",           FAIL, "a device has fewer lanes than it can use", "reseat the card or the riser; look at pcie/degraded_at")
ADVICE(mtu,             "net/fast_mtu_min",      LEAST, "4200",        WARN, "a fast network card sends small packets", "ip link set DEV mtu 9000, and the switch with it")
ADVICE(net_links,       "net/fast_down",         MOST,  "0",           WARN, "a fast network port has no link", "look at the cable and at net/fast_down_at")
ADVICE(ib_links,        "ib/down",               MOST,  "0",           FAIL, "an InfiniBand port is not active", "look at the cable, the subnet manager and ib/down_at")
ADVICE(irqbalance,      "service/irqbalance",    IS,    "no",          WARN, "interrupts of network cards wander between cores", "systemctl disable --now irqbalance, and pin them")
ADVICE(clocksource,     "kernel/clocksource",    IS,    "tsc|kvm-clock|arch_sys_counter|hyperv_clocksource_tsc_page", WARN, "asking for the time is a system call or worse", "clocksource=tsc on the kernel's command line")
ADVICE(memory_errors,   "memory/uncorrected",    MOST,  "0",           FAIL, "memory has errors that could not be corrected", "replace the DIMM that edac names")
ADVICE(memory_corrected, "memory/corrected",     MOST,  "1000",        WARN, "memory corrects many errors", "watch the DIMM that edac names")
ADVICE(throttled,       "cpu/throttles",         MOST,  "0",           WARN, "cores were throttled since boot", "look at cooling and power limits")
ADVICE(gpu_persistence, "gpu/persistence_off",   MOST,  "0",           WARN, "the driver loads anew for each program", "nvidia-smi -pm 1, or nvidia-persistenced")
ADVICE(gpu_ecc,         "gpu/ecc_off",           MOST,  "0",           WARN, "errors of GPU memory are not seen", "nvidia-smi -e 1")
ADVICE(gpu_power,       "gpu/power_lowered",     MOST,  "0",           WARN, "a power limit is below the default: clocks fall under load", "nvidia-smi -pl DEFAULT, unless it is meant")
ADVICE(gpu_pcie,        "gpu/pcie_narrow",       MOST,  "0",           FAIL, "a GPU has fewer lanes than it can use", "reseat it; look at its riser")
ADVICE(gpu_remap,       "gpu/remap_pending",     MOST,  "0",           WARN, "a row of GPU memory waits to be remapped", "reset the GPU or reboot")
ADVICE(gpu_remap_failed, "gpu/remap_failed",     MOST,  "0",           FAIL, "GPU memory could not be repaired", "replace the GPU")
ADVICE(gpu_uncorrected, "gpu/uncorrected",       MOST,  "0",           FAIL, "GPU memory has errors that could not be corrected", "drain the node; run the vendor's field diagnostic")
ADVICE(burn_errors,     "log/gpu_burn/errors",   MOST,  "0",           FAIL, "gpu-burn counted wrong results", "drain the node; replace the GPU")
ADVICE(nccl_wrong,      "log/nccl/wrong",        MOST,  "0",           FAIL, "nccl-tests counted wrong results", "drain the node; look at links and ECC")
/* clang-format on */
#undef ADVICE
