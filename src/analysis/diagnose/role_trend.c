/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_trend.c - detects changes that all ranks of a role share, which a comparison of its ranks
 * cannot show. A role is compared with its own past; a pipeline stage also with the other stages.
 */
#include <math.h>
#include <string.h>

#include "diagnose/state.h"

#define STAGE_ODD  0.02f  /* a stage that always takes so much longer than the others */
#define NOISE_ROLE 0.001f /* of a step */

static void whole_add(const struct diag *d, struct cusum *t, float *noise, float v)
{
	float room[RING];

	if (track_learn(t, v, d->learn)) {
		track_add(t, v, *noise);
	} else if (t->learnt) {
		memcpy(room, t->ring, sizeof(room));
		*noise = fmaxf(spread_of(room, track_len(t), 0), NOISE_ROLE);
	}
}

/* Of this stage, against the mean of the others. */
static float against_stages(const struct diag *d, const struct diag_role *k)
{
	double sum = 0, n = 0;

	for (uint32_t i = 0; i < d->roles; i++)
		if (d->role[i].n && &d->role[i] != k) {
			sum += d->role[i].plain * d->role[i].n;
			n += d->role[i].n;
		}
	return sum > 0 ? (float)(k->plain * n / sum) - 1 : 0;
}

static void role_take(struct diag *d, struct diag_role *k)
{
	const double v[] = { [WHOLE_COMPUTE] = k->ref[OWN_COMPUTE],
			     [WHOLE_HOST] = k->ref[OWN_HOST],
			     [WHOLE_INPUT] = k->ref[OWN_INPUT],
			     [WHOLE_EXPOSED] = k->exposed,
			     [WHOLE_HIDDEN] = k->hidden };
	bool learnt = k->whole[WHOLE_STAGE].learnt;

	if (k->steps == d->warm + 1)
		k->scale = (float)k->step_ns;
	if (k->steps <= d->warm)
		return;
	for (int i = 0; i < WHOLE_STAGE; i++)
		whole_add(d, &k->whole[i], &k->whole_noise[i], (float)(v[i] / k->scale));
	if (d->stages < 2 || d->infer)
		return;
	whole_add(d, &k->whole[WHOLE_STAGE], &k->whole_noise[WHOLE_STAGE], against_stages(d, k));
	if (!learnt && k->whole[WHOLE_STAGE].learnt && k->whole[WHOLE_STAGE].base > STAGE_ODD) {
		for (uint32_t i = 0; i < RING; i++)
			k->whole[WHOLE_STAGE].ring[i] += k->whole[WHOLE_STAGE].base;
		k->whole[WHOLE_STAGE].base = 0;
		k->staged = true;
	}
}

void whole_take(struct diag *d)
{
	double sum = 0, most = 0;
	uint32_t n = 0;

	for (uint32_t k = 0; k < d->roles; k++)
		if (d->role[k].n) {
			role_take(d, &d->role[k]);
			most = d->role[k].n > n ? d->role[k].step_ns : most;
			n = d->role[k].n > n ? d->role[k].n : n;
			sum += d->role[k].step_ns * d->role[k].n;
			if (d->role[k].steps == d->warm + d->learn) {
				d->role[k].issue_base = d->role[k].issue;
				d->role[k].launch_base = d->role[k].launch;
				d->role[k].uneven_base = d->role[k].uneven;
			}
		}
	d->step_ns = d->ranks ? sum / d->ranks : 0;
	if (d->infer) /* batches of two kinds: what all take says nothing */
		d->step_ns = most;
	else if (d->steps > d->warm)
		whole_add(d, &d->whole, &d->whole_noise, (float)d->step_ns);
}

/* --- verdicts --- */

static bool is_up(const struct diag_role *k, enum whole i, double z)
{
	const struct cusum *t = &k->whole[i];
	float least = fmaxf((float)WORTH, (float)z * k->whole_noise[i]);

	if (!t->learnt)
		return false;
	if (track_middle(t, SHORT) > least && track_above(t, SHORT, least / 2) >= SHORT - 2)
		return true;
	return track_mean(t, RING) > least && track_above(t, RING, least / 2) >= SHORT &&
	       track_above(t, SHORT, least / 2) > 0;
}

/* Of the ranks, how many have it. */
static double share_with(const struct diag *d, bool has(const struct step_rec *r))
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < d->world; r++)
		n += d->rank[r].rec && has(d->rank[r].rec);
	return d->ranks ? (double)n / d->ranks : 0;
}
static bool has_throttle(const struct step_rec *r)
{
	return r->have >> STEP_HAVE_THROTTLE & 1 && r->throttle;
}
static bool has_runq(const struct step_rec *r)
{
	return r->have >> STEP_HAVE_RUNQ & 1 && r->runq_ns > 0.005f * r->t.step;
}
static bool has_iowait(const struct step_rec *r)
{
	return r->have >> STEP_HAVE_IOWAIT & 1 && r->iowait_ns > 0.005f * r->t.step;
}

