/* SPDX-License-Identifier: Apache-2.0 */
/* analysis.c - see analysis.h. */
#include "serve/analysis.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "read/join.h"
#include "read/stretch.h"
#include "read/window.h"
#include "serve/analysis_job.h"
#include "serve/kernel_sources.h"
#include "store/store.h"

/* an analysis of a live run is reused for this many times as long as it took */
#define AGE_TIMES 5u

void analysis_free(struct analysis *an)
{
	if (!an)
		return;
	findings_free(an->fs);
	flame_fini(&an->flame);
	for (size_t i = 0; i < ROLLS; i++)
		krows_fini(&an->rows[i]);
	insight_free(an->in);
	trace_free(an->window);
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

/* Analyses the part that was loaded. */
static int look_at(struct analysis *an, const struct store_filter *part)
{
	an->from_ns = part->from_ns;
	an->to_ns = part->to_ns;
	return insight_new(&an->in, an->t);
}

static int load(struct analysis *an, const struct run *r, const struct store_filter *part,
		size_t most)
{
	int err = read_part(&an->t, r->src->st, r->src->label, part, most,
			    clock_mono_ns() + ANALYSIS_NS);

	return err < 0 ? err : look_at(an, part);
}

/* --- runs that are too large to be loaded --- */

static int on_stretch(void *arg, struct insight *in)
{
	struct analysis *an = arg;
	int err = flame_add(&an->flame, in->t, in->names);

	if (__atomic_load_n(&an->s->ending, __ATOMIC_RELAXED)) /* A: pool.c */
		return -ECANCELED;
	for (enum insight_by by = 0; by < ROLLS && !err; by++)
		if (by == ROLL_KERNEL || in->kinds[EVENT_RANGE])
			err = fill_insight(&an->rows[by], in, by, false);
	return err;
}

static int read_whole(struct analysis *an, const struct run *r, const struct store_filter *part)
{
	struct stretch_opts o = {
		.part = part, .events = an->s->stretch, .each = on_stretch, .arg = an
	};
	int err = trace_new(&an->t);

	err = err ? err : flame_init(&an->flame);
	for (enum insight_by by = 0; by < ROLLS && !err; by++) {
		err = krows_init(&an->rows[by]);
		an->rows[by].from_ns = part->from_ns > r->t0 ? part->from_ns : r->t0;
		an->rows[by].to_ns = part->to_ns;
	}
	err = err ? err : read_stretches(an->t, r->src->st, r->src->label, &o, &an->in);
	for (enum insight_by by = 0; by < ROLLS && !err; by++)
		fill_rest(&an->rows[by], an->in, by, false);
	if (!err && an->in->torn)
		err = -ERANGE;
	an->flamed = !err;
	an->from_ns = part->from_ns;
	an->to_ns = part->to_ns;
	an->took_ns = clock_mono_ns() - an->made_ns;
	malloc_trim(0);
	return err;
}

/* Reads the newest steps of a run that is too large, or not read completely yet. */
static int read_newest(struct analysis *an, const struct run *r, struct store_filter *part,
		       double events, size_t most)
{
	int err;

	an->whole = false;
	part->from_ns = part->from_ns ? part->from_ns : r->t0;
	err = read_window(&an->t, r->src->st, r->src->label, part, events, most,
			  clock_mono_ns() + ANALYSIS_NS);
	return err < 0 ? err : look_at(an, part);
}

/* --- the analysis that is kept --- */

/*
 * A growing run is not read for each request: the longer the last analysis took, the longer it is
 * reused.
 */
bool analysis_fresh(const struct analysis *an, const struct analysis *want)
{
	if (an->blob == want->blob && an->asof == want->asof)
		return true;
	return an->live && (an->in->parted || an->comes) &&
	       clock_mono_ns() - an->made_ns < AGE_TIMES * an->took_ns;
}

bool analysis_same(const struct analysis *a, const struct analysis *b)
{
	return !strcmp(a->run, b->run) && !strcmp(a->ranks, b->ranks) && a->t0 == b->t0 &&
	       a->t1 == b->t1 && ((a->blob == b->blob && a->asof == b->asof) || a->live);
}

/* The newest steps are a good enough answer while the whole run is being read. */
static bool will_do(struct serve *s, const struct analysis *an, const struct analysis *want)
{
	return an && analysis_same(an, want) && analysis_fresh(an, want) &&
	       (!an->comes || analysis_job_runs(s->analysis_job, want));
}

/* The requested part of the run, and about how many events it has. */
static double choose(const struct analysis *an, const struct run *r, const char *ranks,
		     struct store_filter *part, uint32_t *id)
{
	double span = (double)(r->t1 - r->t0), events = (double)r->held;

	part->process = id;
	part->processes = chosen(r, ranks, id);
	part->from_ns = r->t0 + an->t0 < r->t0 ? UINT64_MAX : r->t0 + an->t0;
	part->to_ns = an->t1 < r->t1 - r->t0 ? r->t0 + an->t1 : r->t1 + 1;
	if (part->from_ns >= part->to_ns)
		part->from_ns = part->to_ns - 1;
	if (span > 0)
		events *= (double)(part->to_ns - part->from_ns) / span;
	if (r->processes)
		events *= (double)part->processes / (double)r->processes;
	/* no range was requested: include what came before the first process joined */
	if (!an->t0 && an->t1 == UINT64_MAX)
		part->from_ns = 0;
	return events;
}

static int fill(struct analysis **an, struct ask *q, const char *ranks)
{
	const struct run *r = &q->run;
	uint32_t *id = calloc(r->processes + 1, sizeof(*id));
	struct store_filter part = { .process = id };
	double events;
	int err;

	if (!id)
		return -ENOMEM;
	events = choose(*an, r, ranks, &part, id);
	err = events <= q->s->whole || !part.processes ? load(*an, r, &part, q->s->whole) : -EFBIG;
	if (err == -EFBIG)
		err = analysis_job_get(q->s->analysis_job, an, r, &part, q->s->patience_ns,
				       read_whole);
	if (err == -EAGAIN || err == -ERANGE) {
		(*an)->comes = err == -EAGAIN;
		err = read_newest(*an, r, &part, events, q->s->part);
	}
	free(id);
	return err;
}

/* Describes the requested analysis; nothing is loaded yet. */
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
	an->s = q->s;
	an->whole = true;
	an->live = q->run.live;
	an->made_ns = clock_mono_ns();
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
	err = fill(&an, q, ranks);
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
	if (!will_do(q->s, q->s->kept, want)) {
		/* freed before the next one is loaded, so that only one is in memory */
		analysis_free(q->s->kept);
		q->s->kept = NULL;
		err = analysis_new(&q->s->kept, q);
	}
	free(want);
	*out = q->s->kept;
	if (q->s->kept) {
		q->s->kept->used_ns = clock_mono_ns();
		q->fleeting |= q->s->kept->comes;
	}
	return err;
}

