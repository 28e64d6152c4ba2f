/* SPDX-License-Identifier: Apache-2.0 */
/* pywalk.c - one thread's frames, followed in a copy of its memory; see python.h. */
#include "stacks/pywalk.h"

#include <errno.h>

/* Copies for one sample: addresses may be new. Before 3.11 who is met may be gone by then. */
#define TRIES 4u
#define OLDER 8u

enum { HEAP_RUNS = 0, HEAP_UNWINDS = 2 }; /* states of a frame of 3.10 that is not left */

/* --- frames --- */

/*
 * A frame has the height of its stack behind its instruction. Up to 3.13 it is -1 while the frame runs, or C
 * that it called; who is left, or has called another frame, has a height. From 3.14 on it is the
 * address of the first local variable when the frame is left; of a frame without any it may be
 * that, too, while it lives.
 */
static bool is_live(const struct py_layout *l, const unsigned char *raw, uint64_t addr)
{
	if (l->minor < 11)
		return false;
	if (l->minor < 14)
		return py_half(raw + l->instr + 8) == UINT32_MAX;
	return py_word(raw + l->instr + 8) != addr + l->locals;
}

void py_frame(const struct py_layout *l, const unsigned char *raw, uint64_t addr, struct py_seen *f)
{
	f->code = py_word(raw + l->code) & ~7ull; /* lower bits are tags since 3.14 */
	f->previous = py_word(raw + l->previous);
	f->globals = py_word(raw + l->globals);
	f->instr = l->bytecode == PY_NONE ? py_half(raw + l->instr) : py_word(raw + l->instr);
	f->owner = l->owner == PY_NONE ? 0 : raw[l->owner];
	/* From 3.12 on a frame of C is behind it instead. */
	f->entry = l->minor < 11 || (l->entry != PY_NONE && raw[l->entry]);
	f->runs = l->minor > 10 || f->owner == HEAP_RUNS || f->owner == HEAP_UNWINDS;
	f->lives = is_live(l, raw, addr);
	if (l->minor < 12 && f->owner >= PY_OWNER_C)
		f->owner = 0;
}

/* Where the used part of the innermost chunk ends: at most, or at least, while it was copied. */
static uint64_t top_of(const struct pywalk *w, bool most)
{
	uint64_t a = py_word(w->thread[0] + w->l->chunk + 8);
	uint64_t b = py_word(w->thread[1] + w->l->chunk + 8);

	if (py_word(w->thread[0] + w->l->chunk) != w->t->chunk[0].addr)
		return b;
	return most == (a > b) ? a : b;
}

/* The frames of one chunk, from its start on. */
static void line_up(struct pywalk *w, uint32_t i)
{
	const unsigned char *raw = py_scratch.copy + w->at[i];
	uint64_t addr = w->t->chunk[i].addr, used = w->t->chunk[i].used, at = PY_HEAD, top;
	struct py_seen f;

	if (!i) { /* what is behind its end were frames once */
		top = top_of(w, true) - addr;
		used = top < used ? top : used;
	}
	if (!py_word(raw))
		at += 8; /* the first chunk has an empty word at its start */
	while (at + w->l->frame_copy <= used && w->skels < PY_SKEL) {
		const struct py_code *c;

		py_frame(w->l, raw + at, addr + at, &f);
		c = py_code(w->p, f.code);
		if (!c)
			break;
		py_scratch.skel[w->skels++] = (struct py_skel){ .addr = addr + at,
								.code = f.code,
								.instr = f.instr,
								.previous = f.previous,
								.globals = f.globals,
								.entry = f.entry,
								.lives = f.lives };
		at += 8ull * c->framesize;
	}
}

/* The number of the frame at that address, below `end`; -1: none is. */
static int64_t skel_of(uint64_t addr, size_t end)
{
	while (end--)
		if (py_scratch.skel[end].addr == addr)
			return (int64_t)end;
	return -1;
}

static bool in_chunk(const struct pywalk *w, uint64_t addr)
{
	for (uint32_t i = 0; i < w->t->chunks; i++)
		if (addr - w->t->chunk[i].addr < w->t->chunk[i].used)
			return true;
	return false;
}

static bool in_first(const struct pywalk *w, uint64_t addr)
{
	return w->t->chunks && addr - w->t->chunk[0].addr < w->t->chunk[0].used;
}

