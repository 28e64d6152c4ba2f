/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rolled.c - samples whose events were overwritten, from the windows that still have them.
 *
 * Each second of a process is read from one of the two, or from both where it is torn:
 *
 *	as many events as its window has samples: the events, and nothing of the window
 *	no event: the window
 *	some events: of each thread, stack and state what the window has more than the events
 *
 * So each sample counts once, whichever blobs are gone.
 */
#include <errno.h>

#include "base/map.h"
#include "base/vec.h"
#include "store/trace_priv.h"

#define SAMPLES (1u << EVENT_SAMPLE)

struct rolled {
	struct from_store *s;
	struct map had;  /* by second: samples of its window that are not used yet, + 1 */
	struct map held; /* by second: events */
	struct map torn; /* by second, thread, stack, state: events, + 1 */
	struct lookup row;
	uint32_t other; /* stack of the trace for SAMPLE_ROLLED_OTHER; 0: not made yet */
};

/* Seconds since boot have 32 bits. */
static uint64_t second_of(uint32_t process, uint64_t ns)
{
	return (uint64_t)process << 32 | (uint32_t)(ns / WINDOW_NS);
}

static uint64_t torn_of(uint64_t second, uint32_t track, uint64_t stack, enum sample_state state)
{
	return hash_mix(hash_mix(hash_mix(second, track), stack), state);
}

static bool in_part(const struct rolled *x, const struct window *w)
{
	const struct store_filter *f = &x->s->part;

	return store_filter_process(f, w->process) && w->start_ns >= f->from_ns &&
	       (!f->to_ns || w->start_ns < f->to_ns);
}

static int count_window(void *arg, const struct window *w)
{
	struct rolled *x = arg;
	uint64_t *had = in_part(x, w) ? map_at(&x->had, second_of(w->process, w->start_ns)) : NULL;

	if (!in_part(x, w))
		return 0;
	if (!had)
		return -ENOMEM;
	*had += !*had;
	for (uint32_t i = 0; i < w->rows; i++)
		if (__builtin_add_overflow(*had, w->row[i].count, had))
			*had = UINT64_MAX; /* damage: no window has so many */
	return 0;
}

static int count_events(void *arg, uint32_t process, const struct event_columns *c)
{
	struct rolled *x = arg;

	for (size_t i = 0; i < c->n; i++) {
		uint64_t second = second_of(process, c->start_ns[i]), *held;

		if (!map_find(&x->had, second))
			continue;
		held = map_at(&x->held, second);
		if (!held)
			return -ENOMEM;
		++*held;
	}
	return 0;
}

static bool is_torn(const struct rolled *x, uint64_t second)
{
	uint64_t held = map_get(&x->held, second);

	return held && held + 1 < map_get(&x->had, second);
}

static int count_torn(void *arg, uint32_t process, const struct event_columns *c)
{
	struct rolled *x = arg;

	for (size_t i = 0; i < c->n; i++) {
		uint64_t second = second_of(process, c->start_ns[i]), *n;

		if (!is_torn(x, second))
			continue;
		n = map_at(&x->torn, torn_of(second, c->track[i], c->a[i], sample_state(c->b[i])));
		if (!n)
			return -ENOMEM;
		*n += 1 + !*n;
	}
	return 0;
}

/* --- rows of the trace --- */

/* Of two rates at most, which is what threads have: then the sum of squares is exact. */
static double squares(const struct rollup *r)
{
	double lo = (double)r->min_ns, hi = (double)r->max_ns, n = (double)r->count;
	double more = hi > lo ? ((double)r->total_ns - n * lo) / (hi - lo) : 0;

	return (n - more) * lo * lo + more * hi * hi;
}

static int stack_of(struct rolled *x, uint32_t name, uint32_t *out)
{
	struct stack_frame other = { .name = TRACE_NAME_OTHER };
	int err = 0;

	if (name != SAMPLE_ROLLED_OTHER) {
		*out = ids_get(&x->s->stack, name - 1, 0);
		return 0;
	}
	if (!x->other)
		err = trace_stack_add(x->s->t, &other, 1, &x->other);
	*out = x->other;
	return err;
}

static bool same(const struct trace_rolled *a, const struct trace_rolled *b)
{
	return a->track == b->track && a->stack == b->stack && a->holder == b->holder &&
	       a->key == b->key;
}

