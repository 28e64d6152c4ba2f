/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind.tbl.h - every kind of record, once.
 *
 *	KIND(number, NAME, "word", form, want)
 *
 * number  stored in the record: never reused, 0 is invalid
 * word    shown to people and in JSON
 * form    HOST: stamped by the emitting thread; ACT: an activity with a start and a duration
 * want    the gate bit (AON_WANT_*) that enables it
 *
 * A daemon skips a number that it does not know by the record's length, and counts it.
 */
/* clang-format off */
KIND( 1, RANGE_PUSH,  "push",        HOST, RANGE)    /* name; x = category, 0: none */
KIND( 2, RANGE_POP,   "pop",         HOST, RANGE)    /* name: the innermost of that name ends; 0: x = how many later ones stay open: 0, except for a probe */
KIND( 3, RANGE_START, "start",       HOST, RANGE)    /* name; x = category; a = id of the range */
KIND( 4, RANGE_END,   "end",         HOST, RANGE)    /* a = id of the range */
KIND( 5, MARK,        "mark",        HOST, MARK)     /* name, x, a, b: the caller's; AON_F_TRACK: a = track */
KIND( 6, COUNTER,     "counter",     HOST, COUNTER)  /* name; a = value; AON_F_FLOAT: an f64's bits; AON_F_TRACK: x = track; AON_F_AT: b = when */
KIND( 7, STEP_BEGIN,  "step_begin",  HOST, STEP)     /* a = number */
KIND( 8, STEP_END,    "step_end",    HOST, STEP)     /* a = number */
KIND( 9, FLOW,        "flow",        HOST, FLOW)     /* a = from, b = to: ids of ranges or correlations */
KIND(10, TEXT,        "text",        HOST, MARK)     /* a piece of a long text: x = offset, a = bytes in all, b = AON_TEXT_*; it follows */
KIND(32, KERNEL,      "kernel",      ACT,  GPU)      /* arg = geometry */
KIND(33, COPY,        "copy",        ACT,  GPU)      /* arg = bytes; flags = direction */
KIND(34, MEMSET,      "memset",      ACT,  GPU)      /* arg = bytes */
KIND(35, SYNC,        "sync",        ACT,  GPU)
KIND(36, GRAPH,       "graph",       ACT,  GPU)      /* arg = graph id */
KIND(37, COLLECTIVE,  "collective",  ACT,  GPU)      /* arg = bytes */
KIND(38, API,         "api",         ACT,  API)      /* track = the calling thread */
KIND(39, ALLOC,       "alloc",       ACT,  GPU)      /* arg = bytes; flags = 1 allocated, 2 freed; group = address */
KIND(48, STEP,        "step",        ACT,  STEP)     /* arg = number: a step that a probe recognized at its end */
KIND(49, OP,          "op",          ACT,  OP)       /* arg = shapes, corr = sequence number, flags = OP_* of provider.h */
KIND(50, MODULE,      "module",      ACT,  OP)       /* a call of a part of a model; track = the calling thread */
/* clang-format on */
#undef KIND
