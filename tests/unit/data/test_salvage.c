/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is damaged anywhere never ends a program, and gives back all that the damage
 * did not touch.
 */
#include "storekit.h"

#define PAGE   4096u
#define BLOBS  6
#define EVENTS 2000
#define S      1000000000ull

/* How close together the damage is, so that all of it takes seconds. */
#ifdef __SANITIZE_ADDRESS__
#define FLIP_STEP 1021u
#else
#define FLIP_STEP 521u
#endif
#define CUT_STEP 2053u

struct image {
	uint8_t *data, *wal;
	size_t len, wal_len;
};

struct result {
	int err;
	struct store_salvage n;
	struct account account; /* of the first process, after */
	int accounts_wrong, faults;
};

/* A store with a bit of everything. `log`: some of it only in the log. */
static struct image make(bool log)
{
	struct store_opts o = { .create = true };
	struct rollup row = { .track = 1, .name = 2, .kind = EVENT_KERNEL, .count = 3 };
	struct window w = { .process = 1, .rows = 1, .start_ns = S, .row = &row };
	const char *path = kit_path("whole");
	struct image m = { 0 };
	struct process p;
	struct store *st;
	char name[300];
	uint32_t id;

	if (store_open_rw(&st, path, &o, NULL) < 0)
		abort();
	p = kit_process(st, 1);
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "void kernel_%d<%0250d>(float*)", i, i);
		store_name(st, name, strlen(name), &id);
	}
	for (uint64_t i = 0; i < BLOBS; i++) {
		if (log && i == BLOBS / 2) { /* folded back, opened again: the rest is in the log */
			store_close(st);
			if (store_open_rw(&st, path, &o, NULL) < 0)
				abort();
		}
		w.start_ns += S;
		store_window(st, &w);
		kit_steps(st, 1, i, 3);
		store_entry(st, &(struct journal_entry){ .wall_ns = i, .kind = ENTRY_TIER });
		if (kit_commit(st, &p, i * EVENTS, EVENTS, S) < 0)
			abort();
	}
	if (log) {
		m.data = kit_read(path, &m.len);
		m.wal = kit_read(kit_path("whole-wal"), &m.wal_len);
	}
	store_close(st);
	if (!log)
		m.data = kit_read(path, &m.len);
	return m;
}

static int check_account(void *arg, const struct process *p)
{
	struct result *r = arg;

	if (p->id == 1)
		r->account = p->account;
	r->accounts_wrong += !kit_adds_up(&p->account);
	return 0;
}

/* Writes the image, checks it, salvages it, and checks what came out. */
static struct result salvage(const struct image *m)
{
	struct result r = { 0 };
	const char *from = kit_path("damaged"), *to = kit_path("saved");
	struct store *st;

	kit_write(from, m->data, m->len);
	if (m->wal)
		kit_write(kit_path("damaged-wal"), m->wal, m->wal_len);
	unlink(to);
	(void)store_check(from, NULL, NULL, NULL);
	r.err = store_salvage(from, to, &r.n, NULL);
	if (r.err == 0) {
		r.faults = store_check(to, NULL, NULL, NULL);
		if (store_open_ro(&st, to, NULL) < 0 ||
		    store_each_process(st, check_account, &r) < 0)
			r.faults = -1;
		else
			store_close(st);
	}
	unlink(from);
	unlink(kit_path("damaged-wal"));
	return r;
}

static void test_whole(const struct image *m, const char *what)
{
	struct result r = salvage(m);

	T_OK(r.err == 0 && r.faults == 0 && r.n.pages_bad == 0 && r.n.blobs_lost == 0 &&
		     r.n.events == BLOBS * EVENTS && r.n.event_blobs == BLOBS && r.n.names == 60 &&
		     r.n.processes == 1 && r.n.window_blobs == BLOBS && r.n.steps == 3 * BLOBS,
	     "%s: all of it is saved (%llu of %llu pages bad, %llu events)", what,
	     (unsigned long long)r.n.pages_bad, (unsigned long long)r.n.pages,
	     (unsigned long long)r.n.events);
	T_OK(r.account.emitted == r.account.stored && r.account.stored == BLOBS * EVENTS * 11 / 10,
	     "%s: and the account is as it was", what);
}

