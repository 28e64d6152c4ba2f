/* SPDX-License-Identifier: Apache-2.0 */
/* Records in, events out: each kind, each refusal, and that no record is ever unaccounted. */
#include "agg/understand.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "agg/open.h"
#include "t.h"

#define HEAP     65536u
#define HEAP_IDS (HEAP / AON_HEAP_ALIGN)
#define UNITS    512u
#define HI       3u
#define NS(t)    ((uint64_t)HI << 32 | (t)) /* one tick is one nanosecond here */

static const struct clock_map one_ghz = { .mult = 1ull << 32, .before = 1ull << 32 };
static struct understand *u;
static uint64_t asked, seen_records, seen_events;
static uint64_t lost[AON_LOSS_MAX];
static struct event ev[UNITS];

/* Ids whose last digit is 9 are not in the heap. The store's are the heap's plus an offset. */
static uint32_t find(uint32_t id, uint32_t offset)
{
	asked++;
	return id == 0 || id % 10 == 9 ? 0 : id + offset;
}

static uint32_t find_name(void *arg, uint32_t id)
{
	(void)arg;
	return find(id, 1000000);
}

static uint32_t find_geo(void *arg, uint32_t id)
{
	(void)arg;
	return find(id, 2000000);
}

static uint32_t find_track(void *arg, uint32_t id)
{
	(void)arg;
	return find(id, 3000000);
}

static uint32_t find_thread(void *arg, uint32_t tid)
{
	(void)arg;
	asked++;
	return tid + 4000000;
}

static struct understand_text got; /* the last piece of a text */
static char got_bytes[AON_UNIT * 2];

static void take_text(void *arg, const struct understand_text *piece)
{
	(void)arg;
	got = *piece;
	memcpy(got_bytes, piece->bytes, piece->len);
}

static const struct understand_ops ops = { find_name, find_geo, find_track, find_thread,
					   take_text };

static void begin(void)
{
	understand_free(u);
	u = NULL;
	if (understand_new(&u, &ops, NULL, HEAP))
		abort();
	seen_records = seen_events = 0;
	memset(lost, 0, sizeof(lost));
}

static bool balanced(void)
{
	uint64_t sum = seen_events + understand_open(u);

	for (int i = 0; i < AON_LOSS_MAX; i++)
		sum += lost[i];
	return sum == seen_records;
}

static size_t feed(uint32_t tid, const union aon_rec *rec, size_t units)
{
	uint64_t records = 12345;
	size_t n = understand_records(u, &one_ghz, tid, HI, rec, units, ev, &records, lost);

	seen_records += records;
	for (size_t i = 0; i < n; i++)
		seen_events += event_records(&ev[i]);
	return n;
}

static size_t feed_host(uint32_t tid, uint32_t t, uint32_t kind, uint32_t name, uint64_t a)
{
	union aon_rec r = { .host = { t, (uint16_t)kind, 1, 0, name, 0, a, 0 } };

	return feed(tid, &r, 1);
}

static size_t end_all(uint64_t end_ns, size_t max)
{
	size_t n, all = 0;

	while ((n = understand_close(u, end_ns, ev, max, lost)) > 0) {
		for (size_t i = 0; i < n; i++)
			seen_events += event_records(&ev[i]);
		all += n;
	}
	return all;
}

/* kind, length, flags, name, arg, start, corr, track */
#define ACT(k, l, f, n, x, s, c, la)                      \
	{                                                 \
		.act = { 70, k, l, f, n, x, s, c, la, 0 } \
	}
/* dur, arg, group, sequence */
#define EXT(...)                        \
	{                               \
		.word = { __VA_ARGS__ } \
	}
#define L(x) AON_LOSS_##x

