/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - see answer.h. */
#include "insight/live/answer.h"

#include <stdio.h>
#include <string.h>

#include "insight/live/find_live.h"

#define PARTS 4u

char *answer_parts(const struct time_account *a, char *buf, size_t cap)
{
	bool told[ACCOUNT_CAUSES] = { false };
	size_t used = 0;

	*buf = '\0';
	for (size_t n = 0; n < PARTS && used < cap; n++) {
		uint32_t best = ACCOUNT_CAUSES;

		for (uint32_t c = 0; c < ACCOUNT_CAUSES; c++)
			if (!told[c] && (best == ACCOUNT_CAUSES || a->ns[c] > a->ns[best]))
				best = c;
		if (a->ns[best] < a->base_ns / 50 || !a->ns[best])
			break;
		told[best] = true;
		used += (size_t)snprintf(buf + used, cap - used, "%s%s %% %s", used ? ", " : "",
					 P(ratio(a->ns[best], a->base_ns)),
					 account_table[best].people);
	}
	return buf;
}

/* A GPU that is busy for less than a fifth of the time is not what the program waits for; unless it is
 * known by launches what it waits for, and no samples tell more of the thread. */
static bool uses_gpu(const struct insight *in, const struct host_account *a)
{
	uint64_t busy = 0, launched = 0;

	for (size_t i = 0; i < in->devices; i++) {
		if (in->t->device[in->device[i].device].process != a->process)
			continue;
		busy += in->device[i].b.busy_ns;
		launched += in->device[i].launch.launched;
	}
	return busy > a->on.account.base_ns / 5 || (launched && a->samples < SAMPLES_ENOUGH);
}

const struct insight_device *live_device(const struct insight *in, size_t n)
{
	const struct host_account *a = &in->hosts.v[n];
	uint64_t steps = 0, most = 0;

	if (!a->on.account.base_ns || uses_gpu(in, a))
		return NULL;
	for (size_t i = 0; i < in->hosts.n; i++) {
		steps += in->hosts.v[i].on.account.steps;
		if (in->hosts.v[i].on.account.base_ns > most)
			most = in->hosts.v[i].on.account.base_ns;
	}
	if (steps ? !a->on.account.steps : a->on.account.base_ns < most)
		return NULL;
	return &a->on;
}

/* The thread to speak of where nothing was found: of the first rank that has one. */
static const struct insight_device *thread_of(const struct insight *in)
{
	for (size_t i = 0; i < in->hosts.n; i++)
		if (live_device(in, i))
			return live_device(in, i);
	return NULL;
}

const struct time_account *answer_account(const struct insight *in, const struct findings *fs)
{
	const struct insight_device *d = fs->n && fs->f[0].on->host ? fs->f[0].on : thread_of(in);

	return d ? &d->account : NULL;
}

static void nothing(struct short_answer *out, const struct insight *in)
{
	const struct insight_device *d = thread_of(in);
	char parts[ANSWER_TEXT - 120], t[FMT_LEN];

	if (!d)
		return;
	out->known = true;
	fmt_time(t, account_step_ns(&d->account));
	answer_parts(&d->account, parts, sizeof(parts));
	if (d->host->samples < SAMPLES_ENOUGH &&
	    d->account.ns[ACCOUNT_UNKNOWN] > d->account.base_ns / 5)
		snprintf(out->what, sizeof(out->what),
			 "Not enough samples to say why: %s, and %u are needed. %s %s is %s.",
			 N(d->host->samples), SAMPLES_ENOUGH,
			 d->steps ? "A step of" : "The time of", t, parts);
	else
		snprintf(out->what, sizeof(out->what), "Nothing stands out: %s %s is %s.",
			 d->steps ? "a step of" : "the time of", t, parts);
}

void answer_of(struct short_answer *out, const struct insight *in, const struct findings *fs)
{
	const struct finding *f = fs->n ? &fs->f[0] : NULL;
	char a[FMT_LEN], b[FMT_LEN];

	memset(out, 0, sizeof(*out));
	if (!f) {
		nothing(out, in);
		return;
	}
	out->known = true;
	out->sure = sure_word[f->sure];
	if (!family_costs(f->family))
		snprintf(out->what, sizeof(out->what), "%s.", f->title);
	else
		snprintf(out->what, sizeof(out->what), "%s: %s of %s%s (%s %%).", f->title,
			 fmt_time(a, f->cost_ns / f->steps), fmt_time(b, finding_base_ns(f->on)),
			 f->on->steps ? " a step" : "", P(f->share));
	snprintf(out->todo, sizeof(out->todo), "%s", f->action);
}
