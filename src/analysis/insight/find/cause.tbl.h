/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cause.tbl.h - states of a node and its devices that make work slower, and what tells of them, once.
 *
 *	CAUSE(ID, word, SCOPE, classes that it slows, those that it may slow as well, smallest slowdown that is reported,
 *	      "what was looked at, for people", "title, %s: where", "what to do", "what it means")
 *	SIGNAL(ID, metric, SCOPE, HOW, "label or word that it must have", mask, "for people", "unit")
 *
 * A cause is a finding of the same name (find.tbl.h). Of causes of a kind, what explains more stands
 * first: a fan before the temperature, a stolen core before one that is waited for.
 *
 * HOW a signal comes from its series in a stretch of time: MEAN, LEAST (min) and MOST (max) of values while they
 * hold, RATE a second of counters, all series together, SHARE of time in which a bit of the mask is set.
 */
/* clang-format off */
#ifdef CAUSE
CAUSE(COOLING,fan_or_inlet,        GPU,  IN_COMPUTE,             0,       0.02, "cooling",
      "%s is throttled for temperature, and its cooling is abnormal",
      "look at fans, filters and the inlet's air (or the coolant) of this node; the GPU stays slow until this is fixed",
      "The GPU lowered its clock because it was hot, while a fan turned slower or the air came in hotter than before.")
CAUSE(THERMAL,thermally_throttled, GPU,  IN_COMPUTE,             0,       0.02, "temperature",
      "%s is throttled for temperature",
      "clean or reseat its heatsink, check fans and airflow, move it away from hot neighbours; until then a lower power limit on all GPUs of the job keeps them equal",
      "The GPU lowered its clock because it was hot, and kernels that depend on the clock took longer.")
CAUSE(POWER,  power_capped,        GPU,  IN_COMPUTE,             0,       0.02, "power",
      "%s is held at its power limit",
      "compare power limits (nvidia-smi -q -d POWER) with the other GPUs' and the default; if the rack or the supply caps it (power brake), that is where to look",
      "The GPU lowered its clock to stay within its power limit, and kernels that depend on the clock took longer.")
CAUSE(CLOCK,  clock_lowered,       GPU,  IN_COMPUTE,             0,       0.02, "clocks",
      "%s runs at a lower clock",
      "no power or thermal limit is reported: look for clocks that were set (nvidia-smi -q -d CLOCK; nvidia-smi -rgc and -rac reset them)",
      "The GPU's clock was lower than before or than other GPUs', without a reported reason.")
CAUSE(MEMCLK, memory_throttled,    GPU,  IN_MEMORY,              0,       0.02, "memory clock",
      "The memory of %s runs at a lower clock",
      "look at the memory's temperature and at clocks that were set (nvidia-smi -q -d CLOCK, nvidia-smi -rmc)",
      "The memory's clock was lower, and kernels that depend on memory speed took longer.")
CAUSE(ECC,    ecc_or_remap,        GPU,  IN_MEMORY,              0,       0.02, "memory errors",
      "The memory of %s has errors",
      "drain the node and reset the GPU so that rows are remapped (nvidia-smi -q -d ROW_REMAPPER); if errors recur, have it replaced",
      "The GPU corrected errors of its memory or waits to remap rows, and kernels that depend on memory speed took longer.")
CAUSE(PCIE,   pcie_degraded,       GPU,  IN_COPY,                IN_NET,  0.05, "PCIe",
      "%s has a degraded link to its host",
      "reseat the GPU or its riser, look at lspci -vv (LnkSta) and AER errors; a retrained link needs a reset of the GPU or a restart of the node",
      "The GPU's PCIe link was narrower, of an older generation or repeated packets, and copies took longer.")
CAUSE(NVLINK, nvlink_errors,       GPU,  IN_COMM,                0,       0.05, "NVLink",
      "Links of %s to other GPUs have errors",
      "look at nvidia-smi nvlink -e and -s and at the switches' log; drain the node and reseat or replace the parts of the link",
      "A link between GPUs was down or had to repeat data, and collectives over it took longer.")
CAUSE(NIC,    nic_errors,          NODE, IN_NET | IN_COMM,       0,       0.05, "network",
      "The network card of %s has errors or a lower rate",
      "look at the port's errors, rate and cable (ibstat, ethtool -S) and at the switch's port; have the cable or module replaced if they continue",
      "A network card lost packets, repeated them or ran at a lower rate, and collectives took longer.")
