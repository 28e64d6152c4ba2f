/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whichever samples were overwritten, a trace counts each once: from its event, or from its window. With
 * arguments it only writes such a store, for tests of commands: its path, and how many seconds are gone.
 */
#include "storekit.h"

#include "model/trace.h"
#include "store/trace.h"

#define S       WINDOW_NS
#define SECONDS 12u
#define FIRST   100u /* second of the first sample */
#define EACH    97u  /* samples in a second */
#define STACKS  7u
#define THREADS 3u
#define PER     61u /* of a blob: no whole second */

struct sums {
	uint64_t count[THREADS][STACKS][SAMPLE_STATES], all, events, rolled;
	double ns;
};

static struct event ev[SECONDS * EACH];
static uint32_t track[THREADS], stack[STACKS];
static struct sums want;

static void name_all(struct store *st, const struct process *p)
{
	char text[32];

	for (uint32_t i = 0; i < THREADS; i++) {
		struct track l = { .process = p->id, .device = TRACK_HOST, .stream = i };

		track[i] = 0;
		if (store_track(st, &l, &track[i]) < 0)
			abort();
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		struct stack_frame f = { .line = i + 1 };

		snprintf(text, sizeof(text), "f%u", i);
		if (store_name(st, text, strlen(text), &f.name) < 0 ||
		    store_stack(st, &f, 1, &stack[i]) < 0)
			abort();
	}
}

static void make_up(void)
{
	memset(&want, 0, sizeof(want));
	for (uint32_t i = 0; i < SECONDS * EACH; i++) {
		uint32_t t = (uint32_t)(kit_random() % THREADS),
			 k = (uint32_t)(kit_random() % STACKS);
		uint32_t state = 1 + (uint32_t)(kit_random() % 3);
		uint64_t ns = FIRST * S + (uint64_t)i * S / EACH;

		ev[i] = (struct event){ .kind = EVENT_SAMPLE,
					.start_ns = ns - ns % SAMPLE_TICK_NS + SAMPLE_TICK_NS,
					.dur_ns = kit_random() % 2 ? 100000000 : 20408163,
					.a = stack[k],
					.b = sample_b((enum sample_state)state, 0, 0),
					.track = track[t] };
		want.count[t][k][state]++;
		want.all++;
		want.ns += (double)ev[i].dur_ns;
	}
}

/* A row for each sample, or one for those of a second that have the same thread, stack and state. */
static void put_window(struct store *st, uint32_t process, uint64_t second, uint32_t rows_max)
{
	static struct rollup row[EACH + 2];
	struct window w = { .process = process, .start_ns = second * S, .row = row };

	for (uint32_t i = 0; i < SECONDS * EACH; i++) {
		struct rollup is = { .kind = EVENT_SAMPLE,
				     .track = ev[i].track,
				     .name = (uint32_t)ev[i].a + 1,
				     .min_ns = ev[i].dur_ns };
		uint32_t k = 0;

		if (ev[i].start_ns / S != second)
			continue;
		is.bytes = sample_rolled(
			sample_key((struct sample_key){ .state = sample_state(ev[i].b) }), 0);
		while (k < w.rows && (row[k].track != is.track || row[k].name != is.name ||
				      row[k].bytes != is.bytes))
			k++;
		if (k == w.rows && w.rows == rows_max) { /* the last one is of several stacks */
			k = rows_max - 1;
			row[k].name = SAMPLE_ROLLED_OTHER;
			row[k].track = track[0];
		} else if (k == w.rows) {
			row[w.rows++] = is;
		}
		row[k].count++;
		row[k].total_ns += ev[i].dur_ns;
		row[k].min_ns = row[k].min_ns < ev[i].dur_ns ? row[k].min_ns : ev[i].dur_ns;
		row[k].max_ns = row[k].max_ns > ev[i].dur_ns ? row[k].max_ns : ev[i].dur_ns;
	}
	if (w.rows && store_window(st, &w) < 0)
		abort();
}

static void put_blobs(struct store *st, struct process *p)
{
	struct blob_packer *z;
	struct blob_enc *e;

	if (blob_enc_new(&e) < 0 || blob_packer_new(&z) < 0)
		abort();
	for (uint32_t i = 0; i < SECONDS * EACH; i += PER) {
		uint32_t n = SECONDS * EACH - i < PER ? SECONDS * EACH - i : PER;
		struct blob b;

		if (blob_add(e, ev + i, n) != n || blob_seal(e, &b) < 0 || blob_pack(z, &b) < 0 ||
		    store_blob(st, p->id, &b) < 0)
			abort();
		p->account.emitted += b.records;
		p->account.stored += b.records;
		blob_fini(&b);
	}
	blob_enc_free(e);
	blob_packer_free(z);
}

