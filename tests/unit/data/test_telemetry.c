/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/block.h"
#include "store/store.h"
#include "t.h"

#define S 1000000000ull

static uint64_t seed = 88172645463325252ull;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

#define TICKS  300u
#define SERIES 40u

/* A table of values, ticks x series, told by its changes and asked for again. */
static double table[TICKS][SERIES];
static uint64_t tick_ns[TICKS];
static struct change change[TICKS * SERIES];

static struct telemetry_block block_of(uint32_t from, uint32_t to)
{
	struct telemetry_block b = { .source = 7, .wall_offset_ns = 1700000000 * (int64_t)S };

	b.tick_ns = tick_ns + from;
	b.ticks = to - from;
	b.change = change;
	for (uint32_t t = from; t < to; t++)
		for (uint32_t s = 0; s < SERIES; s++) {
			double was = t > from ? table[t - 1][s] : NAN;

			if (was == table[t][s] || (isnan(was) && isnan(table[t][s])))
				continue;
			change[b.changes++] = (struct change){ s + 1, t - from, table[t][s] };
		}
	return b;
}

static void fill(double (*value)(uint32_t t, uint32_t s))
{
	for (uint32_t t = 0; t < TICKS; t++) {
		tick_ns[t] = 5000 * S + t * S + rnd() % 20 * 1000000u;
		for (uint32_t s = 0; s < SERIES; s++)
			table[t][s] = value(t, s);
	}
}

static double still(uint32_t t, uint32_t s)
{
	(void)t;
	return s * 10.5;
}

static double even(uint32_t t, uint32_t s)
{
	return 1e9 + t * (100.0 + s);
}

/* Counters with noise that reset, gauges with digits, some that come and go, some that are no decimals. */
static double wild(uint32_t t, uint32_t s)
{
	switch (s % 8) {
	case 0:
		return t % 100 * 1e6 + (double)(rnd() % 1000); /* resets */
	case 1:
		return (double)(rnd() % 100000) / 100;
	case 2:
		return t / 10 % 3 == s % 3 ? NAN : 40 + (double)(rnd() % 3);
	case 3:
		return sin(t) * 1e-3;
	case 4:
		return 18446744073709551615.0 - (double)(t / 7) * 4096;
	case 5:
		return t % 50 ? 4294967296.0 - t : -(double)t;
	case 6:
		return t < 5 || t > 290 ? NAN : t * 1000;
	default:
		return 1e300 * (t % 4);
	}
}

static bool same_table(const struct telemetry_block *b, uint32_t from)
{
	double now[SERIES];
	bool good = true;

	for (uint32_t s = 0; s < SERIES; s++)
		now[s] = NAN;
	for (uint32_t t = 0; t < b->ticks; t++) {
		good &= b->tick_ns[t] == tick_ns[from + t];
		for (uint32_t i = 0; i < b->changes; i++)
			if (b->change[i].tick == t)
				now[b->change[i].series - 1] = b->change[i].value;
		for (uint32_t s = 0; s < SERIES; s++) {
			double want = table[from + t][s];

			good &= now[s] == want || (isnan(now[s]) && isnan(want));
		}
	}
	return good;
}

static void test_codec(void)
{
	static const struct {
		const char *name;
		double (*value)(uint32_t, uint32_t);
		double bytes; /* a sample, at most */
	} cases[] = {
		{ "values that stand still", still, 0.1 },
		{ "counters that rise evenly", even, 0.1 },
		{ "anything", wild, 8 },
	};
	struct block_codec *c;
	struct rows rows = { 0 };
	struct telemetry_block b, back;

	T_OK(block_codec_new(&c) == 0, "a codec is made");
	for (size_t i = 0; i < T_LEN(cases); i++) {
		fill(cases[i].value);
		b = block_of(0, TICKS);
		T_OK(block_pack(c, &b, &rows) == 0 &&
			     block_unpack(c, rows.data, rows.len, &back) == 0,
		     "%s: packed and unpacked", cases[i].name);
		T_OK(back.source == 7 && back.wall_offset_ns == b.wall_offset_ns &&
			     same_table(&back, 0),
		     "%s: come back as they were", cases[i].name);
		T_OK((double)rows.len / (TICKS * SERIES) < cases[i].bytes,
		     "%s: %.3f bytes a sample", cases[i].name, (double)rows.len / (TICKS * SERIES));
	}
	T_OK(block_unpack(c, rows.data, rows.len - 1, &back) == -EBADMSG, "cut short: refused");
	rows.data[100] ^= 1;
	T_OK(block_unpack(c, rows.data, rows.len, &back) == -EBADMSG, "a bit flipped: refused");
	b.tick_ns[3] = b.tick_ns[2];
	T_OK(block_pack(c, &b, &rows) == -EINVAL, "ticks that do not rise are refused");
	rows_fini(&rows);
	block_codec_free(c);
}

/* --- in a store --- */

struct seen {
	unsigned series, blocks;
	uint32_t ticks;
	double last[SERIES];
	bool good;
};