/*
 * Flips a byte here and there. A flip touches one page, so at most one blob may be lost.
 * m[1] is a copy, from which the byte comes back.
 */
static void test_flips(struct image *m, const char *what, bool log)
{
	uint8_t *data = log ? m->wal : m->data;
	size_t len = log ? m->wal_len : m->len;
	unsigned int failed = 0, faults = 0, lost = 0, unsaid = 0, wrong = 0, tries = 0;

	for (size_t i = 0; i < len; i += FLIP_STEP, tries++) {
		struct result r;

		data[i] ^= (uint8_t)(1 + kit_random() % 255);
		r = salvage(m);
		failed += r.err != 0;
		faults += r.faults != 0;
		lost += r.n.event_blobs + 1 < BLOBS;
		unsaid += r.n.event_blobs < BLOBS && !r.n.blobs_lost && !r.n.pages_bad;
		wrong += r.accounts_wrong != 0;
		data[i] = (log ? m[1].wal : m[1].data)[i];
	}
	T_OK(failed == 0, "%s: each of %u flipped bytes leaves something to save (%u)", what, tries,
	     failed);
	T_OK(faults == 0, "%s: what is saved is a sound store (%u)", what, faults);
	T_OK(lost == 0, "%s: no more than one blob is lost to a byte (%u)", what, lost);
	T_OK(unsaid == 0, "%s: none is lost in silence (%u)", what, unsaid);
	T_OK(wrong == 0, "%s: and the accounts add up (%u)", what, wrong);
}

static void test_cuts(const struct image *m, const char *what, bool log)
{
	struct image cut = *m;
	size_t *len = log ? &cut.wal_len : &cut.len, whole = *len;
	unsigned int faults = 0, wrong = 0, tries = 0;
	uint64_t last = 0;
	bool grows = true;

	for (size_t i = 0; i <= whole; i += CUT_STEP, tries++) {
		struct result r;

		*len = i;
		r = salvage(&cut);
		faults += r.err == 0 && r.faults != 0;
		wrong += r.accounts_wrong != 0;
		grows &= r.n.events >= last;
		last = r.n.events;
	}
	T_OK(faults == 0, "%s cut at %u lengths: what is saved is a sound store (%u)", what, tries,
	     faults);
	T_OK(wrong == 0, "%s cut: and the accounts add up (%u)", what, wrong);
	T_OK(grows && last > 0, "%s cut: a longer piece never gives less", what);
}

static void test_zeroes(struct image *m, const char *what)
{
	unsigned int faults = 0, lost = 0, wrong = 0;

	for (size_t i = 0; i + PAGE <= m->len; i += PAGE) {
		struct result r;

		memset(m->data + i, 0, PAGE);
		r = salvage(m);
		faults += r.err == 0 && r.faults != 0;
		lost += r.err != 0 || r.n.event_blobs + 2 < BLOBS;
		wrong += r.accounts_wrong != 0;
		memcpy(m->data + i, m[1].data + i, PAGE);
	}
	T_OK(faults == 0 && wrong == 0, "%s with any page zeroed: what is saved is sound (%u)",
	     what, faults);
	T_OK(lost == 0, "%s with any page zeroed: only that page's blobs are lost (%u)", what,
	     lost);
}

