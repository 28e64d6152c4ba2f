/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of made-up records, each with one thing wrong that can be worked out by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/verdict_text.h"
#include "diagnose/state.h"
#include "t.h"

#define MS    1e6f
#define STEPS 120u
#define FROM  80u /* step from which on something is wrong */
#define MOST  64u

/* Deviations of half a percent, the same each time. */
static float noise(uint32_t rank, uint32_t step, uint32_t what)
{
	uint32_t is[] = { rank, step, what };

	return 1 + 0.005f * ((float)(step_hash(is, sizeof(is), 9) % 2001) / 1000 - 1);
}

struct heard {
	struct diag_verdict v[64];
	uint32_t n;
	struct diag_verdict over[8]; /* what was said to be over */
	uint32_t overs;
};

static void hear(void *arg, const struct diag_verdict *v)
{
	struct heard *h = arg;

	if (v->over) {
		if (h->overs < 8)
			h->over[h->overs++] = *v;
		return;
	}

	for (uint32_t i = 0; v->again && i < h->n; i++) /* the newest word on what it costs */
		if (h->v[i].why == v->why && diag_part_same(h->v[i].f.part[0], v->f.part[0]))
			h->v[i].f.gain = v->f.gain;
	if (!v->again && h->n < 64)
		h->v[h->n++] = *v;
}

/* The first act of this way to know it; NULL: none. */
static const struct diag_verdict *act(const struct heard *h, enum diag_why why)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->v[i].f.act && h->v[i].why == why)
			return &h->v[i];
	return NULL;
}

static uint32_t acts(const struct heard *h)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->n; i++)
		n += h->v[i].f.act;
	return n;
}

static bool is(const struct diag_verdict *v, enum diag_level level, uint32_t index)
{
	return v && v->f.part[0].level == level && v->f.part[0].index == index;
}

/* --- a job: hosts of four ranks, replicas that reduce gradients, tensors within a host --- */

typedef void change_fn(struct step_rec *r, uint32_t step);

struct job {
	uint32_t world, stages;
	change_fn *change;   /* to what a rank does by itself, before others wait for it */
	change_fn *transfer; /* to what its exchanges take */
	double missing;
};

static struct step_slot *exchange(struct step_rec *r, enum step_op op, uint64_t comm,
				  uint32_t members, bool far, float ns)
{
	struct step_slot *s = step_rec_slot(r, comm, op);

	step_slot_add(s, r->step + 1, 1 << 20, 0, ns);
	s->members = members;
	s->flags |= far ? STEP_SLOT_FAR : 0;
	return s;
}

static void make(const struct job *j, uint32_t rank, uint32_t step, struct step_rec *r)
{
	uint32_t each = j->world / j->stages;

	step_rec_init(r);
	r->rank = rank;
	r->world = j->world;
	r->step = step;
	r->host = rank / 4;
	r->leaf = rank / 16 + 1;
	r->micro_batches = 8;
	r->tokens = 4096;
	r->t.compute = 80 * MS * noise(rank, step, 0);
	r->t.host = 5 * MS * noise(rank, step, 1);
	r->class[STEP_CLASS_GEMM].count = 100;
	r->class[STEP_CLASS_EMBED].count = rank / each; /* stages differ */
	if (j->change)
		j->change(r, step);
}

static float own(const struct step_rec *r)
{
	return r->t.compute + r->t.host + r->t.input;
}