CAUSE(QUOTA,  cpu_quota,           JOB,  IN_HOST,                0,       0.05, "CPU quota",
      "The job of %s is stopped by its CPU quota",
      "give the job more CPU (its cgroup's quota: cpu.max, --cpus-per-task, limits.cpu) or fewer threads",
      "The kernel stopped the job's threads because they had used their share of CPU time.")
CAUSE(STEAL,  cpu_steal,           NODE, IN_HOST,                0,       0.05, "stolen CPU time",
      "The host of %s loses CPU time to other virtual machines",
      "this virtual machine shares its CPUs with others: ask for dedicated or pinned CPUs",
      "The hypervisor ran other machines on this machine's CPUs.")
CAUSE(IRQ,    irq_noise,           NODE, IN_HOST,                0,       0.05, "interrupts",
      "Interrupts take the CPUs of %s",
      "move interrupts away from the job's cores (irqbalance, /proc/irq/*/smp_affinity_list) and look for a device that floods",
      "CPUs spent their time in interrupts instead of the program.")
CAUSE(CPUCLK, cpu_frequency,       NODE, IN_HOST,                0,       0.05, "CPU clock",
      "The CPUs of %s run at a lower clock",
      "look at the governor (cpupower frequency-info), the CPUs' temperature and power limits",
      "The CPUs' clock was lower than before or than other nodes', and the host took longer.")
CAUSE(NUMA,   numa_misplaced,      NODE, IN_HOST,                IN_COPY, 0.05, "NUMA",
      "The host of %s uses memory of another socket",
      "bind ranks to the socket of their GPU (numactl --cpunodebind --membind, torchrun with --numa-binding); look at nvidia-smi topo -m",
      "The program used memory of another NUMA node than the one it ran on.")
CAUSE(CPU,    cpu_contention,      NODE, IN_HOST,                0,       0.05, "contention for CPUs",
      "Other programs use the CPUs of %s",
      "see what runs there (top, pidstat); keep cores free for the job (cpusets), or use fewer loader workers",
      "Tasks waited for a CPU: there were more runnable tasks than CPUs.")
CAUSE(SHARED, gpu_shared,          GPU,  IN_COMPUTE | IN_MEMORY, 0,       0.02, "other processes on the GPU",
      "Another process runs on %s",
      "see which one (nvidia-smi), and keep it off the GPU: exclusive compute mode, or the scheduler's isolation",
      "More processes computed on the GPU, and kernels took longer at the same clock.")
CAUSE(SLOWER, gpu_slower,          GPU,  IN_COMPUTE | IN_MEMORY, 0,       0.03, "slower GPUs",
      "%s is slower than its peers at the same clock",
      "run aon validate on it and on a neighbour; if it stays slower, have it replaced or exclude it from large jobs",
      "The GPU has the same clocks as the others, and no other measurement is abnormal, but its kernels take longer.")
#undef CAUSE
#endif

