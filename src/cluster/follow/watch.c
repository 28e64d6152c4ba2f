/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - see watch.h.
 *
 * A step is ripe when all ranks have sent their records, or when waiting for the rest has timed
 * out. A hang is checked again with every record that comes, and is over when a later step has
 * ended. After a restart some of the steps before the cursor are read again: enough to rebuild the
 * history from before the open findings began.
 */
#include "follow/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"

#define STEPS_A_LOOK 2000u
#define AGAIN        512u    /* steps to read again, */
#define BEFORE       64u     /* this many before the first open finding, */
#define AGAIN_MOST   400000u /* but not more records than this */
#define WORLD_MOST   (1u << 20)
#define WORSE        2.0f
#define WORTH        0.01f

int watch_new(struct job_watch **out, const struct follow_opts *o, struct fleet *f, struct packs *p,
	      const struct cursor_job *at)
{
	struct job_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->o = o;
	w->f = f;
	w->packs = p;
	w->at = *at;
	w->quiet = at->next;
	*out = w;
	return 0;
}

void watch_free(struct job_watch *w)
{
	if (!w)
		return;
	diag_free(w->d);
	free(w);
}

/* --- findings --- */

static struct cursor_open *find_open(struct job_watch *w, const struct diag_verdict *v)
{
	for (uint32_t i = 0; i < w->at.opens; i++)
		if (w->at.open[i].why == v->why &&
		    diag_part_same(w->at.open[i].part[0], v->f.part[0]))
			return &w->at.open[i];
	return NULL;
}

static void close_one(struct job_watch *w, struct cursor_open *x, const struct diag_verdict *v,
		      uint64_t until_ns)
{
	struct diag_verdict was = *v;
	int err;

	was.f.act = x->act;
	was.f.gain = x->gain;
	was.f.confidence = x->confidence;
	err = watch_row(w, &was, x, until_ns > x->t_ns ? until_ns : x->t_ns + 1);
	w->err = w->err ? w->err : err;
	*x = w->at.open[--w->at.opens];
}

/* When an earlier step began, estimated. */
static uint64_t when(const struct job_watch *w, uint32_t step, double step_ns)
{
	double back = step < w->step ? (double)(w->step - step) * step_ns : 0;

	return w->step_t_ns - (back < (double)w->step_t_ns ? (uint64_t)back : 0);
}

static void ask_for_more(struct job_watch *w, const struct diag_verdict *v)
{
	uint32_t rank[3], n = diag_three(w->d, v, rank);

	if (w->o->act && v->f.act && n)
		w->o->act(w->o->arg, w->at.job, v, rank, n);
}

static void hear(void *arg, const struct diag_verdict *v)
{
	struct job_watch *w = arg;
	struct cursor_open *x = find_open(w, v);
	bool worse;
	int err;

	if (w->step < w->quiet || w->err)
		return;
	if (v->over) {
		if (x)
			close_one(w, x, v,
				  v->why >= DIAG_WHY_DEAD ? w->step_t_ns
							  : when(w, v->until, v->step_ns));
		return;
	}
	worse = x && (v->f.act > x->act || (!v->again && v->f.gain > WORSE * x->gain + WORTH));
	if ((x && !worse) || (!x && w->at.opens == CURSOR_OPEN))
		return;
	if (!x) {
		x = &w->at.open[w->at.opens++];
		*x = (struct cursor_open){ .t_ns = w->step_t_ns,
					   .parts = v->f.parts,
					   .since = v->since,
					   .kind = v->f.kind,
					   .why = (uint8_t)v->why };
		memcpy(x->part, v->f.part, sizeof(x->part));
	}
	if (v->f.act && !x->act)
		ask_for_more(w, v);
	x->act |= v->f.act;
	x->gain = v->f.gain;
	x->confidence = v->f.confidence;
	err = watch_row(w, v, x, 0);
	w->err = w->err ? w->err : err;
}

/*
 * A step has ended, so hangs in earlier steps are over, even if they were reported before a
 * restart.
 */
static void close_hangs(struct job_watch *w)
{
	for (uint32_t i = 0; i < w->at.opens && w->step >= w->quiet; i++)
		if (w->at.open[i].why >= DIAG_WHY_DEAD) {
			struct diag_verdict v = { .why = w->at.open[i].why, .over = true };

			close_one(w, &w->at.open[i--], &v, w->step_t_ns);
		}
}

