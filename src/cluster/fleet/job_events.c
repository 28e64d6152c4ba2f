/* SPDX-License-Identifier: Apache-2.0 */
/* job_events.c - the events of a capture as events of the job's store: by process, then by time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/job_priv.h"

#define TRACKS   100000u
#define CAPTURES 8u /* existing captures to name in an error */

static void of_capture(struct sql *q, const struct job_store *s)
{
	job_where(q, s);
	sql_add(q, " AND capture = ");
	sql_text(q, s->f->pick.capture);
}

/* --- which captures exist --- */

struct captures {
	char list[200];
	size_t n;
};

static int on_capture(void *arg, const struct rowin_field *f)
{
	struct captures *c = arg;
	size_t used = strlen(c->list);

	snprintf(c->list + used, sizeof(c->list) - used, "%s%.60s", c->n++ ? ", " : "", f[0].text);
	return 0;
}

static int no_capture(struct job_store *s, struct store_why *why)
{
	struct captures c = { .n = 0 };
	struct sql q;
	int err;

	sql_init(&q);
	sql_add(&q, "SELECT capture FROM event WHERE ");
	job_where(&q, s);
	sql_add(&q, " GROUP BY capture ORDER BY max(t_ns) DESC LIMIT %u", CAPTURES);
	err = ask_sql(s->f, &q, "s", CAPTURES, on_capture, &c, why);
	if (err)
		return err;
	return fleet_because(why, -ENOENT, "%s: no capture '%.60s' of job '%.60s'; %s%s",
			     s->f->shown, s->f->pick.capture, s->f->pick.job,
			     c.n ? "there are: " : "this cluster has none of that job", c.list);
}

/* --- tracks --- */

static int on_track(void *arg, const struct rowin_field *f)
{
	struct job_store *s = arg;
	struct job_track *l = ask_grow(&s->track, &s->tracks, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->proc = f[0].u;
	l->there = (uint32_t)f[1].u;
	l->track = (struct track){ .process = job_process(s, f[0].u),
				   .id = (uint32_t)s->tracks,
				   .device = (uint32_t)f[2].u,
				   .stream = f[3].u };
	return 0;
}

int job_load_capture(struct job_store *s, struct store_why *why)
{
	struct sql q;
	int err;

	sql_init(&q);
	sql_add(&q, "SELECT proc, toUInt64(lane), toUInt64(any(device)), any(stream) FROM event "
		    "WHERE ");
	of_capture(&q, s);
	sql_add(&q, " GROUP BY proc, lane ORDER BY proc, lane LIMIT %u", TRACKS);
	err = ask_sql(s->f, &q, "qqqq", TRACKS, on_track, s, why);
	return !err && !s->tracks ? no_capture(s, why) : err;
}

static uint32_t track_of(const struct job_store *s, uint64_t proc, uint32_t there)
{
	size_t lo = 0, hi = s->tracks;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct job_track *l = &s->track[mid];

		if (l->proc == proc && l->there == there)
			return l->track.id;
		if (l->proc < proc || (l->proc == proc && l->there < there))
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

bool job_captured(const struct job_store *s, uint32_t process)
{
	for (size_t i = 0; i < s->tracks; i++)
		if (s->track[i].track.process == process)
			return true;
	return false;
}

int job_each_track(const struct job_store *s, uint32_t process, store_track_fn *fn, void *arg)
{
	int err = 0;

	for (size_t i = 0; i < s->tracks && !err; i++)
		if (s->track[i].track.process && (!process || s->track[i].track.process == process))
			err = fn(arg, &s->track[i].track);
	return err;
}

/* --- events --- */

int job_batch_give(struct job_batch *x)
{
	uint32_t process = job_process(x->s, x->proc);
	int err = x->n && process ? x->fn(x->arg, process, x->ev, x->n) : 0;

	x->n = 0;
	return err;
}

int job_batch_add(struct job_batch *x, uint64_t proc, const struct event *e)
{
	int err = 0;

	if (x->n == JOB_AT_ONCE || (x->n && x->proc != proc))
		err = job_batch_give(x);
	x->proc = proc;
	x->ev[x->n++] = *e;
	return err;
}

static int on_event(void *arg, const struct rowin_field *f)
{
	struct job_batch *x = arg;
	struct event e = {
		.start_ns = f[1].u,
		.dur_ns = f[2].u,
		.kind = (uint32_t)f[3].u,
		.name = f[4].u ? job_name(x->s, f[4].u) : 0,
		.track = track_of(x->s, f[0].u, (uint32_t)f[5].u),
		.corr = (uint32_t)f[6].u,
		.a = f[3].u == EVENT_KERNEL ? 0
					    /* for a kernel, an index into its node's table */
					    : f[7].u,
	};

	/* A kind that only newer nodes know is skipped. */
	return f[3].u < EVENT_MAX ? job_batch_add(x, f[0].u, &e) : 0;
}

int job_each_event(struct job_store *s, const struct store_filter *f, store_rows_fn *fn, void *arg)
{
	struct job_batch *x;
	struct sql q;
	int err;

	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->s = s;
	x->fn = fn;
	x->arg = arg;
	sql_init(&q);
	sql_add(&q,
		"SELECT proc, t_ns, dur_ns, toUInt64(kind), name, toUInt64(lane), toUInt64(corr),"
		" bytes FROM event WHERE ");
	of_capture(&q, s);
	for (uint32_t kind = 0, n = 0; f->kinds && kind <= EVENT_MAX; kind++)
		if (kind == EVENT_MAX)
			sql_add(&q, ")");
		else if (f->kinds >> kind & 1)
			sql_add(&q, "%s%u", n++ ? ", " : " AND kind IN (", kind);
	job_filter(&q, s, f, "dur_ns");
	sql_add(&q, " ORDER BY proc, t_ns, dur_ns DESC LIMIT %u", JOB_ROWS + 1);
	err = ask_sql(s->f, &q, "qqqqqqqq", JOB_ROWS, on_event, x, NULL);
	err = err ? err : job_batch_give(x);
	free(x);
	return err;
}
