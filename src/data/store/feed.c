/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - from a store to a trace, a stretch of time after the other; see trace.h. */
#include <errno.h>
#include <stdlib.h>

#include "store/trace_priv.h"

struct store_feed {
	struct from_store s;
	struct store *st; /* borrowed */
	/* While the first walk goes on: */
	store_counter_fn *fn;
	void *arg;
};

/* Steps and counters need none of what events are made to mean elsewhere. */
static int on_first(void *arg, uint32_t process, const struct event_columns *c)
{
	struct store_feed *f = arg;
	struct from_store *s = &f->s;
	int err = 0;

	if (ids_get(&s->process, process, UINT32_MAX) == UINT32_MAX)
		return 0;
	for (size_t i = 0; i < c->n && !err; i++) {
		struct event e = { .start_ns = c->start_ns[i],
				   .dur_ns = c->dur_ns[i],
				   .a = c->a[i],
				   .name = ids_get(&s->name, c->name[i], TRACE_NAME_OTHER),
				   .track = ids_get(&s->track, c->track[i], UINT32_MAX),
				   .kind = c->kind[i],
				   .flags = c->flags[i] };

		if (e.kind != (f->fn ? EVENT_COUNTER : EVENT_STEP) || e.track == UINT32_MAX)
			continue;
		if (f->fn)
			e.flags &= (uint8_t)~TRACE_SEEN;
		if (s->part && (e.start_ns + e.dur_ns < s->part->from_ns ||
				(s->part->to_ns && e.start_ns >= s->part->to_ns)))
			continue;
		if (!f->fn)
			err = trace_add(s->t, &e, 0);
		else if (!from_is_size(s, e.track, e.kind, c->name[i]))
			err = f->fn(f->arg, &e);
	}
	return err;
}

static int walk(struct store_feed *f, uint32_t kind)
{
	const struct store_part *part = f->s.part;
	struct store_filter filter = { .kind = kind,
				       .from_ns = part ? part->from_ns : 0,
				       .to_ns = part ? part->to_ns : 0 };
	uint32_t cols = EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_NAME |
			EVENT_COL_TRACK | EVENT_COL_FLAGS;
	size_t walks = part && part->process ? part->processes : 1;
	int err = 0;

	for (size_t i = 0; i < walks && !err; i++) {
		filter.process = part && part->process ? part->process[i] : 0;
		err = store_each_columns(f->st, &filter, cols, on_first, f);
	}
	return err;
}

int store_feed_open(struct store_feed **out, struct trace *t, struct store *st, const char *path,
		    const struct store_part *part)
{
	struct store_feed *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->s = (struct from_store){ .t = t, .path = path, .part = part, .parted = true };
	f->st = st;
	err = from_rows(&f->s, st);
	err = err ? err : walk(f, EVENT_STEP);
	if (err < 0)
		store_feed_close(f);
	else
		*out = f;
	return err;
}

int store_feed_counters(struct store_feed *f, store_counter_fn *fn, void *arg)
{
	f->fn = fn;
	f->arg = arg;
	return walk(f, EVENT_COUNTER);
}

int store_feed_add(struct store_feed *f, uint64_t lo_ns, uint64_t hi_ns, store_trace_fn *go_on,
		   void *arg)
{
	const struct store_part *part = f->s.part;
	struct store_filter filter = { .from_ns = trace_lag(lo_ns),
				       .to_ns = hi_ns == UINT64_MAX ? 0 : hi_ns };
	size_t walks = part && part->process ? part->processes : 1;
	struct trace_file *own = f->s.own ? &f->s.t->file[f->s.own - 1] : NULL;
	uint64_t rows = own ? own->rows : 0;
	int err = 0;

	if (part && part->from_ns > filter.from_ns)
		filter.from_ns = part->from_ns;
	if (part && part->to_ns && (!filter.to_ns || part->to_ns < filter.to_ns))
		filter.to_ns = part->to_ns;
	f->s.lo_ns = lo_ns;
	f->s.hi_ns = hi_ns;
	f->s.go_on = go_on;
	f->s.arg = arg;
	for (size_t i = 0; i < f->s.t->processes - f->s.first_process; i++)
		f->s.owner[i].comm = 0;
	for (size_t i = 0; i < walks && !err; i++) {
		filter.process = part && part->process ? part->process[i] : 0;
		err = store_each_events(f->st, &filter, from_events, &f->s);
	}
	if (err < 0 && own) /* they will come again */
		own->rows = own->imported = rows;
	return err;
}

void store_feed_close(struct store_feed *f)
{
	if (!f)
		return;
	from_fini(&f->s);
	free(f);
}