/* All leave an exchange of gradients together: who came last stays for the transfer alone. */
static void meet(const struct job *j, struct step_rec *rec, uint32_t step)
{
	float last[4] = { 0 }, longest = 0;

	for (uint32_t r = 0; r < j->world; r++)
		last[r % 4] = fmaxf(last[r % 4], own(&rec[r]));
	for (uint32_t r = 0; r < j->world; r++) {
		float wait = last[r % 4] - own(&rec[r]);

		exchange(&rec[r], STEP_OP_ALL_REDUCE, 100 + rec[r].host, 4, false,
			 2 * MS * noise(rec[r].host, step, 2));
		/* Groups across hosts: ranks with the same place in theirs. */
		exchange(&rec[r], STEP_OP_REDUCE_SCATTER, 200 + r % 4, j->world / 4, true,
			 wait + 10 * MS * noise(r % 4, step, 3));
		exchange(&rec[r], STEP_OP_ALL_GATHER, 300 + (r / 8) * 4 + r % 4, 2, true,
			 5 * MS * noise((r / 8) * 4 + r % 4, step, 4));
		if (j->transfer)
			j->transfer(&rec[r], step);
		for (uint32_t i = 0; i < rec[r].slots; i++)
			rec[r].t.exposed += rec[r].slot[i].sum;
		longest = fmaxf(longest, own(&rec[r]) + rec[r].t.exposed);
	}
	for (uint32_t r = 0; r < j->world; r++)
		rec[r].t.step = longest;
}

static void run(const struct job *j, struct heard *h)
{
	static struct step_rec rec[MOST];
	struct diag *d;

	memset(h, 0, sizeof(*h));
	if (diag_new(&d, j->world) < 0)
		abort();
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t n = 0;

		for (uint32_t r = 0; r < j->world; r++)
			make(j, r, step, &rec[r]);
		meet(j, rec, step);
		for (uint32_t r = 0; r < j->world; r++) {
			uint32_t is[] = { r, step };

			step_rec_seal(&rec[r]);
			if ((double)(step_hash(is, sizeof(is), 7) % 1000) < j->missing * 1000)
				continue;
			rec[n++] = rec[r];
		}
		if (diag_step(d, rec, n, hear, h) < 0)
			abort();
	}
	diag_free(d);
}

/* --- own doing --- */

static void slow_gpu(struct step_rec *r, uint32_t step)
{
	if (r->rank == 21 && step >= FROM)
		r->t.compute *= 1.1f;
}
static void slow_from_start(struct step_rec *r, uint32_t step)
{
	(void)step;
	if (r->rank == 5)
		r->t.compute *= 1.06f;
}
static void slow_host(struct step_rec *r, uint32_t step)
{
	if (r->host == 3 && step >= FROM)
		r->t.host += 10 * MS;
}
static void two_at_once(struct step_rec *r, uint32_t step)
{
	slow_gpu(r, step);
	if (r->host == 6 && step >= FROM)
		r->t.input += 15 * MS;
}

static void late_and_waiting(void)
{
	struct job j = { .world = 32, .stages = 1 };
	struct heard h;
	const struct diag_verdict *v;

	run(&j, &h);
	T_OK(acts(&h) == 0, "a job with nothing but noise is left alone");
	j.change = slow_gpu;
	run(&j, &h);
	v = act(&h, DIAG_WHY_COMPUTE);
	T_OK(is(v, DIAG_RANK, 21) && acts(&h) == 1,
	     "a GPU 10 %% slower is named, and none of the 31 that wait for it");
	T_OK(v && v->f.step >= FROM && v->f.step < FROM + 12, "within twelve steps");
	T_OK(v && fabs(v->f.gain - 8.0 / 111) < 0.02, "what it costs is 8 ms of a step of 111");
	T_OK(v && v->seen_ns > 1.05 * v->usual_ns, "with what was seen and what is usual");
	j.change = slow_from_start;
	run(&j, &h);
	T_OK(is(act(&h, DIAG_WHY_COMPUTE), DIAG_RANK, 5) && acts(&h) == 1,
	     "a GPU that was always 6 %% slower stands out among its like");
	j.change = slow_host;
	run(&j, &h);
	T_OK(is(act(&h, DIAG_WHY_HOST), DIAG_HOST, 3) && acts(&h) == 1,
	     "what all ranks of a host have is the host's");
	j.change = two_at_once;
	run(&j, &h);
	T_OK(is(act(&h, DIAG_WHY_COMPUTE), DIAG_RANK, 21) &&
		     is(act(&h, DIAG_WHY_INPUT), DIAG_HOST, 6) && acts(&h) == 2,
	     "a slow GPU and a host that gets its batches late are two findings");
}

