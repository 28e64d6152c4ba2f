/* SPDX-License-Identifier: Apache-2.0 */
/* samples_sum.c - answers from the rows of samples: whom to blame, with which error; see samples.h. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "insight/insight.h"

bool samples_wanted(const struct sample_row *r, const struct samples_want *w)
{
	return (w->process == SAMPLES_ALL || r->process == w->process) &&
	       (w->track == SAMPLES_ALL || r->track == w->track) &&
	       (!w->parts || w->parts & 1u << r->part) &&
	       (!w->causes || (r->gap && w->causes & 1u << (r->gap - 1)));
}

struct share samples_share(const struct samples_sum *s, double ns, uint64_t count)
{
	double n = s->ns2 > 0 ? s->ns * s->ns / s->ns2 : 0, p = s->ns > 0 ? ns / s->ns : 0;
	double near = (p * n + 0.5) / (n + 1); /* else all of a few samples would be certain */

	p = p > 1 ? 1 : p;
	return (struct share){ p, n > 0 ? sqrt(near * (1 - near) / n) : 0, count };
}

/* --- by stack --- */

static int stack_cmp(const void *a, const void *b)
{
	const struct sample_stack *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (int)x->state - (int)y->state;
}

static int stack_heavier(const void *a, const void *b)
{
	const struct sample_stack *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : stack_cmp(a, b);
}

static int sum_stacks(struct samples_sum *s, const struct insight *in, const struct samples_want *w)
{
	size_t n = 0;

	s->stack = calloc(in->samples.rows + 1, sizeof(*s->stack));
	if (!s->stack)
		return -ENOMEM;
	for (size_t i = 0; i < in->samples.rows; i++) {
		const struct sample_row *r = &in->samples.row[i];

		if (!samples_wanted(r, w))
			continue;
		s->stack[n++] = (struct sample_stack){ r->stack, (enum sample_state)r->state,
						       r->count, r->ns };
		s->count += r->count;
		s->ns += r->ns;
		s->ns2 += r->ns2;
	}
	qsort(s->stack, n, sizeof(*s->stack), stack_cmp);
	for (size_t i = 0; i < n; i++) {
		struct sample_stack *last = s->stacks ? &s->stack[s->stacks - 1] : NULL;

		if (last && !stack_cmp(last, &s->stack[i])) {
			last->count += s->stack[i].count;
			last->ns += s->stack[i].ns;
		} else {
			s->stack[s->stacks++] = s->stack[i];
		}
	}
	qsort(s->stack, s->stacks, sizeof(*s->stack), stack_heavier);
	return 0;
}

/* --- by whom to blame --- */

static int u32_cmp(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

/* A row of the answer: a function in a state. */
static int blame_cmp(const struct sample_blame *x, const struct sample_blame *y)
{
	int c = u32_cmp(x->frame.name, y->frame.name);

	c = c ? c : u32_cmp(x->frame.file, y->frame.file);
	c = c ? c : u32_cmp(x->state, y->state);
	return c ? c : (int)x->held - (int)y->held;
}

/* Its details: a line of the function, and what that called. */
static int detail_cmp(const void *a, const void *b)
{
	const struct sample_blame *x = a, *y = b;
	int c = blame_cmp(x, y);

	c = c ? c : u32_cmp(x->frame.line, y->frame.line);
	c = c ? c : u32_cmp(x->in.name, y->in.name);
	return c ? c : u32_cmp(x->in.file, y->in.file);
}

static int blame_heavier(const void *a, const void *b)
{
	const struct sample_blame *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : detail_cmp(a, b);
}

/* "load.<locals>.<genexpr>": a part of a function that has no name of its own. */
static bool is_nameless(const struct trace *t, const struct stack_frame *f)
{
	static const char *const end[] = { "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>" };
	const char *name = f->name ? trace_text(t, f->name) : "", *at = strrchr(name, '<');

	for (size_t i = 0; at && i < sizeof(end) / sizeof(end[0]); i++)
		if (!strcmp(at, end[i]))
			return true;
	return false;
}

bool file_is_library(const char *file)
{
	static const char *const begin[] = { "<string>", "<frozen", "<generated", "<eval_with_key>",
					     "<__array_function__" };
	/* Also where it is installed beside the program: pip --target, PYTHONPATH. */
	static const char *const in[] = { "/numpy/",           "/scipy/",
					  "/pandas/",          "/optax/",
					  "/torchinductor_",   "/aon_hook_",
					  "/jax/_src/",        "/jaxlib/",
					  "/torch/nn/",        "/torch/_",
					  "/torch/utils/",     "/tinygrad/tensor.py",
					  "/tinygrad/engine/", "/tinygrad/runtime/",
					  "/pyopencl/" };

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(file, begin[i], strlen(begin[i])))
			return true;
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		if (strstr(file, in[i]))
			return true;
	return false;
}

