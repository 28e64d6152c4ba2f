/* SPDX-License-Identifier: Apache-2.0 */
/* pylayout.h - where the structures of one CPython have their fields. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PY_NONE UINT32_MAX

struct py_layout {
#define PY(field, ...) uint32_t field;
#include "stacks/python.tbl.h"
	uint32_t minor;
	bool free_threaded;
	uint32_t compact;   /* sizeof a str that is not ASCII */
	uint32_t kind_bit;  /* of a str's state; the bit of "ASCII" is 4 further on */
	uint32_t framesize; /* of a code object: words of its frames; PY_NONE: computed from: */
	uint32_t nlocals, stacksize;
	uint32_t gil_bytes;
	uint32_t globals; /* of a frame */
	/* How much of a structure is copied to have all of its fields; bounded by those below. */
	uint32_t thread_copy, frame_copy, code_copy, gil_copy, str_copy;
};

#define PY_THREAD_COPY 512u
#define PY_FRAME_COPY  128u
#define PY_CODE_COPY   256u
#define PY_GIL_COPY    64u
#define PY_STR_COPY    96u

#define PY_WORDS 112u /* of _Py_DebugOffsets that are looked at */

/*
 * Of this Py_Version: 0x030b02f0. words: the first PY_WORDS of _PyRuntime. -ENOENT: unknown, be it a
 * minor version, a pre-release, or a table that does not hold what it must.
 */
int py_layout(struct py_layout *out, uint32_t version, const uint64_t words[PY_WORDS]);
/* May it be known, as far as the version says it? */
bool py_layout_known(uint32_t version);
