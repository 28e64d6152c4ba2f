/* SPDX-License-Identifier: Apache-2.0 */
/* pywalk.h - one sample under way: the copy of a thread's memory, and what is followed in it. */
#pragma once

#include "stacks/pyimpl.h"

#define PY_HEAD 24u /* of a chunk: the previous one, its size, how many words are used */

#define PY_STEPS (2 * PY_SKEL)

enum { PY_OWNER_C = 3 }; /* and above: a frame that only marks where C called */

/* A frame as it was copied. */
struct py_seen {
	uint64_t code, previous, instr, globals;
	uint8_t owner;
	bool entry;
	bool runs;  /* 3.10: it, or what it called */
	bool lives; /* from 3.11 on: it was not left, that is for sure */
};

/* Frames in no chunk that were met, for the next copy: those of C stay, the others move. */
struct py_met {
	uint64_t moving[PYTHON_OUTSIDE], still[PYTHON_OUTSIDE];
	uint32_t movings, stills;
};

struct pywalk {
	struct python *p;
	const struct py_layout *l;
	struct python_thread *t;
	struct python_sample *out;

	/* Copied before the chunks and behind them, as is what `current` is taken from. */
	unsigned char thread[2][PY_THREAD_COPY];
	uint64_t current[2];
	unsigned char gil[PY_GIL_COPY];
	uint32_t collecting;
	unsigned char outside[PYTHON_OUTSIDE][PY_FRAME_COPY];
	uint64_t was[PYTHON_OUTSIDE]; /* where they are from */

	size_t at[PYTHON_CHUNKS]; /* where in the scratch copy */
	uint32_t outsides;        /* that are copied, of those of the thread */
	uint32_t extra;           /* frames that can move and are not in the copy */
	size_t skels;
	bool moved; /* the innermost frame is another than before */
	bool last;  /* the last try: what is not in the copy is not believed */
	bool odd;   /* it does not agree with itself */
};

/*
 * One read. What changes with every call lies between the two copies of the thread's state: the
 * innermost chunk and frames of generators. True: there is all that a sample must have. The state is
 * 0 if not even the thread is there.
 */
bool py_copy(struct pywalk *w, const struct python_piece *more, size_t mores, size_t *more_read);
/* Is it still this thread? Its memory may have become something else. */
bool py_is_it(const struct pywalk *w);
/* Has the copy all that the thread says it uses? If not, the next copy will. */
bool py_is_there(struct pywalk *w);

void py_frame(const struct py_layout *l, const unsigned char *raw, uint64_t addr,
	      struct py_seen *f);
/* A frame that is in no chunk: from the copy, or now (.extra counts those). */
bool py_outside(struct pywalk *w, uint64_t addr, struct py_seen *f);
void py_emit(struct pywalk *w, const struct python_frame *f);
void py_meet(struct py_met *m, uint64_t addr, bool still);
void py_keep_met(struct python_thread *t, const struct py_met *m);

/* The frames of a Python before 3.11. 0; 1: a further copy may have more; -ENOENT: none. */
int py_walk_heap(struct pywalk *w);