static void add(struct sums *s, const struct trace *t, uint32_t of, uint32_t stack_id,
		uint32_t state, uint64_t n)
{
	struct stack_row r = trace_stack(t, stack_id);

	if (r.n && r.frame[0].line && r.frame[0].line <= STACKS)
		s->count[t->track[of].stream][r.frame[0].line - 1][state] += n;
	s->all += n;
}

static struct sums seen(const char *path, const struct store_filter *part)
{
	struct sums s = { .all = 0 };
	struct store *st;
	struct trace *t;

	if (store_open_ro(&st, path, NULL) < 0 || trace_new(&t) < 0 ||
	    store_trace_part(t, st, path, part, NULL, NULL) < 0)
		abort();
	for (size_t i = 0; i < t->events; i++) {
		const struct event *e = &t->event[i];

		add(&s, t, e->track, (uint32_t)e->a, sample_state(e->b), 1);
		s.ns += (double)e->dur_ns;
		s.events++;
	}
	for (size_t i = 0; i < t->rolleds; i++) {
		const struct trace_rolled *r = &t->rolled[i];

		add(&s, t, r->track, r->stack, sample_rolled_key(r->key).state, r->count);
		s.ns += r->ns;
		s.rolled += r->count;
	}
	trace_free(t);
	store_close(st);
	return s;
}

/* A store in which the events of so many seconds are too old. */
static void make(const char *path, uint32_t gone, uint32_t rows_max)
{
	struct store *st = kit_open(path, 0, S);
	struct process p = kit_process(st, 4711);

	p.first_ns = FIRST * S;
	p.last_ns = (FIRST + SECONDS + 1) * S;
	name_all(st, &p);
	make_up();
	put_blobs(st, &p);
	for (uint64_t second = FIRST; second <= FIRST + SECONDS; second++)
		put_window(st, p.id, second, rows_max);
	if (store_process(st, &p) < 0 || store_commit(st, (FIRST + gone) * S + S + S / 3) < 0)
		abort();
	store_close(st);
}

static void test_gone(void)
{
	for (uint32_t gone = 0; gone < SECONDS + 2; gone += 3) {
		char path[32];
		struct sums s;

		snprintf(path, sizeof(path), "gone%u", gone);
		make(kit_path(path), gone, EACH);
		s = seen(kit_path(path), NULL);
		T_OK(s.all == want.all && s.events + s.rolled == want.all &&
			     !memcmp(s.count, want.count, sizeof(want.count)),
		     "of %llu samples %llu are events, and no one is missing or twice",
		     (unsigned long long)want.all, (unsigned long long)s.events);
		T_OK(s.rolled == want.all - s.events && (gone ? s.rolled != 0 : !s.rolled),
		     "the others are of windows");
	}
}

static void test_torn(void)
{
	struct store_filter part = { .from_ns = FIRST * S, .to_ns = (FIRST + 4) * S };
	struct sums s;

	make(kit_path("other"), 5, 6);
	s = seen(kit_path("other"), NULL);
	T_OK(s.all == want.all && s.rolled, "so it is where windows have rows of several stacks");
	s = seen(kit_path("other"), &part);
	T_OK(!s.events && s.all > 4 * EACH - 4 && s.all <= 4 * EACH + 4,
	     "a part of the time has the samples of its seconds (%llu)", (unsigned long long)s.all);
}

static int never(void *arg, const struct window *w)
{
	(void)arg, (void)w;
	return -EIO;
}

static int count(void *arg, const struct window *w)
{
	*(uint64_t *)arg += w->rows;
	return 0;
}

static void test_kinds(void)
{
	struct store_filter all = { .from_ns = 0 }, samples = { .kinds = 1u << EVENT_SAMPLE };
	uint64_t rows = 0, after = 0;
	struct store *st;

	if (store_open_ro(&st, kit_path("other"), NULL) < 0)
		abort();
	T_OK(!store_each_window(st, &all, never, NULL) &&
		     !store_new_windows(st, &after, 0, never, NULL) && after,
	     "nobody has samples of windows unasked");
	T_OK(!store_each_window(st, &samples, count, &rows) && rows, "but on request");
	store_close(st);
}

int main(int argc, char *argv[])
{
	if (argc > 2) {
		make(argv[1], (uint32_t)strtoul(argv[2], NULL, 10), EACH);
		return 0;
	}
	kit_begin();
	test_gone();
	test_torn();
	test_kinds();
	return kit_end();
}