static void words(void)
{
	struct job j = { .world = 32, .stages = 1, .change = slow_gpu };
	struct diag_cases all = { 0 };
	struct diag_words w;
	struct heard h;

	run(&j, &h);
	for (uint32_t i = 0; i < h.n; i++)
		diag_cases_hear(&all, &h.v[i]);
	diag_cases_hear(&all, &h.v[0]);
	diag_cases_sort(&all);
	T_OK(!all.err && all.n && all.c[0].act && is(&all.c[0].v, DIAG_RANK, 21),
	     "of a recording each place is told once, the costliest first");
	diag_words(&w, &all.c[0].v);
	T_OK(!strcmp(w.title, "Rank 21: the GPU is slower than its peers") && *w.seen[0] &&
		     *w.seen[1] && strstr(w.ruled_out, "waiting for others") && *w.action &&
		     strstr(w.expect, "% of a step of"),
	     "in words: what it is, what was seen, what it is not, what to do, what that brings");
	diag_cases_fini(&all);
}

/* --- exchanges --- */

static void nic(struct step_rec *r, uint32_t step)
{
	uint32_t mine = 22;

	/* Both groups of rank 22 that leave its host. */
	for (uint32_t i = 0; i < r->slots && step >= FROM; i++)
		if (r->slot[i].comm == 200 + mine % 4 ||
		    r->slot[i].comm == 300 + (mine / 8) * 4 + mine % 4) {
			r->slot[i].sum += 20 * MS;
			r->slot[i].probe[0].dur += 20 * MS;
			r->slot[i].probe[1].dur += 20 * MS;
		}
}
static void leaf(struct step_rec *r, uint32_t step)
{
	for (uint32_t i = 0; i < r->slots && step >= FROM; i++)
		if (r->slot[i].flags & STEP_SLOT_FAR &&
		    (r->slot[i].comm < 300 || r->slot[i].comm >= 308)) {
			r->slot[i].sum += 20 * MS;
			r->slot[i].probe[0].dur += 20 * MS;
			r->slot[i].probe[1].dur += 20 * MS;
		}
}
static void link_of_host(struct step_rec *r, uint32_t step)
{
	for (uint32_t i = 0; i < r->slots && step >= FROM; i++)
		if (r->slot[i].comm == 102) {
			r->slot[i].sum += 6 * MS;
			r->slot[i].probe[0].dur += 6 * MS;
			r->slot[i].probe[1].dur += 6 * MS;
		}
}

static void network(void)
{
	struct job j = { .world = 32, .stages = 1, .transfer = nic };
	struct heard h;
	const struct diag_verdict *v;

	run(&j, &h);
	v = act(&h, DIAG_WHY_NETWORK);
	T_OK(v && v->f.part[0].level == DIAG_RANK && v->f.parts == 2,
	     "two ranks with the same exchanges cannot be told apart: both are named");
	T_OK(v && (v->f.part[0].index == 22 || v->f.part[1].index == 22), "the sick NIC is one");
	T_OK(v && !act(&h, DIAG_WHY_COMPUTE), "and nobody is called late");
	j.transfer = leaf;
	run(&j, &h);
	v = act(&h, DIAG_WHY_NETWORK);
	T_OK(is(v, DIAG_LEAF, 2), "where all exchanges of a leaf are longer, it is the leaf");
	j.transfer = link_of_host;
	run(&j, &h);
	T_OK(is(act(&h, DIAG_WHY_LINK), DIAG_HOST, 2) && acts(&h) == 1,
	     "exchanges within a host that are longer are its links");
}

/* --- imbalance --- */

