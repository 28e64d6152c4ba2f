/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_records.c - bytes as runs of records, through understanding and rolling up.
 *
 * The input is runs: four bytes {units, thread, high half of the TSC, what to do after}, then
 * the units. After every call each record must be accounted for, and at the end every event
 * must be in exactly one rollup.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agg/roll.h"
#include "agg/understand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAP 4096u

enum { CLOSE_SOME = 1, CLOSE_ALL = 2, MANY_THREADS = 4 };

struct state {
	struct understand *u;
	struct roll *r;
	uint64_t records, in_events, events, rolled;
	uint64_t lost[AON_LOSS_MAX];
};

#define MUST(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

static uint32_t find(void *arg, uint32_t id)
{
	(void)arg;
	MUST(id <= UINT16_MAX || id < HEAP / AON_HEAP_ALIGN);
	return id % 16 == 15 ? 0 : id;
}

static uint32_t find_thread(void *arg, uint32_t tid)
{
	(void)arg;
	return tid % 16 == 15 ? 0 : tid;
}

static void take_text(void *arg, const struct understand_text *p)
{
	static unsigned char sum; /* every byte can be read */

	(void)arg;
	MUST(p->len > 0 && p->total <= AON_TEXT_MAX && p->off + p->len <= p->total);
	for (uint32_t i = 0; i < p->len; i++)
		sum ^= ((const unsigned char *)p->bytes)[i];
}

static void check_window(void *arg, const struct window *w)
{
	struct state *s = arg;

	MUST(w->rows > 0 && w->start_ns % WINDOW_NS == 0);
	for (uint32_t i = 0; i < w->rows; i++) {
		const struct rollup *r = &w->row[i];
		uint64_t sum = 0;

		for (uint32_t k = 0; k < r->sketch.span; k++)
			sum += r->sketch.cell[k];
		MUST(r->count > 0 && sum == r->sketch.count && (sum == 0 || sum == r->count));
		MUST(r->kind == EVENT_COUNTER || r->min_ns <= r->max_ns);
		s->rolled += r->count;
	}
}

static void take(struct state *s, const struct event *ev, size_t n)
{
	uint64_t all = understand_open(s->u);

	for (size_t i = 0; i < n; i++) {
		MUST(ev[i].kind != EVENT_NONE && ev[i].kind < EVENT_MAX && ev[i].start_ns != 0);
		MUST(ev[i].dur_ns <= INT64_MAX - ev[i].start_ns);
		s->in_events += event_records(&ev[i]);
	}
	s->events += n;
	for (uint32_t i = 0; i < AON_LOSS_MAX; i++)
		all += s->lost[i];
	MUST(s->records == s->in_events + all);
	roll_add(s->r, ev, n, check_window, s);
}

static void close_all(struct state *s, uint64_t end_ns)
{
	struct event ev[7];
	size_t n;

	while ((n = understand_close(s->u, end_ns, ev, 7, s->lost)) > 0)
		take(s, ev, n);
	MUST(understand_open(s->u) == 0);
}

static void run(struct state *s, const uint8_t head[4], const uint8_t *bytes, size_t units)
{
	static const struct clock_map clk = { 1ull << 33, 5000000000, 1756000000,
					      2445000000, 1757000000, 5000000000 };
	/* Exact allocations, so that one unit or event too far is seen. */
	union aon_rec *rec = malloc(units * sizeof(*rec));
	struct event *ev = malloc(units * sizeof(*ev));
	uint32_t tid = head[1];
	uint64_t records;
	size_t n;

	MUST(rec && ev);
	memcpy(rec, bytes, units * sizeof(*rec));
	if (head[3] & MANY_THREADS)
		tid |= (uint32_t)s->records << 8;
	n = understand_records(s->u, &clk, tid, head[2], rec, units, ev, &records, s->lost);
	MUST(n <= units && records <= units && records > 0);
	s->records += records;
	take(s, ev, n);
	if (head[3] & CLOSE_SOME)
		roll_close(s->r, (uint64_t)head[3] << 28, check_window, s);
	if (head[3] & CLOSE_ALL)
		close_all(s, (uint64_t)head[3] << 28);
	free(ev);
	free(rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct understand_ops ops = { find, find, find, find_thread, take_text };
	struct roll_opts o = { .process = 1, .rows_max = 24, .name_other = 1 };
	struct state s = { 0 };

	MUST(!understand_new(&s.u, &ops, NULL, HEAP) && !roll_new(&s.r, &o));
	while (size >= 4 + AON_UNIT) {
		size_t units = data[0], fit = (size - 4) / AON_UNIT;

		units = units == 0 ? 1 : units > fit ? fit : units;
		run(&s, data, data + 4, units);
		data += 4 + units * AON_UNIT;
		size -= 4 + units * AON_UNIT;
	}
	close_all(&s, INT64_MAX);
	roll_close(s.r, UINT64_MAX, check_window, &s);
	MUST(s.rolled == s.events);
	roll_free(s.r);
	understand_free(s.u);
	return 0;
}
