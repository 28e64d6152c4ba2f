/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_check.tbl.h - the checks of `aon doctor --gpu`, in their order.
 *
 *	CHECK(name, FIRST or LONG, limits, PLAIN or AOND, "line of gpu.conf", "value")
 *
 * LONG: with --long only. limits: how many times the usual limit it may take, because it starts many
 * programs or waits ten minutes. AOND: it needs the probe, with an aond. The last two are the
 * line of gpu.conf if it crashes or hangs: nothing may do so in a program. Without a key: what to do
 * then, because nothing that is on by default depends on it.
 */
/* clang-format off */
CHECK(env,        FIRST, 1,  PLAIN, "fidelity", "heartbeat")
CHECK(inject,     FIRST, 1,  PLAIN, "fidelity", "heartbeat")
CHECK(count,      FIRST, 1,  PLAIN, "fidelity", "heartbeat")
CHECK(neighbours, FIRST, 3,  AOND,  "fidelity", "heartbeat")
CHECK(graph,      FIRST, 1,  PLAIN, "fidelity", "heartbeat")
CHECK(cost,       FIRST, 5,  PLAIN, "fidelity", "heartbeat")
CHECK(stride,     LONG,  1,  PLAIN, "fidelity", "heartbeat")
CHECK(names,      LONG,  1,  PLAIN, "fidelity", "heartbeat")
CHECK(time,       LONG,  11, PLAIN, "fidelity", "heartbeat")
CHECK(endure,     LONG,  1,  PLAIN, "fidelity", "heartbeat")
CHECK(lateness,   LONG,  1,  PLAIN, "fidelity", "heartbeat")
CHECK(deadlock,   LONG,  1,  PLAIN, "graphs",   "node")
CHECK(fork,       LONG,  1,  AOND,  "fidelity", "heartbeat")
CHECK(memory,     LONG,  1,  PLAIN, "fidelity", "heartbeat")
CHECK(nvml,       LONG,  1,  PLAIN, "", "run aon-collect without nvml")
CHECK(counters,   LONG,  1,  AOND,  "", "leave AON_COUNTERS unset")
/* clang-format on */
#undef CHECK