static void packed(struct step_rec *r, uint32_t step)
{
	float share = 1 + 25 * (noise(r->rank, step, 5) - 1); /* an eighth more or less */

	r->sum_len2 = 1e6f * share;
	r->t.compute *= 0.6f + 0.4f * share;
}
static void packed_and_slow(struct step_rec *r, uint32_t step)
{
	packed(r, step);
	slow_gpu(r, step);
}
static void last_stage(struct step_rec *r, uint32_t step)
{
	(void)step;
	if (r->rank >= 24)
		r->t.compute *= 1.2f;
	exchange(r, STEP_OP_SEND, 1000 + r->rank % 8, 2, true, MS)->peer = (r->rank + 8) % 32;
}

static void imbalance(void)
{
	struct job j = { .world = 32, .stages = 1, .change = packed };
	struct heard h;
	const struct diag_verdict *v;

	run(&j, &h);
	T_OK(is(act(&h, DIAG_WHY_IMBALANCE), DIAG_JOB, 0) && acts(&h) == 1,
	     "sequences of unequal length are the job's imbalance, and no rank's fault");
	j.change = packed_and_slow;
	run(&j, &h);
	T_OK(is(act(&h, DIAG_WHY_COMPUTE), DIAG_RANK, 21) && acts(&h) == 2,
	     "behind them a GPU 10 %% slower is still seen");
	j.change = last_stage;
	j.stages = 4;
	run(&j, &h);
	v = act(&h, DIAG_WHY_STAGE);
	T_OK(is(v, DIAG_STAGE, 24) && acts(&h) == 1, "a last stage with more work is a verdict");
}

/* --- pauses, and what all have --- */

static void gc(struct step_rec *r, uint32_t step)
{
	if (step >= FROM && step % 4 == 0 && r->rank == step / 4 % 32)
		r->t.gc = 40 * MS, r->t.host += 40 * MS;
}
static void alloc(struct step_rec *r, uint32_t step)
{
	if (step >= FROM && step % 3 == 0 && r->rank == 9)
		r->t.alloc = 20 * MS, r->t.host += 20 * MS;
}
static void all_late(struct step_rec *r, uint32_t step)
{
	if (step >= FROM)
		r->t.input += 30 * MS;
}

static void pauses(void)
{
	struct job j = { .world = 32, .stages = 1, .change = gc };
	struct heard h;

	run(&j, &h);
	T_OK(is(act(&h, DIAG_WHY_GC), DIAG_JOB, 0) && acts(&h) == 1,
	     "garbage that one rank or another collects is the job's");
	j.change = alloc;
	run(&j, &h);
	T_OK(is(act(&h, DIAG_WHY_ALLOC), DIAG_RANK, 9) && acts(&h) == 1,
	     "a rank that allocates within steps is named");
	j.change = all_late;
	run(&j, &h);
	T_OK(is(act(&h, DIAG_WHY_ALL_INPUT), DIAG_JOB, 0) && acts(&h) == 1,
	     "batches that come late to all are no rank's fault");
}

/* --- what is over --- */

static void slow_for_a_while(struct step_rec *r, uint32_t step)
{
	if (r->rank == 21 && step >= 60 && step < 80)
		r->t.compute *= 1.1f;
}

static void come_and_go(struct step_rec *r, uint32_t step)
{
	if (r->rank == 21 && step >= 60 && step / 4 % 2)
		r->t.compute *= 1.3f;
}

static void recovery(void)
{
	struct job j = { .world = 32, .stages = 1, .change = slow_for_a_while };
	struct heard h;

	run(&j, &h);
	T_OK(acts(&h) == 1 && h.overs == 1 && is(&h.over[0], DIAG_RANK, 21) &&
		     h.over[0].why == DIAG_WHY_COMPUTE && h.over[0].f.act,
	     "a rank that is well again is said to be");
	T_OK(h.over[0].until >= 79 && h.over[0].until < 90 && h.over[0].f.step < 105,
	     "soon, and since when: step %u, said in %u", h.over[0].until, h.over[0].f.step);
	j.change = slow_gpu;
	run(&j, &h);
	T_OK(acts(&h) == 1 && h.overs == 0, "what lasts is not");
	j.change = come_and_go;
	run(&j, &h);
	T_OK(acts(&h) == 1 && h.overs == 0, "what comes and goes is one finding, and not over");
}

