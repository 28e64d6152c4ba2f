/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - see host.h. */
#include "export/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"

static int row_cmp(const void *a, const void *b)
{
	const struct host_row *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return (int)x->state - (int)y->state;
}

/* Who only held the GIL is not a thread that was to be sampled. */
static bool is_taken(const struct walk *w, const struct event *e)
{
	return e->kind == EVENT_SAMPLE && !(sample_flags(e->b) & SAMPLE_HOLDER) &&
	       walk_has_track(w, e->track);
}

static int read_rows(struct host *h, struct walk *w, size_t samples)
{
	const struct trace *t = w->t;
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < t->events && !err && samples; i++) {
		const struct event *e = &t->event[i];

		if (!is_taken(w, e))
			continue;
		h->row[n++] = (struct host_row){ e->track, trace_stack(t, e->a).id,
						 (uint8_t)sample_state(e->b), 1, e->dur_ns };
		h->period_ns = h->period_ns ? h->period_ns : e->dur_ns;
		err = walk_step(w, e);
	}
	if (n)
		qsort(h->row, n, sizeof(*h->row), row_cmp);
	for (size_t i = 0; i < n; i++) {
		struct host_row *last = h->rows ? &h->row[h->rows - 1] : NULL;

		if (last && !row_cmp(last, &h->row[i])) {
			last->count += h->row[i].count;
			last->ns += h->row[i].ns;
		} else {
			h->row[h->rows++] = h->row[i];
		}
	}
	return err;
}

int host_init(struct host *h, struct walk *w)
{
	size_t samples = 0;

	*h = (struct host){ 0 };
	for (size_t i = 0; i < w->t->events; i++)
		samples += is_taken(w, &w->t->event[i]);
	h->row = calloc(samples + 1, sizeof(*h->row));
	return h->row ? read_rows(h, w, samples) : -ENOMEM;
}

void host_fini(struct host *h)
{
	free(h->row);
	free(h->place_of);
	free(h->function_of);
	lookup_fini(&h->place);
	lookup_fini(&h->function);
	*h = (struct host){ 0 };
}

static uint32_t number(struct lookup *x, struct stack_frame **of, size_t *n,
		       const struct stack_frame *f, bool *first)
{
	uint64_t hash = hash_mix((uint64_t)f->name << 32 | f->file, f->line);
	uint32_t i;

	*first = false;
	for (size_t at = 0; lookup_next(x, hash, &at, &i);)
		if ((*of)[i].name == f->name && (*of)[i].file == f->file &&
		    (*of)[i].line == f->line)
			return i;
	if (vec_more(of, *n, sizeof(**of)) < 0 || lookup_put(x, hash, (uint32_t)*n) < 0)
		return UINT32_MAX;
	*first = true;
	(*of)[*n] = *f;
	return (uint32_t)(*n)++;
}

uint32_t host_place(struct host *h, const struct stack_frame *f, bool *first)
{
	return number(&h->place, &h->place_of, &h->places, f, first);
}

uint32_t host_function(struct host *h, const struct stack_frame *f, bool *first)
{
	struct stack_frame whole = *f;

	whole.line = 0;
	return number(&h->function, &h->function_of, &h->functions, &whole, first);
}

char *host_thread(const struct trace *t, uint32_t track, char *out, size_t cap)
{
	const struct trace_track *l = &t->track[track];
	const char *name = l->name ? trace_text(t, l->name) : "";

	snprintf(out, cap, "%s%s%llu", name, *name ? " " : "", (unsigned long long)l->stream);
	return out;
}

const char *host_name(const struct trace *t, uint32_t name)
{
	return name ? trace_text(t, name) : "?";
}
