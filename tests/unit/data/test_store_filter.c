/* SPDX-License-Identifier: Apache-2.0 */
/* A filter of events gives what a plain loop over all of them gives, of a file and of a backend. */
#include "store/backend.h"
#include "storekit.h"

#define PROCESSES 5u
#define BLOBS     24u
#define EVENTS    400u /* of a blob */
#define FILTERS   3000
#define TIME      1000000u

static struct {
	uint32_t process;
	struct event ev[EVENTS];
} all[BLOBS];

/* A blob has a few kinds only, so that some are stepped over. */
static struct event made_up(uint32_t kinds, uint64_t from)
{
	struct event e = { .start_ns = from + kit_random() % (TIME / 8),
			   .dur_ns = kit_random() % 3 ? 0 : kit_random() % (TIME / 16),
			   .a = kit_random() % 100,
			   .name = (uint32_t)(kit_random() % 9),
			   .track = (uint32_t)(kit_random() % 4) };

	do
		e.kind = kit_random() % EVENT_MAX;
	while (!(kinds >> e.kind & 1));
	if (e.kind == EVENT_SAMPLE)
		e.start_ns -= e.start_ns % SAMPLE_TICK_NS;
	return e;
}

static void fill(struct store *st)
{
	struct process p[PROCESSES];
	struct blob_packer *z;
	struct blob_enc *enc;

	if (blob_enc_new(&enc) < 0 || blob_packer_new(&z) < 0)
		abort();
	for (uint32_t i = 0; i < PROCESSES; i++)
		p[i] = kit_process(st, 100 + i);
	for (size_t b = 0; b < BLOBS; b++) {
		uint32_t kinds = (uint32_t)(kit_random() & kit_random()) | 1u << EVENT_KERNEL;
		struct blob blob;

		all[b].process = p[kit_random() % PROCESSES].id;
		for (size_t i = 0; i < EVENTS; i++)
			all[b].ev[i] = made_up(kinds, 1000 + b * TIME / BLOBS);
		if (blob_add(enc, all[b].ev, EVENTS) != EVENTS || blob_seal(enc, &blob) < 0 ||
		    blob_pack(z, &blob) < 0 || store_blob(st, all[b].process, &blob) < 0)
			abort();
		blob_fini(&blob);
	}
	if (store_commit(st, 1) < 0)
		abort();
	blob_enc_free(enc);
	blob_packer_free(z);
}

/* What came: how many, and a sum in which the order counts. */
struct sum {
	uint64_t n, hash;
};

static void sum_add(struct sum *s, uint32_t process, uint64_t name, uint64_t a, uint32_t kind)
{
	s->n++;
	s->hash = (s->hash + name + a * 16 + kind * 2048ull + process * 65536ull) *
		  0x9e3779b97f4a7c15ull;
}

static bool passes(const struct store_filter *f, uint32_t process, const struct event *e)
{
	uint64_t from = f->from_ns, to = f->to_ns;
	bool mine = !f->process;

	for (size_t i = 0; f->process && i < f->processes; i++)
		if (f->process[i] == process) {
			mine = true;
			from = f->span ? f->span[2 * i] : from;
			to = f->span ? f->span[2 * i + 1] : to;
		}
	bool sample = e->kind == EVENT_SAMPLE; /* only where they are asked for, and moments */

	return mine && (f->kinds ? f->kinds >> e->kind & 1 : !sample) &&
	       (!to || e->start_ns < to) && e->start_ns + (sample ? 0 : e->dur_ns) >= from;
}

static struct sum plainly(const struct store_filter *f)
{
	struct sum s = { 0 };

	for (size_t b = 0; b < BLOBS; b++)
		for (size_t i = 0; i < EVENTS; i++)
			if (passes(f, all[b].process, &all[b].ev[i]))
				sum_add(&s, all[b].process, all[b].ev[i].name, all[b].ev[i].a,
					all[b].ev[i].kind);
	return s;
}

static int on_events(void *arg, uint32_t process, const struct event_columns *c)
{
	for (size_t i = 0; i < c->n; i++)
		sum_add(arg, process, c->name[i], c->a[i], c->kind[i]);
	return c->n ? 0 : -EIO; /* of nothing nobody is told */
}

/* A backend that looks at the processes alone. */
static int rows(void *self, const struct store_filter *f, store_rows_fn *fn, void *arg)
{
	int err = 0;

	(void)self;
	for (size_t b = 0; b < BLOBS && !err; b++)
		if (store_filter_process(f, all[b].process))
			err = fn(arg, all[b].process, all[b].ev, EVENTS);
	return err;
}

static void closes(void *self)
{
	(void)self;
}

static const struct store_ops ops = { .each_events = rows, .close = closes };

struct made {
	uint32_t process[PROCESSES];
	uint64_t span[2 * PROCESSES];
	struct store_filter f;
};

static void make(struct made *m)
{
	struct store_filter *f = &m->f;

	*f = (struct store_filter){ 0 };
	if (kit_random() % 4) {
		f->process = m->process;
		for (uint32_t id = 1; id <= PROCESSES; id++)
			if (kit_random() % 3 == 0)
				m->process[f->processes++] = id;
	}
	if (kit_random() % 4)
		f->kinds = (uint32_t)(kit_random() & kit_random() & kit_random());
	if (kit_random() % 4 == 0 && f->process) {
		f->span = m->span;
		for (size_t i = 0; i < f->processes; i++) {
			m->span[2 * i] = kit_random() % TIME;
			m->span[2 * i + 1] = kit_random() % 3 ? kit_random() % TIME + 1 : 0;
		}
		return;
	}
	if (kit_random() % 3)
		f->from_ns = kit_random() % TIME;
	if (kit_random() % 3)
		f->to_ns = kit_random() % TIME + 1;
}

int main(void)
{
	size_t wrong = 0, wrong_rows = 0, some = 0;
	struct store *st, *elsewhere;

	kit_begin();
	st = kit_open(kit_path("f"), 0, 0);
	fill(st);
	if (store_elsewhere(&elsewhere, "made-up", &ops, NULL) < 0)
		abort();
	for (int i = 0; i < FILTERS; i++) {
		uint32_t cols = EVENT_COL_NAME | EVENT_COL_A | (kit_random() & EVENT_COLS_ALL);
		struct sum plain, got = { 0 }, got_rows = { 0 };
		struct made m;

		make(&m);
		plain = plainly(&m.f);
		some += plain.n != 0;
		wrong += store_each_events(st, &m.f, cols, on_events, &got) != 0 ||
			 memcmp(&plain, &got, sizeof(got)) != 0;
		wrong_rows += store_each_events(elsewhere, &m.f, cols, on_events, &got_rows) != 0 ||
			      memcmp(&plain, &got_rows, sizeof(got)) != 0;
	}
	T_OK(some > FILTERS / 4 && some < FILTERS, "some filters let events through (%zu)", some);
	T_OK(!wrong, "a walk of a file gives what passes, in order (%zu wrong)", wrong);
	T_OK(!wrong_rows, "so does a walk of a backend (%zu wrong)", wrong_rows);
	store_close(elsewhere);
	store_close(st);
	return kit_end();
}