/* --- what grows over hours; what is by chance --- */

static float hours_of(uint32_t series, uint32_t hour)
{
	return 100 + 10 * (noise(series, hour, 77) + noise(series, hour, 78) - 2) / 0.005f;
}

static void longer_by_the_hour(struct step_rec *r, uint32_t step)
{
	r->begin_ns = UINT64_C(450000000000) * step; /* eight steps an hour */
	r->t.compute *= 1 + 0.005f * (float)(step / 8);
}

static void drift(void)
{
	struct job j = { .world = 8, .stages = 1, .change = longer_by_the_hour };
	const struct diag_verdict *is = NULL;
	uint32_t at = 0, chance = 0;
	float v[DRIFT_HOURS];
	struct diag_words w;
	struct heard h;

	for (uint32_t series = 0; series < 300; series++) {
		for (uint32_t i = 0; i < 24; i++)
			v[i] = hours_of(series, i);
		chance += drift_cut(v, 24, &at);
	}
	T_OK(chance <= 2, "of 300 series that do not grow hardly one does: %u", chance);
	for (uint32_t i = 0; i < 24; i++)
		v[i] = hours_of(1, i) + (i < 10 ? 0 : 20);
	T_OK(drift_cut(v, 24, &at) && at == 10, "what is more from one hour on is, from that: %u",
	     at);
	for (uint32_t i = 0; i < 24; i++)
		v[i] = hours_of(1, i) + 2 * (float)i;
	T_OK(drift_cut(v, 24, &at), "so is what grows little by little");
	T_OK(!drift_cut(v, 9, &at), "of a few hours nothing is said");
	run(&j, &h);
	for (uint32_t i = 0; i < h.n; i++)
		if (h.v[i].why == DIAG_WHY_DRIFT)
			is = &h.v[i];
	T_OK(is && !is->f.act && is->drift == DRIFT_COMPUTE && is->f.gain > 0.02f,
	     "a job that gets slower by the hour has a note, with what has grown");
	if (is)
		diag_words(&w, is);
	T_OK(is && strstr(w.title, "hours ago"), "in words: %s", is ? w.title : "");
}

static void by_chance(void)
{
	float p[1000], limit;

	for (uint32_t i = 0; i < 1000; i++)
		p[i] = ((float)i + 0.5f) / 1000;
	T_OK(discoveries(p, 1000, 0.01) < 0, "of what chance gives nothing counts");
	for (uint32_t i = 0; i < 1000; i++)
		p[i] = i < 5 ? 1e-6f * (float)(i + 1) : ((float)i + 0.5f) / 1000;
	limit = discoveries(p, 1000, 0.01);
	T_OK(limit > 4.9e-6f && limit < 5.1e-6f, "five that are not by chance do: up to %g",
	     (double)limit);
	p[0] = 0.011f;
	T_OK(discoveries(p, 1, 0.01) < 0 && discoveries(p, 0, 0.01) < 0, "one alone needs no less");
}

/* --- missing records, other numbers --- */

static void missing(void)
{
	static const double share[] = { 0.01, 0.05, 0.2 };
	struct job j = { .world = 32, .stages = 1 };
	struct heard h;

	for (uint32_t i = 0; i < T_LEN(share); i++) {
		j.missing = share[i];
		j.change = NULL;
		run(&j, &h);
		T_OK(acts(&h) == 0, "with %.0f %% of the records missing, nothing is made up",
		     100 * share[i]);
		j.change = slow_gpu;
		run(&j, &h);
		T_OK(is(act(&h, DIAG_WHY_COMPUTE), DIAG_RANK, 21) && acts(&h) == 1,
		     "and a slow GPU is found");
	}
}

