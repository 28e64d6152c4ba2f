/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_live_whole.c - the function of the program that holds a cause, with all that it calls.
 *
 * The innermost function has only its own lines: of one that sorts what a generator of its own yields, by a
 * key of its own, each of the three has a third. On the stack that was met most,
 *
 *	main loop > score > candidates > key      (outermost first)
 *	            ^ the first below the loop holds the cause
 *
 * the deepest function is named that still holds three quarters of what the first one does. A function is
 * the loop if most of the time of other causes is in that function, too.
 */
#include <string.h>

#include "insight/live/find_live.h"

#define HOLDS 0.75 /* of the first function below the loop: a cost within a third of the true one */
#define ALL   0.95 /* of all samples: nothing tells it from the loop */

/* What the function brings about besides, if it is in no range: operators and collectives that it calls,
 * garbage that it makes, CPUs that it waits for. */
#define WITH                                                                  \
	(1u << ACCOUNT_COMPUTE | 1u << ACCOUNT_GC | 1u << ACCOUNT_PREEMPTED | \
	 1u << ACCOUNT_THROTTLED | 1u << ACCOUNT_COMM_SEND)

/* All samples of the cause, all others, and those of each that have a function on their stack. */
struct held {
	double in_ns, in_ns2, out_ns;
	double cause_ns[ACCOUNT_CAUSES];
	double with_ns[ACCOUNT_CAUSES]; /* of these, in no range */
	uint64_t count;
	double state[SAMPLE_STATES];
};

static bool has_function(const struct trace *t, uint32_t stack, const struct stack_frame *f)
{
	struct stack_row s = trace_stack(t, stack);

	for (uint32_t i = 0; i < s.n; i++)
		if (s.frame[i].name == f->name && s.frame[i].file == f->file)
			return true;
	return false;
}

/* f NULL: of all. */
static struct held held_by(const struct insight *in, const struct host_account *a, uint32_t causes,
			   const struct stack_frame *f)
{
	struct held h = { 0 };

	for (size_t i = 0; i < a->rows; i++) {
		const struct host_sample *r = &a->row[i];

		if (f && !has_function(in->t, r->stack, f))
			continue;
		h.cause_ns[r->cause] += r->ns;
		if (!(causes & 1u << r->cause)) {
			h.out_ns += r->ns;
			h.with_ns[r->cause] += r->part == HOST_PARTS || r->part == HOST_PART_GC ||
							       r->part == HOST_PART_COLLECTIVE
						       ? r->ns
						       : 0;
			continue;
		}
		h.in_ns += r->ns;
		h.in_ns2 += r->ns2;
		h.count += r->count;
		h.state[r->state] += r->ns;
	}
	return h;
}

static bool is_own(const struct trace *t, const struct stack_frame *f)
{
	const char *name = trace_text(t, f->name);

	return f->kind == FRAME_PYTHON && f->flags & FRAME_USER && *name &&
	       name[strlen(name) - 1] != '>' && strcmp(name, "main") != 0 &&
	       strncmp(name, "train", 5) != 0 && !file_is_library(trace_text(t, f->file));
}

static bool is_loop(const struct held *h, const struct held *all)
{
	return h->out_ns > all->out_ns / 2 ||
	       h->in_ns + h->out_ns > ALL * (all->in_ns + all->out_ns);
}

/* What it does when it has a CPU, or needs none. */
static enum sample_state state_of(const struct held *h)
{
	enum sample_state best = SAMPLE_RUNNING;

	for (enum sample_state s = SAMPLE_NONE + 1; s < SAMPLE_STATES; s++)
		if (s != SAMPLE_RUNNABLE && s != SAMPLE_THROTTLED && h->state[s] > h->state[best])
			best = s;
	return best;
}

/* The part of the account's other causes that this function has. It is of the function only if a
 * third of its time is of the cause: else it is a part of the model. */
static uint64_t with(const struct host_account *a, const struct held *h, const struct held *all)
{
	double ns = 0, sum = 0;

	for (uint32_t c = 0; c < ACCOUNT_CAUSES; c++) {
		uint64_t cost = a->on.account.ns[c];

		if (!(WITH & 1u << c) || all->with_ns[c] <= 0)
			continue;
		if (c == ACCOUNT_COMM_SEND) /* samples do not tell sending from waiting */
			cost += a->on.account.ns[ACCOUNT_COMM_WAIT];
		sum += h->with_ns[c];
		ns += h->with_ns[c] / all->cause_ns[c] * (double)cost;
	}
	return sum <= 2 * h->in_ns ? (uint64_t)ns : 0;
}

bool live_whole(const struct insight *in, const struct host_account *a, uint32_t causes,
		struct sample_blame *b, struct share *share, uint64_t *with_ns)
{
	struct held all = held_by(in, a, causes, NULL), best = { 0 };
	struct stack_row s = trace_stack(in->t, b->stack);
	const struct samples_sum of = { .count = all.count, .ns = all.in_ns, .ns2 = all.in_ns2 };
	const struct stack_frame *found = NULL;
	double first = 0;

	for (uint32_t i = s.n; i--;) {
		struct held h;

		if (!is_own(in->t, &s.frame[i]))
			continue;
		h = held_by(in, a, causes, &s.frame[i]);
		if (is_loop(&h, &all) || h.in_ns < HOLDS * first)
			continue;
		first = first > 0 ? first : h.in_ns;
		best = h;
		found = &s.frame[i];
	}
	if (!found)
		return false;
	*with_ns = with(a, &best, &all);
	if (best.in_ns > share->share * all.in_ns)
		*share = samples_share(&of, best.in_ns, best.count);
	if (found->name != b->frame.name || found->file != b->frame.file) {
		b->in = (struct stack_frame){ 0 };
		b->state = state_of(&best);
		b->frame = *found;
	}
	return true;
}
