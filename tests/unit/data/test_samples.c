/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks are stored once, samples in four bytes, and no reader has them unasked. */
#include "storekit.h"

#include <sqlite3.h>

#define S  1000000000ull
#define MS 1000000ull

/* --- stacks --- */

static const struct stack_frame deep[3] = {
	{ .name = 2, .file = 3, .line = 42, .kind = FRAME_PYTHON, .flags = FRAME_USER },
	{ .name = 4, .file = 5, .line = 0, .kind = FRAME_NATIVE, .flags = FRAME_SCANNED },
	{ .name = 900000, .file = 0, .line = 70000, .kind = FRAME_TASK },
};

static bool same_frames(const struct stack_row *r, const struct stack_frame *f, uint32_t n)
{
	bool same = r->n == n;

	for (uint32_t i = 0; same && i < n; i++)
		same = r->frame[i].name == f[i].name && r->frame[i].file == f[i].file &&
		       r->frame[i].line == f[i].line && r->frame[i].kind == f[i].kind &&
		       r->frame[i].flags == f[i].flags;
	return same;
}

static int count_stack(void *arg, const struct stack_row *r)
{
	*(uint32_t *)arg += r->n;
	return 0;
}

static void test_stacks(void)
{
	struct stack_frame frame[STACK_FRAMES_MAX], other = deep[0];
	struct store *st = kit_open(kit_path("stacks"), 0, 0);
	uint32_t id = 9, same = 9, more = 9, none = 9, frames = 0;
	struct process p = kit_process(st, 1);
	struct stack_row r;

	other.line++;
	T_OK(!store_stack(st, deep, 3, &id) && !store_stack(st, deep, 3, &same) && id == same && id,
	     "a stack gets one id");
	T_OK(!store_stack(st, &other, 1, &more) && more != id, "another line is another stack");
	T_OK(!store_stack(st, deep, 0, &none) && !none, "no frames are no stack");
	T_OK(!store_stack_get(st, id, &r, frame) && same_frames(&r, deep, 3),
	     "it is there before the commit");
	T_OK(kit_commit(st, &p, 0, 10, S) == 0, "it is stored");
	store_close(st);
	st = kit_open(kit_path("stacks"), 0, 0);
	T_OK(!store_stack(st, deep, 3, &same) && same == id, "its id is the same after a restart");
	store_close(st);
	store_open_ro(&st, kit_path("stacks"), NULL);
	T_OK(!store_stack_get(st, id, &r, frame) && same_frames(&r, deep, 3) &&
		     store_stack_get(st, 77, &r, frame) == -ENOENT,
	     "a reader gets it by its id");
	T_OK(!store_each_stack(st, count_stack, &frames) && frames == 4, "and can walk all");
	store_close(st);
	T_OK(store_check(kit_path("stacks"), NULL, NULL, NULL) == 0, "the store is sound");
}

static void test_bounds(void)
{
	struct store_opts o = { .create = true, .names_max = 4 };
	struct stack_frame frame[STACK_FRAMES_MAX + 8] = { 0 };
	struct stack_row r;
	struct store *st;
	uint32_t id = 0, last = 0;

	if (store_open_rw(&st, kit_path("bounds"), &o, NULL) < 0)
		abort();
	for (uint32_t i = 0; i < 6; i++) {
		frame[0].line = i;
		store_stack(st, frame, STACK_FRAMES_MAX + 8, &last);
		id = i == 3 ? last : id;
	}
	T_OK(id && !last, "there are no more stacks than names_max, further ones are 0");
	T_OK(!store_stack_get(st, id, &r, frame) && r.n == STACK_FRAMES_MAX,
	     "outer frames of a stack that is too deep are left out");
	store_close(st);
}

static void test_salvage(void)
{
	struct stack_frame frame[STACK_FRAMES_MAX];
	struct store_salvage n = { 0 };
	struct stack_row r;
	struct store *st;

	T_OK(!store_salvage(kit_path("stacks"), kit_path("saved"), &n, NULL) && n.events == 10,
	     "a store with stacks is salvaged");
	store_open_ro(&st, kit_path("saved"), NULL);
	T_OK(!store_stack_get(st, 1, &r, frame) && same_frames(&r, deep, 3), "with its stacks");
	store_close(st);
}