static uint32_t moved(uint32_t rank)
{
	return (rank * 4 + rank / 8) % 32; /* hosts and all: each number once */
}

/* The same job with its ranks numbered otherwise: the same finding of the other number. */
static void permuted(void)
{
	static struct step_rec rec[MOST], to[MOST];
	struct job j = { .world = 32, .stages = 1, .change = slow_gpu };
	struct heard a, b = { .n = 0 };
	struct diag *d;

	run(&j, &a);
	if (diag_new(&d, 32) < 0)
		abort();
	for (uint32_t step = 0; step < STEPS; step++) {
		for (uint32_t r = 0; r < 32; r++)
			make(&j, r, step, &rec[r]);
		meet(&j, rec, step);
		for (uint32_t r = 0; r < 32; r++) {
			step_rec_seal(&rec[r]);
			rec[r].rank = moved(r);
			to[31 - moved(r)] = rec[r]; /* in another order, too */
		}
		diag_step(d, to, 32, hear, &b);
	}
	diag_free(d);
	T_OK(a.n == b.n && a.n && is(&b.v[0], DIAG_RANK, moved(a.v[0].f.part[0].index)) &&
		     a.v[0].f.step == b.v[0].f.step && fabsf(a.v[0].f.gain - b.v[0].f.gain) < 1e-4f,
	     "other numbers of ranks change nothing but numbers");
}

/* --- hangs --- */

enum { TP0 = 1, TP1 = 2, DP0 = 3, DP1 = 4 };

/* Ranks 0, 1 and 2, 3 share tensors; 0, 2 and 1, 3 gradients. Tensors first. */
static void four(struct step_rec rec[4], uint32_t step)
{
	for (uint32_t r = 0; r < 4; r++) {
		step_rec_init(&rec[r]);
		rec[r].rank = r;
		rec[r].world = 4;
		rec[r].step = step;
		rec[r].t.compute = rec[r].t.step = 10 * MS;
		step_slot_add(step_rec_slot(&rec[r], r / 2 ? TP1 : TP0, STEP_OP_ALL_REDUCE), step,
			      1, 1 * MS, MS);
		step_slot_add(step_rec_slot(&rec[r], r % 2 ? DP1 : DP0, STEP_OP_ALL_REDUCE), step,
			      1, 5 * MS, MS);
		rec[r].slot[0].members = rec[r].slot[1].members = 2;
		step_rec_seal(&rec[r]);
	}
}

/* Says of a slot that it was issued, and that nothing of it ended in this step. */
static void stuck(struct step_slot *s, uint32_t what)
{
	s->done--;
	s->count = 0;
	s->what = what;
}

typedef void hang_fn(struct step_rec rec[4]);

static struct heard hang(hang_fn *fn)
{
	struct step_rec rec[4];
	struct heard h = { .n = 0 };
	struct diag *d;

	if (diag_new(&d, 4) < 0)
		abort();
	for (uint32_t step = 1; step < 20; step++) {
		four(rec, step);
		diag_step(d, rec, 4, hear, &h);
	}
	four(rec, 20);
	for (uint32_t r = 0; r < 4; r++)
		rec[r].flags |= STEP_F_PARTIAL;
	fn(rec);
	h.n = 0;
	diag_step(d, rec, 4, hear, &h);
	diag_free(d);
	return h;
}

static void dead(struct step_rec rec[4])
{
	for (uint32_t r = 0; r < 4; r++)
		stuck(&rec[r].slot[r > 1], 1);
	rec[3].flags |= STEP_F_GONE;
}
static void all_dead(struct step_rec rec[4])
{
	for (uint32_t r = 0; r < 4; r++)
		rec[r].flags |= STEP_F_GONE;
}

