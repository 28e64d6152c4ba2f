/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyheap.c - frames before Python 3.11: objects on the heap, each of which knows its caller.
 *
 * To copy them takes longer than a call does, so the copy is of no single moment. But who called is in the
 * object of the callee: it is set before that runs and cleared after it was left. So between two
 * frames that both run, as their copies say, there was that call; and one that runs without a
 * caller is the outermost. A chain of such frames is a stack; what is not one is copied again.
 *
 * A function has the same object for each call, but for recursion and generators: objects that were met
 * before are copied all, and the newest ones first.
 */
#include <errno.h>

#include "stacks/pywalk.h"

/* From that frame to the outermost. False: some had been left. */
static bool chain(struct pywalk *w, uint64_t cur, struct py_met *met)
{
	struct py_seen f;

	w->out->n = 0;
	w->out->flags &= (uint8_t)~SAMPLE_CUT;
	for (size_t step = 0; cur && step < PY_STEPS; step++) {
		if (!py_outside(w, cur, &f) || !f.runs || !py_code(w->p, f.code))
			return false;
		py_meet(met, cur, false);
		py_emit(w, &(struct python_frame){ f.code, f.instr, true, f.globals });
		cur = f.previous;
	}
	return !cur && w->out->n;
}

/* The number of the frame that runs and was called by `caller`, of those in the copy; -1: none. */
static int64_t called_by(struct pywalk *w, uint64_t caller, struct py_seen *f)
{
	for (uint32_t i = 0; i < w->outsides; i++) {
		py_frame(w->l, w->outside[i], w->was[i], f);
		if (f->runs && f->previous == caller && w->was[i] != caller &&
		    py_code(w->p, f->code))
			return i;
	}
	return -1;
}

/* From the outermost frame inwards, as far as one was called by the other: inner ones are left out. */
static void from_outside(struct pywalk *w)
{
	struct python_sample *s = w->out;
	struct python_frame swap;
	struct py_seen f = { 0 };
	uint64_t caller = 0;
	int64_t i;

	s->n = 0;
	while (s->n < STACK_FRAMES_MAX && (i = called_by(w, caller, &f)) >= 0) {
		py_emit(w, &(struct python_frame){ f.code, f.instr, true, f.globals });
		caller = w->was[i];
	}
	for (size_t a = 0, b = s->n; a + 1 < b; a++) {
		swap = s->frame[a];
		s->frame[a] = s->frame[--b];
		s->frame[b] = swap;
	}
}

/* What was met first, then what there was. */
static void keep(struct python_thread *t, const struct py_met *met)
{
	struct py_met all = *met;

	for (uint32_t i = 0; i < t->outsides && all.movings < PYTHON_OUTSIDE; i++) {
		bool there = false;

		for (uint32_t k = 0; k < met->movings; k++)
			there |= met->moving[k] == t->outside[i];
		if (!there)
			all.moving[all.movings++] = t->outside[i];
	}
	py_keep_met(t, &all);
}

int py_walk_heap(struct pywalk *w)
{
	bool whole = false, any = false;
	struct py_met met;

	for (int i = 0; i < 2 && !whole; i++) {
		uint64_t cur = py_word(w->thread[i] + w->l->frame);

		met = (struct py_met){ .movings = 0 };
		w->extra = 0;
		whole = chain(w, cur, &met);
		any |= cur != 0;
		keep(w->t, &met);
	}
	if (!any)
		return -ENOENT;
	if (!whole && w->last)
		from_outside(w);
	if (!whole || w->extra)
		w->out->flags |= SAMPLE_UNCERTAIN;
	return !whole;
}