static void say_whole(struct saying *s, const struct diag_role *k, enum whole i, enum diag_why why,
		      struct diag_part p, uint8_t kind)
{
	struct diag_verdict v;
	float by = fmaxf(track_mean(&k->whole[i], SHORT), track_mean(&k->whole[i], RING));

	verdict_init(s->d, &v, why, p, kind);
	v.usual_ns = (double)k->whole[i].base * k->scale;
	v.seen_ns = v.usual_ns + (double)by * k->scale;
	v.noise_ns = (double)k->whole_noise[i] * k->scale;
	v.f.gain = (float)fmin(fmax(by * k->scale / whatif_step(s->d), 0), 1);
	v.gain_least = fmin(v.f.gain, fmax(whatif_lost(s->d), 0));
	v.ranks = v.of = k->n;
	v.f.confidence = 0.8f;
	v.f.act = v.f.gain >= WORTH;
	verdict_say(s, &v);
}

#define CALL_NS 20e3f /* a healthy host launches a kernel in a third of this, or less */

/* From the start, and nobody to compare with: what a launch takes is known. */
static bool host_is_slow(struct saying *s, const struct diag_role *k)
{
	struct diag_part p = { DIAG_HOST, k->host };
	struct diag_verdict v;

	if (s->d->hosts > 1 || k->call < CALL_NS || k->ref[OWN_HOST] < WORTH * k->step_ns)
		return false;
	verdict_init(s->d, &v, DIAG_WHY_ALL_HOST, p, share_with(s->d, has_runq) > 0.5 ? 8 : 9);
	v.seen_ns = k->ref[OWN_HOST];
	v.f.gain = (float)fmin(k->ref[OWN_HOST] / k->step_ns, 1);
	v.gain_least = 0;
	v.ranks = v.of = k->n;
	v.f.confidence = 0.7f;
	v.f.act = true;
	verdict_say(s, &v);
	return true;
}

static bool host_is_whole(struct saying *s, const struct diag_role *k)
{
	struct diag *d = s->d;
	struct diag_part job = { DIAG_JOB, 0 }, host = { DIAG_HOST, k->host };
	bool one = d->hosts == 1;

	if (is_up(k, WHOLE_INPUT, 4)) {
		uint8_t kind = share_with(d, has_runq) > 0.5     ? 8
			       : share_with(d, has_iowait) > 0.5 ? 13
								 : 14;

		say_whole(s, k, WHOLE_INPUT, DIAG_WHY_ALL_INPUT, one && kind != 14 ? host : job,
			  kind);
		return true;
	}
	if (is_up(k, WHOLE_HOST, 4)) {
		bool slower = k->launch > 1.3f * k->launch_base;
		uint8_t kind = share_with(d, has_runq) > 0.5 ? 8 : slower ? 9 : 12;

		say_whole(s, k, WHOLE_HOST, DIAG_WHY_ALL_HOST, one && kind != 12 ? host : job,
			  kind);
		return true;
	}
	return false;
}

#define UNHIDDEN 0.4f /* of what was hidden */

/* Nobody is late and no transfer is longer, but less of them is hidden. */
static void overlap_is_lost(struct saying *s, const struct diag_role *k)
{
	const struct cusum *t = &k->whole[WHOLE_EXPOSED];

	const struct cusum *hid = &k->whole[WHOLE_HIDDEN];
	float least = fmaxf((float)WORTH, k->whole_noise[WHOLE_EXPOSED]);

	if (s->said || s->network || s->d->infer || !t->learnt ||
	    track_middle(t, 2 * SHORT) < least ||
	    track_middle(hid, 2 * SHORT) > -UNHIDDEN * hid->base ||
	    track_above(t, 2 * SHORT, least / 2) < 2 * SHORT - 2 || k->uneven > WORTH ||
	    whatif_lost(s->d) < WORTH)
		return;
	for (uint32_t r = 0; r < s->d->world; r++)
		for (int i = 0; i < OWNS; i++)
			if (s->d->rank[r].alarm[i] &&
			    s->d->rank[r].effect[i] > 0.3f * track_mean(t, SHORT))
				return;
	say_whole(s, k, WHOLE_EXPOSED, DIAG_WHY_OVERLAP, (struct diag_part){ DIAG_JOB, 0 }, 18);
}