static const char *frame_file(const struct trace *t, const struct stack_frame *f)
{
	return f->file ? trace_text(t, f->file) : "";
}

/* Native code of no shared library: that of the program, unless the program is Python itself. */
static bool is_program(const struct trace *t, const struct stack_frame *f)
{
	const char *file = frame_file(t, f), *base = strrchr(file, '/');

	base = base ? base + 1 : file;
	if (f->flags & FRAME_USER || f->line) /* with its source: of others' headers it is not */
		return f->kind == FRAME_NATIVE && f->flags & FRAME_USER;
	return f->kind == FRAME_NATIVE && f->name && *base && *base != '[' &&
	       !strstr(base, ".so") && strncmp(base, "python", 6) != 0;
}

/* Generated code is blamed on its caller, and what a native program calls on the program. A program that
 * is nothing else (python -c) is its own. */
static uint32_t own_frame(const struct trace *t, const struct stack_row *s, uint32_t at)
{
	bool python = false;

	for (uint32_t i = 0; i < s->n; i++)
		python = python || s->frame[i].kind == FRAME_PYTHON;
	for (uint32_t i = 0; i < s->n && !python && !(s->frame[at].flags & FRAME_USER); i++)
		if (is_program(t, &s->frame[i]))
			return i;
	for (uint32_t i = at; i < s->n; i++)
		if (s->frame[i].kind == FRAME_PYTHON && s->frame[i].flags & FRAME_USER &&
		    !file_is_library(frame_file(t, &s->frame[i])))
			return i;
	return at;
}

static struct sample_blame blame_of(const struct insight *in, const struct sample_row *r)
{
	uint32_t stack = r->state == SAMPLE_GIL && r->holder ? r->holder : r->stack;
	struct stack_row s = trace_stack(in->t, stack);
	uint32_t at = stack_blame(s.frame, s.n);
	struct sample_blame b = { .state = (enum sample_state)r->state,
				  .held = stack != r->stack,
				  .s.count = r->count,
				  .ns = r->ns,
				  .stack = stack };

	if (at == UINT32_MAX)
		return b;
	at = own_frame(in->t, &s, at);
	if (at > 0)
		b.in = s.frame[at - 1];
	b.frame = s.frame[at];
	for (uint32_t i = at; i + 1 < s.n && s.frame[i].flags & FRAME_INLINE; i++)
		b.into = s.frame[i + 1];
	for (at++; at < s.n && is_nameless(in->t, &b.frame); at++)
		if (s.frame[at].kind == FRAME_PYTHON && s.frame[at].file == b.frame.file)
			b.frame = s.frame[at]; /* sum() may stand between the two */
	return b;
}

/* Adds b to the row; its line and what it called are those of the heaviest. */
static void merge(struct sample_blame *row, const struct sample_blame *b, double *heaviest)
{
	if (b->ns > *heaviest) {
		row->frame = b->frame;
		row->in = b->in;
		row->into = b->into;
		row->stack = b->stack;
		*heaviest = b->ns;
	}
	row->ns += b->ns;
	row->s.count += b->s.count;
}

static void fold(struct samples_sum *s, size_t n)
{
	double heaviest = 0;
	size_t details = 0;

	qsort(s->row, n, sizeof(*s->row), detail_cmp);
	for (size_t i = 0; i < n; i++) { /* equal lines first, so that the heaviest is known */
		struct sample_blame *last = details ? &s->row[details - 1] : NULL;

		if (last && !detail_cmp(last, &s->row[i])) {
			last->ns += s->row[i].ns;
			last->s.count += s->row[i].s.count;
		} else {
			s->row[details++] = s->row[i];
		}
	}
	for (size_t i = 0; i < details; i++) {
		struct sample_blame b = s->row[i];

		if (!s->rows || blame_cmp(&s->row[s->rows - 1], &b)) {
			s->row[s->rows++] = b;
			heaviest = b.ns;
		} else {
			merge(&s->row[s->rows - 1], &b, &heaviest);
		}
	}
}

/* --- whom it waits for --- */

static void add_workers(struct samples_sum *s, const struct insight *in, uint32_t process)
{
	struct sample_worker w;

	if (process == SAMPLES_ALL || !samples_worker(in, process, &w))
		return;
	for (size_t i = 0; i < s->rows; i++) {
		struct sample_blame *b = &s->row[i];

		if ((b->state == SAMPLE_WAIT || b->state == SAMPLE_LOCK) &&
		    samples_waits_for_worker(in, b->stack))
			b->worker = w;
	}
}

