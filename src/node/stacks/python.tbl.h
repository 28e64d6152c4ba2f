/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.tbl.h - where CPython keeps what a stack needs, by version; offsets in bytes. The scenario
 * `stacks` looks into every version that it finds.
 *
 *	PY(minor, runtime.interpreters.head, interp.next, interp.threads.head, thread.next, thread's id,
 *	   thread's frame, cframe.current_frame, frame.code, frame.previous, frame.instr, frame.owner,
 *	   code.co_filename, code's name, code.co_firstlineno, code.co_linetable, code.co_code_adaptive,
 *	   sizeof ascii, sizeof compact)
 *
 * A thread's id is native_thread_id, before 3.11 pthread's. cframe PY_NONE: the thread has its frame
 * itself. instr is a pointer, before 3.11 (co_code_adaptive PY_NONE) the number of the instruction.
 * The first three of 3.13 are where _PyRuntime says that they are, if it does.
 */
/* clang-format off */
PY(10,  32,    0,    8, 8, 176, 24, PY_NONE, 32, 24, 96, PY_NONE, 104, 112, 40, 120, PY_NONE, 48, 72)
PY(11,  40,    0,   16, 8, 160, 56, 8,       32, 48, 56, 69,      112, 128, 72, 136, 184,     48, 72)
PY(12,  40,    0,   72, 8, 144, 56, 0,        0,  8, 56, 70,      112, 128, 68, 136, 192,     40, 56)
PY(13, 632, 7264, 7344, 8, 160, 72, PY_NONE,  0,  8, 56, 70,      112, 128, 68, 136, 200,     40, 56)
/* clang-format on */
#undef PY