static int on_series(void *arg, const struct series *s)
{
	struct seen *x = arg;

	x->series++;
	x->good &= s->metric == 30003 && s->id == x->series;
	return 0;
}

static int on_block(void *arg, const struct telemetry_block *b)
{
	struct seen *x = arg;

	x->blocks++;
	x->ticks += b->ticks;
	for (uint32_t i = 0; i < b->changes; i++)
		x->last[b->change[i].series - 1] = b->change[i].value;
	return 0;
}

static struct seen look(struct store *st, uint64_t from, uint64_t to)
{
	struct seen x = { .good = true };

	x.good &= store_each_series(st, 0, on_series, &x) == 0;
	x.good &= store_each_telemetry(st, from, to, on_block, &x) == 0;
	return x;
}

static int put_pieces(struct store *st, uint32_t from, uint32_t to, uint32_t step)
{
	int err = 0;

	for (uint32_t t = from; t < to && !err; t += step) {
		struct telemetry_block b = block_of(t, t + step < to ? t + step : to);

		err = store_telemetry(st, &b, false);
	}
	return err;
}

static void test_store(void)
{
	struct store_opts o = { .create = true };
	struct series sr = { .metric = 30003 };
	struct telemetry_block b;
	struct store_salvage saved;
	struct store *st, *ro;
	char path[64], to[80];
	uint32_t id, again;
	uint64_t after = 0;
	struct seen x = { 0 };

	snprintf(path, sizeof(path), "/tmp/aon-tele-%d.db", (int)getpid());
	snprintf(to, sizeof(to), "%s.saved", path);
	fill(wild);
	T_OK(store_open_rw(&st, path, &o, NULL) == 0, "a store is made");
	for (uint32_t s = 0; s < SERIES; s++) {
		snprintf(sr.device, sizeof(sr.device), "%u", s);
		store_series(st, &sr, &id);
	}
	T_OK(id == SERIES && store_series(st, &sr, &again) == 0 && again == id,
	     "a series has one id");
	T_OK(put_pieces(st, 0, 100, 10) == 0 && store_commit(st, 1) == 0, "pieces are stored");
	T_OK(store_open_ro(&ro, path, NULL) == 0, "a reader comes");
	x = look(ro, 0, 0);
	T_OK(x.good && x.series == SERIES && x.blocks == 10 && x.ticks == 100, "and sees them");
	T_OK(store_new_telemetry(ro, &after, on_block, &x) == 0 && after == 10, "as they come");
	b = block_of(0, 100);
	T_OK(store_telemetry(st, &b, true) == 0 && put_pieces(st, 100, 150, 10) == 0 &&
		     store_commit(st, 2) == 0,
	     "the whole takes the place of its pieces");
	x = look(ro, 0, 0);
	T_OK(x.blocks == 6 && x.ticks == 150, "a whole block and the next one's pieces are there");
	x = look(ro, tick_ns[101], tick_ns[105]);
	T_OK(x.blocks == 1 && x.ticks == 10, "blocks are found by time");
	b = block_of(100, 150);
	T_OK(store_telemetry(st, &b, true) == 0, "a whole block that is not committed");
	store_rollback(st);
	x = look(ro, 0, 0);
	T_OK(x.blocks == 6 && x.ticks == 150, "costs nothing but itself");
	store_close(st);
	store_close(ro);
	T_OK(store_check(path, NULL, NULL, NULL) == 0, "the store is whole");
	T_OK(store_open_rw(&st, path, &o, NULL) == 0 && store_series(st, &sr, &again) == 0 &&
		     again == id,
	     "opened anew, it knows its series");
	store_close(st);
	T_OK(store_salvage(path, to, &saved, NULL) == 0 && saved.telemetry_blocks >= 6 &&
		     store_check(to, NULL, NULL, NULL) == 0,
	     "salvage saves telemetry");
	unlink(path);
	unlink(to);
}

static void test_cap(void)
{
	struct store_opts o = { .create = true, .max_bytes = 4u << 20 };
	struct telemetry_block b;
	struct seen x = { 0 };
	struct store *st;
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "/tmp/aon-tele-%d.db", (int)getpid());
	T_OK(store_open_rw(&st, path, &o, NULL) == 0, "a store with a cap");
	for (unsigned i = 0; i < 60 && !err; i++) {
		fill(wild);
		for (uint32_t t = 0; t < TICKS; t++)
			tick_ns[t] += i * TICKS * S;
		b = block_of(0, TICKS);
		err = store_telemetry(st, &b, true);
		err = err ? err : store_commit(st, tick_ns[TICKS - 1]);
	}
	x = look(st, 0, 0);
	T_OK(!err && x.blocks > 3 && x.blocks < 60, "the oldest telemetry goes (%u of 60 blocks)",
	     x.blocks);
	T_OK(store_bytes(st) <= o.max_bytes, "the cap holds");
	store_close(st);
	unlink(path);
}

int main(void)
{
	test_codec();
	test_store();
	test_cap();
	return t_done();
}
