/* SPDX-License-Identifier: Apache-2.0 */
/*
 * account_gap.c - why a device was idle where no call that launches was recorded: by the samples that were
 * taken of the thread that has the steps, in the gaps.
 *
 *	no launch call of the device is in the trace
 *	    idle, "not known" --(samples of the thread in gaps: part, stack, state)--> cause
 *
 * The account stays closed: what is known moves from "not known". A gap behind nearly every piece of work,
 * while the thread waits for the device whenever that works, is due to these waits: see waits_each().
 */
#include <string.h>

#include "insight/live/live_priv.h"
#include "insight/state.h"

/* The function of a library that waits for a device, by its name. */
static bool is_wait(const char *name)
{
	static const char *const whole[] = { "wait",        "item",  "tolist", "finish", "cpu",
					     "synchronize", "numpy", "_value", "join" };
	static const char *const word[] = { "ynchronize", "block_until_ready", "WaitForEvent",
					    "clFinish",   "wait_for",          "await_ready" };
	const char *dot = strrchr(name, '.');

	name = dot ? dot + 1 : name;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (!strcmp(name, whole[i]))
			return true;
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (strstr(name, word[i]))
			return true;
	return false;
}

/* A library that the program called waits for the device: by name. */
bool gap_waits(const struct insight *in, const struct sample_row *r)
{
	struct stack_row s = trace_stack(in->t, r->stack);

	for (uint32_t i = 0; i < s.n && !(s.frame[i].flags & FRAME_USER); i++)
		if (is_wait(trace_text(in->t, s.frame[i].name)))
			return true;
	return false;
}

/* While the device works, a thread that is blocked in a library waits for it, too. */
bool gap_waits_busy(const struct insight *in, const struct sample_row *r)
{
	struct stack_row s = trace_stack(in->t, r->stack);

	if (r->part == HOST_PART_DATA || r->part == HOST_PART_CHECKPOINT)
		return false;
	return gap_waits(in, r) || ((r->state == SAMPLE_LOCK || r->state == SAMPLE_WAIT) && s.n &&
				    !(s.frame[0].flags & FRAME_USER));
}

static enum idle_cause cause_of(const struct insight *in, const struct sample_row *r, bool launches)
{
	static const uint8_t by_part[HOST_PARTS] = {
		[HOST_PART_DATA] = IDLE_INPUT + 1,
		[HOST_PART_CHECKPOINT] = IDLE_CHECKPOINT + 1,
		[HOST_PART_COMPILE] = IDLE_COMPILE + 1,
		[HOST_PART_GC] = IDLE_GC + 1,
		[HOST_PART_COLLECTIVE] = IDLE_OTHER + 1, /* other ranks may be late */
	};

	if (r->flags & SAMPLE_GC)
		return IDLE_GC;
	if (r->part < HOST_PARTS && by_part[r->part])
		return by_part[r->part] - 1;
	if (gap_waits(in, r))
		return IDLE_SYNC;
	return launches ? IDLE_LAUNCH : IDLE_HOST;
}

/* Nearly each piece of work has a gap behind it. Equal gaps count as many, a long one beside three short ones
 * as one; by roots, because one very long gap of thousands must not outweigh them. */
bool gap_is_each(const struct insight_device *d)
{
	uint64_t work = d->b.kernels + d->b.copies + d->b.memsets;
	double idle = (double)(d->b.span_ns - d->b.busy_ns);

	return idle > 0 && 1.5 * d->gap_roots * d->gap_roots / idle >= (double)work;
}

/* How long the device worked while the thread waited for it, as a share of that. */
static double waited(const struct insight *in, uint32_t track)
{
	double all = 0, in_wait = 0;

	for (size_t i = 0; i < in->samples.rows; i++) {
		const struct sample_row *r = &in->samples.row[i];

		if (r->track != track || r->gap)
			continue;
		all += r->ns;
		in_wait += gap_waits_busy(in, r) ? r->ns : 0;
	}
	return all > 0 ? in_wait / all : 0;
}

/* Without the waits the thread would be ahead by as much as the device worked meanwhile. */
static void waits_each(const struct insight *in, struct insight_device *d, uint32_t track)
{
	uint64_t *ns = d->account.ns, lead;
	double share = waited(in, track);

	if (!gap_is_each(d) || share < 0.5)
		return;
	lead = (uint64_t)(share * (double)d->b.busy_ns);
	for (enum account_cause c = ACCOUNT_HOST; c <= ACCOUNT_LAUNCH; c++) {
		uint64_t some = ns[c] < lead ? ns[c] : lead;

		ns[c] -= some;
		ns[ACCOUNT_SYNC] += some;
		lead -= some;
	}
}

static bool is_of_gap(const struct sample_row *r, uint32_t track)
{
	return r->track == track && r->gap == IDLE_OTHER + 1;
}

/* Gives each sample in a gap its cause, and sums them up by cause. Returns how many there are. */
static uint64_t sum_gaps(struct insight *in, uint32_t track, bool launches, double ns[IDLE_CAUSES])
{
	uint64_t count = 0;

	for (size_t i = 0; i < in->samples.rows; i++)
		count += is_of_gap(&in->samples.row[i], track) ? in->samples.row[i].count : 0;
	for (size_t i = 0; count >= SAMPLES_ENOUGH && i < in->samples.rows; i++) {
		struct sample_row *r = &in->samples.row[i];

		if (!is_of_gap(r, track))
			continue;
		r->gap = (uint8_t)(cause_of(in, r, launches) + 1);
		ns[r->gap - 1] += r->ns;
	}
	return count;
}

static void explain(struct insight *in, struct insight_device *d, uint32_t track)
{
	static const struct {
		enum idle_cause idle;
		enum account_cause account;
	} to[] = {
		{ IDLE_INPUT, ACCOUNT_INPUT },
		{ IDLE_SYNC, ACCOUNT_SYNC },
		{ IDLE_HOST, ACCOUNT_HOST },
		{ IDLE_LAUNCH, ACCOUNT_LAUNCH },
		{ IDLE_CHECKPOINT, ACCOUNT_CHECKPOINT },
		{ IDLE_COMPILE, ACCOUNT_COMPILE },
		{ IDLE_GC, ACCOUNT_GC },
	};
	uint64_t *left = &d->account.ns[ACCOUNT_UNKNOWN], idle = *left;
	uint64_t work = d->b.kernels + d->b.copies + d->b.memsets;
	double ns[IDLE_CAUSES] = { 0 }, all = 0;
	uint64_t count = sum_gaps(in, track, idle / GAP_SHORT_NS <= work, ns);

	for (size_t c = 0; c < IDLE_CAUSES; c++)
		all += ns[c];
	if (count < SAMPLES_ENOUGH || all <= 0)
		return;
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		uint64_t some = (uint64_t)(ns[to[i].idle] / all * (double)idle);

		some = some < *left ? some : *left;
		d->account.ns[to[i].account] += some;
		*left -= some;
	}
	d->sampled = count;
	d->sampled_track = track;
	waits_each(in, d, track);
}

int insight_gaps_end(struct insight *in)
{
	for (size_t i = 0; in->samples.rows && i < in->devices; i++) {
		struct insight_device *d = &in->device[i];
		uint32_t process = in->t->device[d->device].process;
		uint32_t track = in->x->process[process].track; /* that has the steps */

		if (d->launch.launched || !d->account.ns[ACCOUNT_UNKNOWN])
			continue;
		if (track == UINT32_MAX)
			track = samples_thread(in, process);
		if (track != SAMPLES_ALL)
			explain(in, d, track);
	}
	return 0;
}