/* A frame that is in no chunk: from the copy, or now. */
bool py_outside(struct pywalk *w, uint64_t addr, struct py_seen *f)
{
	unsigned char raw[PY_FRAME_COPY];

	if (addr % 8)
		return false;
	for (uint32_t i = 0; i < w->outsides; i++)
		if (w->was[i] == addr) {
			py_frame(w->l, w->outside[i], w->was[i], f);
			return true;
		}
	if (!py_read(w->p, addr, raw, w->l->frame_copy))
		return false;
	py_frame(w->l, raw, addr, f);
	w->extra += f->owner < PY_OWNER_C; /* those of C stay where they are */
	return true;
}

void py_emit(struct pywalk *w, const struct python_frame *f)
{
	struct python_sample *s = w->out;

	if (s->n == STACK_FRAMES_MAX) {
		s->flags |= SAMPLE_CUT;
		return;
	}
	s->frame[s->n++] = *f;
}

void py_meet(struct py_met *m, uint64_t addr, bool still)
{
	if (still && m->stills < PYTHON_OUTSIDE)
		m->still[m->stills++] = addr;
	else if (!still && m->movings < PYTHON_OUTSIDE)
		m->moving[m->movings++] = addr;
}

void py_keep_met(struct python_thread *t, const struct py_met *m)
{
	uint32_t rest = PYTHON_OUTSIDE - m->movings;

	rest = rest < m->stills ? rest : m->stills;
	memcpy(t->outside, m->moving, m->movings * sizeof(m->moving[0]));
	memcpy(t->outside + m->movings, m->still, rest * sizeof(m->still[0]));
	t->moving = m->movings;
	t->outsides = m->movings + rest;
}

/* What was read does not fit: inner frames are of another moment, and are left out. */
static void forget(struct pywalk *w)
{
	w->out->n = 0;
	w->out->flags &= (uint8_t)~SAMPLE_CUT;
	w->odd = true;
}

/* One frame outside of the chunks. False: it is none. */
static bool step_outside(struct pywalk *w, uint64_t *cur, struct py_met *met)
{
	struct python_sample *s = w->out;
	uint32_t extra = w->extra;
	struct py_seen f;

	if (!py_outside(w, *cur, &f) ||
	    (w->last && w->extra > extra && f.owner < PY_OWNER_C && w->skels))
		return false;
	py_meet(met, *cur, f.owner >= PY_OWNER_C);
	if (f.owner >= PY_OWNER_C) {
		if (s->n)
			s->frame[s->n - 1].entry = true;
	} else if (py_code(w->p, f.code)) {
		py_emit(w, &(struct python_frame){ f.code, f.instr, f.entry, f.globals });
	} else {
		return false;
	}
	*cur = f.previous;
	return true;
}

/* From the innermost frame to the outermost. */
static void follow(struct pywalk *w, uint64_t cur, struct py_met *met)
{
	const struct py_skel *sk;
	size_t end = w->skels;
	bool first = true;

	for (size_t step = 0; step < PY_STEPS && (cur || end); step++) {
		int64_t i = cur ? skel_of(cur, end) : -1;

		if (i < 0 && cur && !in_chunk(w, cur)) {
			if (!step_outside(w, &cur, met)) {
				forget(w);
				cur = 0;
			}
			continue;
		}
		/* Its caller must be the next one in the chunk; above the first one may be frames
		 * that are made, or left. */
		if (i < 0 || (!first && (size_t)i + 1 < end)) {
			forget(w);
			if (!end)
				break;
			i = (int64_t)end - 1;
		}
		first = false;
		end = (size_t)i;
		sk = &py_scratch.skel[i];
		py_emit(w, &(struct python_frame){ sk->code, sk->instr, sk->entry, sk->globals });
		cur = sk->previous;
	}
}

/* How far in a frame is, by those that are in chunks. */
static int64_t depth(struct pywalk *w, uint64_t cur)
{
	struct py_seen f;

	for (uint32_t i = 0; i < 4 && cur; i++) {
		int64_t at = skel_of(cur, w->skels);

		if (at >= 0)
			return at;
		if (in_chunk(w, cur) || !py_outside(w, cur, &f))
			return INT64_MAX;
		cur = f.previous;
	}
	return -1;
}

/* The number of the innermost frame in a chunk that was not left when it was copied; -1: not known. */
static int64_t living(const struct pywalk *w)
{
	uint64_t top = w->l->minor < 14 && w->t->chunks ? UINT64_MAX : top_of(w, false);

	for (size_t i = w->skels; i-- > 0;)
		if (py_scratch.skel[i].lives &&
		    (py_scratch.skel[i].addr < top || !in_first(w, py_scratch.skel[i].addr)))
			return (int64_t)i;
	return -1;
}