static int add_row(struct rolled *x, const struct trace_rolled *r)
{
	struct trace *t = x->s->t;
	uint64_t hash = hash_mix(hash_mix((uint64_t)r->track << 32 | r->stack, r->holder), r->key);
	uint32_t i = 0;
	bool found = false;

	for (size_t at = 0; !found && lookup_next(&x->row, hash, &at, &i);)
		found = same(&t->rolled[i], r);
	if (!found) {
		i = (uint32_t)t->rolleds;
		if (vec_more(&t->rolled, t->rolleds, sizeof(*t->rolled)) < 0 ||
		    lookup_put(&x->row, hash, i) < 0)
			return -ENOMEM;
		t->rolled[t->rolleds++] = (struct trace_rolled){
			.track = r->track, .stack = r->stack, .holder = r->holder, .key = r->key
		};
	}
	t->rolled[i].count += r->count;
	t->rolled[i].ns += r->ns;
	t->rolled[i].ns2 += r->ns2;
	return 0;
}

/* How many of the row's samples are in no event. */
static uint64_t missing(struct rolled *x, uint64_t second, const struct rollup *r, uint64_t *left)
{
	uint64_t *held = NULL, take = 0;

	if (is_torn(x, second) && r->name != SAMPLE_ROLLED_OTHER)
		held = map_find(&x->torn, torn_of(second, r->track, r->name - 1,
						  sample_rolled_key(r->bytes).state));
	if (held) {
		take = *held - 1 < r->count ? *held - 1 : r->count;
		*held -= take;
	}
	take = r->count - take;
	take = take < *left ? take : *left;
	*left -= take;
	return take;
}

static int take_row(struct rolled *x, uint64_t second, const struct rollup *r, uint64_t *left)
{
	struct sample_key k = sample_rolled_key(r->bytes);
	uint64_t n = r->count ? missing(x, second, r, left) : 0;
	double share = n ? (double)n / (double)r->count : 0;
	uint32_t holder = sample_rolled_holder(r->bytes);
	struct trace_rolled to = { .track = ids_get(&x->s->track, r->track, UINT32_MAX),
				   .key = sample_key(k),
				   .count = n,
				   .ns = share * (double)r->total_ns,
				   .ns2 = share * squares(r) };
	int err;

	if (!n || to.track == UINT32_MAX)
		return 0;
	if (k.state == SAMPLE_GIL)
		to.holder = ids_get(&x->s->stack, holder, 0);
	else if (k.state == SAMPLE_RUNNABLE)
		to.holder = ids_get(&x->s->name, holder, 0);
	err = stack_of(x, r->name, &to.stack);
	return err ? err : add_row(x, &to);
}

static int take_window(void *arg, const struct window *w)
{
	struct rolled *x = arg;
	uint64_t second = second_of(w->process, w->start_ns), held, left;
	uint64_t *had = in_part(x, w) ? map_find(&x->had, second) : NULL;
	int err = 0;

	if (!had)
		return 0;
	held = map_get(&x->held, second);
	left = *had - 1 > held ? *had - 1 - held : 0;
	/* Those of several stacks take what is left. */
	for (int other = 0; other < 2; other++)
		for (uint32_t i = 0; i < w->rows && left && !err; i++)
			if ((w->row[i].name == SAMPLE_ROLLED_OTHER) == other)
				err = take_row(x, second, &w->row[i], &left);
	*had = held + left + 1; /* for a next piece of this window */
	return err;
}

/* --- the whole --- */

static int walk(struct rolled *x, struct store *st)
{
	struct store_filter f = x->s->part, whole = { .kinds = SAMPLES };
	int err;

	f.kinds = SAMPLES;
	err = store_each_window(st, &f, count_window, x);
	if (err || !x->had.used)
		return err;
	whole.process = f.process;
	whole.processes = f.processes;
	whole.from_ns = f.from_ns;
	whole.to_ns = f.to_ns ? f.to_ns + WINDOW_NS : 0; /* the last second as a whole */
	err = store_each_events(st, &whole, EVENT_COL_START, count_events, x);
	err = err ? err
		  : store_each_events(st, &whole,
				      EVENT_COL_START | EVENT_COL_TRACK | EVENT_COL_A | EVENT_COL_B,
				      count_torn, x);
	return err ? err : store_each_window(st, &f, take_window, x);
}

int from_rolled(struct from_store *s, struct store *st)
{
	struct rolled x = { .s = s };
	int err = 0;

	if (s->overwritten && s->part.kinds & SAMPLES && !s->part.span)
		err = walk(&x, st);
	map_fini(&x.had);
	map_fini(&x.held);
	map_fini(&x.torn);
	lookup_fini(&x.row);
	return err;
}
