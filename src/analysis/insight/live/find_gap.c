/* SPDX-License-Identifier: Apache-2.0 */
/* find_gap.c - rules on a device whose idle time samples explain, as no call that launches was recorded. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight/live/find_live.h"
#include "insight/live/live_priv.h"

#define LAUNCHED (1u << IDLE_HOST | 1u << IDLE_LAUNCH)

struct gap_code {
	bool named;
	struct sample_blame b;
	struct share all;
	uint64_t count;
	char code[FRAME_LABEL], what[BLAME_LABEL];
};

#define COPIES UINT32_MAX

static bool copies(const struct insight *in, const struct sample_row *r);

/* The rows of the device's thread in gaps of these causes (bits); 0: while the device works and the
 * thread waits for it; COPIES: in calls that copy. */
static bool wanted(const struct insight *in, const struct insight_device *d,
		   const struct sample_row *r, uint32_t causes)
{
	if (r->track != d->sampled_track)
		return false;
	if (causes == COPIES)
		return copies(in, r);
	return causes ? r->gap && causes & 1u << (r->gap - 1) : !r->gap && gap_waits_busy(in, r);
}

static int find_code(struct gap_code *c, const struct insight *in, const struct insight_device *d,
		     uint32_t causes)
{
	struct samples_want w = { SAMPLES_ALL, SAMPLES_ALL, 0, 0 };
	struct insight some = *in;
	struct samples_sum s;
	int err;

	memset(c, 0, sizeof(*c));
	some.samples.rows = 0;
	some.samples.row = calloc(in->samples.rows + 1, sizeof(*some.samples.row));
	if (!some.samples.row)
		return -ENOMEM;
	for (size_t i = 0; i < in->samples.rows; i++)
		if (wanted(in, d, &in->samples.row[i], causes))
			some.samples.row[some.samples.rows++] = in->samples.row[i];
	err = samples_blame(&s, &some, &w);
	free(some.samples.row);
	if (err < 0)
		return err;
	c->count = s.count;
	if (s.rows) {
		c->b = *samples_first(&s, &c->all);
		c->named = c->b.frame.name && samples_enough(&s) && c->all.share >= 0.25;
		frame_called(in->t, &c->b.frame, c->code);
		blame_text(in->t, &c->b, &c->all, c->what);
	}
	samples_fini(&s);
	return 0;
}

/* How sure: by the error of a share of so many samples. */
static void begin(struct finding *f, const struct gap_code *c)
{
	const struct insight_device *d = f->on;
	double n = (double)d->sampled, idle = ratio(d->b.span_ns - d->b.busy_ns, d->b.span_ns);
	double p = idle > 0 ? f->share / idle : 0;
	double e = p < 1 ? sqrt(p * (1 - p) / n) : 0;

	f->sure = e <= p / 6 ? SURE_HIGH : e <= p / 3 ? SURE_MEDIUM : SURE_LOW;
	finding_seen(f, "idle meanwhile: %s%s (%s %% of the time), by %s samples in gaps",
		     T(f->cost_ns), finding_per(f), P(f->share), N(d->sampled));
	if (c->named)
		finding_seen(f, "%s %% (+-%s) of %s samples: %.120s", P(c->all.share),
			     P(c->all.error), N(c->count), c->what);
	finding_facts(f, FACT_N("of_it_ns", f->cost_ns), FACT_N("samples", c->count),
		      FACT_N("base_ns", d->account.base_ns));
	if (c->named)
		finding_facts(f, FACT_X("code_share", c->all.share),
			      FACT_X("code_error", c->all.error));
}

/* --- copies --- */

/* A library that the program called copies, by name: enqueue_copy, clEnqueueWriteBuffer, to, cudaMemcpy. */
static bool copies(const struct insight *in, const struct sample_row *r)
{
	static const char *const word[] = { "copy",   "Copy",       "memcpy",
					    "Memcpy", "ReadBuffer", "WriteBuffer" };
	static const char *const whole[] = { "to",  "cpu",   "cuda",      "get",
					     "set", "numpy", "device_put" };
	struct stack_row s = trace_stack(in->t, r->stack);

	for (uint32_t i = 0; i < s.n && !(s.frame[i].flags & FRAME_USER); i++) {
		const char *name = trace_text(in->t, s.frame[i].name), *dot = strrchr(name, '.');

		for (size_t k = 0; k < sizeof(word) / sizeof(word[0]); k++)
			if (strstr(name, word[k]))
				return true;
		for (size_t k = 0; k < sizeof(whole) / sizeof(whole[0]); k++)
			if (!strcmp(dot ? dot + 1 : name, whole[k]))
				return true;
	}
	return false;
}

static bool copy_fill(const struct insight *in, struct finding *f)
{
	char title[sizeof(f->title)];
	struct gap_code c;

	if (!rule_COPY.fill(in, f))
		return false;
	if (find_code(&c, in, f->on, COPIES) < 0 || !c.named)
		return true;
	memcpy(title, f->title, sizeof(title));
	SAY(title, "%.80s: %.110s", title, c.code);
	finding_seen(f, "%s %% (+-%s) of %s samples in calls that copy: %.120s", P(c.all.share),
		     P(c.all.error), N(c.count), c.what);
	return true;
}

