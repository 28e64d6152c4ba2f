/* SPDX-License-Identifier: Apache-2.0 */
/* pywalk.h - one sample under way: the copy of a thread's memory, and what is followed in it. */
#pragma once

#include "stacks/pyimpl.h"

#define PY_HEAD 24u /* of a chunk: the previous one, its size, how many words are used */

struct pywalk {
	struct python *p;
	const struct py_layout *l;
	struct python_thread *t;
	struct python_sample *out;

	/* Both are copied before the chunks and behind them. */
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
