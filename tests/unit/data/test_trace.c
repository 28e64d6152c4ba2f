/* SPDX-License-Identifier: Apache-2.0 */
/* A trace in memory: what is found again, what is kept, and the order a seal brings. */
#include "model/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "t.h"

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void finds_what_is_there(void)
{
	struct trace *t;
	uint32_t a, b, c, p, d, l, m, g, h;
	struct trace_track track = { .stream = 7 };
	struct geo geo = { .grid = { 1, 2, 3 }, .block = { 32, 1, 1 }, .regs = 40 };

	trace_new(&t);
	T_OK(!strcmp(trace_text(t, 0), "") && !strcmp(trace_text(t, TRACE_NAME_OTHER), "(other)"),
	     "name 0 is none and name 1 is (other)");
	trace_name(t, "gemm", 4, &a);
	trace_name(t, "gemmx", 4, &b);
	trace_name(t, "gemmx", 5, &c);
	T_OK(a == b && a != c && !strcmp(trace_text(t, c), "gemmx"), "a name is found by its text");
	trace_name(t, "x\0y", 3, &b);
	T_OK(t->name[b].len == 3, "a NUL is a byte of a name like others");
	trace_name(t, "", 0, &b);
	T_OK(b == 0, "an empty name is none");
	trace_file_add(t, "some/rank0.json", &a);
	T_OK(t->file[a].rank == TRACE_NO_RANK && t->file[a].broke_at == UINT64_MAX,
	     "a new file has no rank and no damage");
	trace_process(t, 0, 41, &p);
	trace_process(t, 1, 41, &b);
	trace_process(t, 0, 41, &c);
	T_OK(p == c && p != b, "a process is its file and its pid");
	trace_device(t, p, 3, &d);
	trace_device(t, p, 3, &c);
	T_OK(d == c && t->device[d].device == 3, "a device is its process and its index");
	track.process = p;
	track.device = d;
	trace_track(t, &track, &l);
	trace_name(t, "stream 7", 8, &track.name);
	trace_track(t, &track, &m);
	T_OK(l == m && !strcmp(trace_text(t, t->track[l].name), "stream 7"),
	     "a lane is found without its name, and takes the name that came later");
	track.context = 1;
	trace_track(t, &track, &m);
	T_OK(l != m, "another context is another lane");
	trace_geo(t, &geo, &g);
	geo.id = 99;
	trace_geo(t, &geo, &h);
	T_OK(g == h && g != 0 && t->geo[g].id == g,
	     "a geometry is its sizes, whatever its id says");
	trace_free(t);
}

static void caps_names(void)
{
	struct trace *t;
	char text[32];
	uint32_t id = 0, last = 0;
	bool ok = true;

	trace_new(&t);
	for (unsigned i = 0; i < TRACE_NAMES_MAX + 1000; i++) {
		int n = snprintf(text, sizeof(text), "kernel_%u", i);

		ok = ok && !trace_name(t, text, (size_t)n, &id);
	}
	T_OK(ok && t->names == TRACE_NAMES_MAX && id == TRACE_NAME_OTHER && t->names_over == 1002,
	     "names over the cap become (other), and are counted");
	trace_name(t, "kernel_0", 8, &last);
	T_OK(last == 2 && !strcmp(trace_text(t, 2), "kernel_0"), "those before stay as they were");
	trace_free(t);
}

static void cuts_long_names(void)
{
	static char text[TRACE_NAME_BYTES * 2];
	struct trace *t;
	uint32_t id;

	memset(text, 'a', sizeof(text));
	trace_new(&t);
	trace_name(t, text, sizeof(text), &id);
	T_OK(t->name[id].len == TRACE_NAME_BYTES, "a name of any length is cut");
	trace_free(t);
}

struct order {
	const char *name;
	unsigned n, tracks;
	uint64_t starts, durs; /* how many different ones; 0: any of 64 bits */
	bool comm;
};

static const struct order orders[] = {
	{ "nothing", 0, 1, 1, 1, false },
	{ "one event", 1, 1, 1, 1, false },
	{ "a few on one lane", 40, 1, 0, 0, false },
	{ "many on a few lanes", 20000, 5, 1000000, 1000, false },
	{ "many with collectives", 20000, 3, 1000000, 1000, true },
	{ "all at one time", 20000, 2, 1, 0, true },
	{ "times over all 64 bits", 20000, 2, 0, 0, false },
	{ "all equal", 5000, 2, 1, 1, true },
};