/* One record (and its extension) in: one event out, or one loss. */
static const struct {
	const char *name;
	union aon_rec rec[2];
	size_t units;
	uint32_t loss; /* 0: `want` comes out */
	struct event want;
} cases[] = {
	/* clang-format off */
	{ "a kernel", { ACT(AON_K_KERNEL, 1, 0, 11, 12, 5000, 8, 2) }, 1, 0,
	  { 5000, 70, 2000012, 0, 1000011, 8, 3000002, EVENT_KERNEL, 0, 0 } },
	{ "a kernel without name, geometry, lane",
	  { { .act = { .kind = AON_K_KERNEL, .len = 1, .start = 5000, .dur = 70 } } }, 1, 0,
	  { 5000, 70, 0, 0, 0, 0, 0, EVENT_KERNEL, 0, 0 } },
	{ "a copy with its direction", { ACT(AON_K_COPY, 1, 2, 0, 99, 5000, 0, 2) }, 1, 0,
	  { 5000, 70, 99, 0, 0, 0, 3000002, EVENT_COPY, 2 << EVENT_COPY_SHIFT, 0 } },
	{ "a memset", { ACT(AON_K_MEMSET, 1, 0, 0, 64, 5000, 0, 2) }, 1, 0,
	  { 5000, 70, 64, 0, 0, 0, 3000002, EVENT_MEMSET, 0, 0 } },
	{ "a sync", { ACT(AON_K_SYNC, 1, 0, 0, 0, 5000, 0, 2) }, 1, 0,
	  { 5000, 70, 0, 0, 0, 0, 3000002, EVENT_SYNC, 0, 0 } },
	{ "a graph launch", { ACT(AON_K_GRAPH, 1, 0, 0, 7, 5000, 0, 2) }, 1, 0,
	  { 5000, 70, 7, 0, 0, 0, 3000002, EVENT_GRAPH, 0, 0 } },
	{ "an API call", { ACT(AON_K_API, 1, 0, 1, 0, 5000, 0, 2) }, 1, 0,
	  { 5000, 70, 0, 0, 1000001, 0, 3000002, EVENT_API, 0, 0 } },
	{ "a kernel of a graph",
	  { ACT(AON_K_KERNEL, 2, AON_F_EXT, 0, 12, 5000, 0, 2), EXT(1, 2, 3, 4) }, 2, 0,
	  { 5000, 70, 2000012, 3, 0, 0, 3000002, EVENT_KERNEL, 0, 0 } },
	{ "a long kernel keeps its geometry",
	  { ACT(AON_K_KERNEL, 2, AON_F_EXT | AON_F_LONG, 0, 12, 5000, 0, 2),
	    EXT(1ull << 40, 12, 3, 4) }, 2, 0,
	  { 5000, 1ull << 40, 2000012, 3, 0, 0, 3000002, EVENT_KERNEL, 0, 0 } },
	{ "a long, large collective",
	  { ACT(AON_K_COLLECTIVE, 2, AON_F_EXT | AON_F_LONG, 0, 0, 5000, 0, 2),
	    EXT(1ull << 40, 1ull << 41, 3, 4) }, 2, 0,
	  { 5000, 1ull << 40, 1ull << 41, 4, 0, 0, 3000002, EVENT_COLLECTIVE, 0, 0 } },
	{ "an activity up to the last moment",
	  { ACT(AON_K_SYNC, 1, 0, 0, 0, INT64_MAX - 70, 0, 2) }, 1, 0,
	  { INT64_MAX - 70, 70, 0, 0, 0, 0, 3000002, EVENT_SYNC, 0, 0 } },
	{ "a mark",
	  { { .host = { 50, AON_K_MARK, 1, 0, 11, 6, 7, 8 } } }, 1, 0,
	  { NS(50), 0, 7, 8, 1000011, 6, 4000077, EVENT_MARK, 0, 0 } },
	{ "a mark with a payload that is not known",
	  { { .host = { 50, AON_K_MARK, 2, 0, 11, 6, 7, 8 } } }, 2, 0,
	  { NS(50), 0, 7, 8, 1000011, 6, 4000077, EVENT_MARK, 0, 0 } },
	{ "a counter", { { .host = { 50, AON_K_COUNTER, 1, 0, 11, 0, 7, 0 } } }, 1, 0,
	  { NS(50), 0, 7, 0, 1000011, 0, 4000077, EVENT_COUNTER, 0, 0 } },
	{ "a counter that is a double",
	  { { .host = { 50, AON_K_COUNTER, 1, AON_F_FLOAT, 11, 0, 7, 0 } } }, 1, 0,
	  { NS(50), 0, 7, 0, 1000011, 0, 4000077, EVENT_COUNTER, EVENT_FLOAT, 0 } },
	{ "a piece of a text", { { .host = { 50, AON_K_TEXT, 2, 0, 11, 32, 40, 1 } }, EXT(1, 2, 3, 4) }, 2, 0,
	  { NS(50), 0, 40, 1, 1000011, 32, 4000077, EVENT_MARK, 0, 0 } },
	{ "a text without bytes", { { .host = { 50, AON_K_TEXT, 1, 0, 11, 0, 40, 1 } } }, 1, L(INVALID), { 0 } },
	{ "a text of no bytes", { { .host = { 50, AON_K_TEXT, 2, 0, 11, 0, 0, 1 } } }, 2, L(INVALID), { 0 } },
	{ "a text that is too long", { { .host = { 50, AON_K_TEXT, 2, 0, 11, 0, AON_TEXT_MAX + 1, 1 } } }, 2, L(INVALID), { 0 } },
	{ "a piece behind its text", { { .host = { 50, AON_K_TEXT, 2, 0, 11, 40, 40, 1 } } }, 2, L(INVALID), { 0 } },
	{ "a flow", { { .host = { 50, AON_K_FLOW, 1, 0, 0, 0, 7, 8 } } }, 1, 0,
	  { NS(50), 0, 7, 8, 0, 0, 4000077, EVENT_FLOW, 0, 0 } },

	{ "kind 0", { ACT(0, 1, 0, 0, 0, 5000, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "a kind of the future", { ACT(11, 1, 0, 0, 0, 5000, 0, 2) }, 1, L(UNKNOWN), { 0 } },
	{ "a kind beyond the table", { ACT(65535, 1, 0, 0, 0, 5000, 0, 2) }, 1, L(UNKNOWN), { 0 } },
	{ "a kind of the future, two units", { ACT(63, 2, 0, 0, 0, 5000, 0, 2) }, 2, L(UNKNOWN), { 0 } },
	{ "length 0", { ACT(AON_K_SYNC, 0, 0, 0, 0, 5000, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "a length beyond the run", { ACT(AON_K_SYNC, 2, 0, 0, 0, 5000, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "a name that the heap lacks", { ACT(AON_K_SYNC, 1, 0, 19, 0, 5000, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "a name beyond the heap", { ACT(AON_K_SYNC, 1, 0, HEAP_IDS, 0, 5000, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "the last name there can be", { ACT(AON_K_SYNC, 1, 0, HEAP_IDS - 1, 0, 5000, 0, 2) }, 1, 0,
	  { 5000, 70, 0, 0, 1000000 + HEAP_IDS - 1, 0, 3000002, EVENT_SYNC, 0, 0 } },
	{ "a geometry that the heap lacks", { ACT(AON_K_KERNEL, 1, 0, 0, 19, 5000, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "a geometry beyond the heap", { ACT(AON_K_KERNEL, 1, 0, 0, UINT32_MAX, 5000, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "a lane that the heap lacks", { ACT(AON_K_SYNC, 1, 0, 0, 0, 5000, 0, 19) }, 1, L(INVALID), { 0 } },
	{ "start 0", { ACT(AON_K_SYNC, 1, 0, 0, 0, 0, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "a start after all time", { ACT(AON_K_SYNC, 1, 0, 0, 0, UINT64_MAX, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "an end after the last moment",
	  { ACT(AON_K_SYNC, 1, 0, 0, 0, INT64_MAX - 69, 0, 2) }, 1, L(INVALID), { 0 } },
	{ "an end that overflows",
	  { ACT(AON_K_SYNC, 2, AON_F_EXT | AON_F_LONG, 0, 0, 5000, 0, 2), EXT(UINT64_MAX, 0, 0, 0) },
	  2, L(INVALID), { 0 } },
	{ "an extension that is not there",
	  { ACT(AON_K_SYNC, 1, AON_F_EXT, 0, 0, 5000, 0, 2), EXT(1, 2, 3, 4) }, 1, L(INVALID), { 0 } },
	{ "long without extension", { ACT(AON_K_SYNC, 2, AON_F_LONG, 0, 0, 5000, 0, 2) }, 2, L(INVALID), { 0 } },
	{ "a mark with a bad name", { { .host = { 50, AON_K_MARK, 1, 0, 19, 6, 7, 8 } } }, 1, L(INVALID), { 0 } },
	{ "a mark of a lane", { { .host = { 50, AON_K_MARK, 1, AON_F_TRACK, 1, 6, 2, 8 } } }, 1, 0,
	  { NS(50), 0, 0, 8, 1000001, 6, 3000002, EVENT_MARK, 0, 0 } },
	{ "a mark of a lane that the heap lacks",
	  { { .host = { 50, AON_K_MARK, 1, AON_F_TRACK, 1, 6, 19, 8 } } }, 1, L(INVALID), { 0 } },
	{ "a counter of a lane at a known time",
	  { { .host = { 50, AON_K_COUNTER, 1, AON_F_FLOAT | AON_F_TRACK | AON_F_AT, 11, 2, 7, 4321 } } }, 1, 0,
	  { 4321, 0, 7, 0, 1000011, 0, 3000002, EVENT_COUNTER, EVENT_FLOAT, 0 } },
	{ "a counter of a lane at no time",
	  { { .host = { 50, AON_K_COUNTER, 1, AON_F_TRACK | AON_F_AT, 11, 2, 7, 0 } } }, 1, L(INVALID), { 0 } },
	{ "a counter of a lane at a time beyond all",
	  { { .host = { 50, AON_K_COUNTER, 1, AON_F_TRACK | AON_F_AT, 11, 2, 7, 1ull << 63 } } }, 1, L(INVALID), { 0 } },
	{ "a mark of no lane", { { .host = { 50, AON_K_MARK, 1, AON_F_TRACK, 1, 6, 0, 8 } } }, 1, L(INVALID), { 0 } },
	{ "a mark of a lane beyond all",
	  { { .host = { 50, AON_K_MARK, 1, AON_F_TRACK, 1, 6, 1ull << 32 | 2, 8 } } }, 1, L(INVALID), { 0 } },
	{ "a range's category",
	  { { .host = { 50, AON_K_RANGE_PUSH, 1, 0, 1, 7, 0, 0 } }, { .host = { 60, AON_K_RANGE_POP, 1, 0, 0, 0, 0, 0 } } },
	  2, 0, { NS(50), 10, 0, 7, 1000001, 0, 4000077, EVENT_RANGE, 0, 0 } },
	{ "a pop without push", { { .host = { 50, AON_K_RANGE_POP, 1, 0, 0, 0, 0, 0 } } }, 1, L(UNMATCHED), { 0 } },
	/* clang-format on */
};

static void check_cases(void)
{
	for (size_t i = 0; i < T_LEN(cases); i++) {
		union aon_rec *rec = malloc(cases[i].units * sizeof(*rec));
		size_t n;

		/* An exact allocation: ASan sees a read beyond the run. */
		if (!rec)
			abort();
		memcpy(rec, cases[i].rec, cases[i].units * sizeof(*rec));
		begin();
		n = feed(77, rec, cases[i].units);
		if (cases[i].loss)
			T_OK(n == 0 && lost[cases[i].loss] == 1 && balanced(), "%s is refused",
			     cases[i].name);
		else
			T_OK(n == 1 && !memcmp(ev, &cases[i].want, sizeof(ev[0])) && balanced(),
			     "%s", cases[i].name);
		free(rec);
	}
}

static void check_text(void)
{
	union aon_rec rec[2] = { { .host = { 50, AON_K_TEXT, 2, 0, 11, 32, 40, 1 } } };

	memcpy(&rec[1], "abcdefgh, and what fills the rest", AON_UNIT);
	begin();
	feed(77, rec, 2);
	T_OK(got.tid == 77 && got.type == AON_TEXT_OPENCL && got.off == 32 && got.total == 40 &&
		     got.len == 8 && !memcmp(got_bytes, "abcdefgh", 8) && balanced(),
	     "a piece ends where its text does");
	rec[0].host.b = 1ull << 32 | 1;
	feed(77, rec, 2);
	T_OK(got.type == 0 && balanced(), "a type that is not known is none");
}

static bool is(const struct event *e, uint32_t name, uint64_t start, uint64_t dur, uint32_t depth,
	       uint32_t flags)
{
	return e->kind == EVENT_RANGE && e->name == name && e->start_ns == start &&
	       e->dur_ns == dur && e->depth == depth && e->flags == flags;
}

static void check_ranges(void)
{
	begin();
	feed_host(1, 10, AON_K_RANGE_PUSH, 1, 0);
	feed_host(2, 11, AON_K_RANGE_PUSH, 2, 0);
	feed_host(1, 20, AON_K_RANGE_PUSH, 3, 0);
	T_OK(understand_open(u) == 3 && balanced(), "open ranges are in flight");
	T_OK(feed_host(1, 30, AON_K_RANGE_POP, 0, 0) == 1 && is(ev, 1000003, NS(20), 10, 1, 0) &&
		     ev[0].track == 4000001,
	     "a pop ends the innermost range of its thread");
	T_OK(feed_host(2, 5, AON_K_RANGE_POP, 0, 0) == 1 && is(ev, 1000002, NS(11), 0, 0, 0),
	     "a pop before its push lasts no time");
	T_OK(feed_host(1, 40, AON_K_RANGE_POP, 0, 0) == 1 && is(ev, 1000001, NS(10), 30, 0, 0),
	     "and the outer one ends with the next");
	T_OK(understand_open(u) == 0 && balanced(), "then nothing is open");

	feed_host(1, 50, AON_K_RANGE_PUSH, 1, 0);
	feed_host(1, 60, AON_K_RANGE_PUSH, 19, 0);
	feed_host(1, 70, AON_K_RANGE_PUSH, 2, 0);
	T_OK(feed_host(1, 80, AON_K_RANGE_POP, 0, 0) == 1 && is(ev, 1000002, NS(70), 10, 2, 0) &&
		     feed_host(1, 81, AON_K_RANGE_POP, 0, 0) == 0 &&
		     feed_host(1, 90, AON_K_RANGE_POP, 0, 0) == 1 &&
		     is(ev, 1000001, NS(50), 40, 0, 0) && lost[AON_LOSS_INVALID] == 2 && balanced(),
	     "a range with a bad name is lost, what is around and in it is not");
}

/* Pops of ranges that are not the last: domains of NVTX. */
static void check_overlap(void)
{
	union aon_rec below = { .host = { 40, AON_K_RANGE_POP, 1, 0, 0, 1, 0, 0 } };
	union aon_rec far = { .host = { 45, AON_K_RANGE_POP, 1, 0, 0, 2, 0, 0 } };

	begin();
	feed_host(1, 10, AON_K_RANGE_PUSH, 1, 0);
	feed_host(1, 20, AON_K_RANGE_PUSH, 2, 0);
	feed_host(1, 30, AON_K_RANGE_PUSH, 3, 0);
	T_OK(feed(1, &below, 1) == 1 && is(ev, 1000002, NS(20), 20, 1, 0),
	     "a pop may leave later ranges open");
	T_OK(feed(1, &far, 1) == 0 && lost[AON_LOSS_UNMATCHED] == 1 && understand_open(u) == 2,
	     "but not more than there are");
	T_OK(feed_host(1, 50, AON_K_RANGE_POP, 0, 0) == 1 && is(ev, 1000003, NS(30), 20, 1, 0),
	     "a later range has one less around it then");
	T_OK(feed_host(1, 60, AON_K_RANGE_POP, 0, 0) == 1 && is(ev, 1000001, NS(10), 50, 0, 0) &&
		     balanced(),
	     "and the others end as ever");
}

/* Ranges of probes enclose a program's code, which may leave ranges of its own open. */
static void check_named(void)
{
	begin();
	feed_host(1, 10, AON_K_RANGE_PUSH, 1, 0);
	feed_host(1, 20, AON_K_RANGE_PUSH, 2, 0);
	feed_host(1, 30, AON_K_RANGE_PUSH, 3, 0);
	T_OK(feed_host(1, 40, AON_K_RANGE_POP, 2, 0) == 1 && is(ev, 1000002, NS(20), 20, 1, 0),
	     "a pop with a name ends the range of that name, though a later one is open");
	T_OK(feed_host(1, 45, AON_K_RANGE_POP, 2, 0) == 0 && lost[AON_LOSS_UNMATCHED] == 1,
	     "and nothing, if there is none");
	feed_host(1, 50, AON_K_RANGE_PUSH, 1, 0);
	T_OK(feed_host(1, 60, AON_K_RANGE_POP, 1, 0) == 1 && is(ev, 1000001, NS(50), 10, 2, 0),
	     "of two the innermost");
	T_OK(feed_host(1, 70, AON_K_RANGE_POP, 0, 0) == 1 && is(ev, 1000003, NS(30), 40, 1, 0) &&
		     feed_host(1, 80, AON_K_RANGE_POP, 0, 0) == 1 &&
		     is(ev, 1000001, NS(10), 70, 0, 0) && balanced(),
	     "the others end as ever");
}

static void check_started(void)
{
	begin();
	feed_host(1, 10, AON_K_RANGE_START, 1, 500);
	feed_host(1, 20, AON_K_RANGE_START, 2, 501);
	T_OK(feed_host(2, 30, AON_K_RANGE_END, 0, 500) == 1 && is(ev, 1000001, NS(10), 20, 0, 0) &&
		     ev[0].a == 500 && ev[0].track == 4000001,
	     "a started range ends on another thread and stays on its own lane");
	T_OK(feed_host(1, 40, AON_K_RANGE_START, 3, 501) == 1 &&
		     is(ev, 1000002, NS(20), 20, 0, EVENT_OPEN) && balanced(),
	     "a start with an id that is open ends the earlier one as open");
	T_OK(feed_host(1, 50, AON_K_RANGE_END, 0, 501) == 1 && is(ev, 1000003, NS(40), 10, 0, 0),
	     "and the later one has the end");

	begin();
	for (uint32_t i = 0; i < OPEN_STARTED; i++)
		feed_host(1, i, AON_K_RANGE_START, 1, 1000 + i);
	T_OK(understand_open(u) == OPEN_STARTED, "%u started ranges may be open", OPEN_STARTED);
	T_OK(feed_host(1, 9999, AON_K_RANGE_START, 1, 1) == 1 && ev[0].a == 1000 &&
		     ev[0].flags == EVENT_OPEN && understand_open(u) == OPEN_STARTED && balanced(),
	     "one more ends the oldest as open");
}

static bool is_step(uint64_t number, uint64_t start, uint64_t dur, uint32_t flags)
{
	return ev[0].kind == EVENT_STEP && ev[0].a == number && ev[0].start_ns == start &&
	       ev[0].dur_ns == dur && ev[0].flags == flags && ev[0].name == 0;
}

static void check_steps(void)
{
	begin();
	feed_host(1, 10, AON_K_STEP_BEGIN, 0, 5);
	T_OK(feed_host(2, 30, AON_K_STEP_END, 0, 5) == 1 && is_step(5, NS(10), 20, 0),
	     "a step ends by its number, on any thread");
	feed_host(1, 40, AON_K_STEP_BEGIN, 0, 6);
	T_OK(feed_host(1, 50, AON_K_STEP_BEGIN, 0, 7) == 1 && is_step(6, NS(40), 10, EVENT_OPEN),
	     "a nested begin ends the earlier step as open");
	T_OK(feed_host(1, 60, AON_K_STEP_BEGIN, 0, 7) == 1 && is_step(7, NS(50), 10, EVENT_OPEN),
	     "so does a repeated begin");
	feed_host(2, 61, AON_K_STEP_BEGIN, 0, 7);
	T_OK(feed_host(2, 71, AON_K_STEP_END, 0, 7) == 1 && is_step(7, NS(61), 10, 0) &&
		     feed_host(1, 72, AON_K_STEP_END, 0, 7) == 1 && is_step(7, NS(60), 12, 0),
	     "threads may be in a step of the same number at the same time");
	T_OK(feed_host(1, 80, AON_K_STEP_END, 0, 7) == 0 && !lost[AON_LOSS_UNMATCHED] &&
		     understand_open(u) == 1 && balanced(),
	     "a second end waits for a begin");
	T_OK(feed_host(1, 90, AON_K_STEP_BEGIN, 0, 7) == 0 && understand_open(u) == 2 &&
		     feed_host(1, 95, AON_K_STEP_END, 0, 7) == 1 && is_step(7, NS(90), 5, 0),
	     "but not for one that is later than itself");
	feed_host(2, 99, AON_K_STEP_END, 0, 8);
	T_OK(feed_host(1, 97, AON_K_STEP_BEGIN, 0, 8) == 1 && is_step(8, NS(97), 2, 0) &&
		     understand_open(u) == 1 && balanced(),
	     "an end that was read first meets its begin");
	T_OK(end_all(NS(200), 8) == 0 && lost[AON_LOSS_UNMATCHED] == 1 && balanced(),
	     "an end whose begin does not come is unmatched");
	begin();
	for (uint32_t i = 0; i < OPEN_STEPS; i++)
		feed_host(100 + i, 100 + i, AON_K_STEP_BEGIN, 0, i);
	T_OK(feed_host(99, 900, AON_K_STEP_BEGIN, 0, 1) == 1 &&
		     is_step(0, NS(100), 800, EVENT_OPEN) && understand_open(u) == OPEN_STEPS &&
		     balanced(),
	     "more threads in a step than %u end the oldest as open", OPEN_STEPS);
	for (uint32_t i = 0; i < OPEN_STEPS + 1; i++)
		feed_host(1, 1000 + i, AON_K_STEP_END, 0, 5000 + i);
	T_OK(lost[AON_LOSS_UNMATCHED] == 1 && understand_open(u) == 2 * OPEN_STEPS && balanced(),
	     "no more than %u ends wait", OPEN_STEPS);
}

static void check_depth(void)
{
	const uint32_t deep = OPEN_DEPTH + 300;
	bool right = true;

	begin();
	for (uint32_t i = 0; i < deep; i++)
		feed_host(1, i, AON_K_RANGE_PUSH, 1, 0);
	T_OK(understand_open(u) == OPEN_DEPTH && lost[AON_LOSS_BUDGET] == 300 && balanced(),
	     "pushes deeper than %u are counted", OPEN_DEPTH);
	for (uint32_t i = deep; i-- > 0;) {
		size_t n = feed_host(1, 1000 + deep - i, AON_K_RANGE_POP, 0, 0);

		right &= i >= OPEN_DEPTH ? n == 0
					 : n == 1 && ev[0].depth == i && ev[0].start_ns == NS(i);
	}
	T_OK(right && lost[AON_LOSS_BUDGET] == 600 && !understand_open(u) && balanced(),
	     "their pops are theirs, and the others' pops are right");

	begin();
	for (uint32_t i = 0; i < OPEN_PUSHED + 700; i++)
		feed_host(i / OPEN_DEPTH, i, AON_K_RANGE_PUSH, 1, 0);
	T_OK(understand_open(u) == OPEN_PUSHED && lost[AON_LOSS_BUDGET] == 700 && balanced(),
	     "pushes of all threads beyond %u are counted", OPEN_PUSHED);
	feed_host(0, 1u << 30, AON_K_RANGE_POP, 0, 0);
	T_OK(feed_host(1000, 1u << 30, AON_K_RANGE_PUSH, 1, 0) == 0 &&
		     understand_open(u) == OPEN_PUSHED && balanced(),
	     "a pop makes room for a push");
}

/* The oldest thread makes room; its ranges wait until a run leaves room for them. */
static void check_threads(void)
{
	bool right = true;
	size_t n = 0;

	begin();
	feed_host(1, 10, AON_K_RANGE_PUSH, 1, 0);
	feed_host(1, 20, AON_K_RANGE_PUSH, 2, 0);
	feed_host(1, 30, AON_K_MARK, 3, 0);
	for (uint32_t i = 0; i < OPEN_THREADS - 1; i++)
		right &= feed_host(10 + i, 40, AON_K_MARK, 1, 0) == 1;
	T_OK(right && understand_open(u) == 2, "%u threads are kept apart", OPEN_THREADS);
	right = feed_host(5, 50, AON_K_MARK, 1, 0) == 1 && ev[0].kind == EVENT_MARK;
	T_OK(right && understand_open(u) == 2 && balanced(),
	     "ranges of a thread that made room are in flight while there is no room for them");
	n = feed_host(6, 60, AON_K_RANGE_PUSH, 1, 0);
	right = n == 1 && is(ev, 1000001, NS(10), 20, 0, EVENT_OPEN);
	n = feed_host(6, 70, AON_K_RANGE_PUSH, 1, 0);
	right &= n == 1 && is(ev, 1000002, NS(20), 10, 1, EVENT_OPEN);
	T_OK(right && understand_open(u) == 2 && balanced(),
	     "then they leave as open, up to the last sight of their thread");
	T_OK(feed_host(1, 80, AON_K_RANGE_POP, 0, 0) == 0 && lost[AON_LOSS_UNMATCHED] == 1,
	     "a pop that comes after that is unmatched");
}

/* Another thread's chunk, with the end in it, may be read first. */
static void check_early_end(void)
{
	begin();
	T_OK(feed_host(2, 50, AON_K_RANGE_END, 0, 7) == 0 && understand_open(u) == 1 && balanced(),
	     "an end that is read before its start waits");
	T_OK(feed_host(1, 40, AON_K_RANGE_START, 1, 7) == 1 && ev[0].dur_ns == 10 &&
		     ev[0].flags == 0 && understand_open(u) == 0 && balanced(),
	     "and makes a whole range with it");
	feed_host(2, 60, AON_K_RANGE_END, 0, 8);
	T_OK(feed_host(2, 61, AON_K_RANGE_END, 0, 8) == 0 && lost[AON_LOSS_UNMATCHED] == 1,
	     "a second end of the same range is unmatched");
	for (uint32_t i = 0; i < OPEN_EARLY; i++)
		feed_host(2, 70, AON_K_RANGE_END, 0, 100 + i);
	T_OK(lost[AON_LOSS_UNMATCHED] == 2 && understand_open(u) == OPEN_EARLY && balanced(),
	     "of too many that wait, the oldest is given up");
	T_OK(end_all(NS(100), 2) == 0 && lost[AON_LOSS_UNMATCHED] == 2 + OPEN_EARLY && balanced(),
	     "and all of them at the end");
}

static void check_close(void)
{
	begin();
	feed_host(1, 10, AON_K_RANGE_PUSH, 1, 0);
	feed_host(1, 11, AON_K_RANGE_PUSH, 1, 0);
	feed_host(2, 12, AON_K_RANGE_PUSH, 1, 0);
	feed_host(2, 13, AON_K_RANGE_START, 2, 7);
	feed_host(2, 14, AON_K_STEP_BEGIN, 0, 7);
	T_OK(understand_open(u) == 5, "five are open");
	T_OK(understand_close(u, NS(100), ev, 1, lost) == 1 && ev[0].flags == EVENT_OPEN &&
		     ev[0].start_ns + ev[0].dur_ns == NS(100) && understand_open(u) == 4,
	     "closing gives as many as there is room for, up to the end");
	seen_events++;
	T_OK(end_all(NS(100), 2) == 4 && understand_open(u) == 0 && balanced(),
	     "and all of them in the end");
}

static void check_cache(void)
{
	union aon_rec r[3] = { ACT(AON_K_KERNEL, 1, 0, 11, 12, 5000, 0, 2),
			       ACT(AON_K_KERNEL, 1, 0, 11, 12, 5000, 0, 2),
			       ACT(AON_K_KERNEL, 1, 0, 19, 0, 5000, 0, 2) };
	struct understand *no = NULL;

	begin();
	asked = 0;
	T_OK(feed(1, r, 2) == 2 && asked == 3, "what the heap holds is asked for once");
	asked = 0;
	feed(1, &r[2], 1);
	feed(1, &r[2], 1);
	T_OK(asked == 2, "what it lacks is asked for again");
	T_OK(understand_new(&no, &ops, NULL, 0) == -EINVAL &&
		     understand_new(&no, &ops, NULL, AON_HEAP_BYTES_MAX + 8) == -EINVAL && !no,
	     "a heap of no or too great size is refused");
	understand_free(NULL);

	begin();
	r[1].act.len = 3;
	T_OK(feed(1, r, 3) == 1 && lost[AON_LOSS_INVALID] == 1 && seen_records == 2 && balanced(),
	     "a length beyond the run loses the rest of the run as one record");
}

static uint64_t seed;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % n);
}

/* Mostly sane, sometimes anything. */
static union aon_rec random_record(uint32_t t, uint32_t hostile)
{
	static const uint8_t host[] = { 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9 };
	union aon_rec r = ACT((uint16_t)(32 + below(7)), 1, 0, below(50), below(60), 5000, 0,
			      (uint16_t)below(9));

	if (below(3))
		r.host = (struct aon_rec_host){ t,           host[below(sizeof(host))],
						1,           0,
						below(40),   below(9),
						below(6000), below(9) };
	if (below(1000) < hostile)
		r.act.flags = (uint8_t)below(256);
	if (below(1000) < hostile)
		r.act.kind = (uint16_t)below(80);
	if (below(1000) < hostile)
		r.act.len = (uint8_t)below(4);
	if (below(1000) < hostile)
		r.act.name = below(1u << 31);
	if (below(1000) < hostile)
		r.word[below(4)] = (uint64_t)below(1u << 31) << below(40);
	return r;
}

static void check_random(uint32_t hostile, uint32_t threads)
{
	uint64_t unbalanced = 0, too_many = 0, bad_end = 0;

	begin();
	for (uint32_t i = 0; i < 40000; i++) {
		size_t units = 1 + below(below(50) ? 8 : UNITS), n;
		uint32_t tid = below(threads);
		union aon_rec *rec = malloc(units * sizeof(*rec));

		if (!rec)
			abort();
		for (size_t k = 0; k < units; k++)
			rec[k] = random_record(i * 100 + (uint32_t)k, hostile);
		n = feed(tid, rec, units);
		free(rec);
		too_many += n > units;
		unbalanced += !balanced();
		for (size_t k = 0; k < n; k++)
			bad_end += ev[k].start_ns == 0 || ev[k].kind == EVENT_NONE ||
				   ev[k].start_ns + ev[k].dur_ns > INT64_MAX;
	}
	T_OK(unbalanced == 0,
	     "%u of 1,000 fields hostile, %u threads: every record is accounted for "
	     "at every moment (%llu events, %llu open)",
	     hostile, threads, (unsigned long long)seen_events,
	     (unsigned long long)understand_open(u));
	T_OK(too_many == 0 && bad_end == 0,
	     "no more events than units, none at an impossible time");
	end_all(NS(1u << 31), 100);
	T_OK(understand_open(u) == 0 && balanced(), "closing accounts for the rest");
}

int main(void)
{
	static const struct {
		uint32_t hostile, threads;
	} random[] = { { 0, 1 }, { 0, 40 }, { 30, 3 }, { 300, 1000 }, { 20, 60000 } };

	check_cases();
	check_text();
	check_ranges();
	check_overlap();
	check_named();
	check_started();
	check_steps();
	check_depth();
	check_threads();
	check_early_end();
	check_close();
	check_cache();
	for (size_t i = 0; i < T_LEN(random); i++) {
		seed = i + 1;
		check_random(random[i].hostile, random[i].threads);
	}
	understand_free(u);
	return t_done();
}
