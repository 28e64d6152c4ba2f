/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consume.c - passes a stream's events to their consumers: a table of consumers, each with the
 * kinds that it needs. A batch goes to them in order, and the order of the table matters.
 */
#include <stdlib.h>
#include <string.h>

#include "agg/graph.h"
#include "agg/roll.h"
#include "daemon/capture/trigger_probe.h"
#include "daemon/control/broker.h"
#include "daemon/core/count.h"
#include "daemon/stream/roofline_live.h"
#include "daemon/stream/shape_learner.h"
#include "daemon/stream/stream_priv.h"
#include "store/blob.h"
#include "store/store.h"

#define BIT(KIND) (1u << EVENT_##KIND)
#define ALL       (~BIT(SAMPLE)) /* they come in batches of their own, and are no work */

/* Rows of samples of a window, and as many of the rest: more than a thread at 49 Hz makes. */
#define SAMPLES_ROWS 64u

_Static_assert(EVENT_MAX <= 32, "a set of kinds is 32 bits");

void stream_hand_window(void *arg, const struct window *w)
{
	struct stream *s = arg;
	struct window all = *w, work;
	uint64_t other;
	struct item *it;

	work = all; /* without samples */
	work.rows = roll_top(&all, SAMPLES_ROWS, &other);
	count_add(COUNT_samples_stack_other, other);
	launchers_window(&s->launchers, &work);
	if (s->learn)
		learn_settle(s->learn, false);
	if (s->plant->judge)
		judge_window(s->plant->judge, &work);
	it = item_window(&all);
	if (s->watcher)
		watcher_window(s->watcher, &work);
	if (s->plant->broker && s->plant->broker->first)
		broker_window(s->plant->broker, &s->proc, &work);
	if (it && s->plant->disk < SHED_ALL && !queue_offer(s->plant->queue, it, QUEUE_REST)) {
		s->plant->dirty = true;
		count_add(COUNT_windows, 1);
		return;
	}
	free(it);
	count_add(COUNT_windows_dropped, 1);
}

/* For events that go no further. */
static void count_out(struct stream *s, const struct event *ev, size_t n, enum aon_loss why)
{
	for (size_t i = 0; i < n; i++)
		s->tally.lost[why] += event_records(&ev[i]);
}

static void roll_template(void *arg, const struct event *e, uint32_t count)
{
	struct stream *s = arg;

	roll_add_many(s->roll, e, count * weigh_at(&s->weigh, e->start_ns), stream_hand_window, s);
}

/* What is in launches of graphs that were seen whole. Memory is taken when there is a graph. */
static void expand_graphs(struct stream *s, struct event *ev, size_t n)
{
	size_t i = 0;

	while (i < n && !graphs_wants(&ev[i]))
		i++;
	if (i < n && (s->graphs || !graphs_new(&s->graphs)))
		graphs_take(s->graphs, ev + i, n - i, roll_template, s);
}

/* From its beginning on, and from its end on what the next one will be: what that shows comes
 * before it. */
static void weigh(struct stream *s, struct event *e)
{
	uint64_t end = e->start_ns + e->dur_ns;
	uint32_t is, next;

	if (s->cost.track != e->track + 1 || (e->flags & EVENT_OPEN))
		return;
	is = cost_weight(&s->cost, e->a, e->start_ns);
	next = cost_weight(&s->cost, e->a + 1, end);
	e->b = is > 1 ? is : 0;
	if (is)
		weigh_step(&s->weigh, e->start_ns, is);
	if (next)
		weigh_step(&s->weigh, end, next);
	s->step_tid = s->tid;
}

/* Where the process is, and how fast, for orders that begin at a step. */
static void note_steps(struct stream *s, struct event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ev[i].kind != EVENT_STEP)
			continue;
		if (cost_step(&s->cost, &ev[i])) {
			ev[i].flags |= EVENT_UNSAMPLED;
			s->proc.overhead.unsampled++;
		}
		weigh(s, &ev[i]);
		if (!s->watcher)
			watcher_new(&s->watcher, s->plant->store);
		/* An unsampled step is faster by what recording costs: that is no news. */
		if (s->watcher && s->cost.track == ev[i].track + 1 && !(ev[i].flags & EVENT_OPEN))
			watcher_step(s->watcher, &ev[i], !(ev[i].flags & EVENT_UNSAMPLED));
		if (s->cost.track == ev[i].track + 1 && !(ev[i].flags & EVENT_OPEN))
			launchers_step(&s->launchers, ev[i].start_ns, ev[i].dur_ns);
		if (s->cost.track == ev[i].track + 1 && !(ev[i].flags & EVENT_OPEN) &&
		    s->proc.tier >= TIER_ROLLUP)
			stepper_step(s->stepper, &ev[i], ev[i].flags & EVENT_UNSAMPLED);
		if (ev[i].a < s->step)
			continue;
		s->step = ev[i].a;
		s->step_ns = s->step_ns ? (15 * s->step_ns + ev[i].dur_ns) / 16 : ev[i].dur_ns;
	}
}

