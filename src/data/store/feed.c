/* SPDX-License-Identifier: Apache-2.0 */
/* feed.c - reads a store into a trace, one stretch of time after the other; see trace.h. */
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
		struct event e = event_at(c, i);

		e.name = ids_get(&s->name, e.name, TRACE_NAME_OTHER);
		e.track = ids_get(&s->track, e.track, UINT32_MAX);
		if (e.track == UINT32_MAX)
			continue;
		if (!f->fn) {
			err = trace_add(s->t, &e, 0);
		} else if (!from_is_size(s, e.track, e.kind, c->name[i])) {
			e.flags &= (uint8_t)~TRACE_SEEN;
			err = f->fn(f->arg, &e);
		}
	}
	return err;
}

static int walk(struct store_feed *f, uint32_t kind)
{
	struct store_filter filter = f->s.part;

	filter.kinds = 1u << kind;
	return store_each_events(f->st, &filter,
				 EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_A | EVENT_COL_NAME |
					 EVENT_COL_TRACK | EVENT_COL_FLAGS,
				 on_first, f);
}

int store_feed_open(struct store_feed **out, struct trace *t, struct store *st, const char *path,
		    const struct store_filter *part)
{
	struct store_feed *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->s = (struct from_store){ .t = t, .path = path, .parted = true };
	if (part)
		f->s.part = *part;
	f->s.part.kinds = f->s.part.kinds ? f->s.part.kinds : ~0u; /* with samples */
	f->st = st;
	err = from_rows(&f->s, st);
	err = err ? err : from_rolled(&f->s, st);
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
	struct store_filter filter = f->s.part;
	struct trace_file *own = f->s.own ? &f->s.t->file[f->s.own - 1] : NULL;
	uint64_t rows = own ? own->rows : 0;
	int err;

	if (trace_lag(lo_ns) > filter.from_ns)
		filter.from_ns = trace_lag(lo_ns);
	if (hi_ns != UINT64_MAX && (!filter.to_ns || hi_ns < filter.to_ns))
		filter.to_ns = hi_ns;
	f->s.lo_ns = lo_ns;
	f->s.hi_ns = hi_ns;
	f->s.go_on = go_on;
	f->s.arg = arg;
	for (size_t i = 0; i < f->s.t->processes - f->s.first_process; i++)
		f->s.owner[i].comm = 0;
	err = store_each_events(f->st, &filter, EVENT_COLS_ALL, from_events, &f->s);
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