#ifdef SIGNAL
SIGNAL(SM_CLOCK,    100,   GPU,  MEAN,  "", 0, "SM clock", "MHz")
SIGNAL(MEM_CLOCK,   101,   GPU,  MEAN,  "", 0, "memory clock", "MHz")
SIGNAL(POWER_BITS,  112,   GPU,  SHARE, "", 0x84, "power limit", "of the time")   /* software power cap, power brake */
SIGNAL(THERMAL_BITS,112,   GPU,  SHARE, "", 0x60, "thermal limit", "of the time")   /* software and hardware, thermal */
SIGNAL(IDLE_BITS,   112,   GPU,  SHARE, "", 0x1, "idle", "of the time")
SIGNAL(TEMP,        150,   GPU,  MEAN,  "", 0, "temperature", "C")
SIGNAL(POWER,       155,   GPU,  MEAN,  "", 0, "power", "W")
SIGNAL(LIMIT,       164,   GPU,  MEAN,  "", 0, "power limit", "W")
SIGNAL(PCIE_GEN,    237,   GPU,  LEAST, "", 0, "PCIe generation", "")
SIGNAL(PCIE_WIDTH,  238,   GPU,  LEAST, "", 0, "PCIe width", "lanes")
SIGNAL(PCIE_REPLAY, 202,   GPU,  RATE,  "", 0, "PCIe replays", "a second")
SIGNAL(ECC_SBE,     310,   GPU,  RATE,  "", 0, "corrected memory errors", "a second")
SIGNAL(ECC_DBE,     311,   GPU,  RATE,  "", 0, "uncorrected memory errors", "a second")
SIGNAL(REMAPPED,    394,   GPU,  RATE,  "", 0, "rows remapped", "a second")
SIGNAL(REMAPPED_UE, 393,   GPU,  RATE,  "", 0, "rows remapped for uncorrectable errors", "a second")
SIGNAL(REMAP_DUE,   396,   GPU,  MOST,  "", 0, "rows that wait to be remapped", "")
SIGNAL(NVLINK_FLIT, 409,   GPU,  RATE,  "", 0, "NVLink CRC errors", "a second")
SIGNAL(NVLINK_DATA, 419,   GPU,  RATE,  "", 0, "NVLink CRC errors of data", "a second")
SIGNAL(NVLINK_AGAIN,429,   GPU,  RATE,  "", 0, "NVLink replays", "a second")
SIGNAL(NVLINK_BACK, 439,   GPU,  RATE,  "", 0, "NVLink recoveries", "a second")
SIGNAL(NVLINK_UP,   20100, GPU,  LEAST, "", 0, "NVLink up (1) or down (0)", "")
SIGNAL(PROCESSES,   20103, GPU,  MOST,  "", 0, "processes on the GPU", "")
SIGNAL(CPU_ALL,     30007, NODE, RATE,  "", 0, "CPU time", "CPUs")
SIGNAL(CPU_STEAL,   30007, NODE, RATE,  "mode=\"steal\"", 0, "stolen CPU time", "CPUs")
SIGNAL(CPU_SOFTIRQ, 30007, NODE, RATE,  "mode=\"softirq\"", 0, "CPU time in software interrupts", "CPUs")
SIGNAL(CPU_IRQ,     30007, NODE, RATE,  "mode=\"irq\"", 0, "CPU time in interrupts", "CPUs")
SIGNAL(CPU_IDLE,    30007, NODE, RATE,  "mode=\"idle\"", 0, "idle CPU time", "CPUs")
SIGNAL(CPU_WAITING, 30019, NODE, RATE,  "", 0, "tasks waiting for a CPU", "of the time")
SIGNAL(CPU_CLOCK,   30002, NODE, MEAN,  "", 0, "CPU clock", "Hz")
SIGNAL(NUMA_HERE,   30396, NODE, RATE,  "", 0, "pages of the own node", "a second")
SIGNAL(NUMA_THERE,  30400, NODE, RATE,  "", 0, "pages of another NUMA node", "a second")
SIGNAL(TCP_AGAIN,   30410, NODE, RATE,  "", 0, "TCP segments sent again", "a second")
SIGNAL(NET_RX_ERRS, 30092, NODE, RATE,  "", 0, "errors of received packets", "a second")
SIGNAL(NET_TX_ERRS, 30100, NODE, RATE,  "", 0, "errors of sent packets", "a second")
SIGNAL(NET_CARRIER, 30106, NODE, RATE,  "", 0, "changes of the carrier", "a second")
SIGNAL(IB_ERRORS,   30148, NODE, RATE,  "", 0, "errors of received packets", "a second")
SIGNAL(IB_SYMBOLS,  30156, NODE, RATE,  "", 0, "symbol errors", "a second")
SIGNAL(IB_RECOVERY, 30139, NODE, RATE,  "", 0, "recoveries of the link", "a second")
SIGNAL(IB_DOWNED,   30138, NODE, RATE,  "", 0, "times that the link went down", "a second")
SIGNAL(RDMA_AGAIN,  30163, NODE, RATE,  "kind=\"packet_seq_err\"", 0, "packets out of sequence", "a second")
SIGNAL(RDMA_TIMEOUT,30163, NODE, RATE,  "kind=\"local_ack_timeout_err\"", 0, "acknowledgements that came too late", "a second")
SIGNAL(IB_RATE,     30160, NODE, LEAST, "", 0, "rate of the port", "B/s")
SIGNAL(FAN_HWMON,   30190, NODE, LEAST, "", 0, "slowest fan", "rpm")
SIGNAL(FAN_BMC,     40015, NODE, LEAST, "", 0, "slowest fan", "rpm")
SIGNAL(INLET,       40010, NODE, MOST,  "inlet", 0, "inlet", "C")
SIGNAL(QUOTA_STOPS, 30221, JOB,  RATE,  "", 0, "stopped by its quota", "s a second")
#undef SIGNAL
#endif
/* clang-format on */