/* b remembers the order of the file: equal ones must keep it. */
static bool sorted(const struct trace *t)
{
	for (size_t i = 1; i < t->events; i++) {
		const struct event *e = &t->event[i - 1], *f = &t->event[i];

		if (e->track != f->track ? e->track > f->track
		    : e->start_ns != f->start_ns
			    ? e->start_ns > f->start_ns
			    : (e->dur_ns != f->dur_ns ? e->dur_ns < f->dur_ns : e->b >= f->b))
			return false;
	}
	return true;
}

static void puts_in_order(const struct order *o)
{
	struct trace *t;
	uint64_t sum = 0, got = 0;
	bool ok = true;
	uint32_t id;

	trace_new(&t);
	for (unsigned i = 0; i < o->tracks + 1; i++)
		trace_track(t, &(struct trace_track){ .stream = i }, &id);
	for (unsigned i = 0; i < o->n; i++) {
		struct event e = { .track = (uint32_t)(rnd() % o->tracks), .kind = EVENT_KERNEL };

		e.start_ns = o->starts ? rnd() % o->starts : rnd();
		e.dur_ns = o->durs ? rnd() % o->durs : rnd();
		e.b = i;
		sum += e.start_ns * 3 + e.dur_ns * 5 + e.b * 7;
		trace_add(t, &e, o->comm && i % 3 == 0 ? i + 1 : 0);
	}
	ok = !trace_seal(t) && sorted(t) && t->track_first[0] == 0 &&
	     t->track_first[t->tracks] == t->events && t->events == o->n;
	for (size_t l = 0; l < t->tracks; l++)
		for (size_t i = t->track_first[l]; i < t->track_first[l + 1]; i++) {
			const struct event *e = &t->event[i];

			got += e->start_ns * 3 + e->dur_ns * 5 + e->b * 7;
			ok = ok && e->track == l;
			if (t->event_comm)
				ok = ok && t->event_comm[i] == (e->b % 3 ? 0 : e->b + 1);
		}
	T_OK(ok && sum == got && (!o->comm || !o->n || t->event_comm),
	     "a seal brings order and loses nothing: %s", o->name);
	T_OK(!trace_seal(t) && sorted(t), "a second seal changes nothing: %s", o->name);
	trace_free(t);
}

static int take(void *arg, struct trace *t, const struct event *ev, const uint32_t *comm, size_t n)
{
	uint64_t *got = arg;

	(void)t;
	got[0] += n;
	got[1] = n > got[1] ? n : got[1];
	for (size_t i = 0; i < n; i++)
		got[2] += ev[i].start_ns + (comm ? comm[i] : 0);
	return got[0] > 9000 ? -ENOSPC : 0;
}

static void hands_over(void)
{
	uint64_t got[3] = { 0 };
	struct trace *t;
	int err = 0;

	trace_new(&t);
	trace_stream(t, 1000, take, got);
	for (unsigned i = 0; i < 8500 && !err; i++)
		err = trace_add(t, &(struct event){ .start_ns = i }, i == 5000);
	err = err ? err : trace_flush(t);
	T_OK(!err && got[0] == 8500 && got[1] == 1000 && got[2] == 8500ull * 8499 / 2 + 1,
	     "a streamed trace hands over every event once, a batch at a time");
	for (unsigned i = 0; i < 2000 && !err; i++)
		err = trace_add(t, &(struct event){ .start_ns = i }, 0);
	T_OK(err == -ENOSPC, "what the receiver cannot take ends the adding");
	trace_free(t);
}

int main(void)
{
	struct trace *t;

	finds_what_is_there();
	caps_names();
	cuts_long_names();
	for (size_t i = 0; i < T_LEN(orders); i++)
		puts_in_order(&orders[i]);
	hands_over();
	trace_new(&t);
	trace_add(t, &(struct event){ .track = 3 }, 0);
	T_OK(trace_seal(t) == -EINVAL, "an event on a lane that is not there is refused");
	trace_free(t);
	trace_free(NULL);
	return t_done();
}
