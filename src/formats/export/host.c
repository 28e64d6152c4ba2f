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
	free(h->place_frame);
	free(h->function_of);
	lookup_fini(&h->place);
	lookup_fini(&h->function);
	*h = (struct host){ 0 };
}

static uint64_t hash_of(const struct stack_frame *f)
{
	return hash_mix((uint64_t)f->name << 32 | f->file, f->line);
}

static bool same(const struct stack_frame *a, const struct stack_frame *b)
{
	return a->name == b->name && a->file == b->file && a->line == b->line;
}

uint32_t host_inlined(const struct stack_frame *f, uint32_t n)
{
	uint32_t k = 1;

	while (k < n && f[k - 1].flags & FRAME_INLINE)
		k++;
	return k;
}

static bool same_place(const struct host *h, uint32_t place, const struct stack_frame *f,
		       uint32_t n)
{
	const struct host_place *p = &h->place_of[place];
	bool is = p->n == n;

	for (uint32_t i = 0; i < n && is; i++)
		is = same(&h->place_frame[p->first + i], &f[i]);
	return is;
}

uint32_t host_place(struct host *h, const struct stack_frame *f, uint32_t n, bool *first)
{
	struct host_place new = { h->place_frames, n };
	uint64_t hash = n;
	uint32_t i;

	for (i = 0; i < n; i++)
		hash = hash_mix(hash, hash_of(&f[i]));
	*first = false;
	for (size_t at = 0; lookup_next(&h->place, hash, &at, &i);)
		if (same_place(h, i, f, n))
			return i;
	for (i = 0; i < n; i++) {
		if (vec_more(&h->place_frame, h->place_frames, sizeof(*h->place_frame)) < 0)
			return UINT32_MAX;
		h->place_frame[h->place_frames++] = f[i];
	}
	if (vec_more(&h->place_of, h->places, sizeof(*h->place_of)) < 0 ||
	    lookup_put(&h->place, hash, (uint32_t)h->places) < 0)
		return UINT32_MAX;
	*first = true;
	h->place_of[h->places] = new;
	return (uint32_t)h->places++;
}

uint32_t host_function(struct host *h, const struct stack_frame *f, bool *first)
{
	struct stack_frame whole = *f;
	uint64_t hash;
	uint32_t i;

	whole.line = 0;
	hash = hash_of(&whole);
	*first = false;
	for (size_t at = 0; lookup_next(&h->function, hash, &at, &i);)
		if (same(&h->function_of[i], &whole))
			return i;
	if (vec_more(&h->function_of, h->functions, sizeof(*h->function_of)) < 0 ||
	    lookup_put(&h->function, hash, (uint32_t)h->functions) < 0)
		return UINT32_MAX;
	*first = true;
	h->function_of[h->functions] = whole;
	return (uint32_t)h->functions++;
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