/* Does the copy say that this frame is the innermost? */
static bool is_inner(struct pywalk *w, uint64_t cur)
{
	int64_t i = skel_of(cur, w->skels);
	struct py_seen f;

	if (w->l->minor > 13)
		return true;
	if (i >= 0)
		return py_scratch.skel[i].lives;
	return !in_chunk(w, cur) && py_outside(w, cur, &f) && f.lives;
}

/* Up to 3.13 a frame runs also while C does that it called, which may have called the next one. */
static bool is_caller(const struct pywalk *w, int64_t i)
{
	const struct py_skel *next = &py_scratch.skel[i + 1];

	return w->l->minor < 14 && (size_t)i + 1 < w->skels &&
	       (next->entry || !in_chunk(w, next->previous));
}

/*
 * The innermost frame. The thread's own word is of another moment than the chunks: if it changed
 * meanwhile, or the frame was left, what the chunk itself says is better. A generator that ran inside
 * is of yet another moment, and is left out.
 */
static uint64_t innermost(struct pywalk *w, bool *same)
{
	uint64_t a = w->current[0], b = w->current[1];
	int64_t i, both; /* both: the frame that there was before the copy and behind */

	if (w->l->current == PY_NONE) {
		a = py_word(w->thread[0] + w->l->frame);
		b = py_word(w->thread[1] + w->l->frame);
	}
	*same = a == b;
	w->moved = a != b;
	if (!w->skels || (a == b && is_inner(w, a)))
		return b;
	i = living(w);
	both = depth(w, depth(w, a) < depth(w, b) ? a : b);
	*same = i >= 0 &&
		((size_t)i + 1 == w->skels || py_scratch.skel[i + 1].addr >= top_of(w, false));
	if (i < 0 || (is_caller(w, i) && both > i && both < (int64_t)w->skels)) {
		*same = false;
		return depth(w, a) < depth(w, b) ? a : b;
	}
	return py_scratch.skel[i].addr;
}

/* --- one sample --- */

static void say_gil(struct pywalk *w)
{
	struct python_sample *s = w->out;

	s->gil = w->t->gil;
	s->gil_bytes = w->l->gil_bytes;
	if (s->gil && py_half(w->gil + w->l->gil_locked) == 1)
		s->holder = py_word(w->gil + w->l->gil_holder);
	if (w->collecting == 1)
		s->flags |= SAMPLE_GC;
}

/* 0; 1: something was not where it was expected, a further copy will have it; -ENOENT. */
static int walk(struct pywalk *w)
{
	struct py_met met = { .movings = 0 };
	uint64_t cur;
	bool same;

	w->skels = 0;
	w->extra = 0;
	w->odd = false;
	w->out->n = 0;
	for (uint32_t i = w->t->chunks; i-- > 0;)
		line_up(w, i);
	cur = innermost(w, &same);
	if (!cur && !w->skels)
		return -ENOENT;
	follow(w, cur, &met);
	/* Generators are copied a little later than the chunks. */
	same &= !w->odd && !w->extra && !(w->moved && met.movings);
	py_keep_met(w->t, &met);
	if (!same)
		w->out->flags |= SAMPLE_UNCERTAIN;
	/* One that fits better would be of another moment: who waits for it meets some more often. */
	return w->extra > 0;
}

int python_sample(struct python *p, struct python_thread *t, const struct python_piece *more,
		  size_t mores, size_t *more_read, struct python_sample *out)
{
	static struct pywalk walking; /* large; a reader belongs to one thread */
	struct pywalk *w = &walking;
	uint32_t tries = p->l.chunk == PY_NONE ? OLDER : TRIES;
	int err = -EAGAIN;

	w->p = p;
	w->l = &p->l;
	w->t = t;
	w->out = out;
	w->current[0] = w->current[1] = 0;
	if (more_read)
		*more_read = 0;
	for (uint32_t i = 0; i < tries && (err == -EAGAIN || err > 0); i++) {
		bool whole;

		out->n = 0;
		out->flags = 0;
		out->gil = out->holder = 0;
		whole = py_copy(w, more, mores, more_read);
		if (!t->id.state || !py_is_it(w))
			return -ESTALE;
		if (!whole) { /* nothing behind a place that is gone is there */
			memcpy(w->thread[1], w->thread[0], sizeof(w->thread[0]));
			t->outsides = t->moving = 0;
			t->chunks = t->span = 0;
			py_is_there(w);
			err = -EAGAIN;
			continue;
		}
		say_gil(w);
		w->last = i + 1 == tries;
		if (!py_is_there(w) && !w->last)
			err = -EAGAIN;
		else
			err = w->l->chunk == PY_NONE ? py_walk_heap(w) : walk(w);
	}
	return err < 0 ? err : out->n ? 0 : -ENOENT;
}
