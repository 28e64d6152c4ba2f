/* SPDX-License-Identifier: Apache-2.0 */
/* annotation.tbl.h - what slices of aon's Perfetto traces say of themselves, which import reads again:
 * ANNOTATION(ID, "name"). range: enum trace_range; thread: of a step, whose track is the
 * process'; pass: b of an operator below its shapes. */
/* clang-format off */
ANNOTATION(CORRELATION, "correlation")
ANNOTATION(EXTERNAL,    "external id")
ANNOTATION(GRID,        "grid")
ANNOTATION(BLOCK,       "block")
ANNOTATION(REGISTERS,   "registers per thread")
ANNOTATION(STATIC,      "shared memory static")
ANNOTATION(DYNAMIC,     "shared memory dynamic")
ANNOTATION(BYTES,       "bytes")
ANNOTATION(NODE,        "graph node")
ANNOTATION(SEQUENCE,    "sequence")
ANNOTATION(CONTEXT,     "context")
ANNOTATION(STEP,        "step")
ANNOTATION(COLLECTIVE,  "collective")
ANNOTATION(GROUP,       "process group")
ANNOTATION(DTYPE,       "dtype")
ANNOTATION(RANKS,       "group size")
ANNOTATION(BYTES_IN,    "bytes in")
ANNOTATION(BYTES_OUT,   "bytes out")
ANNOTATION(WAITS_FOR,   "waits for stream")
ANNOTATION(THREAD,      "thread")
ANNOTATION(RANGE,       "range")
ANNOTATION(SHAPES,      "shapes")
ANNOTATION(PASS,        "pass")
ANNOTATION(ADDRESS,     "address")
ANNOTATION(FREED,       "freed")
ANNOTATION(PAGEABLE,    "pageable")
/* clang-format on */
#undef ANNOTATION
