/* SPDX-License-Identifier: Apache-2.0 */
/* corpus.c - draws the cases of a fault corpus. */
#include "lab/corpus.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/noise.h"

#define MAGNITUDES 6u

static const struct layout {
	const char *word, *model, *set, *what;
	uint8_t packs; /* 1: it may; 2: held out */
} layouts[] = {
#define LAYOUT(word, packs, model, set, what) { #word, model, set, what, packs },
#include "lab/corpus.tbl.h"
};
#define LAYOUTS (sizeof(layouts) / sizeof(*layouts))

static const struct range {
	enum fault_kind kind;
	double low, high;
	bool start;
	enum fault_course course[3];
} ranges[] = {
#define KIND(FAULT, low, high, start, a, b, c) \
	{ FAULT_##FAULT, low, high, start, { COURSE_##a, COURSE_##b, COURSE_##c } },
#include "lab/corpus.tbl.h"
};
#define RANGES (sizeof(ranges) / sizeof(*ranges))

void corpus_opts_init(struct corpus_opts *o)
{
	*o = (struct corpus_opts){
		.seed = 1, .ranks = 1, .max_ranks = 4096, .steps = CORPUS_STEPS, .clean = 0.25
	};
}

const char *corpus_layout_at(size_t i, const char **what)
{
	if (i >= LAYOUTS)
		return NULL;
	if (what)
		*what = layouts[i].what;
	return layouts[i].word;
}

/* --- chance: numbers of a case, one after the other --- */

struct draw {
	uint64_t seed;
	uint32_t number, n;
};

static uint64_t bits(struct draw *d)
{
	return noise_bits(d->seed, NOISE_OF_CASE, d->number, d->n++, 0);
}
static uint32_t below(struct draw *d, uint32_t n)
{
	return (uint32_t)(bits(d) % n);
}
static double chance(struct draw *d)
{
	return noise_uniform(bits(d));
}

/* --- a job --- */

static int make_job(struct job *j, const struct layout *l, const struct corpus_opts *o)
{
	char why[JOB_WHY];

	job_init(j);
	j->gpu = o->gpu;
	if (job_model(j, l->model, why) < 0 || job_set(j, l->set, why) < 0)
		return -EINVAL;
	j->coarse = 1;
	j->steps = o->steps;
	j->leaf = 4;
	return job_check(j, why);
}

static int choose_layout(struct draw *d, const struct corpus_opts *o, struct corpus_case *c)
{
	size_t fit[LAYOUTS], n = 0;

	for (size_t i = 0; i < LAYOUTS; i++) {
		if (o->layouts ? !(o->layouts >> i & 1) : layouts[i].packs & 2)
			continue;
		if (make_job(&c->job, &layouts[i], o) < 0)
			return -EINVAL;
		if (job_ranks(&c->job) >= o->ranks && job_ranks(&c->job) <= o->max_ranks)
			fit[n++] = i;
	}
	if (!n)
		return -ENOENT;
	n = fit[below(d, (uint32_t)n)];
	c->layout = layouts[n].word;
	make_job(&c->job, &layouts[n], o);
	return layouts[n].packs & 1;
}

/* Noise as it was measured, half and twice; some jobs pack; most write checkpoints. */
static void vary(struct draw *d, struct job *j, bool packs, double packed)
{
	static const double noise[] = { 0.5, 1, 1, 2 };

	j->seed = bits(d);
	j->noise = noise[below(d, 4)];
	if (!j->infer && below(d, 2))
		j->micro_batch *= 2;
	if (packs && (chance(d) < 0.25 || packed > 0)) {
		j->packed = 0.4 + 0.8 * chance(d);
		j->packed = packed > 0 ? packed : j->packed;
		j->seq *= 4;
		j->micro_batch = 1;
	}
	if (job_ranks(j) <= 512 && !below(d, 3)) { /* links that are shared, and scarce */
		j->contend = 1;
		j->oversub = 1 + chance(d);
	}
	if (!j->infer && below(d, 2)) {
		j->ckpt_every = 40 + below(d, 40);
		j->ckpt_ms = 200 + 800 * chance(d);
	}
}

/* --- faults --- */

static bool fits(const struct range *r, const struct job *j)
{
	enum fault_part part = fault_table[r->kind].part;

	if (fault_misfit(r->kind, j))
		return false;
	if (part == PART_SERIAL && (j->dp < 2 || j->zero == 3))
		return false;
	if (part == PART_LINK && j->tp < 2 && job_ranks(j) > j->ranks_per_node)
		return false; /* no group that stays in a node */
	if (part == PART_LENGTH && j->packed > 0)
		return false;
	return !j->infer || (part != PART_SERIAL && part != PART_LENGTH &&
			     part != PART_CHECKPOINT && part != PART_STAGE);
}

static double magnitude(struct draw *d, const struct range *r)
{
	double base = fault_table[r->kind].part > PART_PAUSES ? 0 : 1;
	double share = below(d, MAGNITUDES) / (MAGNITUDES - 1.0);

	if (r->high <= r->low)
		return r->low;
	return base + (r->low - base) * pow((r->high - base) / (r->low - base), share);
}

static void when(struct draw *d, const struct range *r, const struct job *j, struct fault *f)
{
	bool start = chance(d) < (r->start ? 0.5 : 0.07);

	f->from = start ? 0 : (uint32_t)(j->steps * (0.45 + 0.15 * chance(d)));
	f->steps =
		start || below(d, 2) ? UINT32_MAX : (uint32_t)(j->steps * (0.2 + 0.15 * chance(d)));
	f->course = r->course[below(d, 3)];
	switch (f->course) {
	case COURSE_RAMP:
		f->every = 8 + below(d, 16);
		break;
	case COURSE_ONOFF:
		f->every = 5 + below(d, 10);
		break;
	case COURSE_SPIKE:
		f->every = fault_table[r->kind].scope == SCOPE_ALL ? 50 + below(d, 200)
								   : 3 + below(d, 8);
		break;
	case COURSE_EVERY:
		f->every = 5 + below(d, 10);
		break;
	default:
		f->every = 1;
	}
	if (fault_table[r->kind].part > PART_SERIAL) {
		f->from = f->from ? f->from : j->steps / 2;
		f->steps = UINT32_MAX;
		f->course = COURSE_SUDDEN;
	}
}

/* Half of those that are not the first strike a neighbour of the first: same node, or same group. */
static void where(struct draw *d, const struct job *j, struct fault *f)
{
	uint32_t nodes = job_node(j, job_ranks(j) - 1) + 1, near = below(d, 2);
	uint32_t rank = below(d, job_ranks(j)), first, last;

	if (j->faults && near) {
		struct job_team t;

		fault_ranks(&j->fault[0], j, &first, &last);
		t = job_team(j, j->tp > 1 ? GROUP_TP : GROUP_DP, first);
		rank = t.first + below(d, t.size) * t.stride;
	}
	switch (fault_table[f->kind].scope) {
	case SCOPE_RANK:
		f->first = f->last = rank;
		break;
	case SCOPE_NODE:
		f->first = f->last = job_node(j, rank);
		if (f->kind == FAULT_SWITCH) { /* all of a leaf, or those there are */
			f->first -= f->first % j->leaf;
			f->last =
				f->first + j->leaf - 1 < nodes ? f->first + j->leaf - 1 : nodes - 1;
		}
		break;
	default:
		break;
	}
}

static int add_fault(struct draw *d, const struct corpus_opts *o, struct job *j, bool may_stop)
{
	size_t fit[RANGES], n = 0;
	struct fault *f = &j->fault[j->faults];
	const struct range *r;

	for (size_t i = 0; i < RANGES; i++)
		if ((!o->kinds || o->kinds >> ranges[i].kind & 1) && fits(&ranges[i], j) &&
		    (may_stop || fault_table[ranges[i].kind].part <= PART_SERIAL))
			fit[n++] = i;
	if (!n)
		return -ENOENT;
	r = &ranges[fit[below(d, (uint32_t)n)]];
	*f = (struct fault){ .kind = r->kind, .by = magnitude(d, r) };
	when(d, r, j, f);
	where(d, j, f);
	for (uint32_t i = 0; i < j->faults; i++) /* two of a kind would be one */
		if (j->fault[i].kind == f->kind)
			return 0;
	j->faults++;
	return 0;
}

int corpus_case(struct corpus_case *out, const struct corpus_opts *o, uint32_t number)
{
	struct draw d = { .seed = o->seed, .number = number };
	int packs = choose_layout(&d, o, out), err = 0;
	uint32_t faults;
	double how;

	if (packs < 0)
		return packs;
	out->number = number;
	out->missing = o->missing;
	snprintf(out->name, sizeof(out->name), "%04" PRIu32 "-%s", number, out->layout);
	vary(&d, &out->job, packs, o->packed);
	if (chance(&d) < o->clean)
		return 0;
	how = chance(&d);
	faults = how < 0.15 ? 2 : how < 0.2 ? 3 : 1;
	for (uint32_t i = 0; i < faults && !err; i++)
		err = add_fault(&d, o, &out->job, faults == 1);
	/* A layout that none of the wanted kinds can strike is a case without a fault. */
	return err == -ENOENT ? 0 : err;
}
