/* SPDX-License-Identifier: Apache-2.0 */
/* analysis.c - see analysis.h. */
#include "serve/analysis.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "read/demangle.h"
#include "store/store.h"
#include "store/trace.h"

#define STEPS_MAX 1000000u
#define TRIES     5

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct loading {
	uint64_t events_max, until_ns;
};

static int go_on(void *arg, const struct trace *t)
{
	const struct loading *l = arg;

	if (t->events > l->events_max)
		return -EFBIG;
	return now_ns() > l->until_ns ? -ETIMEDOUT : 0;
}

void analysis_free(struct analysis *an)
{
	if (!an)
		return;
	replay_free(an->r);
	findings_free(an->fs);
	insight_free(an->in);
	trace_free(an->t);
	free(an);
}

static size_t chosen(const struct run *r, const char *ranks, uint32_t *id)
{
	size_t n = 0;

	for (size_t i = 0; i < r->processes; i++)
		if (url_listed(ranks, (int64_t)r->process[i].origin.rank - 1))
			id[n++] = r->process[i].id;
	return n;
}

static int load(struct analysis *an, const struct run *r, const struct store_part *part,
		struct loading *l)
{
	int err = trace_new(&an->t);

	if (err < 0)
		return err;
	err = store_trace_part(an->t, r->src->st, r->src->label, part, go_on, l);
	if (!err)
		err = trace_seal(an->t);
	if (err < 0) {
		trace_free(an->t);
		an->t = NULL;
		return err;
	}
	an->from_ns = part->from_ns;
	an->to_ns = part->to_ns;
	demangle_trace(an->t);
	return insight_new(&an->in, an->t);
}

/* --- a part of a run that is too large --- */

struct step_list {
	uint64_t *start_ns; /* owned */
	uint64_t last_end_ns;
	size_t n, cap;
};

static int on_steps(void *arg, uint32_t process, const struct event *ev, size_t n)
{
	struct step_list *s = arg;

	(void)process;
	for (size_t i = 0; i < n; i++) {
		if (ev[i].kind != EVENT_STEP || ev[i].flags & EVENT_OPEN)
			continue;
		if (s->n == STEPS_MAX) { /* the older half goes */
			s->n /= 2;
			memmove(s->start_ns, s->start_ns + s->n, s->n * sizeof(*s->start_ns));
		}
		if (s->n == s->cap) {
			size_t cap = s->cap ? 2 * s->cap : 256;
			uint64_t *more = reallocarray(s->start_ns, cap, sizeof(*more));

			if (!more)
				return -ENOMEM;
			s->start_ns = more;
			s->cap = cap;
		}
		s->start_ns[s->n++] = ev[i].start_ns;
		if (ev[i].start_ns + ev[i].dur_ns > s->last_end_ns)
			s->last_end_ns = ev[i].start_ns + ev[i].dur_ns;
	}
	return 0;
}

/* The newest `width` of the part, cut where steps begin and end if there are some. */
static void cut(struct store_part *part, const struct step_list *steps, uint64_t width)
{
	uint64_t from;

	if (steps->n && steps->last_end_ns < part->to_ns)
		part->to_ns = steps->last_end_ns;
	from = part->to_ns - part->from_ns > width ? part->to_ns - width : part->from_ns;
	for (size_t i = 0; i < steps->n; i++)
		if (steps->start_ns[i] >= from && steps->start_ns[i] < part->to_ns) {
			from = steps->start_ns[i];
			break;
		}
	part->from_ns = from;
}

static int load_part(struct analysis *an, const struct run *r, const struct store_part *all,
		     double events, struct loading *l)
{
	struct store_filter f = { .process = all->process[0],
				  .kind = EVENT_STEP,
				  .from_ns = all->from_ns,
				  .to_ns = all->to_ns };
	uint64_t width = (uint64_t)((double)(all->to_ns - all->from_ns) * 0.8 *
				    (double)l->events_max / (events > 1 ? events : 1));
	struct step_list steps = { .n = 0 };
	struct store_part part;
	int err = store_each_events(r->src->st, &f, on_steps, &steps);

	for (int i = 0; i < TRIES && !err; i++, width /= 2) {
		part = *all;
		cut(&part, &steps, width);
		err = load(an, r, &part, l);
		if (err != -EFBIG)
			break;
		err = i + 1 < TRIES ? 0 : -EFBIG;
	}
	free(steps.start_ns);
	an->whole = false;
	return err;
}

/* --- the one that is kept --- */

