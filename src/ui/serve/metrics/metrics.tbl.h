/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.tbl.h - every metric of /metrics, once. docs/metrics.md says what they mean; a test compares.
 *
 *	METRIC(ID, "name", "type", "help")
 *
 * Names end in a base unit, counters in _total. Those of DCGM are what users of dcgm-exporter have
 * on their dashboards, where we have the value.
 */
/* clang-format off */
METRIC(BUILD,       "aon_build_info", "gauge", "Version of aon, as a label.")
METRIC(NODE,        "aon_node_info", "gauge", "Cluster, rack and leaf switch of the node, as labels.")
METRIC(EMITTED,     "aon_records_emitted_total", "counter", "Records that programs handed over or lost.")
METRIC(STORED,      "aon_records_stored_total", "counter", "Records that are in the store or were.")
METRIC(OVERWRITTEN, "aon_records_overwritten_total", "counter", "Stored records that the flight recorder's cap has dropped since.")
METRIC(LOST,        "aon_records_lost_total", "counter", "Records that were not stored, by reason.")
METRIC(IN_FLIGHT,   "aon_records_in_flight", "gauge", "Records between a program and the store.")
METRIC(SESSIONS,    "aon_sessions", "gauge", "Processes that are being recorded.")
METRIC(PROCESSES,   "aon_processes", "gauge", "Processes that the store knows.")
METRIC(STORE,       "aon_store_bytes", "gauge", "Size of the store and its log on disk.")
METRIC(UP,          "aon_daemon_up", "gauge", "Whether aond answers at its socket.")
METRIC(CPU,         "aon_daemon_cpu_seconds_total", "counter", "CPU time of aond.")
METRIC(RSS,         "aon_daemon_resident_memory_bytes", "gauge", "Memory of aond, including the pools of programs.")
METRIC(SLOWDOWN,    "aon_slowdown_ratio", "gauge", "Time that recording adds to a step, measured: estimate.")
METRIC(SLOWDOWN_LO, "aon_slowdown_low_ratio", "gauge", "The same, lower end of the 95 % interval.")
METRIC(SLOWDOWN_HI, "aon_slowdown_high_ratio", "gauge", "The same, upper end.")
METRIC(ACCOUNTED,   "aon_accounted_cost_ratio", "gauge", "Time that writing records takes, as a share of a step.")
METRIC(FIDELITY,    "aon_fidelity_level", "gauge", "Fidelity level: at 0 everything is recorded.")
METRIC(RUNG,        "aon_fidelity_rung", "gauge", "The former name of aon_fidelity_level.")
METRIC(STEPS,       "aon_steps_total", "counter", "Training steps that ended.")
METRIC(STEP_TIME,   "aon_step_seconds_total", "counter", "Time of those steps.")
METRIC(GPU_TIME,    "aon_gpu_work_seconds_total", "counter", "Time of kernels, copies and collectives; streams that run at once add up.")
METRIC(GPU_KERNELS, "aon_gpu_kernels_total", "counter", "Kernels that ran.")
METRIC(GPU_COPIES,  "aon_gpu_copies_total", "counter", "Copies and memsets that ran.")
METRIC(GPU_BYTES,   "aon_gpu_copied_bytes_total", "counter", "Bytes of those copies and memsets.")
METRIC(LIMITED,     "aon_gpu_limited_seconds_total", "counter", "Time of kernels and copies by their class and by what limits them.")
METRIC(AT_ROOF,     "aon_gpu_roof_seconds_total", "counter", "Time that these would take at their roofline bound, if their work is known.")
METRIC(DCGM_UTIL,   "DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).")
METRIC(DCGM_ACTIVE, "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active.")
METRIC(SELF_CPU,    "process_cpu_seconds_total", "counter", "CPU time of aon serve.")
METRIC(SELF_RSS,    "process_resident_memory_bytes", "gauge", "Memory of aon serve.")
/* clang-format on */
#undef METRIC
