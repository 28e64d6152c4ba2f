/* SPDX-License-Identifier: Apache-2.0 */
/* annotation.tbl.h - what Perfetto's slices say of themselves: ANNOTATION(ID, "name"), once. */
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
/* clang-format on */
#undef ANNOTATION
