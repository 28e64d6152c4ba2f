/* SPDX-License-Identifier: Apache-2.0 */
/* xplane.tbl.h - stats of XPlane that matter: XSTAT(ID, "name"). */
/* clang-format off */
XSTAT(CORRELATION, "correlation_id")
XSTAT(KERNEL,      "kernel_details")
XSTAT(MEMCPY,      "memcpy_details")
XSTAT(MEMSET,      "memset_details")
XSTAT(TF_OP,       "tf_op")
XSTAT(HLO_OP,      "hlo_op")
XSTAT(HLO_MODULE,  "hlo_module")
XSTAT(PROGRAM,     "program_id")
XSTAT(HLO_PROTO,   "Hlo Proto")
XSTAT(FLOPS,       "flops")
XSTAT(ACCESSED,    "bytes_accessed")
XSTAT(ORDINAL,     "device_ordinal")
XSTAT(STEP_NAME,   "step_name")
XSTAT(STEP_NUM,    "step_num")
XSTAT(ALLOCATOR,   "allocator_name")
XSTAT(BYTES,       "allocation_bytes")
XSTAT(ADDRESS,     "addr")
XSTAT(ALLOCATED,   "bytes_allocated")
XSTAT(CORES,       "core_count")
XSTAT(MEMORY,      "memory_size")
XSTAT(START_TIME,  "profile_start_time")
XSTAT(TYPE,        "device_type_string")
/* clang-format on */
#undef XSTAT