/* A file as version 3 left it. */
static void test_old(void)
{
	struct stack_frame frame[STACK_FRAMES_MAX];
	const char *path = kit_path("old");
	struct store *st = kit_open(path, 0, 0);
	struct process p = kit_process(st, 1);
	uint32_t id = 0, frames = 0;
	struct store_stat stat;
	struct stack_row r;
	sqlite3 *db;

	if (kit_commit(st, &p, 0, 100, S) < 0)
		abort();
	store_close(st);
	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db,
			 "PRAGMA journal_mode=DELETE;DROP TABLE stack;PRAGMA user_version=3;"
			 "PRAGMA journal_mode=WAL",
			 NULL, NULL, NULL) != SQLITE_OK)
		abort();
	sqlite3_close(db);
	T_OK(store_check(path, NULL, NULL, NULL) == 0, "a store of version 3 is sound");
	T_OK(!store_open_ro(&st, path, NULL) && !store_each_stack(st, count_stack, &frames) &&
		     !frames && store_stack_get(st, 1, &r, frame) == -ENOENT &&
		     !store_stat(st, &stat) && stat.version == 3 && stat.events == 100,
	     "it is read, and has no stacks");
	store_close(st);
	st = kit_open(path, 0, 0);
	T_OK(!store_stack(st, deep, 3, &id) && id && !store_commit(st, S), "a writer adds them");
	store_close(st);
	T_OK(!store_open_ro(&st, path, NULL) && !store_stack_get(st, id, &r, frame) &&
		     !store_stat(st, &stat) && stat.version == 4 && stat.events == 100 &&
		     stat.stacks == 1,
	     "and nothing else has changed");
	store_close(st);
}

/* --- samples --- */

/* Steps of 130 ms in parts; each part has some places of the code, the first far more often. */
#define PARTS  5u
#define PLACES 40u

static struct event sample_at(uint64_t t_ns, uint32_t track, uint32_t hz)
{
	static const enum sample_state state[] = { SAMPLE_RUNNING, SAMPLE_RUNNING, SAMPLE_GIL,
						   SAMPLE_IO, SAMPLE_LOCK };
	uint32_t part = (uint32_t)(t_ns % (130 * MS) / (26 * MS)) % PARTS, place = 0;
	enum sample_state is;

	while (place + 1 < PLACES && kit_random() % 4) /* geometric: 4 places have two thirds */
		place++;
	is = kit_random() % 8 ? state[(part + place) % 5] : SAMPLE_RUNNING;
	return (struct event){
		.kind = EVENT_SAMPLE,
		.start_ns = t_ns - t_ns % SAMPLE_TICK_NS,
		.dur_ns = S / hz,
		.track = track,
		.name = 100 + part * 8 + place % 8, /* several stacks blame one frame */
		.a = 1 + part * PLACES + place,
		.b = sample_b(is, 0,
			      is == SAMPLE_GIL    ? 4711
			      : is == SAMPLE_IO   ? 0
			      : is == SAMPLE_LOCK ? 202
						  : 0),
	};
}

static struct event kernel_at(uint64_t i)
{
	return (struct event){ .kind = EVENT_KERNEL,
			       .start_ns = 1000 * S + i * 400000 + kit_random() % 4000,
			       .dur_ns = 200000 + i % 50 * 3000 + kit_random() % 900,
			       .a = 1 + i % 50 % 7,
			       .name = 10 + (uint32_t)(i % 50),
			       .corr = (uint32_t)i,
			       .track = 7 };
}

static size_t packed(const struct event *ev, size_t n)
{
	struct blob_packer *z;
	struct blob_dec *dec;
	struct blob_enc *enc;
	struct event_columns c;
	struct blob b;
	size_t len, i = 0;

	if (blob_packer_new(&z) || blob_enc_new(&enc) || blob_dec_new(&dec) ||
	    blob_add(enc, ev, n) != n || blob_seal(enc, &b) || blob_pack(z, &b) ||
	    blob_columns(dec, b.data, b.len, EVENT_COLS_ALL, ~0u, &c))
		abort();
	for (; i < n; i++) {
		struct event out = event_at(&c, i);

		if (memcmp(&out, &ev[i], sizeof(out)))
			break;
	}
	T_OK(i == n, "what was sampled comes back");
	len = b.len;
	blob_fini(&b);
	blob_dec_free(dec);
	blob_enc_free(enc);
	blob_packer_free(z);
	return len;
}

/* A second of kernels, then the second's samples of some threads, as aond gets them. */
static void test_bytes(const char *what, uint32_t threads, uint32_t hz, uint32_t kernels,
		       uint32_t seconds)
{
	static struct event both[EVENT_BATCH], alone[EVENT_BATCH];
	uint64_t next[8], end, k = 0;
	size_t n = 0, others = 0;
	double bytes;

	for (uint32_t i = 0; i < threads; i++)
		next[i] = 1000 * S + i * MS;
	for (uint32_t s = 0; s < seconds; s++) {
		for (uint32_t i = 0; i < kernels; i++)
			both[n++] = alone[others++] = kernel_at(k++);
		end = 1001 * S + s * S;
		for (uint32_t i = 0; i < threads; i++)
			for (; next[i] < end; next[i] += S / hz * (75 + kit_random() % 51) / 100 +
							 kit_random() % 100000)
				both[n++] = sample_at(next[i], 20 + i, hz);
	}
	bytes = (double)(packed(both, n) - (others ? packed(alone, others) : 0)) /
		(double)(n - others);
	T_OK(bytes <= 4, "%s: %.2f bytes a sample (%zu of %zu events)", what, bytes, n - others, n);
}

/* The bytes of a file with a blob of kernels each second; to that of every tenth or so, MANY samples
 * are added, as aond does. */
#define MANY 1024u

