/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a timeline shows is what was: for made-up traces, each cell of each level of each track
 * against a sweep that knows of no levels, and the bytes of tiles against both.
 */
#include "tile/tile.h"

#include <inttypes.h>

#include "base/varint.h"
#include "insight/breakdown.h"
#include "storekit.h"
#include "store/trace.h"
#include "tilekit.h"
#include "tracekit.h"

/* --- the truth --- */

struct moment {
	uint64_t from, to;
	uint32_t name;
	uint8_t class;
};

struct truth {
	struct moment *m;
	size_t n;
};

static bool of_track(struct tile_view *v, const struct piece *p, uint32_t track)
{
	uint32_t to[ROUTES];
	int n = view_route(v, p, false, to);

	for (int i = 0; i < n; i++)
		if (to[i] == track)
			return true;
	return false;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Events of a track, as the source has them. */
static struct piece *events_of(struct tile_view *v, uint32_t track, size_t *n)
{
	struct piece *p = malloc((v->events + 1) * sizeof(*p));
	struct event_columns c;

	*n = 0;
	for (size_t b = 0; b < v->feed->blocks; b++) {
		if (v->feed->get(v->feed, &v->feed->block[b], false, &c) < 0)
			abort();
		v->comm_mark = false;
		for (size_t i = 0; i < c.n; i++)
			if (view_piece(v, &c, i, &p[*n]) > 0 && of_track(v, &p[*n], track))
				++*n;
	}
	return p;
}

/* Unsampled steps of a thread hide what is before their end. */
static uint64_t hidden_until(struct tile_view *v, uint32_t thread, uint64_t from, uint64_t to)
{
	struct piece p;
	struct event_columns c;
	uint64_t end = 0, until = from;

	for (size_t b = 0; b < v->feed->blocks; b++) {
		if (v->feed->get(v->feed, &v->feed->block[b], false, &c) < 0)
			abort();
		v->comm_mark = false;
		for (size_t i = 0; i < c.n; i++) {
			if (view_piece(v, &c, i, &p) <= 0 || p.track != thread ||
			    p.kind != EVENT_STEP || !(p.flags & EVENT_UNSAMPLED) ||
			    p.start_ns < end || p.start_ns == p.end_ns)
				continue;
			end = p.end_ns;
			if (p.start_ns < to && end > until)
				until = end < to ? end : to;
		}
	}
	return until;
}

static uint64_t seen_from(struct tile_view *v, uint64_t from, uint64_t to)
{
	uint64_t until = from;

	for (uint32_t i = 0; i < v->feed->tracks; i++) {
		uint64_t ns = hidden_until(v, i, from, to);

		until = ns > until ? ns : until;
	}
	return until;
}

/* Of a track of causes: what is between the work of its GPU, and was recorded. */
static struct truth idle_of(struct tile_view *v, uint32_t track)
{
	struct truth t = { 0 };
	uint64_t busy = 0;
	size_t n;
	struct piece *p = events_of(v, v->track[track]->pub.parent - 1, &n);

	if (pieces_sort(p, n) < 0)
		abort();
	t.m = malloc((n + 1) * sizeof(*t.m));
	for (size_t i = 0; i < n; i++) {
		if (i && p[i].start_ns > busy)
			busy = seen_from(v, busy, p[i].start_ns);
		if (i && p[i].start_ns > busy)
			t.m[t.n++] = (struct moment){ busy, p[i].start_ns, 0, TILE_HOST };
		busy = p[i].end_ns > busy ? p[i].end_ns : busy;
	}
	free(p);
	return t;
}

/* Between two edges nothing changes: who of those that run there began last, the shortest of them? */
static struct truth truth_of(struct tile_view *v, uint32_t track)
{
	struct truth t = { 0 };
	size_t n, edges = 0;
	struct piece *p;
	uint64_t *edge;

	if (v->track[track]->pub.kind == TRACK_WHY)
		return idle_of(v, track);
	p = events_of(v, track, &n);
	edge = malloc((2 * n + 1) * sizeof(*edge));

	if (pieces_sort(p, n) < 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		edge[edges++] = p[i].start_ns;
		edge[edges++] = p[i].end_ns;
	}
	qsort(edge, edges, sizeof(*edge), by_value);
	t.m = malloc((edges + 1) * sizeof(*t.m));
	for (size_t i = 0; i + 1 < edges; i++) {
		const struct piece *who = NULL;

		for (size_t k = 0; k < n && edge[i] < edge[i + 1]; k++) {
			if (p[k].start_ns > edge[i] || p[k].end_ns < edge[i + 1])
				continue;
			if (!who || p[k].start_ns > who->start_ns ||
			    (p[k].start_ns == who->start_ns && p[k].end_ns <= who->end_ns))
				who = &p[k];
		}
		if (who)
			t.m[t.n++] = (struct moment){ edge[i], edge[i + 1], who->name,
						      (uint8_t)view_class(v, who) };
	}
	free(edge);
	free(p);
	return t;
}

static void truth_sum(const struct truth *t, uint64_t from, uint64_t to, uint64_t ns[TILE_CLASSES])
{
	memset(ns, 0, TILE_CLASSES * sizeof(*ns));
	for (size_t i = 0; i < t->n; i++) {
		uint64_t a = t->m[i].from > from ? t->m[i].from : from;
		uint64_t b = t->m[i].to < to ? t->m[i].to : to;

		if (a < b)
			ns[t->m[i].class] += b - a;
	}
}

/* Where it is: every cell of every level of a track. Few events, so tiles in use are found fast. */
static bool track_is_true(struct tile_view *v, uint32_t track)
{
	struct levels *l = &v->track[track]->levels;
	struct truth t = truth_of(v, track);
	struct cell *c = v->scratch;
	uint64_t sum[TILE_CLASSES], ns[TILE_CLASSES], all[TILE_CLASSES];
	bool ok = true;

	truth_sum(&t, 0, UINT64_MAX, all);
	for (unsigned L = l->base; L <= LEVEL_MAX && ok; L += 2) {
		struct tile_level *base = &l->at[l->base / 2];
		uint64_t last = UINT64_MAX, starts = 0;

		memset(sum, 0, sizeof(sum));
		for (size_t i = 0; i < base->n && ok; i++) {
			uint64_t index = base->slot[i].index >> (L - l->base);

			if (index == last)
				continue;
			last = index;
			ok &= levels_get(l, (uint8_t)L, index, index & 1, c, c + TILE_CELLS) == 1;
			for (size_t k = 0; k < TILE_CELLS && ok; k++) {
				uint64_t from = ((index << TILE_SHIFT) + k) << L,
					 to = from + (1ull << L);

				truth_sum(&t, from, to ? to : UINT64_MAX, ns);
				ok &= !memcmp(ns, c[k].ns, sizeof(ns));
				starts += c[k].starts;
				for (size_t x = 0; x < TILE_CLASSES; x++)
					sum[x] += c[k].ns[x];
			}
		}
		ok &= !memcmp(sum, all, sizeof(sum)) && starts == v->track[track]->pub.n;
		if (!ok)
			printf("# track %u (%s) level %u\n", track + 1, v->track[track]->pub.label,
			       L);
	}
	free(t.m);
	return ok;
}

static bool view_is_true(struct tile_view *v)
{
	for (uint32_t i = 0; i < v->tracks; i++)
		if (v->track[i]->pub.kind != TRACK_COUNTER && !track_is_true(v, i))
			return false;
	return true;
}

/* --- what a page reads --- */

struct seen {
	uint32_t kind, L, flags, track, events, lost, epoch;
	uint64_t t0;
	const uint8_t *body;
	size_t len;
};

static uint32_t le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The tile at `at`; returns where the next one is, 0 where it is none. */
static size_t see(const struct tile_answer *a, size_t at, struct seen *s)
{
	const uint8_t *p = a->bytes + at;
	uint32_t len;

	if (a->len - at < 36)
		return 0;
	len = le32(p);
	if (len < 36 || len > a->len - at || memcmp(p + 4, "AONT", 4) || p[8] != 1)
		return 0;
	*s = (struct seen){ .kind = p[9],
			    .L = p[10],
			    .flags = p[11],
			    .track = le32(p + 12),
			    .t0 = le32(p + 16) | (uint64_t)le32(p + 20) << 32,
			    .events = le32(p + 24),
			    .lost = le32(p + 28),
			    .epoch = le32(p + 32),
			    .body = p + 36,
			    .len = len - 36 };
	return at + len;
}

/* Are all events of the track in exact tiles of that level, each once or where it reaches into? */
static bool exact_has_all(struct tile_view *v, uint32_t track, uint8_t L)
{
	size_t n, found = 0, starts = 0;
	struct piece *p = events_of(v, track, &n);
	uint32_t id = track + 1;
	bool ok = true;
	uint64_t last = UINT64_MAX;

	if (pieces_sort(p, n) < 0)
		abort();
	for (size_t i = 0; i < n && ok; i++) {
		uint64_t index = p[i].start_ns >> (L + TILE_SHIFT), end;
		struct tile_ask a = { L, index, index, &id, 1, 0, SIZE_MAX, 1u << 30 };
		struct tile_answer out;
		struct varint_in in;
		struct seen s;

		found += index != last;
		if (index == last)
			continue;
		last = index;
		if (tile_answer(v, &a, &out) < 0 || !see(&out, 0, &s) || s.kind != TILE_EXACT)
			return false;
		in = (struct varint_in){ s.body, s.body + s.len, false };
		end = s.t0;
		for (uint32_t k = 0; k < s.events && ok; k++) {
			uint64_t start = end + unzigzag(varint_get(&in)), dur = varint_get(&in);
			uint32_t name = (uint32_t)varint_get(&in);

			varint_get(&in);
			end = start + dur;
			if (start < s.t0)
				continue; /* it began in a tile before */
			ok &= starts < n && p[starts].start_ns == start &&
			      p[starts].end_ns == end && name < v->names;
			starts++;
		}
		ok &= !in.bad && in.p == in.end;
		free(out.bytes);
	}
	free(p);
	return ok && starts == n;
}

/* --- made-up runs --- */

static uint64_t below(uint64_t n)
{
	return kit_random() % n;
}

static uint64_t some_length(unsigned bits)
{
	return kit_random() >> (64 - 1 - below(bits));
}

/* Streams that overlap each other and themselves, ranges that nest or do not, steps, counters. */
static struct trace *random_trace(unsigned events, unsigned bits, uint64_t from)
{
	static const char *const name[] = { "gemm", "flash_fwd", "ncclAllReduce",
					    "adam", "relu",      "x" };
	struct kit k = { 0 };
	uint64_t t = from;

	if (trace_new(&k.t) < 0)
		abort();
	kit_file(&k, 0);
	for (unsigned i = 0; i < events; i++) {
		struct event e = { .dur_ns = below(8) ? some_length(bits) : 0,
				   .start_ns = t,
				   .corr = i + 1,
				   .name = kit_name(&k, name[below(6)]) };
		const char *calls = below(2) ? "cudaLaunchKernel" : "cudaStreamSynchronize";
		unsigned what = (unsigned)below(10);

		t += some_length(bits) / 2;
		e.kind = what < 6   ? EVENT_KERNEL
			 : what < 7 ? EVENT_COPY
			 : what < 8 ? EVENT_RANGE
			 : what < 9 ? EVENT_API
				    : EVENT_STEP;
		e.flags |= e.kind == EVENT_STEP && below(2) ? EVENT_UNSAMPLED : 0;
		if (e.kind == EVENT_API)
			e.name = kit_name(&k, calls);
		kit_add(&k, &e, what < 7 ? (int)below(2) : -1, below(2));
	}
	if (trace_seal(k.t) < 0)
		abort();
	return k.t;
}

static void test_random(void)
{
	unsigned bad = 0, exact = 0, views = 0;

	for (unsigned i = 0; i < 40; i++) {
		struct trace *t =
			random_trace(1 + (unsigned)below(120), 8 + i % 48, i % 3 ? 0 : 1ull << 40);
		struct tile_opts o = { .later = i & 1 };
		struct tile_view *v;

		if (tile_open_trace(&v, t, &o) < 0)
			abort();
		while (o.later && tile_read(v, 0) > 0)
			;
		bad += !view_is_true(v);
		for (uint32_t k = 0; k < v->tracks; k++)
			if (v->track[k]->pub.kind != TRACK_COUNTER &&
			    v->track[k]->pub.kind != TRACK_WHY) {
				exact += !exact_has_all(v, k, v->track[k]->levels.base - 2);
				exact += !exact_has_all(v, k, 0);
			}
		views++;
		tile_close(v);
		trace_free(t);
	}
	T_OK(bad == 0, "no level of %u made-up runs lies: %u do", views, bad);
	T_OK(exact == 0, "below the base level every event is there: %u tracks lack some", exact);
}

static struct tile_view *view_of(const char *text, struct trace **t)
{
	struct tile_opts o = { 0 };
	struct tile_view *v;

	*t = kit_trace(text);
	if (tile_open_trace(&v, *t, &o) < 0)
		abort();
	return v;
}

static void test_small(void)
{
	struct trace *t;
	struct tile_view *v = view_of("", &t);
	struct tile_about about;
	uint32_t id[2] = { 1, 7 };
	struct tile_ask a = { 54, 0, 1, id, 2, 0, SIZE_MAX, 1u << 30 };
	struct tile_answer out;
	struct seen s;

	tile_about(v, &about);
	T_OK(about.tracks == 0 && about.events == 0, "a run of nothing has no tracks");
	T_OK(tile_answer(v, &a, &out) == 0 && see(&out, 0, &s) && s.kind == TILE_EMPTY &&
		     s.track == 1,
	     "and tiles of tracks that are not there are empty");
	free(out.bytes);
	tile_close(v);
	trace_free(t);

	v = view_of("kernel 0 7 1000 500 1 gemm", &t);
	T_OK(v->tracks == 2 && view_is_true(v) && v->t0_ns == 1000, "one event is told");
	T_OK(!strcmp(v->track[0]->pub.label, "GPU 0") && v->track[1]->pub.parent == 1,
	     "on its stream and its GPU");
	tile_close(v);
	trace_free(t);

	v = view_of(
		"kernel 0 7 0 18446744073709551615 1 gemm;kernel 0 7 9223372036854775808 5 2 relu;"
		"kernel 0 8 18446744073709551610 100 3 adam",
		&t);
	T_OK(view_is_true(v), "times up to the last that there is");
	tile_close(v);
	trace_free(t);
}

/* A step that was left out is told from those that were recorded, at every level. */
static void test_unsampled(void)
{
	struct kit k = { 0 };
	struct tile_opts o = { 0 };
	struct tile_name n;
	struct tile_view *v;
	uint64_t ns[TILE_CLASSES];
	unsigned named = 0;
	struct truth truth;

	if (trace_new(&k.t) < 0)
		abort();
	kit_file(&k, 0);
	for (unsigned i = 0; i < 100; i++) {
		struct event e = { .kind = EVENT_STEP,
				   .start_ns = 1000000ull * i,
				   .dur_ns = 1000000,
				   .name = kit_name(&k, "train"),
				   .flags = i % 4 ? EVENT_UNSAMPLED : 0 };

		kit_add(&k, &e, -1, 0);
	}
	if (trace_seal(k.t) < 0 || tile_open_trace(&v, k.t, &o) < 0)
		abort();
	for (size_t i = 0; i < v->names; i++)
		if (tile_name(v, (uint32_t)i, &n) == 0 && !strcmp(n.text, "not recorded"))
			named += n.class == TILE_OTHER;
	truth = truth_of(v, 0);
	truth_sum(&truth, 0, UINT64_MAX, ns);
	T_OK(named == 1 && view_is_true(v), "steps that were left out have a name of their own");
	T_OK(ns[TILE_OTHER] == 75000000 && ns[TILE_HOST] == 25000000,
	     "and are three of four here, at every level: %" PRIu64 " ns", ns[TILE_OTHER]);
	free(truth.m);
	tile_close(v);
	trace_free(k.t);
}

static void test_tracks(void)
{
	struct trace *t;
	struct tile_view *v =
		view_of("op 1 0 100 0 fwd;api 1 10 5 1 0 cudaLaunchKernel;step 1 0 200 3;"
			"kernel 0 7 50 20 1 gemm;kernel 0 8 60 20 2 ncclDevKernel_AllReduce;"
			"counter 1 5 42 power;counter 1 900 44 power;copy 0 7 90 5 3 64 1",
			&t);
	const char *kinds[] = { "thread", "step", "counter", "gpu", "stream", "stream", "comm" };
	bool found[7] = { false };
	uint32_t id = 0;
	struct tile_answer out;
	struct seen s;
	float f[3];

	for (uint32_t i = 0; i < v->tracks; i++)
		for (size_t k = 0, once = 1; k < 7 && once; k++)
			if (!found[k] && !strcmp(kinds[k], tile_kind_word[v->track[i]->pub.kind])) {
				found[k] = true;
				once = 0;
				if (k == 2)
					id = i + 1;
			}
	T_OK(found[0] && found[1] && found[2] && found[3] && found[4] && found[5] && found[6],
	     "threads, steps, GPUs, streams, collectives and counters have tracks");
	T_OK(view_is_true(v), "and all are true");
	T_OK(tile_answer(v, &(struct tile_ask){ 54, 0, 0, &id, 1, 0, SIZE_MAX, 1u << 30 }, &out) ==
			     0 &&
		     see(&out, 0, &s) && s.kind == TILE_SAMPLES && s.events == 2 &&
		     s.len == 64 + 12,
	     "a counter's tile has one cell");
	memcpy(f, s.body + 64, sizeof(f));
	T_OK(f[0] == 42 && f[1] == 44 && f[2] == 43, "with its least, greatest and mean");
	free(out.bytes);
	tile_close(v);
	trace_free(t);
}

/* Far more events in a tile than are told one by one, and shares that a page can trust. */
static void test_dense(void)
{
	struct tile_opts o = { 0 };
	struct tile_answer out;
	struct tile_view *v;
	struct kit k = { 0 };
	uint32_t id = 1;
	struct seen s;
	uint64_t share = 0, cells = 0;

	if (trace_new(&k.t) < 0)
		abort();
	kit_file(&k, 0);
	for (unsigned i = 0; i < 100000; i++) {
		struct event e = {
			.kind = EVENT_KERNEL, .start_ns = i * 2, .dur_ns = 1, .name = 1
		};

		kit_add(&k, &e, 0, 7);
	}
	if (trace_seal(k.t) < 0 || tile_open_trace(&v, k.t, &o) < 0)
		abort();
	T_OK(v->track[0]->levels.base == LEVEL_MIN, "a dense track keeps its fine cells");
	T_OK(tile_answer(v, &(struct tile_ask){ 6, 0, 0, &id, 1, 0, SIZE_MAX, 1u << 30 }, &out) ==
			     0 &&
		     see(&out, 0, &s) && s.kind == TILE_BUCKETS && s.events == 16384,
	     "a tile of %u events is cells, below the base level too", out.bytes ? s.events : 0);
	for (size_t i = 64; i + 2 < s.len && s.kind == TILE_BUCKETS; cells++) {
		share += s.body[i + 1];
		i += 2;
		while (s.body[i] & 0x80)
			i++;
		i++;
		while (s.body[i] & 0x80)
			i++;
		i++;
	}
	T_OK(cells == 512 && share >= 512 * 127 && share <= 512 * 128, "half of each is busy");
	free(out.bytes);
	tile_close(v);
	trace_free(k.t);
}

static bool same_tiles(struct tile_view *a, struct tile_view *b)
{
	if (a->tracks != b->tracks)
		return false;
	for (size_t i = 0; i < a->tracks; i++) {
		size_t other = 0;

		for (; other < b->tracks; other++)
			if (b->track[other]->track == a->track[i]->track &&
			    b->track[other]->pub.kind == a->track[i]->pub.kind)
				break;
		if (other == b->tracks || a->track[i]->pub.n != b->track[other]->pub.n)
			return false;
	}
	return true;
}

/* --- step by step --- */

/* Two streams, a thread with ranges that end late, and calls that launch. */
static struct trace *long_trace(void)
{
	struct kit k = { 0 };

	if (trace_new(&k.t) < 0)
		abort();
	kit_file(&k, 0);
	for (unsigned i = 0; i < 200000; i++) {
		struct event e = { .kind = EVENT_KERNEL,
				   .start_ns = 5000 + i * 1000ull,
				   .dur_ns = 300 + i % 7 * 100,
				   .name = kit_name(&k, i % 3 ? "gemm" : "relu"),
				   .corr = i + 1 };
		bool call = i % 4 == 0, range = i % 4 == 1;

		if (call)
			e = (struct event){ .kind = EVENT_API,
					    .start_ns = e.start_ns,
					    .dur_ns = 200,
					    .name = kit_name(&k, "cudaLaunchKernel"),
					    .corr = i + 3 };
		if (range)
			e = (struct event){ .kind = EVENT_RANGE,
					    .start_ns = e.start_ns - (i % 997 ? 900 : 5000),
					    .dur_ns = i % 997 ? 800 : 90000,
					    .name = kit_name(&k, "forward") };
		kit_add(&k, &e, call || range ? -1 : 0, call || range ? 1 : 7 + i % 2);
	}
	if (trace_seal(k.t) < 0)
		abort();
	return k.t;
}

/* All tracks' tiles of all of the time, but of fine levels some; `live`: each must say that it is not final. */
static bool same_answers(struct tile_view *a, struct tile_view *b, bool live)
{
	uint32_t id[16];
	bool ok = true;

	for (uint32_t i = 0; i < 16; i++)
		id[i] = i + 1;
	for (uint8_t L = 0; L <= TILE_LEVEL_MAX && ok; L += 2) {
		uint64_t last = a->t1_ns >> (L + TILE_SHIFT), most = L < 16 ? 1 : 20;
		struct tile_ask q = { L,        0,         last < most ? last : most, id, 16, 0,
				      SIZE_MAX, 1ull << 40 };
		struct tile_answer x = { 0 }, y = { 0 };
		struct seen s;

		ok = tile_answer(a, &q, &x) == 0 && tile_answer(b, &q, &y) == 0;
		for (size_t at = 0; live && ok && at < x.len;) {
			at = see(&x, at, &s);
			ok = at && s.flags & TILE_LIVE;
		}
		ok = ok && (live ? x.live : x.len == y.len && !memcmp(x.bytes, y.bytes, x.len));
		free(x.bytes);
		free(y.bytes);
	}
	return ok;
}

static void test_steps(void)
{
	struct trace *t = long_trace();
	struct tile_opts now = { 0 }, later = { .later = true };
	struct tile_about about = { 0 };
	struct tile_view *v, *whole;
	unsigned steps = 0, bad = 0, some = 0;
	uint64_t read = 0;
	int more;

	if (tile_open_trace(&whole, t, &now) < 0 || tile_open_trace(&v, t, &later) < 0)
		abort();
	tile_about(v, &about);
	T_OK(about.partial && !about.tracks, "a view that is read later begins with nothing");
	while ((more = tile_read(v, 0)) > 0) {
		tile_about(v, &about);
		bad += !about.partial || about.read <= read || about.read >= about.to_read ||
		       about.to_read != 200000;
		read = about.read;
		some += about.tracks > 0;
		if (++steps % 9 == 0)
			bad += !same_answers(v, whole, true);
	}
	T_OK(more == 0 && bad == 0 && steps > 10 && some > 3,
	     "it says how far it is, and that no tile is final: %u steps, %u with tracks, %u bad",
	     steps, some, bad);
	tile_about(v, &about);
	T_OK(!about.partial && about.events == 200000 && tile_read(v, 0) == 0 &&
		     tile_refresh(v) == 0 && same_tiles(v, whole) && same_answers(v, whole, false),
	     "when all is read, every level is as if it had been read at once");
	tile_close(v);
	if (tile_open_trace(&v, t, &later) < 0 || tile_read(v, 0) != 1 || tile_refresh(v) != 0)
		abort();
	T_OK(same_answers(v, whole, false), "a refresh reads what is left");
	tile_close(v);
	if (tile_open_trace(&v, t, &later) < 0 || tile_read(v, 0) != 1)
		abort();
	tile_close(v); /* half-read: nothing of it is left */
	tile_close(whole);
	trace_free(t);
}

/* --- a store, whole and as it grows --- */

static void put_event(struct store *st, struct process *p, struct blob_enc *e,
		      const struct event *ev)
{
	struct blob_packer *z;
	struct blob b;

	if (ev && blob_add(e, ev, 1) != 1)
		abort();
	if (ev && blob_count(e) < 50)
		return;
	if (!blob_count(e))
		return;
	if (blob_packer_new(&z) < 0 || blob_seal(e, &b) < 0 || blob_pack(z, &b) < 0 ||
	    store_blob(st, p->id, &b) < 0)
		abort();
	p->account.emitted += b.records;
	p->account.stored += b.records;
	if (store_process(st, p) < 0 || store_commit(st, 1) < 0)
		abort();
	blob_fini(&b);
	blob_packer_free(z);
}

/* Ranges are stored when they end, so what comes late began long before. */
static void test_live(void)
{
	struct store *st = kit_open(kit_path("live.db"), 0, 0), *ro;
	struct process p = kit_process(st, 7);
	struct tile_opts o = { .live = true };
	struct tile_view *v, *whole;
	uint32_t name = 0, call = 0, track[3] = { 0 };
	struct blob_enc *e;
	unsigned bad = 0;

	if (store_name(st, "gemm", 4, &name) < 0 ||
	    store_name(st, "cudaLaunchKernel", 16, &call) < 0 || blob_enc_new(&e) < 0 ||
	    store_open_ro(&ro, kit_path("live.db"), NULL) < 0)
		abort();
	for (uint32_t i = 0; i < 3; i++) {
		struct track l = { .process = p.id,
				   .device = i < 2 ? 0 : TRACK_HOST,
				   .stream = 7 + i };

		if (store_track(st, &l, &track[i]) < 0)
			abort();
	}
	store_commit(st, 1);
	if (tile_open_store(&v, ro, &o) < 0)
		abort();
	for (unsigned i = 0; i < 900; i++) {
		struct event ev = { .kind = EVENT_KERNEL,
				    .name = name,
				    .track = track[i % 3],
				    .start_ns = 1000000 + i * 70000,
				    .dur_ns = below(i % 5 ? 30000 : 200000),
				    .corr = i };

		if (i % 3 == 2) {
			ev.kind = EVENT_RANGE;
			ev.corr = 0;
			ev.dur_ns = below(50) ? below(300000) : below(i * 60000);
			ev.start_ns -= ev.dur_ns;
		}
		if (i % 6 == 2) { /* launches the next kernel */
			ev = (struct event){ .kind = EVENT_API,
					     .name = call,
					     .track = track[2],
					     .start_ns = 1000000 + i * 70000,
					     .dur_ns = 1000,
					     .corr = i + 1 };
		}
		put_event(st, &p, e, &ev);
		if (i % 45 == 44) {
			if (tile_refresh(v) < 0)
				abort();
			bad += !view_is_true(v);
		}
	}
	put_event(st, &p, e, NULL);
	if (tile_refresh(v) < 0 || tile_open_store(&whole, ro, &o) < 0)
		abort();
	T_OK(bad == 0, "a run that grows is true each time it is looked at: %u times not", bad);
	T_OK(view_is_true(v) && view_is_true(whole) && same_tiles(v, whole) && v->events == 900,
	     "and in the end as if it had been read at once");
	tile_close(v);
	tile_close(whole);
	blob_enc_free(e);
	store_close(ro);
	store_close(st);
}

/* From an op to its launch to its kernel, as a page asks. */
static void test_events(void)
{
	struct trace *t;
	struct tile_view *v =
		view_of("step 1 0 900 3;op 1 100 300 0 aten::mm;op 1 110 200 0 aten::inner;"
			"api 1 150 20 41 0 cudaLaunchKernel;api 1 190 20 42 0 cudaLaunchKernel;"
			"kernel 0 7 500 100 41 gemm_a;kernel 0 7 700 50 42 relu_b;"
			"kernel 0 8 720 400 43 gemm_c",
			&t);
	struct tile_selected *s = malloc(sizeof(*s));
	struct tile_link hit[8];
	struct tile_flow flow[8];
	struct tile_event e;
	uint32_t gpu = 0;
	size_t n;
	bool all;

	for (uint32_t i = 0; i < v->tracks; i++)
		if (v->track[i]->pub.kind == TRACK_GPU)
			gpu = i + 1;
	T_OK(tile_search(v, &(struct tile_query){ .text = "GEMM" }, 1u << 30, hit, 8, &n, &all) ==
			     0 &&
		     n == 2 && all && hit[0].start_ns == 500 && hit[1].start_ns == 720,
	     "a search finds names in any case, by time");
	T_OK(tile_search(v, &(struct tile_query){ "gemm", 501, 0, 0 }, 1u << 30, hit + 4, 1, &n,
			 &all) == 0 &&
		     n == 1 && hit[4].start_ns == 720,
	     "and goes on from a moment");
	T_OK(tile_search(v, &(struct tile_query){ .text = "" }, 1u << 30, hit + 4, 2, &n, &all) ==
			     0 &&
		     n == 2 && !all,
	     "and says that there are more");
	T_OK(tile_search(v, &(struct tile_query){ "gemm", 0, 101, 0 }, 1u << 30, hit + 4, 4, &n,
			 &all) == 0 &&
		     n == 1 && hit[4].start_ns == 720 &&
		     tile_search(v, &(struct tile_query){ "gemm", 0, 100, 400 }, 1u << 30, hit + 4,
				 4, &n, &all) == 0 &&
		     n == 1 && hit[4].start_ns == 500,
	     "and only what takes as long as asked");
	T_OK(tile_event(v, hit[0].id, &e) == 0 && !strcmp(e.name.text, "gemm_a") && e.has_step &&
		     e.step == 3 && e.class == TILE_MATMUL && e.dur_ns == 100 && e.track != 0,
	     "an event says its name, class, step and track");
	T_OK(tile_event(v, 1ull << 40, &e) == -ENOENT &&
		     tile_event(v, hit[0].id + 5000, &e) == -ENOENT,
	     "one that is not there is not made up");
	T_OK(tile_flows(v, hit[0].id, 1u << 30, flow, 8, &n) == 0 && n == 2 &&
		     flow[0].to.id == hit[0].id && flow[0].from.start_ns == 150 &&
		     flow[1].to.id == flow[0].from.id && flow[1].from.start_ns == 110,
	     "its launch and the innermost op around that caused it");
	T_OK(tile_flows(v, flow[0].from.id, 1u << 30, flow, 8, &n) == 0 && n == 2 &&
		     flow[0].to.id == hit[0].id,
	     "and the launch knows what it launched");
	T_OK(tile_flows(v, hit[1].id, 1u << 30, flow, 8, &n) == 0 && n == 0,
	     "what nobody was seen to launch has no cause");
	T_OK(tile_select(v, 550, 800, &gpu, 1, 1u << 30, s) == 0 && s->n == 3 && !s->partial &&
		     s->class[TILE_MATMUL].n == 2 && s->class[TILE_MATMUL].ns == 50 + 80 &&
		     s->class[TILE_POINTWISE].ns == 50 && s->rows == 3 && s->row[0].ns == 80 &&
		     s->row[0].max_ns == 400,
	     "a selection sums what is within it");
	free(s);
	tile_close(v);
	trace_free(t);
}

/* Each gap has one cause, and says it at every level. */
static void test_why(void)
{
	static const char *const want[] = { "waiting for input", "host busy", "launching",
					    "launch not recorded", "waiting for others" };
	struct trace *t;
	struct tile_view *v =
		view_of("kernel 0 7 0 1000 1 k0;api 1 0 10 1 0 cudaLaunchKernel;"
			"op 1 2000 400000 0 DataLoader.next;api 1 403000 10 2 0 cudaLaunchKernel;"
			"kernel 0 7 405000 1000 2 k1;api 1 900000 10 3 0 cudaLaunchKernel;"
			"kernel 0 7 905000 1000 3 k2;api 1 905500 10 4 0 cudaLaunchKernel;"
			"kernel 0 7 910000 1000 4 k3;kernel 0 7 990000 1000 77 k4;"
			"api 1 991500 10 5 0 cudaLaunchKernel;kernel 0 7 1900000 1000 5 k5",
			&t);
	struct tile_answer out;
	struct tile_event e;
	uint32_t id = 0;
	struct seen s;
	bool ok;

	for (uint32_t i = 0; i < v->tracks; i++)
		if (v->track[i]->pub.kind == TRACK_WHY)
			id = i + 1;
	T_OK(id && v->track[id - 1]->pub.n == 5 && v->track[id - 1]->gaps == 5,
	     "a GPU whose launches are seen has a lane of causes");
	ok = id && view_is_true(v);
	for (size_t i = 0; ok && i < 5; i++)
		ok = tile_event(v, WHY_ID(id, i), &e) == 0 && e.idle &&
		     !strcmp(e.name.text, want[i]);
	T_OK(ok, "each gap says why");
	v->track[id - 1]->levels.base = 30; /* so that its gaps are told one by one */
	T_OK(tile_answer(v, &(struct tile_ask){ 28, 0, 0, &id, 1, 0, SIZE_MAX, 1u << 30 }, &out) ==
			     0 &&
		     see(&out, 0, &s) && s.kind == TILE_EXACT && s.events == 5,
	     "and below the base level gaps are told like events");
	v->track[id - 1]->levels.base = LEVEL_MIN;
	free(out.bytes);
	tile_close(v);
	trace_free(t);
}

/* The rest of an answer is what was not in it. */
static void test_next(void)
{
	struct trace *t = random_trace(400, 20, 0);
	struct tile_opts o = { 0 };
	uint32_t id[6] = { 1, 2, 3, 4, 5, 6 };
	struct tile_ask a = { 14, 0, 8, id, 6, 0, SIZE_MAX, 1ull << 40 };
	struct tile_answer all, part;
	struct tile_view *v;
	size_t at = 0, parts = 0;
	bool ok = true;
	struct seen s;

	if (tile_open_trace(&v, t, &o) < 0 || tile_answer(v, &a, &all) < 0)
		abort();
	T_OK(see(&all, 0, &s) && s.t0 == 4ull << (14 + 9), "the middle of the row comes first");
	a.bytes = 1;
	do {
		ok &= tile_answer(v, &a, &part) == 0 && at + part.len <= all.len &&
		      !memcmp(all.bytes + at, part.bytes, part.len);
		at += part.len;
		parts++;
		a.from = part.next;
		free(part.bytes);
	} while (a.from && ok);
	T_OK(ok && at == all.len && parts == 54, "in %zu parts it is the same bytes", parts);
	free(all.bytes);
	tile_close(v);
	trace_free(t);
}

/* Pages ask for everything at once. */
static void *asking(void *arg)
{
	struct tile_view *v = arg;
	struct tile_selected *sel = malloc(sizeof(*sel));
	uint32_t id[4] = { 1, 2, 3, 4 };
	struct tile_link hit[4];
	struct tile_flow flow[4];
	struct tile_answer out;
	struct tile_track track;
	struct tile_event e;
	size_t n;
	bool all;

	for (unsigned i = 0; i < 60; i++) {
		struct tile_ask a = {
			(uint8_t)(i % 13 * 2), 0, i % 3, id, 4, 0, SIZE_MAX, 1u << 30
		};

		if (tile_answer(v, &a, &out) == 0)
			free(out.bytes);
		tile_read(v, 0);
		if (i > 20)
			tile_refresh(v);
		tile_track(v, 1 + i % 4, &track);
		tile_select(v, 0, i * 1000, id, 2, 1u << 30, sel);
		if (tile_search(v, &(struct tile_query){ .text = "gemm" }, 1u << 30, hit, 4, &n,
				&all) == 0 &&
		    n) {
			tile_event(v, hit[0].id, &e);
			tile_flows(v, hit[0].id, 1u << 30, flow, 4, &n);
		}
	}
	free(sel);
	return NULL;
}

static void test_threads(void)
{
	struct trace *t = random_trace(300, 14, 0);
	struct tile_opts o = { .later = true };
	struct tile_view *v;
	pthread_t th[3];

	if (tile_open_trace(&v, t, &o) < 0)
		abort();
	for (int i = 0; i < 3; i++)
		if (pthread_create(&th[i], NULL, asking, v) != 0)
			abort();
	for (int i = 0; i < 3; i++)
		pthread_join(th[i], NULL);
	T_OK(view_is_true(v), "a view that many ask is as true as before");
	tile_close(v);
	trace_free(t);
}

static void test_ask(void)
{
	static const struct {
		const char *L, *i, *tracks, *from;
		int want;
	} cases[] = {
		{ "18", "12-16", "1,2,3", NULL, 0 },
		{ "0", "0", "1", "0", 0 },
		{ "54", "1", "4294967295", "1", 0 },
		{ "54", "2", "1", NULL, -EINVAL },
		{ "56", "0", "1", NULL, -EINVAL },
		{ "17", "0", "1", NULL, -EINVAL },
		{ "-2", "0", "1", NULL, -EINVAL },
		{ "", "0", "1", NULL, -EINVAL },
		{ NULL, "0", "1", NULL, -EINVAL },
		{ "18", "16-12", "1", NULL, -EINVAL },
		{ "18", "0-256", "1", NULL, -EINVAL },
		{ "18", "1-", "1", NULL, -EINVAL },
		{ "18", "99999999999999999999", "1", NULL, -EINVAL },
		{ "18", "0", "", NULL, -EINVAL },
		{ "18", "0", "1,", NULL, -EINVAL },
		{ "18", "0", "1,,2", NULL, -EINVAL },
		{ "18", "0", "4294967296", NULL, -EINVAL },
		{ "18", "0", "1", "2", -EINVAL },
		{ "18", "0", "1", "x", -EINVAL },
	};
	uint32_t track[TILE_ASK_MAX];
	struct tile_ask a;
	const char *why;
	unsigned bad = 0;

	for (size_t i = 0; i < T_LEN(cases); i++) {
		int got = tile_ask_parse(&a, cases[i].L, cases[i].i, cases[i].tracks, cases[i].from,
					 track, TILE_ASK_MAX, &why);

		bad += got != cases[i].want || (got == 0) != (why == NULL);
	}
	T_OK(bad == 0, "of %zu ways to ask for tiles, those that make sense are taken",
	     T_LEN(cases));
}

int main(void)
{
	kit_begin();
	test_threads();
#ifndef __SANITIZE_THREAD__ /* it finds nothing in one thread, and takes a minute for it */
	test_small();
	test_unsampled();
	test_tracks();
	test_random();
	test_dense();
	test_steps();
	test_live();
	test_next();
	test_events();
	test_why();
	test_ask();
#endif
	return kit_end();
}
