/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.tbl.h - where CPython keeps what a stack needs, by version. The scenarios `stacks` and
 * `sample` look into every version that they find.
 *
 *	PY(field, 3.10, 3.11, 3.12; index in _Py_DebugOffsets of 3.13, 3.14, 3.15)
 *
 * The first three are offsets in bytes. From 3.13 on the interpreter says its offsets itself, at the
 * start of _PyRuntime, in a table of 64-bit words whose order changes with the minor version; the
 * last three are indexes there. PY_NONE: there is no such thing, or it follows from others
 * (pylayout.c).
 */
/* clang-format off */
/* of _PyRuntime, of an interpreter */
PY(interps,       32,      40,      40,       5,       5,       5)
PY(interp_next,    0,       0,       0,       8,       8,       8)
PY(threads,        8,      16,      72,       9,       9,       9)
PY(gc,             0,       0,       0,      10,      11,      11)
PY(collecting,   816,     848,     312,      72,      82,      95) /* behind gc */
PY(gil,          352,     360,     384,      14,      15,      15) /* 3.10, 3.11: of _PyRuntime */
PY(gil_holder,     8,       8,       8,      18,      19,      19)
PY(gil_locked,    16,      16,      16,      17,      18,      18)
PY(gil_state,      0,       0,       0,      15,      16,      16) /* what the two above begin at */
/* of a thread */
PY(next,           8,       8,       8,      21,      24,      24)
PY(interp,        16,      16,      16,      22,      25,      25)
PY(frame,         24,      56,      56,      23,      26,      26)
PY(self,         176,     152,     136,      24,      27,      30) /* its pthread_t */
PY(id,       PY_NONE,     160,     144,      25,      28,      31) /* its native_thread_id */
PY(chunk,    PY_NONE,     296,     232,      26,      29,      32)
PY(current,  PY_NONE,       8,       0, PY_NONE, PY_NONE, PY_NONE) /* of cframe, that `frame` points to */
/* of a frame */
PY(previous,      24,      48,       8,      29,      32,      40)
PY(code,          32,      32,       0,      30,      33,      41)
PY(instr,         96,      56,      56,      31,      34,      42) /* 3.10: a number of 32 bits */
PY(locals,       120,      72,      72,      32,      35,      43) /* where the frame itself ends */
PY(owner,        108,      69,      70,      33,      36,      44) /* 3.10: f_state; 0: it runs */
PY(entry,    PY_NONE,      68, PY_NONE, PY_NONE, PY_NONE, PY_NONE)
/* of a code object */
PY(filename,     104,     112,     112,      35,      40,      48)
PY(name,         112,     128,     128,      37,      42,      50)
PY(table,        120,     136,     136,      38,      43,      51)
PY(first,         40,      72,      68,      39,      44,      52)
PY(bytecode, PY_NONE,     184,     192,      43,      48,      56)
PY(tlbc,     PY_NONE, PY_NONE, PY_NONE, PY_NONE,      49,      57)
/* of a generator, a coroutine: 3.10 has a pointer to its frame */
PY(gen_frame,     16,      80,      72, PY_NONE,      85,     101)
PY(gen_state, PY_NONE,     75,      67, PY_NONE,      86,     102)
/* of an object, bytes, a str */
PY(type,           8,       8,       8,      45,      51,      59)
PY(bytes_size,    16,      16,      16,      65,      75,      87)
PY(bytes,         32,      32,      32,      66,      76,      88)
PY(state,         32,      32,      32,      68,      78,      90)
PY(length,        16,      16,      16,      69,      79,      91)
PY(ascii,         48,      48,      40,      70,      80,      92)
/* clang-format on */
#undef PY