static bool input_fill(const struct insight *in, struct finding *f)
{
	const struct host_account *a = &in->hosts.v[in->t->device[f->on->device].process];
	bool single = a->fetches && !a->workers;
	struct gap_code c;

	if (find_code(&c, in, f->on, 1u << IDLE_INPUT) < 0)
		return false;
	SAY(title, "The GPU waits for the next batch%s%s%.110s", single ? " (num_workers=0)" : "",
	    c.named ? ": " : "", c.named ? c.code : "");
	begin(f, &c);
	if (single)
		SAY(action,
		    "load in other processes: DataLoader(num_workers=4, pin_memory=True)%s%.80s",
		    c.named ? "; or make cheaper: " : "", c.named ? c.code : "");
	else
		SAY(action,
		    "prepare batches ahead, in other processes (num_workers), or make %.100s "
		    "cheaper",
		    c.named ? c.code : "what they do");
	return true;
}

static bool code_fill(const struct insight *in, struct finding *f)
{
	struct gap_code c;

	if (find_code(&c, in, f->on, LAUNCHED) < 0)
		return false;
	if (c.named)
		SAY(title, "The GPU waits for the host: %.120s", c.code);
	else
		SAY(title, "The GPU waits for the host");
	begin(f, &c);
	if (c.named)
		SAY(action,
		    "make %.100s cheaper, take it out of the loop, or do it ahead in another "
		    "thread",
		    c.code);
	else
		SAY(action, "no function stands out; list them: aon report --by stack --gap");
	return true;
}

/* "mostly scale_kernel (98 % of them)": of the kernels, the one that is launched most often. */
static void say_kernel(const struct insight *in, struct finding *f)
{
	const struct insight_table *t = &in->roll[ROLL_KERNEL];
	const struct insight_row *most = NULL;
	uint64_t all = 0;

	for (size_t i = 0; i < t->rows; i++) {
		if (t->row[i].file != in->t->device[f->on->device].file)
			continue;
		all += t->row[i].count;
		most = !most || t->row[i].count > most->count ? &t->row[i] : most;
	}
	if (most)
		finding_seen(f, "most often the kernel %s: %s %% of them",
			     finding_name(trace_text(in->t, most->name), (char[NAME_LEN]){ 0 }),
			     P(ratio(most->count, all)));
}

static bool launch_fill(const struct insight *in, struct finding *f)
{
	uint64_t work = f->on->b.kernels + f->on->b.copies + f->on->b.memsets;
	struct gap_code c;

	if (find_code(&c, in, f->on, LAUNCHED) < 0)
		return false;
	SAY(title, "The host launches work more slowly than the GPU executes it%s%.100s",
	    c.named ? ": " : "", c.named ? c.code : "");
	begin(f, &c);
	finding_seen(f, "%s pieces of work, each %s long, one every %s", N(work),
		     D(f->on->b.busy_ns / (work ? work : 1)),
		     D(f->on->b.span_ns / (work ? work : 1)));
	say_kernel(in, f);
	SAY(action,
	    "launch less, or in one call: graphs, fused or compiled kernels, larger batches%s%.80s",
	    c.named ? "; they are launched by " : "", c.named ? c.code : "");
	return true;
}

static bool sync_fill(const struct insight *in, struct finding *f)
{
	struct gap_code c;

	if (find_code(&c, in, f->on, 0) < 0)
		return false;
	SAY(title, "The host waits for the GPU %s%s%.100s",
	    gap_is_each(f->on) ? "after each piece of work" : "in the middle of the work",
	    c.named ? ": " : "", c.named ? c.code : "");
	begin(f, &c);
	finding_seen(f, "nothing is queued behind the work that it waits for: %s pieces of work",
		     N(f->on->b.kernels + f->on->b.copies + f->on->b.memsets));
	SAY(action,
	    "do not wait for the GPU there (%.80s): launch the next work ahead, and read results "
	    "(.item(), synchronize) seldom",
	    c.named ? c.code : ".item()");
	return true;
}

static uint64_t input_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return d->account.ns[ACCOUNT_INPUT];
}

static uint64_t copy_cost(const struct insight *in, const struct insight_device *d)
{
	return rule_COPY.cost(in, d);
}

static uint64_t code_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return d->account.ns[ACCOUNT_HOST];
}

static uint64_t launch_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return d->account.ns[ACCOUNT_LAUNCH];
}

static uint64_t sync_cost(const struct insight *in, const struct insight_device *d)
{
	(void)in;
	return d->account.ns[ACCOUNT_SYNC];
}

const struct rule *gap_rule(enum family k)
{
	static const struct rule rule[FAMILIES] = {
		[FAMILY_INPUT] = { input_cost, input_fill },
		[FAMILY_CPU] = { code_cost, code_fill },
		[FAMILY_COPY] = { copy_cost, copy_fill },
		[FAMILY_LAUNCH] = { launch_cost, launch_fill },
		[FAMILY_SYNC] = { sync_cost, sync_fill },
	};

	return rule[k].cost ? &rule[k] : NULL;
}