/* Kinds that unsampled steps do not have; operators are scaled by the steps that recorded some. */
#define WEIGHED                                                                                   \
	(BIT(MARK) | BIT(FLOW) | BIT(KERNEL) | BIT(COPY) | BIT(MEMSET) | BIT(SYNC) | BIT(GRAPH) | \
	 BIT(COLLECTIVE) | BIT(API))

/* Steps that show nothing have rows of their own: readers tell how many there were of which. */
static void roll_step(struct stream *s, const struct event *e)
{
	bool left = e->flags & EVENT_UNSAMPLED;
	uint32_t *name = left ? &s->plant->steps_left : &s->plant->steps_unseen;
	const char *text = left ? STEPS_UNSAMPLED : STEPS_UNSEEN;
	struct event x = *e;

	if (!*name)
		store_name(s->plant->store, text, strlen(text), name);
	if (left || s->proc.tier < TIER_ROLLUP)
		x.name = *name;
	roll_add(s->roll, &x, 1, stream_hand_window, s);
}

/* Every event as often as it counts. */
static void roll_events(struct stream *s, struct event *ev, size_t n)
{
	size_t from = 0;

	/* The first steps of a measurement may be unsampled ones: no weight is known yet. */
	if (!s->weigh.n && !s->proc.overhead.unsampled && s->proc.tier >= TIER_ROLLUP) {
		roll_add(s->roll, ev, n, stream_hand_window, s);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		bool step = ev[i].kind == EVENT_STEP;
		uint32_t w = 1u << ev[i].kind & WEIGHED ? weigh_at(&s->weigh, ev[i].start_ns) : 1;

		if (w == 1 && !step)
			continue;
		roll_add(s->roll, ev + from, i - from, stream_hand_window, s);
		if (step)
			roll_step(s, &ev[i]);
		else
			roll_add_many(s->roll, &ev[i], w, stream_hand_window, s);
		from = i + 1;
	}
	roll_add(s->roll, ev + from, n - from, stream_hand_window, s);
}

#define LEARN_FOR 256u /* runs of records behind a capture, in which its last kernels come */

/* Operators, their launches and kernels, while all of them are recorded. */
static void learn_from(struct stream *s, struct event *ev, size_t n)
{
	if (s->learn && s->proc.tier < TIER_FULL && !--s->learn_for) {
		learn_settle(s->learn, true);
		learn_free(s->learn);
		s->learn = NULL;
	}
	if (!s->plant->judge || (s->proc.tier < TIER_FULL && !s->learn))
		return;
	if (s->proc.tier >= TIER_FULL)
		s->learn_for = LEARN_FOR;
	if (s->learn || !learn_new(&s->learn, s->plant->judge, s->plant->store))
		learn_events(s->learn, ev, n);
}

static bool has_broker(const struct stream *s)
{
	return s->plant->broker && s->plant->broker->first;
}

static void give_broker(struct stream *s, struct event *ev, size_t n)
{
	broker_events(s->plant->broker, &s->proc, ev, n);
}

static bool has_arms(const struct stream *s)
{
	return s->arms;
}

static void give_arms(struct stream *s, struct event *ev, size_t n)
{
	arms_events(s, ev, n);
}

static void give_stepper(struct stream *s, struct event *ev, size_t n)
{
	stepper_events(s->stepper, ev, n);
}

void stream_encode(struct stream *s, const struct event *ev, size_t n)
{
	size_t took;

	while ((took = blob_add(s->enc, ev, n)) < n) {
		ev += took;
		n -= took;
		stream_flush(s);
		if (blob_count(s->enc)) { /* no memory to seal it */
			count_out(s, ev, n, AON_LOSS_BUDGET);
			return;
		}
	}
}

/* Single events, where the fidelity level and the budgets allow them. */
static void store_events(struct stream *s, struct event *ev, size_t n)
{
	if (s->proc.tier < TIER_FLIGHT || s->plant->shed >= SHED_EVENTS || s->sums_only ||
	    s->plant->disk >= SHED_EVENTS) {
		count_out(s, ev, n, AON_LOSS_ROLLED_UP);
		return;
	}
	stream_encode(s, ev, n);
}