/* As after a power cut: the log ends anywhere, and what was committed before that is there. */
static void test_power_cut(const struct image *m)
{
	struct store_opts o = { .create = false };
	struct store_filter all = { 0 };
	const char *path = kit_path("power");
	unsigned int bad = 0, wrong = 0, tries = 0;
	uint64_t last = 0;

	for (size_t cut = 0; cut < m->wal_len + 517; cut += 517, tries++) {
		struct result r = { 0 };
		struct store *st;
		uint64_t n = 0;

		kit_write(path, m->data, m->len);
		kit_write(kit_path("power-wal"), m->wal, cut < m->wal_len ? cut : m->wal_len);
		if (store_open_rw(&st, path, &o, NULL) < 0 ||
		    store_each_events(st, &all, 0, kit_count_events, &n) < 0 || n < last) {
			bad++;
			break;
		}
		store_each_process(st, check_account, &r);
		wrong += r.accounts_wrong || r.account.stored != n * 11 / 10;
		last = n;
		store_close(st);
		bad += store_check(path, NULL, NULL, NULL) != 0;
		unlink(path);
	}
	T_OK(bad == 0, "a log that ends anywhere (%u places): the store opens and is sound", tries);
	T_OK(wrong == 0, "and its account is that of the last whole commit (%u)", wrong);
	T_OK(last == BLOBS * EVENTS, "up to all of it");
}

static void test_refusals(const struct image *m)
{
	struct store_opts o = { .create = true };
	struct store_salvage n;
	struct store_why why = { "" };
	struct store *st;

	kit_write(kit_path("there"), m->data, m->len);
	T_OK(store_salvage(kit_path("none"), kit_path("to"), &n, &why) == -ENOENT,
	     "a missing file: \"%s\"", why.text);
	T_OK(store_salvage(kit_path("there"), kit_path("there"), &n, &why) == -EEXIST,
	     "over a file that is there: \"%s\"", why.text);
	kit_write(kit_path("empty"), "", 0);
	T_OK(store_salvage(kit_path("empty"), kit_path("to"), &n, &why) == -EMEDIUMTYPE,
	     "an empty file: \"%s\"", why.text);
	if (store_open_rw(&st, kit_path("there"), &o, NULL) < 0)
		abort();
	T_OK(store_salvage(kit_path("there"), kit_path("to"), &n, &why) == -EBUSY,
	     "a file that is being written: \"%s\"", why.text);
	store_close(st);
	T_OK(access(kit_path("to"), F_OK) < 0, "and none of these leaves a file behind");
}

/* Pages of noise are nothing, and a store among them is found. */
static void test_noise(const struct image *m)
{
	struct image noise = { .len = m->len + 64 * PAGE };
	struct result r;

	noise.data = malloc(noise.len);
	memcpy(noise.data, m->data, m->len);
	for (size_t i = m->len; i < noise.len; i++)
		noise.data[i] = (uint8_t)kit_random();
	r = salvage(&noise);
	T_OK(r.err == 0 && r.n.events == BLOBS * EVENTS && r.n.pages_bad >= 60 && r.faults == 0,
	     "noise after a store does not hide it");
	memset(noise.data, 0x55, PAGE);
	r = salvage(&noise);
	T_OK(r.err == 0 && r.n.events == BLOBS * EVENTS && r.faults == 0,
	     "and a lost first page neither");
	free(noise.data);
}

static struct image copy(const struct image *m)
{
	struct image c = *m;

	c.data = memcpy(malloc(m->len), m->data, m->len);
	if (m->wal)
		c.wal = memcpy(malloc(m->wal_len), m->wal, m->wal_len);
	return c;
}

int main(void)
{
	struct image closed[2], open[2]; /* [1]: a copy, to undo damage from */

	kit_begin();
	closed[0] = make(false);
	kit_clean();
	open[0] = make(true);
	closed[1] = copy(&closed[0]);
	open[1] = copy(&open[0]);
	test_whole(closed, "a closed store");
	test_whole(open, "a store with a log");
	test_flips(closed, "a closed store", false);
	test_flips(open, "a store with a log", false);
	test_flips(open, "its log", true);
	test_cuts(closed, "a closed store", false);
	test_cuts(open, "a log", true);
	test_zeroes(closed, "a closed store");
	test_zeroes(open, "a store with a log");
	test_power_cut(open);
	test_noise(closed);
	test_refusals(closed);
	for (int i = 0; i < 2; i++) {
		free(closed[i].data);
		free(open[i].data);
		free(open[i].wal);
	}
	return kit_end();
}