/* --- reading --- */

static int on_step(void *arg, const struct step_rec *rec, size_t n)
{
	struct job_watch *w = arg;
	struct step_rec *own;
	size_t full = 0;
	int err = 0;

	own = malloc(n * sizeof(*own));
	if (!own)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!(rec[i].flags & STEP_F_PARTIAL) && rec[i].begin_ns >= w->at.from_ns)
			own[full++] = rec[i];
	if (full) {
		w->step = own[0].step;
		w->step_t_ns = own[0].begin_ns;
		err = diag_step(w->d, own, full, hear, w);
		close_hangs(w);
	}
	free(own);
	return err ? err : w->err;
}

static int read_steps(struct job_watch *w, uint64_t first, uint64_t last, struct store_why *why)
{
	return first > last
		       ? 0
		       : fleet_records(w->f, w->at.job, w->world, first, last, on_step, w, why);
}

/* The first step to read again: before the open findings, unless that is too far back. */
static uint64_t begin_again(const struct job_watch *w)
{
	uint64_t most = AGAIN_MOST / w->world + 1;
	uint64_t back = AGAIN < most ? AGAIN : most;
	uint64_t from = w->at.next > back ? w->at.next - back : 0;

	for (uint32_t i = 0; i < w->at.opens; i++) {
		uint64_t since = w->at.open[i].since > BEFORE ? w->at.open[i].since - BEFORE : 0;

		from = since < from ? since : from;
	}
	return w->at.next - from > most ? w->at.next - most : from;
}

/* When the number of ranks changes, the history starts again. */
static int know_world(struct job_watch *w, uint32_t world, struct store_why *why)
{
	int err;

	if (w->d && world <= w->world)
		return 0;
	diag_free(w->d);
	w->d = NULL;
	if (!world || world > WORLD_MOST)
		return -ERANGE;
	err = diag_new(&w->d, world);
	if (err)
		return err;
	w->world = world;
	w->quiet = w->at.next;
	return w->at.next ? read_steps(w, begin_again(w), w->at.next - 1, why) : 0;
}

/* --- which steps are complete --- */

struct ripe {
	struct job_watch *w;
	uint64_t old;  /* steps before this one have waited long enough */
	uint64_t next; /* one after the last complete step */
	uint64_t seen; /* one after the last step that exists */
	uint64_t t_ns; /* begin of the last complete step */
	uint64_t
		/* the first step in which ranks hang while no later step has ended; 0: none */
		stand;
	uint64_t standing;  /* ranks that hang in it */
	uint64_t stand_all; /* ranks that have ended it */
	bool green;         /* an incomplete step was found: later ones must wait */
};

static int on_new(void *arg, const struct fleet_new_step *s)
{
	struct ripe *r = arg;
	struct job_watch *w = r->w;

	r->seen = s->step + 1;
	if (s->ranks && s->ranks >= s->partial)
		r->stand = 0;
	if (s->partial > s->ranks && !r->stand) {
		r->stand = s->step + 1;
		r->standing = r->stand_all = 0;
	}
	if (r->stand) {
		r->standing += s->partial;
		r->stand_all += s->partial + s->ranks;
	}
	if (s->partial > s->ranks)
		return 0;
	if (s->ranks < w->world && s->step >= r->old)
		r->green = true;
	if (!r->green) {
		r->next = s->step + 1;
		r->t_ns = s->t_ns;
	}
	return 0;
}

/* Steps before the result existed `patience` ago. */
static uint64_t old_enough(struct job_watch *w, uint64_t now_ms)
{
	uint64_t old = 0;

	for (uint32_t i = 0; i < WATCH_LOOKS; i++)
		if (w->look[i].next && w->look[i].at_ms + w->o->patience_ms <= now_ms &&
		    w->look[i].next > old)
			old = w->look[i].next;
	return old;
}