static uint64_t file_bytes(const char *name, uint32_t kernels, uint32_t hz, uint64_t *samples)
{
	static struct event ev[EVENT_BATCH];
	struct store *st = kit_open(kit_path(name), 0, 0);
	struct process p = kit_process(st, 1);
	uint64_t next = 1000 * S, due = 0;
	struct blob_packer *z;
	struct blob_enc *enc;
	struct blob b;
	size_t len = 0;

	if (blob_packer_new(&z) || blob_enc_new(&enc))
		abort();
	for (uint32_t i = 0; i < 1200; i++) {
		size_t n = kernels / 2 + i * 7919 % kernels;

		for (size_t k = 0; k < n; k++)
			ev[k] = kernel_at(k);
		due += samples ? hz : 0;
		for (; due >= MANY; due -= MANY, *samples += MANY)
			for (size_t k = 0; k < MANY; k++) {
				ev[n++] = sample_at(next, 20, hz);
				next += S / hz * (75 + kit_random() % 51) / 100;
			}
		if (blob_add(enc, ev, n) != n || blob_seal(enc, &b) || blob_pack(z, &b) ||
		    store_blob(st, p.id, &b) || store_commit(st, S))
			abort();
		blob_fini(&b);
	}
	blob_enc_free(enc);
	blob_packer_free(z);
	store_close(st);
	free(kit_read(kit_path(name), &len));
	unlink(kit_path(name));
	return len;
}

static void test_file(const char *what, uint32_t kernels, uint32_t hz)
{
	uint64_t n = 0, with = file_bytes("with", kernels, hz, &n),
		 without = file_bytes("without", kernels, hz, NULL);
	double bytes = ((double)with - (double)without) / (double)n;

	T_OK(bytes <= 4, "%s: the file grows by %.2f bytes a sample (%llu samples)", what, bytes,
	     (unsigned long long)n);
}

static void test_filter(void)
{
	struct store *st = kit_open(kit_path("filter"), 0, 0);
	struct store_filter all = { 0 }, ask = { .kinds = 1u << EVENT_SAMPLE },
			    late = { .kinds = 1u << EVENT_SAMPLE,
				     .from_ns = 1001 * S,
				     .to_ns = 1002 * S };
	uint64_t n = 0, asked = 0, some = 0, moments = 0;
	struct process p = kit_process(st, 1);
	struct event ev[500];
	struct blob_packer *z;
	struct blob_enc *enc;
	struct blob b;

	for (uint32_t i = 0; i < 500; i++) {
		ev[i] = i % 5 ? kernel_at(i) : sample_at(1000 * S + i * 20 * MS, 3, 49);
		moments += !(i % 5) && ev[i].start_ns >= 1001 * S && ev[i].start_ns < 1002 * S;
	}
	if (blob_packer_new(&z) || blob_enc_new(&enc) || blob_add(enc, ev, 500) != 500 ||
	    blob_seal(enc, &b) || blob_pack(z, &b) || store_blob(st, p.id, &b) ||
	    store_commit(st, S))
		abort();
	T_OK(!store_each_events(st, &all, 0, kit_count_events, &n) && n == 400,
	     "who asks for all events gets no samples");
	T_OK(!store_each_events(st, &ask, 0, kit_count_events, &asked) && asked == 100,
	     "who asks for samples gets them alone");
	T_OK(!store_each_events(st, &late, 0, kit_count_events, &some) && some == moments,
	     "a sample is of the moment at which it was taken (%llu)", (unsigned long long)some);
	blob_fini(&b);
	blob_enc_free(enc);
	blob_packer_free(z);
	store_close(st);
}

static void test_words(void)
{
	uint64_t b = sample_b(SAMPLE_GIL, SAMPLE_GC | SAMPLE_CUT, 0xfffffffeu);

	T_OK(sample_state(b) == SAMPLE_GIL && sample_flags(b) == (SAMPLE_GC | SAMPLE_CUT) &&
		     sample_detail(b) == 0xfffffffeu,
	     "state, flags and detail fit one number");
	T_OK(!strcmp(sample_state_word(SAMPLE_FAULT), "page fault") &&
		     !strcmp(sample_state_word(sample_state(200)), "?"),
	     "states have words");
}

int main(void)
{
	kit_begin();
	test_words();
	test_stacks();
	test_bounds();
	test_salvage();
	test_old();
	test_filter();
	test_bytes("a launching thread at 49 Hz beside 500 kernels a second", 1, 49, 500, 17);
	test_bytes("two threads at 49 Hz beside kernels", 2, 49, 500, 16);
	test_bytes("at 10 Hz beside kernels", 1, 10, 150, 60);
	test_bytes("no other events, a minute of a thread at 49 Hz", 1, 49, 0, 60);
	test_file("49 Hz beside 2,000 kernels a second", 2000, 49);
	test_file("49 Hz beside 400 kernels a second", 400, 49);
	test_file("49 Hz beside 200 kernels a second", 200, 49);
	test_file("49 Hz beside 100 kernels a second", 100, 49);
	test_file("49 Hz beside 10 kernels a second", 10, 49);
	return kit_end();
}
