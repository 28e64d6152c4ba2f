/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - GPU time by name of kernel, op or module, for each file.
 *
 * Two passes over a file's streams: the first counts, the second lays durations out name by name,
 * so that the quantiles are exact. Stretch by stretch there is no room for that: each row keeps a
 * sketch.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"

struct build {
	struct insight *in;
	enum insight_by by;
	uint32_t file;
	uint32_t *slot; /* owned, by name: row + 1 of this file */
	uint64_t *dur;  /* owned: of the file's GPU events, row by row */
	size_t *at;     /* owned, by row of this file: where its next duration goes */
	size_t first;   /* row of this file */
	size_t events;
};

uint32_t insight_name(const struct insight *in, enum insight_by by, uint32_t gpu_event)
{
	uint32_t e = gpu_event;

	if (by != ROLL_KERNEL)
		e = by == ROLL_OP ? insight_op(in, e) : insight_module(in, e);
	return e == NO_EVENT ? UINT32_MAX : in->t->event[e].name;
}

static int count_event(struct build *b, size_t event)
{
	struct insight_table *tab = &b->in->roll[b->by];
	uint32_t name = insight_name(b->in, b->by, (uint32_t)event);

	if (name == UINT32_MAX)
		return 0;
	if (!b->slot[name]) {
		if (vec_more(&tab->row, tab->rows, sizeof(*tab->row)) < 0)
			return -ENOMEM;
		tab->row[tab->rows] = (struct insight_row){
			.rank = b->in->t->file[b->file].rank,
			.file = b->file,
			.name = name,
			.class = insight_class(b->in, event),
			.min_ns = UINT64_MAX,
		};
		b->slot[name] = (uint32_t)(++tab->rows - b->first);
	}
	tab->row[b->first + b->slot[name] - 1].count++;
	b->events++;
	return 0;
}

/* All but its count. */
static void add_times(const struct insight *in, struct insight_row *r, const struct event *e)
{
	r->total_ns += e->dur_ns;
	r->min_ns = e->dur_ns < r->min_ns ? e->dur_ns : r->min_ns;
	r->max_ns = e->dur_ns > r->max_ns ? e->dur_ns : r->max_ns;
	if (e->kind == EVENT_COPY || e->kind == EVENT_MEMSET)
		r->bytes += e->a;
	if (in->steps && insight_step_at(in, in->t->track[e->track].process, e->start_ns)) {
		r->step_count++;
		r->step_ns += e->dur_ns;
	}
}

static int place_event(struct build *b, size_t event)
{
	const struct event *e = &b->in->t->event[event];
	uint32_t name = insight_name(b->in, b->by, (uint32_t)event), k;

	if (name == UINT32_MAX)
		return 0;
	k = b->slot[name] - 1;
	b->dur[b->at[k]++] = e->dur_ns;
	add_times(b->in, &b->in->roll[b->by].row[b->first + k], e);
	return 0;
}

static int each_event(struct build *b, int (*fn)(struct build *, size_t))
{
	const struct trace *t = b->in->t;
	int err = 0;

	for (uint32_t l = 0; l < t->tracks; l++) {
		if (t->track[l].device == TRACK_HOST ||
		    t->process[t->track[l].process].file != b->file)
			continue;
		for (size_t i = t->track_first[l]; i < t->track_first[l + 1] && !err; i++)
			if (event_is_gpu(&t->event[i]))
				err = fn(b, i);
	}
	return err;
}

/* The k-th least of v[0..n), by Hoare; v is reordered. */
static uint64_t select_kth(uint64_t *v, size_t n, size_t k)
{
	size_t lo = 0, hi = n - 1;

	while (lo < hi) {
		uint64_t pivot = v[lo + (hi - lo) / 2], swap;
		size_t i = lo, j = hi;

		for (;; i++, j--) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			swap = v[i];
			v[i] = v[j];
			v[j] = swap;
		}
		if (k <= j)
			hi = j;
		else
			lo = j + 1;
	}
	return v[k];
}

/* The least value that a share q of all do not exceed. */
static size_t rank_of(uint64_t n, uint64_t percent)
{
	return (size_t)((n * percent + 99) / 100 - 1);
}

static int fill_rows(struct build *b)
{
	struct insight_table *tab = &b->in->roll[b->by];
	size_t rows = tab->rows - b->first, sum = 0;
	int err;

	b->dur = malloc((b->events + 1) * sizeof(*b->dur));
	b->at = malloc((rows + 1) * sizeof(*b->at));
	if (!b->dur || !b->at)
		return -ENOMEM;
	for (size_t k = 0; k < rows; k++) {
		b->at[k] = sum;
		sum += tab->row[b->first + k].count;
	}
	err = each_event(b, place_event);
	for (size_t k = 0; k < rows; k++) {
		struct insight_row *r = &tab->row[b->first + k];
		uint64_t *v = b->dur + b->at[k] - r->count;

		r->p99_ns = select_kth(v, r->count, rank_of(r->count, 99));
		r->p50_ns = select_kth(v, r->count, rank_of(r->count, 50));
	}
	return err;
}