/* Remembers a look. Those kept are far enough apart to reach back as long as `patience`. */
static void note_look(struct job_watch *w, uint64_t now_ms, uint64_t seen)
{
	uint32_t last = (w->looks + WATCH_LOOKS - 1) % WATCH_LOOKS;

	if (w->look[last].next && now_ms < w->look[last].at_ms + w->o->patience_ms / 4)
		return;
	w->look[w->looks].at_ms = now_ms;
	w->look[w->looks].next = seen;
	w->looks = (w->looks + 1) % WATCH_LOOKS;
}

/* --- hangs --- */

/*
 * Ranks whose process has ended (their node says so) can no longer report: adds a record for them.
 */
static int add_gone(struct job_watch *w, struct step_rec **rec, size_t *n, struct store_why *why)
{
	struct step_rec *all;
	uint32_t *rank = NULL;
	size_t gone = 0, had = *n;
	int err = fleet_gone(&rank, &gone, w->f, w->at.job, w->at.from_ns, w->world, why);

	if (err || !gone)
		return err;
	if (vec_resize(rec, had + gone, sizeof(*all)) < 0) {
		free(rank);
		return -ENOMEM;
	}
	all = *rec;
	for (size_t i = 0; i < gone; i++) {
		bool known = false;

		for (size_t k = 0; k < had; k++)
			if (all[k].rank == rank[i]) {
				all[k].flags |= STEP_F_GONE;
				known = true;
			}
		if (known)
			continue;
		step_rec_init(&all[*n]);
		all[*n].rank = rank[i];
		all[*n].world = w->world;
		all[*n].step = all[0].step;
		all[*n].begin_ns = all[0].begin_ns;
		all[*n].flags = STEP_F_PARTIAL | STEP_F_GONE;
		(*n)++;
	}
	free(rank);
	return 0;
}

static int stand(struct job_watch *w, const struct ripe *r, struct store_why *why)
{
	struct step_rec *rec = NULL;
	size_t n = 0;
	int err;

	if (!r->stand || (w->stand_step == r->stand && w->stand_ranks == r->standing) ||
	    (r->stand_all < w->world && r->stand - 1 >= r->old))
		return 0;
	err = fleet_stand(&rec, &n, w->f, w->at.job, r->stand - 1, w->at.from_ns, 2 * w->world,
			  why);
	if (!err && n)
		err = add_gone(w, &rec, &n, why);
	if (!err && n) {
		w->step = rec[0].step;
		w->step_t_ns = rec[0].begin_ns;
		err = diag_step(w->d, rec, n, hear, w);
		err = err ? err : w->err;
		w->stand_step = r->stand;
		w->stand_ranks = r->standing;
	}
	free(rec);
	return err;
}

/* The same job started again, from a checkpoint or from step 0, so its steps are numbered again. */
static void new_attempt(struct job_watch *w, const struct fleet_running *is)
{
	if (!w->at.next || is->begin_ns <= w->at.t_ns)
		return;
	log_info("job %s begins again", w->at.job);
	watch_end(w);
	diag_free(w->d);
	w->d = NULL;
	w->at.next = w->quiet = 0;
	w->at.from_ns = is->begin_ns;
	memset(w->look, 0, sizeof(w->look));
}

int watch_look(struct job_watch *w, const struct fleet_running *is, uint64_t now_ms,
	       struct store_why *why)
{
	struct ripe r = { .w = w, .old = old_enough(w, now_ms) };
	int err;

	w->err = 0;
	w->live = is->live;
	new_attempt(w, is);
	err = know_world(w, is->world, why);
	r.next = w->at.next;
	if (!err)
		err = fleet_new_steps(w->f, w->at.job, w->at.next, w->at.from_ns, STEPS_A_LOOK,
				      on_new, &r, why);
	if (err)
		return err;
	note_look(w, now_ms, r.seen);
	if (r.next > w->at.next) {
		err = read_steps(w, w->at.next, r.next - 1, why);
		if (err)
			return err;
		w->at.next = r.next;
		w->at.t_ns = r.t_ns;
	}
	return stand(w, &r, why);
}

int watch_end(struct job_watch *w)
{
	w->err = 0;
	while (w->at.opens && !w->err) {
		struct cursor_open *x = &w->at.open[w->at.opens - 1];
		struct diag_verdict v = { .why = x->why, .over = true };

		close_one(w, x, &v, w->at.t_ns);
	}
	return w->err;
}