static bool is_same(const struct analysis *an, const struct analysis *want)
{
	return an && !strcmp(an->run, want->run) && !strcmp(an->ranks, want->ranks) &&
	       an->blob == want->blob && an->asof == want->asof && an->t0 == want->t0 &&
	       an->t1 == want->t1;
}

static int fill(struct analysis *an, struct ask *q, const char *ranks)
{
	const struct run *r = &q->run;
	uint32_t *id = calloc(r->processes + 1, sizeof(*id));
	struct store_part part = { .process = id };
	struct loading l = { q->s->whole, now_ns() + ANALYSIS_NS };
	double span = (double)(r->t1 - r->t0), events = (double)r->held;
	int err = -ENOMEM;

	if (!id)
		return err;
	part.processes = chosen(r, ranks, id);
	part.from_ns = r->t0 + an->t0 < r->t0 ? UINT64_MAX : r->t0 + an->t0;
	part.to_ns = an->t1 < r->t1 - r->t0 ? r->t0 + an->t1 : r->t1 + 1;
	if (part.from_ns >= part.to_ns)
		part.from_ns = part.to_ns - 1;
	if (span > 0)
		events *= (double)(part.to_ns - part.from_ns) / span;
	if (r->processes)
		events *= (double)part.processes / (double)r->processes;
	an->whole = true;
	if (!an->t0 && an->t1 == UINT64_MAX) /* also what lies before the first join */
		part.from_ns = 0;
	err = events <= q->s->whole || !part.processes ? load(an, r, &part, &l) : -EFBIG;
	if (err == -EFBIG) {
		part.from_ns = part.from_ns ? part.from_ns : r->t0;
		l.events_max = q->s->part;
		err = load_part(an, r, &part, events, &l);
	}
	free(id);
	return err;
}

/* What is asked for, with nothing loaded yet. */
static int wanted(struct analysis **out, struct ask *q, const char **ranks)
{
	struct analysis *an = calloc(1, sizeof(*an));
	int err;

	if (!an)
		return -ENOMEM;
	err = ask_range(q, &an->t0, &an->t1);
	err = err ? err : ask_ranks(q, ranks);
	if (!err && *ranks && strlen(*ranks) >= sizeof(an->ranks))
		err = ask_mistake(q, "ranks is too long");
	if (err < 0) {
		free(an);
		return err;
	}
	memcpy(an->run, q->run.id, RUN_ID);
	strcpy(an->ranks, *ranks ? *ranks : "");
	an->blob = q->run.blob;
	an->asof = q->run.t1;
	*out = an;
	return 0;
}

int analysis_new(struct analysis **out, struct ask *q)
{
	struct analysis *an;
	const char *ranks;
	int err = wanted(&an, q, &ranks);

	if (err < 0)
		return err;
	err = fill(an, q, ranks);
	if (err < 0)
		analysis_free(an);
	else
		*out = an;
	return err;
}

int analysis_get(struct ask *q, struct analysis **out)
{
	struct analysis *want;
	const char *ranks;
	int err = wanted(&want, q, &ranks);

	if (err < 0)
		return err;
	if (!is_same(q->s->kept, want)) {
		analysis_free(q->s->kept); /* before the next is loaded: one at a time */
		q->s->kept = NULL;
		err = analysis_new(&q->s->kept, q);
	}
	free(want);
	*out = q->s->kept;
	if (q->s->kept)
		q->s->kept->used_ns = now_ns();
	return err;
}

void analysis_idle(struct serve *s)
{
	if (pthread_mutex_trylock(&s->heavy) != 0)
		return;
	if (s->kept && now_ns() - s->kept->used_ns > ANALYSIS_IDLE_S * 1000000000ull) {
		analysis_free(s->kept);
		s->kept = NULL;
		malloc_trim(0);
	}
	pthread_mutex_unlock(&s->heavy);
}

int analysis_findings(struct analysis *an)
{
	int err = an->fs ? 0 : findings_new(&an->fs, an->in);

	if (err < 0)
		return err;
	if (!an->replayed)
		(void)replay_new(&an->r, an->t, an->fs); /* without, findings stand alone */
	an->replayed = true;
	return 0;
}

void analysis_json(struct json *j, const struct analysis *an, const struct run *r)
{
	uint64_t from = an->from_ns > r->t0 ? an->from_ns - r->t0 : 0;

	json_bool(j, "partial", !an->whole);
	json_open(j, "range", '{');
	json_u64(j, "t0", from);
	json_u64(j, "t1", an->to_ns > r->t0 ? an->to_ns - r->t0 : 0);
	json_bool(j, "whole", an->whole);
	json_close(j);
}

bool analysis_fits(const struct ask *q)
{
	return q->run.held <= q->s->whole;
}
