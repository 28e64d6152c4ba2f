/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tele.tbl.h - what a simulated node measures of itself, and what faults show of themselves there, once.
 *
 *	TELE(ID, metric, OF, seconds, "device", "labels")
 *	HOW(FAULT, how, cause)
 *
 * OF: GPU and NIC are one of each rank, %u its number in the node; NODE one of each node. Numbers of
 * metrics and the seconds from one reading to the next are those of the collectors (src/node/collect).
 *
 * By default a fault shows itself in the first way of its kind (how=WORD names another). `cause` is the
 * row of insight/find/cause.tbl.h that should be found; none: no measurement shows it.
 */
/* clang-format off */
#ifdef TELE
TELE(CLOCK,      100,   GPU,  1,  "nvidia%u", "")
TELE(MEMCLOCK,   101,   GPU,  1,  "nvidia%u", "")
TELE(REASONS,    112,   GPU,  1,  "nvidia%u", "")
TELE(MAXCLOCK,   113,   GPU,  15, "nvidia%u", "")
TELE(MAXMEM,     114,   GPU,  15, "nvidia%u", "")
TELE(MEMTEMP,    140,   GPU,  1,  "nvidia%u", "")
TELE(TEMP,       150,   GPU,  1,  "nvidia%u", "")
TELE(POWER,      155,   GPU,  1,  "nvidia%u", "")
TELE(SLOWDOWN,   158,   GPU,  15, "nvidia%u", "")
TELE(LIMIT_DEF,  163,   GPU,  15, "nvidia%u", "")
TELE(ENFORCED,   164,   GPU,  1,  "nvidia%u", "")
TELE(PSTATE,     190,   GPU,  1,  "nvidia%u", "")
TELE(REPLAYS,    202,   GPU,  15, "nvidia%u", "")
TELE(UTIL,       203,   GPU,  1,  "nvidia%u", "")
TELE(GEN,        237,   GPU,  15, "nvidia%u", "")
TELE(WIDTH,      238,   GPU,  15, "nvidia%u", "")
TELE(MAXGEN,     235,   GPU,  15, "nvidia%u", "")
TELE(MAXWIDTH,   236,   GPU,  15, "nvidia%u", "")
TELE(SBE,        310,   GPU,  15, "nvidia%u", "")
TELE(DBE,        311,   GPU,  15, "nvidia%u", "")
TELE(ROWS_UE,    393,   GPU,  15, "nvidia%u", "")
TELE(ROWS_CE,    394,   GPU,  15, "nvidia%u", "")
TELE(PENDING,    396,   GPU,  15, "nvidia%u", "")
TELE(NVL_FLIT,   409,   GPU,  15, "nvidia%u", "")
TELE(NVL_DATA,   419,   GPU,  15, "nvidia%u", "")
TELE(NVL_REPLAY, 429,   GPU,  15, "nvidia%u", "")
TELE(NVL_BACK,   439,   GPU,  15, "nvidia%u", "")
TELE(NVL_UP,     20100, GPU,  15, "nvidia%u", "link=\"0\"")
TELE(PROCESSES,  20103, GPU,  15, "nvidia%u", "")
TELE(USER,       30007, NODE, 1,  "",         "mode=\"user\"")
TELE(SYSTEM,     30007, NODE, 1,  "",         "mode=\"system\"")
TELE(IDLE,       30007, NODE, 1,  "",         "mode=\"idle\"")
TELE(STEAL,      30007, NODE, 1,  "",         "mode=\"steal\"")
TELE(SOFTIRQ,    30007, NODE, 1,  "",         "mode=\"softirq\"")
TELE(PSI,        30019, NODE, 1,  "",         "")
TELE(CPUCLOCK,   30002, NODE, 15, "0",        "")
TELE(NUMA_HERE,  30396, NODE, 15, "0",        "")
TELE(NUMA_THERE, 30400, NODE, 15, "0",        "")
TELE(RETRANS,    30410, NODE, 10, "",         "")
TELE(FAN1,       40015, NODE, 10, "Fan_1",    "")
TELE(FAN2,       40015, NODE, 10, "Fan_2",    "")
TELE(INLET,      40010, NODE, 10, "Inlet_Temp", "")
TELE(IB_ERRORS,  30148, NIC,  15, "mlx5_%u",  "port=\"1\"")
TELE(IB_SYMBOLS, 30156, NIC,  15, "mlx5_%u",  "port=\"1\"")
TELE(IB_DOWNED,  30138, NIC,  15, "mlx5_%u",  "port=\"1\"")
TELE(IB_RATE,    30160, NIC,  15, "mlx5_%u",  "port=\"1\"")
TELE(RDMA_SEQ,   30163, NIC,  15, "mlx5_%u",  "port=\"1\",kind=\"packet_seq_err\"")
TELE(RDMA_ACK,   30163, NIC,  15, "mlx5_%u",  "port=\"1\",kind=\"local_ack_timeout_err\"")
#undef TELE
#endif

#ifdef HOW
HOW(THERMAL,    hot,     "thermally_throttled")
HOW(THERMAL,    fan,     "fan_or_inlet")
HOW(THERMAL,    inlet,   "fan_or_inlet")
HOW(POWER,      cap,     "power_capped")
HOW(POWER,      brake,   "power_capped")
HOW(POWER,      lock,    "clock_lowered")
HOW(HBM,        ecc,     "ecc_or_remap")
HOW(HBM,        remap,   "ecc_or_remap")
HOW(HBM,        memclk,  "memory_throttled")
HOW(SLOW_GPU,   same,    "gpu_slower")
HOW(FOREIGN,    process, "gpu_shared")
HOW(NVLINK,     crc,     "nvlink_errors")
HOW(NVLINK,     replay,  "nvlink_errors")
HOW(NVLINK,     down,    "nvlink_errors")
HOW(PCIE,       width,   "pcie_degraded")
HOW(PCIE,       gen,     "pcie_degraded")
HOW(PCIE,       replay,  "pcie_degraded")
HOW(CONTENTION, waiting, "cpu_contention")
HOW(CONTENTION, steal,   "cpu_steal")
HOW(CONTENTION, irq,     "irq_noise")
HOW(SLOW_CPU,   clock,   "cpu_frequency")
HOW(SLOW_CPU,   numa,    "numa_misplaced")
HOW(NIC,        errors,  "nic_errors")
HOW(NIC,        rate,    "nic_errors")
HOW(LOSS,       rdma,    "nic_errors")
#undef HOW
#endif
/* clang-format on */
