/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.tbl.h - what a Chrome trace's rows are, once.
 *
 *	CAT("category", what it becomes, and for a range its owner)
 *	ROW(ID, "key")  a key of a row that matters
 *	ARG(ID, "key")  a key of its args; two keys may have one ID, the last in the row counts
 *
 * Categories are those of Kineto's ActivityType, old (before 2022) and new names.
 */
/* clang-format off */
#ifndef CAT
#define CAT(name, what, range)
#endif
#ifndef ROW
#define ROW(ID, key)
#endif
#ifndef ARG
#define ARG(ID, key)
#endif
#ifndef AKA
#define AKA(ID, key)
#endif
CAT("cpu_op",                OP,     TRACE_OP)
CAT("Operator",              OP,     TRACE_OP)
CAT("user_annotation",       USER,   TRACE_USER)
CAT("User annotation",       USER,   TRACE_USER)
CAT("python_function",       HOST,   TRACE_PYTHON)
CAT("cuda_runtime",          CALL,   0)
CAT("cuda_driver",           CALL,   0)
CAT("Runtime",               CALL,   0)
CAT("xpu_runtime",           CALL,   0)
CAT("xpu_driver",            CALL,   0)
CAT("mtia_runtime",          CALL,   0)
CAT("glow_runtime",          CALL,   0)
CAT("hpu_runtime",           CALL,   0)
CAT("privateuse1_runtime",   CALL,   0)
CAT("privateuse1_driver",    CALL,   0)
CAT("kernel",                KERNEL, 0)
CAT("Kernel",                KERNEL, 0)
CAT("concurrent_kernel",     KERNEL, 0)
CAT("hpu_op",                KERNEL, 0)
CAT("gpu_memcpy",            COPY,   0)
CAT("Memcpy",                COPY,   0)
CAT("gpu_memset",            SET,    0)
CAT("Memset",                SET,    0)
CAT("cuda_sync",             SYNC,   0)
CAT("mtia_ccp_events",       MTIA,   0)
CAT("gpu_user_annotation",   GPU,    TRACE_GPU_USER)
CAT("cuda_profiler_range",   GPU,    TRACE_GPU_USER)
CAT("Trace",                 NONE,   0)

ROW(PH,   "ph")
ROW(CAT,  "cat")
ROW(NAME, "name")
ROW(PID,  "pid")
ROW(TID,  "tid")
ROW(TS,   "ts")
ROW(DUR,  "dur")
ROW(ARGS, "args")
ROW(ID,   "id")

ARG(CORRELATION, "correlation")
ARG(EXTERNAL,    "External id")
AKA(CORRELATION, "correlation_id")
AKA(EXTERNAL,    "external id")
ARG(STREAM,      "stream")
ARG(DEVICE,      "device")
ARG(GRID,        "grid")
ARG(BLOCK,       "block")
ARG(REGISTERS,   "registers per thread")
ARG(SHARED,      "shared memory")
ARG(BYTES,       "bytes")
AKA(BYTES,       "Bytes")
AKA(BYTES,       "size")
ARG(NODE,        "graph node id")
ARG(DIRECTION,   "direction")
ARG(DETAILS,     "memcpy_details")
ARG(WAIT_STREAM, "wait_on_stream")
ARG(WAIT_CORR,   "wait_on_cuda_event_record_corr_id")
ARG(DEVICE_TYPE, "Device Type")
ARG(DEVICE_ID,   "Device Id")
ARG(ALLOCATED,   "Total Allocated")
ARG(ADDRESS,     "Addr")
ARG(META_NAME,   "name")
ARG(COLLECTIVE,  "Collective name")
ARG(NELEMS_IN,   "In msg nelems")
ARG(NELEMS_OUT,  "Out msg nelems")
ARG(GROUP_SIZE,  "Group size")
ARG(DTYPE,       "dtype")
ARG(GROUP,       "Process Group Name")
ARG(SEQUENCE,    "Seq")
ARG(OP_SEQUENCE, "Sequence number")
ARG(FORWARD,     "Fwd thread id")
ARG(DIMS,        "Input Dims")
AKA(DIMS,        "Input dims")
ARG(TYPES,       "Input type")
ARG(CONCRETE,    "Concrete Inputs")
/* clang-format on */
#undef CAT
#undef ROW
#undef ARG
#undef AKA