int analysis_begin(struct ask *q, struct json *j, struct analysis **out)
{
	int err = analysis_get(q, out);

	if (!err)
		analysis_json(j, *out, &q->run);
	return err;
}

void analysis_idle(struct serve *s)
{
	if (pthread_mutex_trylock(&s->heavy) != 0)
		return;
	if (s->kept && clock_mono_ns() - s->kept->used_ns > ANALYSIS_IDLE_S * 1000000000ull) {
		analysis_free(s->kept);
		s->kept = NULL;
		malloc_trim(0);
	}
	pthread_mutex_unlock(&s->heavy);
}

int analysis_events(struct analysis *an, struct ask *q, const struct trace **t)
{
	uint32_t *id;
	struct store_filter part = { 0 };
	double events;
	int err;

	*t = an->in->parted ? an->window : an->t;
	if (*t)
		return 0;
	id = calloc(q->run.processes + 1, sizeof(*id));
	if (!id)
		return -ENOMEM;
	events = choose(an, &q->run, *an->ranks ? an->ranks : NULL, &part, id);
	part.from_ns = part.from_ns ? part.from_ns : q->run.t0;
	err = read_window(&an->window, q->run.src->st, q->run.src->label, &part, events, q->s->part,
			  clock_mono_ns() + ANALYSIS_NS);
	an->win_from = part.from_ns;
	an->win_to = part.to_ns;
	*t = an->window;
	free(id);
	return err;
}

int analysis_findings(struct analysis *an, struct ask *q)
{
	const struct trace *t;
	int err = an->fs ? 0 : read_join(an->in, q->run.src->st, an->from_ns, an->to_ns);

	err = err || an->fs ? err : findings_new(&an->fs, an->in);
	if (err < 0 || an->replayed)
		return err;
	/* set even if the replay fails: findings are then shown without gains */
	an->replayed = true;
	if (an->in->parted && analysis_events(an, q, &t) == 0)
		err = findings_replay(an->fs, an->in, t, an->window ? an->win_from : 0,
				      an->window ? an->win_to : 0);
	return err;
}

int analysis_flame(struct analysis *an)
{
	int err = 0;

	if (!an->flamed) {
		err = flame_init(&an->flame);
		err = err ? err : flame_add(&an->flame, an->t, an->in->names);
		an->flamed = !err;
	}
	return err;
}

static void range_json(struct json *j, const struct run *r, uint64_t from, uint64_t to, bool whole)
{
	json_bool(j, "partial", !whole);
	json_object(j, "range", J_U64("t0", from > r->t0 ? from - r->t0 : 0),
		    J_U64("t1", to > r->t0 ? to - r->t0 : 0), J_BOOL("whole", whole));
}

void analysis_json(struct json *j, const struct analysis *an, const struct run *r)
{
	range_json(j, r, an->from_ns, an->to_ns, an->whole);
}

void analysis_events_json(struct json *j, const struct analysis *an, const struct run *r)
{
	if (an->window)
		range_json(j, r, an->win_from, an->win_to, false);
	else
		analysis_json(j, an, r);
}

void analysis_whole_json(struct json *j, const struct run *r, uint64_t t0, uint64_t t1)
{
	uint64_t all = r->t1 - r->t0 + 1;

	range_json(j, r, r->t0 + t0, r->t0 + (t1 < all ? t1 : all), true);
}

bool analysis_fits(const struct ask *q)
{
	return q->run.held <= q->s->whole;
}

int analysis_loads(struct ask *q)
{
	uint32_t *id = calloc(q->run.processes + 1, sizeof(*id));
	struct store_filter part = { .process = id };
	struct analysis *want = NULL;
	const char *ranks;
	int err = id ? wanted(&want, q, &ranks) : -ENOMEM;

	if (!err && choose(want, &q->run, ranks, &part, id) > q->s->whole)
		err = -EFBIG;
	free(want);
	free(id);
	return err;
}
