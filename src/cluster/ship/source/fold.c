/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c - see fold.h. */
#include "ship/source/fold.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/varint.h"
#include "base/vec.h"
#include "model/event.h"

/* The row, made if it is not there. NULL: no room, or no memory (*err). */
static struct fold_row *row_of(struct fold *f, uint32_t part, const struct rollup *u, int *err)
{
	uint64_t hash = hash_mix((uint64_t)part << 8 | u->kind, u->name);
	struct fold_row *r;
	uint32_t row;

	for (size_t at = 0; lookup_next(&f->by_key, hash, &at, &row);) {
		r = &f->row[row];
		if (r->part == part && r->kind == u->kind && r->name == u->name)
			return r;
	}
	if (f->rows == FOLD_ROWS_MAX) {
		f->dropped++;
		return NULL;
	}
	*err = vec_room(&f->row, &f->row_cap, f->rows + 1, sizeof(*r));
	*err = *err ? *err : lookup_put(&f->by_key, hash, f->rows);
	if (*err)
		return NULL;
	r = &f->row[f->rows++];
	*r = (struct fold_row){ .process = f->part[part].process,
				.t_ns = f->part[part].t_ns,
				.kind = u->kind,
				.name = u->name,
				.part = part };
	return r;
}

static int part_of(struct fold *f, uint32_t process, uint64_t t_ns, uint32_t *out)
{
	for (uint32_t i = f->parts; i-- > 0;)
		if (f->part[i].process == process && f->part[i].t_ns == t_ns) {
			*out = i;
			return 0;
		}
	if (vec_room(&f->part, &f->part_cap, f->parts + 1, sizeof(*f->part)) < 0)
		return -ENOMEM;
	*out = f->parts;
	f->part[f->parts++] = (struct fold_part){
		.process = process,
		.t_ns = t_ns,
		.sampled = { .left = f->left, .unseen = f->unseen },
	};
	return 0;
}

static void add_extremes(struct fold_row *r, const struct rollup *u)
{
	bool counter = u->kind == EVENT_COUNTER;

	if (!r->count ||
	    (counter ? (int64_t)u->min_ns < (int64_t)r->min_ns : u->min_ns < r->min_ns))
		r->min_ns = u->min_ns;
	if (!r->count ||
	    (counter ? (int64_t)u->max_ns > (int64_t)r->max_ns : u->max_ns > r->max_ns))
		r->max_ns = u->max_ns;
}

static int add_row(struct fold_row *r, const struct rollup *u)
{
	uint32_t limit = rollup_limit(u->verdict);

	add_extremes(r, u);
	r->count += u->count;
	r->total_ns += u->total_ns;
	r->bytes += u->bytes;
	if (u->verdict) {
		r->floor_ns += (uint64_t)((double)u->total_ns * rollup_fraction(u->verdict));
		if (limit == r->bound) {
			r->bound_ns += u->total_ns;
		} else if (u->total_ns > r->bound_ns) { /* the limit of most of the time */
			r->bound = limit;
			r->bound_ns = u->total_ns;
		}
	}
	return sketch_merge(&r->sketch, &u->sketch);
}

int fold_add(struct fold *f, const struct window *w, uint64_t t_ns)
{
	struct fold_row *r;
	uint32_t part;
	int err = part_of(f, w->process, t_ns - t_ns % FOLD_NS, &part);

	if (err)
		return err;
	sampled_window(&f->part[part].sampled, w);
	for (uint32_t i = 0; i < w->rows && !err; i++) {
		const struct rollup *u = &w->row[i];

		r = row_of(f, part, u, &err);
		if (!r)
			continue;
		err = add_row(r, u);
		if (sampled_kind(u->kind))
			sampled_add(&f->part[part].sampled, &r->sum, u);
	}
	return err;
}

void fold_end(struct fold *f)
{
	for (uint32_t i = 0; i < f->rows; i++) {
		struct fold_row *r = &f->row[i];
		struct sampled_more more;

		if (!sampled_kind(r->kind))
			continue;
		more = sampled_end(&f->part[r->part].sampled, &r->sum);
		r->total_ns = (uint64_t)((double)r->total_ns + more.ns);
		r->count = (uint64_t)((double)r->count + more.count);
		r->bytes = (uint64_t)((double)r->bytes + more.bytes);
		r->variance = more.variance;
	}
}

void fold_clear(struct fold *f)
{
	for (uint32_t i = 0; i < f->rows; i++)
		sketch_fini(&f->row[i].sketch);
	lookup_clear(&f->by_key);
	f->rows = f->parts = 0;
	f->dropped = 0;
}

void fold_fini(struct fold *f)
{
	fold_clear(f);
	free(f->row);
	free(f->part);
	lookup_fini(&f->by_key);
	*f = (struct fold){ 0 };
}

/* --- the sketch on the wire --- */

size_t fold_hist(uint8_t out[FOLD_HIST_MAX], const struct sketch *s)
{
	uint32_t least = 0, last;
	uint8_t *p;

	/* With ever higher thresholds, until it fits. */
	do {
		p = out;
		last = 0;
		for (uint32_t i = 0; i < s->span && (size_t)(p - out) + 15 <= FOLD_HIST_MAX; i++) {
			if (s->cell[i] <= least)
				continue;
			p = varint_put(p, s->base + i - last);
			p = varint_put(p, s->cell[i]);
			last = s->base + i;
		}
		least = least ? 2 * least : 1;
	} while ((size_t)(p - out) + 15 > FOLD_HIST_MAX);
	return (size_t)(p - out);
}

int fold_unhist(struct sketch *out, const void *data, size_t len)
{
	struct varint_in in = { data, (const uint8_t *)data + len, false };
	uint64_t cell = 0, step, count;
	int err = 0;

	while (in.p < in.end && !err) {
		step = varint_get(&in);
		count = varint_get(&in);
		if (in.bad || step >= SKETCH_CELLS)
			return -EBADMSG;
		cell += step;
		if (cell >= SKETCH_CELLS || !count || count > UINT32_MAX)
			return -EBADMSG;
		err = sketch_add_cell(out, (uint32_t)cell, (uint32_t)count);
	}
	return err;
}