/* Words of one hang may come with steps of different numbers. */
static void in_two_steps(void)
{
	struct heard h = { .n = 0 };
	struct step_rec rec[4];
	struct diag *d;

	if (diag_new(&d, 4) < 0)
		abort();
	for (uint32_t step = 1; step < 20; step++) {
		four(rec, step);
		diag_step(d, rec, 4, hear, &h);
	}
	four(rec, 20);
	dead(rec);
	for (uint32_t r = 0; r < 4; r++) {
		rec[r].flags |= STEP_F_PARTIAL;
		rec[r].step += r < 3;
	}
	h.n = 0;
	diag_step(d, rec + 3, 1, hear, &h);
	T_OK(h.n == 0, "one that is gone is none of a hang that nobody is in");
	diag_step(d, rec, 3, hear, &h);
	T_OK(h.n == 1 && is(act(&h, DIAG_WHY_DEAD), DIAG_RANK, 3),
	     "with the word of the others, of the next step, it is its cause");
	for (uint32_t step = 21; step < 23; step++) {
		four(rec, step);
		diag_step(d, rec, 4, hear, &h);
	}
	T_OK(h.overs == 1 && h.over[0].why == DIAG_WHY_DEAD, "and over with the next step");
	diag_free(d);
}

/* Rank 1 issued nothing: 0 waits for it, and 2 for 0, 3 for 1. */
static void outside(struct step_rec rec[4])
{
	stuck(&rec[0].slot[0], 1);
	stuck(&rec[0].slot[1], 1);
	stuck(&rec[2].slot[1], 1);
	stuck(&rec[3].slot[1], 1);
	for (int i = 0; i < 2; i++) {
		rec[1].slot[i].issued = --rec[1].slot[i].done;
		rec[1].slot[i].count = 0;
	}
}
static void transport(struct step_rec rec[4])
{
	for (uint32_t r = 0; r < 4; r++) {
		if (r > 1)
			stuck(&rec[r].slot[0], 1);
		stuck(&rec[r].slot[1], 1);
	}
}
static void mismatch(struct step_rec rec[4])
{
	transport(rec);
	rec[3].slot[0].what = 2;
	rec[3].slot[0].issued--;
}
/* 0 and 3 stand in tensors, 1 and 2 in gradients: 0 for 1 for 3 for 2 for 0. */
static void circle(struct step_rec rec[4])
{
	stuck(&rec[0].slot[0], 1);
	stuck(&rec[1].slot[1], 1);
	stuck(&rec[2].slot[1], 1);
	stuck(&rec[3].slot[0], 1);
}

static void hangs(void)
{
	struct heard h = hang(dead);

	T_OK(h.n == 1 && is(act(&h, DIAG_WHY_DEAD), DIAG_RANK, 3), "a process that is gone");
	h = hang(outside);
	T_OK(h.n == 1 && is(act(&h, DIAG_WHY_OUTSIDE), DIAG_RANK, 1),
	     "a rank that stands in no exchange while others do");
	T_OK(h.n == 1 && h.v[0].ranks == 3, "all others wait for it, at first or second hand");
	h = hang(transport);
	T_OK(h.n == 1 && is(act(&h, DIAG_WHY_TRANSPORT), DIAG_RANK, 2) && h.v[0].f.parts == 2 &&
		     h.v[0].f.part[1].index == 3,
	     "an exchange in which all members stand is stuck by itself");
	h = hang(mismatch);
	T_OK(h.n == 1 && is(act(&h, DIAG_WHY_MISMATCH), DIAG_RANK, 3),
	     "of two in different exchanges, the one that is behind");
	h = hang(all_dead);
	T_OK(h.n == 0, "a job all of whose ranks are gone has ended");
	in_two_steps();
	h = hang(circle);
	T_OK(h.n == 1 && act(&h, DIAG_WHY_DEADLOCK) && h.v[0].cycles == 4,
	     "ranks that wait for each other in a circle are a deadlock");
}

int main(void)
{
	late_and_waiting();
	words();
	network();
	imbalance();
	pauses();
	recovery();
	drift();
	by_chance();
	missing();
	permuted();
	hangs();
	return t_done();
}
