/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.tbl.h - every kind of event, once.
 *
 *	EVENT(number, NAME, "word", "what a and b hold")
 *
 * Numbers are in stores on disk: never reused.
 */
/* clang-format off */
EVENT( 1, RANGE,      "range",      "a: id of a started range, else 0; b: category, 0: none")
EVENT( 2, MARK,       "mark",       "a, b: the caller's")
EVENT( 3, COUNTER,    "counter",    "a: value; b: of memory, the step that had ended (base/memory.tbl.h)")
EVENT( 4, STEP,       "step",       "a: number; b: of so many it was recorded, by chance, and counts for all; 0: for itself")
EVENT( 5, FLOW,       "flow",       "a: from, b: to")
EVENT( 8, KERNEL,     "kernel",     "a: geometry, b: graph id << 32 | node")
EVENT( 9, COPY,       "copy",       "a: bytes, b: graph id << 32 | node")
EVENT(10, MEMSET,     "memset",     "a: bytes, b: graph id << 32 | node")
EVENT(11, SYNC,       "sync",       "")
EVENT(12, GRAPH,      "graph",      "a: graph id")
EVENT(13, COLLECTIVE, "collective", "a: bytes, b: sequence")
EVENT(14, API,        "api",        "")
EVENT(15, ALLOC,      "alloc",      "a: bytes, b: address; flags: 1 allocated, 2 freed, as a copy's direction")
EVENT(24, OP,         "op",         "a: twice the name of its shapes, plus 1 if backward; corr: sequence number")
EVENT(25, MODULE,     "module",     "")
EVENT(26, SAMPLE,     "sample",     "a: stack, b: sample_b(), name: the frame to blame, dur: the time that it stands for (sample.h)")
/* clang-format on */
#undef EVENT
