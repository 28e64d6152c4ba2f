/* SPDX-License-Identifier: Apache-2.0 */
/* pycopy.c - what one sample needs of a thread, copied by one read; see pywalk.h. */
#include "stacks/pywalk.h"

#define SLACK  2048u /* bytes that are copied behind the used part: it may have grown */
#define MORE   8u
#define PIECES (8 + PYTHON_CHUNKS + PYTHON_OUTSIDE + MORE)

struct py_scratch py_scratch;

/* --- the copy --- */

static size_t lay_chunks(struct pywalk *w, struct python_piece *piece, size_t n, uint32_t from,
			 uint32_t to)
{
	size_t at = from ? w->at[from - 1] + w->t->chunk[from - 1].used : 0;

	for (uint32_t i = from; i < to && i < w->t->chunks; i++) {
		size_t len = w->t->chunk[i].used;

		if (len > PY_COPY - at) { /* the outer ones are left out */
			w->t->chunks = i;
			w->out->flags |= SAMPLE_CUT;
			break;
		}
		w->at[i] = at;
		piece[n++] =
			(struct python_piece){ w->t->chunk[i].addr, py_scratch.copy + at, len };
		at += len;
	}
	return n;
}

static size_t lay_current(struct pywalk *w, struct python_piece *piece, size_t n, int which)
{
	if (w->t->span)
		piece[n++] =
			(struct python_piece){ w->t->low, py_scratch.stack[which], w->t->span };
	return n;
}

static size_t lay_outside(struct pywalk *w, struct python_piece *piece, size_t n, uint32_t from,
			  uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		w->was[i] = w->t->outside[i];
		piece[n++] = (struct python_piece){ w->was[i], w->outside[i], w->l->frame_copy };
	}
	return n;
}

bool py_copy(struct pywalk *w, const struct python_piece *more, size_t mores, size_t *more_read)
{
	struct python_piece piece[PIECES];
	const struct py_layout *l = w->l;
	struct python_thread *t = w->t;
	size_t n = 0, own, got;

	piece[n++] = (struct python_piece){ t->id.state, w->thread[0], l->thread_copy };
	n = lay_current(w, piece, n, 0);
	n = lay_chunks(w, piece, n, 0, 1);
	n = lay_outside(w, piece, n, 0, t->moving);
	n = lay_current(w, piece, n, 1);
	piece[n++] = (struct python_piece){ t->id.state, w->thread[1], l->thread_copy };
	n = lay_chunks(w, piece, n, 1, PYTHON_CHUNKS);
	if (t->gil)
		piece[n++] = (struct python_piece){ t->gil, w->gil, l->gil_copy };
	piece[n++] =
		(struct python_piece){ t->id.interp + l->gc + l->collecting, &w->collecting, 4 };
	own = n;
	for (size_t i = 0; i < mores && i < MORE; i++)
		piece[n++] = more[i];
	mores = n - own;
	n = lay_outside(w, piece, n, t->moving, t->outsides);
	got = w->p->o.read(w->p->o.arg, piece, n);
	if (more_read)
		*more_read = got < own ? 0 : got - own < mores ? got - own : mores;
	w->outsides = t->moving;
	if (got > own + mores)
		w->outsides += (uint32_t)(got - own - mores);
	if (!got)
		t->id.state = 0;
	return got >= own;
}

/* --- where things are, for the next copy --- */

/* What a chunk's head says, asked of the process. */
static bool head_of(struct pywalk *w, uint64_t addr, uint64_t head[3])
{
	return addr && addr % 8 == 0 && py_read(w->p, addr, head, PY_HEAD) && head[1] >= PY_HEAD &&
	       head[1] <= 1u << 30 && head[2] <= head[1] / 8;
}

/* All chunks anew; `top` is the end of the innermost. */
static void learn_chunks(struct pywalk *w, uint64_t addr, uint64_t top)
{
	struct python_thread *t = w->t;
	uint64_t head[3], used;

	t->chunks = 0;
	while (t->chunks < PYTHON_CHUNKS && head_of(w, addr, head)) {
		used = PY_HEAD + 8 * head[2];
		if (!t->chunks)
			used = top > addr ? top - addr + SLACK : SLACK;
		if (used > head[1])
			used = head[1];
		if (used > PY_COPY)
			break;
		t->chunk[t->chunks].addr = addr;
		t->chunk[t->chunks++].used = (uint32_t)used;
		addr = head[0];
	}
	if (addr)
		w->out->flags |= SAMPLE_CUT;
}

/* The next copy has the place of this word, too. */
static void learn_place(struct python_thread *t, uint64_t at)
{
	uint64_t low = t->span && t->low < at ? t->low : at;
	uint64_t end = t->span && t->low + t->span > at + 8 ? t->low + t->span : at + 8;

	if (end - low > PY_STACK) { /* it is far from the others */
		low = at;
		end = at + 8;
	}
	t->low = low;
	t->span = (uint32_t)(end - low);
}

/*
 * In 3.11 and 3.12 the innermost frame is in a structure on the stack of C, and is another one where C
 * has called Python: of the part of the stack where those were there is a copy.
 */
static bool find_current(struct pywalk *w)
{
	const struct python_thread *t = w->t;
	uint64_t at[2];
	bool in[2];

	for (int i = 0; i < 2; i++) {
		at[i] = py_word(w->thread[i] + w->l->frame) + w->l->current;
		in[i] = t->span >= 8 && at[i] - t->low <= t->span - 8;
		if (in[i])
			w->current[i] = py_word(py_scratch.stack[i] + (at[i] - t->low));
	}
	if (!in[1]) {
		learn_place(w->t, at[1]);
		if (!py_read(w->p, at[1], &w->current[1], 8))
			return false;
	}
	if (!in[0] || !in[1])
		w->current[0] = w->current[1];
	return true;
}

bool py_is_there(struct pywalk *w)
{
	const unsigned char *now = w->thread[1];
	struct python_thread *t = w->t;
	bool same = w->l->current == PY_NONE || find_current(w);
	uint64_t chunk, top;

	if (w->l->chunk == PY_NONE)
		return same;
	chunk = py_word(now + w->l->chunk);
	top = py_word(now + w->l->chunk + 8);
	if (!chunk) {
		t->chunks = 0;
		return same;
	}
	if (t->chunks && t->chunk[0].addr == chunk && top >= chunk &&
	    top - chunk <= t->chunk[0].used)
		return same;
	learn_chunks(w, chunk, top);
	return false;
}

bool py_is_it(const struct pywalk *w)
{
	const unsigned char *raw = w->thread[0];

	return py_word(raw + w->l->interp) == w->t->id.interp &&
	       py_word(raw + w->l->self) == w->t->id.self &&
	       (w->l->id == PY_NONE || py_half(raw + w->l->id) == w->t->id.tid);
}