static void stage_is_long(struct saying *s, struct diag_role *k)
{
	struct diag_part p = { DIAG_STAGE, k->first };
	const struct cusum *t = &k->whole[WHOLE_STAGE];
	struct diag_verdict v;

	if (!is_up(k, WHOLE_STAGE, 4))
		return;
	if (!k->many && s->d->hosts > 1)
		p = (struct diag_part){ DIAG_HOST, k->host };
	verdict_init(s->d, &v, DIAG_WHY_STAGE, p, k->many || s->d->hosts == 1 ? 16 : 4);
	v.seen_ns = k->ref[OWN_COMPUTE];
	v.usual_ns = v.seen_ns / (1 + track_mean(t, SHORT));
	v.noise_ns = k->whole_noise[WHOLE_STAGE] * v.seen_ns;
	v.ranks = v.of = k->n;
	v.always = k->staged;
	v.f.gain = (float)whatif_stage(s->d, (uint32_t)(k - s->d->role));
	v.gain_least = v.f.gain / 2;
	v.f.confidence = 0.9f;
	v.f.act = v.f.gain >= 0.7 * WORTH;
	verdict_say(s, &v);
}

#define MORE_TOKENS 1.08f
#define BY_TOKENS   0.04f

/* One rank's experts get more than any other's. */
static void experts_are_uneven(struct saying *s, const struct diag_role *k)
{
	struct diag *d = s->d;
	uint32_t top = NOBODY;
	float second = 0;
	struct diag_verdict v;
	double ns;

	for (uint32_t r = 0; r < d->world; r++) {
		if (!d->rank[r].rec || !d->rank[r].experts)
			continue;
		if (top == NOBODY || d->rank[r].expert > d->rank[top].expert) {
			second = top == NOBODY ? 0 : d->rank[top].expert;
			top = r;
		} else {
			second = fmaxf(second, d->rank[r].expert);
		}
	}
	if (top == NOBODY || d->rank[top].expert < MORE_TOKENS ||
	    d->rank[top].expert < second + BY_TOKENS)
		return;
	ns = k->fit.slope[1] * d->rank[top].rec->expert_tokens;
	verdict_init(d, &v, DIAG_WHY_EXPERTS, (struct diag_part){ DIAG_RANK, top }, 17);
	v.seen_ns = ns;
	v.usual_ns = ns / d->rank[top].expert;
	v.ranks = 1;
	v.of = k->n;
	v.f.gain = (float)fmin(ns * (1 - second / d->rank[top].expert) / whatif_step(d), 1);
	v.gain_least = v.f.gain / 2;
	v.f.confidence = 0.9f;
	v.f.act = v.f.gain >= 0.5 * WORTH;
	verdict_say(s, &v);
}

static void work_is_uneven(struct saying *s, const struct diag_role *k)
{
	struct diag_verdict v;

	if (k->steps > s->d->warm + s->d->learn / 2)
		experts_are_uneven(s, k);

	if (k->uneven < 1.5 * WORTH || k->steps < s->d->warm + s->d->learn / 2 || s->d->infer)
		return;
	verdict_init(s->d, &v, DIAG_WHY_IMBALANCE, (struct diag_part){ DIAG_JOB, 0 }, 15);
	v.usual_ns = k->ref[OWN_COMPUTE];
	v.seen_ns = v.usual_ns + k->uneven * k->step_ns;
	v.ranks = v.of = k->n;
	v.always = k->uneven_base > k->uneven / 2;
	v.f.gain = fminf(k->uneven, 1);
	v.gain_least = v.f.gain / 2;
	v.f.confidence = 0.9f;
	v.f.act = true;
	verdict_say(s, &v);
}

/* One host, all of its clocks: no rank of the job can say what it would be without. */
static void clock_is_low(struct saying *s, const struct diag_role *k)
{
	struct diag_part p = { DIAG_HOST, k->host };

	if (s->d->hosts > 1 || share_with(s->d, has_throttle) < 0.75 ||
	    !k->whole[WHOLE_COMPUTE].learnt || track_mean(&k->whole[WHOLE_COMPUTE], SHORT) < WORTH)
		return;
	say_whole(s, k, WHOLE_COMPUTE, DIAG_WHY_ALL_COMPUTE, p, 2);
}

void find_whole(struct saying *s, bool overlap)
{
	struct diag *d = s->d;
	struct diag_role *most = NULL;

	for (uint32_t i = 0; i < d->roles; i++) {
		struct diag_role *k = &d->role[i];

		if (!k->n || k->steps <= d->warm + d->learn)
			continue;
		most = !most || k->n > most->n ? k : most;
		if (!overlap)
			stage_is_long(s, k);
	}
	if (!most)
		return;
	if (overlap) {
		overlap_is_lost(s, most);
		return;
	}
	work_is_uneven(s, most);
	if (!host_is_whole(s, most) && !host_is_slow(s, most))
		clock_is_low(s, most);
}