/* The first to go: before events are only rolled up, and these are in no rollup. */
static void store_samples(struct stream *s, struct event *ev, size_t n)
{
	bool off = s->proc.tier < TIER_FLIGHT || s->plant->shed || s->sums_only || s->plant->disk;

	if (!off && !s->samples)
		s->samples = malloc(SAMPLES_ROOM * sizeof(*s->samples));
	if (off || !s->samples) {
		count_out(s, ev, n, AON_LOSS_BUDGET);
		count_add(COUNT_samples_lost, n);
		return;
	}
	count_add(COUNT_samples, n);
	for (size_t i = 0; i < n; i++) {
		if (s->samples_n == SAMPLES_ROOM)
			stream_ripe_samples(s, UINT64_MAX);
		s->samples[s->samples_n++] = ev[i];
		s->samples_top = s->samples_n > s->samples_top ? s->samples_n : s->samples_top;
	}
}

static bool has_samples(const struct stream *s)
{
	return s->samples;
}

/* GRAPH is of a device when it is the graph itself, and of a thread when it is its launch. */
static bool is_work(const struct stream *s, const struct event *e)
{
	return 1u << e->kind & (BIT(KERNEL) | BIT(COPY) | BIT(MEMSET)) ||
	       (e->kind == EVENT_GRAPH && !launchers_tid(&s->launchers, e->track));
}

/* HOST_PARTS: none. */
static enum host_part range_part(const struct stream *s, const struct event *e)
{
	const struct step_names *n = &s->plant->means.means;
	uint8_t part = e->name < n->n ? n->of[e->name].part : 0;

	if (e->kind == EVENT_OP)
		return e->a & 1 ? HOST_PART_BACKWARD : HOST_PARTS;
	if (!part)
		return e->kind == EVENT_MODULE ? HOST_PART_FORWARD : HOST_PARTS;
	return (enum host_part)(part - 1);
}

static void give_places(struct stream *s, struct event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct event *e = &ev[i];
		uint64_t end = e->start_ns + e->dur_ns;

		if (is_work(s, e))
			places_work(&s->places, e->start_ns, end);
		else if (1u << e->kind & (BIT(RANGE) | BIT(MODULE) | BIT(OP)))
			places_range(&s->places, e->track, e->start_ns, end, range_part(s, e));
		else if (e->kind == EVENT_STEP && s->cost.track == e->track + 1 &&
			 !(e->flags & EVENT_OPEN))
			places_step(&s->places, e->start_ns, end);
	}
}

/* --- the table --- */

struct consumer {
	const char *name;
	uint32_t kinds;                        /* a batch without any of them is not for it */
	bool (*is_on)(const struct stream *s); /* NULL: always */
	void (*take)(struct stream *s, struct event *ev, size_t n);
};

static const struct consumer consumers[] = {
	/* clang-format off */
	/* First: it marks unsampled steps and learns their weights, which all others read. */
	{ "steps",        BIT(STEP), NULL,       note_steps },
	{ "shapes",       ALL,       NULL,       learn_from }, /* it also counts batches */
	{ "live",         ALL,       has_broker, give_broker },
	{ "triggers",     ALL,       has_arms,   give_arms },
	{ "step records", BIT(KERNEL) | BIT(GRAPH) | BIT(COPY) | BIT(MEMSET) | BIT(COLLECTIVE) |
			  BIT(SYNC) | BIT(API) | BIT(RANGE) | BIT(COUNTER),
	                             NULL,       give_stepper },
	{ "windows",      ALL,       NULL,       roll_events },
	{ "graphs",       BIT(GRAPH) | BIT(KERNEL) | BIT(COPY) | BIT(MEMSET),
	                             NULL,       expand_graphs },
	{ "store",        ALL,       NULL,       store_events },
	{ "places",       BIT(KERNEL) | BIT(GRAPH) | BIT(COPY) | BIT(MEMSET) | BIT(RANGE) |
			  BIT(MODULE) | BIT(OP) | BIT(STEP),
	                             has_samples, give_places },
	{ "samples",      BIT(SAMPLE), NULL,     store_samples },
	/* clang-format on */
};

void stream_take(struct stream *s, struct event *ev, size_t n)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < n; i++)
		kinds |= 1u << ev[i].kind;
	for (size_t i = 0; i < sizeof(consumers) / sizeof(consumers[0]); i++) {
		const struct consumer *c = &consumers[i];

		if (kinds & c->kinds && (!c->is_on || c->is_on(s)))
			c->take(s, ev, n);
	}
}