/* Who had the CPUs while it had none. */
static void add_taker(struct samples_sum *s, const struct insight *in, const struct samples_want *w)
{
	struct map sums = { 0 }, counts = { 0 };
	uint64_t most = 0, all = 0;

	for (size_t i = 0; i < in->samples.rows; i++) {
		const struct sample_row *r = &in->samples.row[i];
		uint64_t *sum, *count;

		if (r->state != SAMPLE_RUNNABLE || !samples_wanted(r, w))
			continue;
		all += (uint64_t)r->ns;
		sum = r->holder ? map_at(&sums, r->holder) : NULL;
		count = sum ? map_at(&counts, r->holder) : NULL;
		if (!count)
			continue;
		*count += r->count;
		*sum += (uint64_t)r->ns;
		if (*sum < most)
			continue;
		most = *sum;
		s->taker = r->holder;
		s->took = (struct share){ .share = (double)most, .count = *count };
	}
	if (all)
		s->took.share /= (double)all;
	map_fini(&sums);
	map_fini(&counts);
}

int samples_blame(struct samples_sum *out, const struct insight *in, const struct samples_want *w)
{
	struct samples_sum s = { .row = calloc(in->samples.rows + 1, sizeof(*s.row)) };
	double state[SAMPLE_STATES] = { 0 };
	size_t n = 0;
	int err = s.row ? sum_stacks(&s, in, w) : -ENOMEM;

	if (err < 0) {
		samples_fini(&s);
		return err;
	}
	for (size_t i = 0; i < in->samples.rows; i++) {
		const struct sample_row *r = &in->samples.row[i];

		if (!samples_wanted(r, w))
			continue;
		s.row[n++] = blame_of(in, r);
		state[r->state] += r->ns;
		s.state[r->state].count += r->count;
	}
	fold(&s, n);
	for (size_t i = 0; i < s.rows; i++)
		s.row[i].s = samples_share(&s, s.row[i].ns, s.row[i].s.count);
	for (size_t i = 0; i < SAMPLE_STATES; i++)
		s.state[i] = samples_share(&s, state[i], s.state[i].count);
	qsort(s.row, s.rows, sizeof(*s.row), blame_heavier);
	add_workers(&s, in, w->process);
	add_taker(&s, in, w);
	*out = s;
	return 0;
}

static bool same_code(const struct sample_blame *a, const struct sample_blame *b)
{
	return a->frame.name == b->frame.name && a->frame.file == b->frame.file &&
	       a->held == b->held;
}

/* The first row of the same function. In order: that is its heaviest. */
static uint32_t first_of(struct lookup *by, const struct samples_sum *s, uint32_t row)
{
	const struct sample_blame *b = &s->row[row];
	uint64_t hash = hash_mix((uint64_t)b->frame.name << 32 | b->frame.file, b->held);
	uint32_t i;

	for (size_t at = 0; lookup_next(by, hash, &at, &i);)
		if (same_code(&s->row[i], b))
			return i;
	lookup_put(by, hash, row);
	return row;
}

const struct sample_blame *samples_first(const struct samples_sum *s, struct share *all)
{
	double *ns = calloc(s->rows + 1, sizeof(*ns));
	uint64_t *count = calloc(s->rows + 1, sizeof(*count));
	struct lookup by = { 0 };
	uint32_t best = 0;

	for (uint32_t i = 0; ns && count && i < s->rows; i++) {
		uint32_t k = first_of(&by, s, i);

		ns[k] += s->row[i].ns;
		count[k] += s->row[i].s.count;
	}
	for (uint32_t i = 1; ns && count && i < s->rows; i++)
		best = ns[i] > ns[best] ? i : best;
	if (s->rows)
		*all = ns && count ? samples_share(s, ns[best], count[best]) : s->row[best].s;
	lookup_fini(&by);
	free(ns);
	free(count);
	return s->rows ? &s->row[best] : NULL;
}

void samples_fini(struct samples_sum *s)
{
	free(s->row);
	free(s->stack);
	*s = (struct samples_sum){ 0 };
}

/* --- of which thread --- */

uint32_t samples_thread(const struct insight *in, uint32_t process)
{
	uint64_t pid = in->t->process[process].pid, best = 0;
	uint32_t track = SAMPLES_ALL;
	uint64_t *count = calloc(in->t->tracks + 1, sizeof(*count));

	for (size_t i = 0; count && i < in->samples.rows; i++) {
		const struct sample_row *r = &in->samples.row[i];

		if (r->process != process)
			continue;
		count[r->track] += r->count;
		if (in->t->track[r->track].stream == pid)
			count[r->track] |= 1ull << 63; /* the first thread goes before others */
		if (count[r->track] > best) {
			best = count[r->track];
			track = r->track;
		}
	}
	free(count);
	return track;
}