static int longest_first(const void *a, const void *b)
{
	const struct insight_row *x = a, *y = b;

	return cmp_num(y->total_ns, x->total_ns) ?: cmp_num(x->name, y->name);
}

static int add_file(struct build *b)
{
	struct insight_table *tab = &b->in->roll[b->by];
	int err;

	b->first = tab->rows;
	b->events = 0;
	err = each_event(b, count_event);
	if (!err && tab->rows > b->first)
		err = fill_rows(b);
	for (size_t i = b->first; i < tab->rows; i++)
		b->slot[tab->row[i].name] = 0;
	if (!err && tab->rows > b->first)
		qsort(tab->row + b->first, tab->rows - b->first, sizeof(*tab->row), longest_first);
	free(b->dur);
	free(b->at);
	b->dur = NULL;
	b->at = NULL;
	return err;
}

static int add_whole(struct insight *in)
{
	struct build b = { .in = in };
	int err = 0;

	b.slot = calloc(in->t->names + 1, sizeof(*b.slot));
	if (!b.slot)
		return -ENOMEM;
	for (b.by = 0; b.by < ROLLS && !err; b.by++) {
		if (b.by != ROLL_KERNEL && !in->kinds[EVENT_RANGE])
			break;
		for (b.file = 0; b.file < in->t->files && !err; b.file++)
			err = add_file(&b);
	}
	free(b.slot);
	return err;
}

/* --- stretch by stretch --- */

static int add_event(struct insight *in, enum insight_by by, uint32_t event)
{
	const struct event *e = &in->t->event[event];
	uint32_t file = in->t->process[in->t->track[e->track].process].file, at;
	uint32_t name = insight_name(in, by, event);
	struct insight_table *tab = &in->roll[by];
	struct state_table *x = &in->x->table[by];

	if (name == UINT32_MAX)
		return 0;
	at = map_number(&x->row, (uint64_t)file << 32 | name);
	if (!at)
		return -ENOMEM;
	if (at > tab->rows) {
		if (vec_more(&tab->row, tab->rows, sizeof(*tab->row)) < 0 ||
		    vec_more(&x->sketch, x->rows, sizeof(*x->sketch)) < 0)
			return -ENOMEM;
		x->sketch[x->rows++] = (struct sketch){ 0 };
		tab->row[tab->rows++] = (struct insight_row){
			.rank = in->t->file[file].rank,
			.file = file,
			.name = name,
			.class = insight_class(in, event),
			.min_ns = UINT64_MAX,
		};
	}
	tab->row[at - 1].count++;
	add_times(in, &tab->row[at - 1], e);
	return sketch_add(&x->sketch[at - 1], e->dur_ns, 1);
}

int insight_tables(struct insight *in)
{
	int err = 0;

	if (!in->parted)
		return add_whole(in);
	for (size_t i = 0; i < in->t->events && !err; i++) {
		const struct event *e = &in->t->event[i];

		if (!event_is_gpu(e) || in->t->track[e->track].device == TRACK_HOST)
			continue;
		for (enum insight_by by = 0; by < ROLLS && !err; by++)
			err = add_event(in, by, (uint32_t)i);
	}
	return err;
}

static uint64_t quantile(const struct insight_row *r, const struct sketch *s, double q)
{
	uint64_t v = sketch_quantile(s, q);

	v = v < r->min_ns ? r->min_ns : v;
	return v > r->max_ns ? r->max_ns : v;
}

static int by_file_and_time(const void *a, const void *b)
{
	const struct insight_row *x = a, *y = b;

	return cmp_num(x->file, y->file) ?: longest_first(a, b);
}

int insight_tables_end(struct insight *in)
{
	for (enum insight_by by = 0; by < ROLLS && in->parted; by++) {
		struct insight_table *tab = &in->roll[by];

		for (size_t i = 0; i < tab->rows; i++) {
			const struct sketch *s = &in->x->table[by].sketch[i];

			tab->row[i].p50_ns = quantile(&tab->row[i], s, 0.5);
			tab->row[i].p99_ns = quantile(&tab->row[i], s, 0.99);
		}
		if (tab->rows)
			qsort(tab->row, tab->rows, sizeof(*tab->row), by_file_and_time);
	}
	return 0;
}
