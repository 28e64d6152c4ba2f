/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql.c - the cost of SQL over 10 million kernels.
 *
 *	sql_10m_s   CPU seconds of: name, count(*), sum(dur) from kernel group by name, top 20
 *
 * The store is big.c's, with one stream on each device. The minimum of three rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bench.h"
#include "lib/big.h"
#include "sql/sql.h"

#define ROUNDS 3
#define BAR_S  1.5

struct answer {
	uint64_t rows, count;
};

static int on_begin(void *arg, const char *const *names, int cols)
{
	(void)arg, (void)names, (void)cols;
	return 0;
}

static int on_row(void *arg, const struct sql_value *v, int cols)
{
	struct answer *a = arg;

	a->rows++;
	a->count += (uint64_t)v[cols > 1 ? 1 : 0].i;
	return 0;
}

static int on_end(void *arg)
{
	(void)arg;
	return 0;
}

/* CPU seconds, the least of some rounds. */
static double ask(struct store *st, const char *query, struct answer *a)
{
	struct sql_opts o = { 0 };
	double best = 1e9;

	for (int i = 0; i < ROUNDS; i++) {
		struct sql_sink sink = { on_begin, on_row, on_end, a };
		uint64_t t0 = bench_cpu_ns(0);
		struct sql_why why;
		struct sql *s;
		double took;

		memset(a, 0, sizeof(*a));
		if (sql_open(&s, st, &o, &why) < 0)
			bench_die(why.text, -1);
		if (sql_run(s, query, &sink, &why) < 0)
			bench_die(why.text, -1);
		sql_close(s);
		took = (double)(bench_cpu_ns(0) - t0) / 1e9;
		best = took < best ? took : best;
	}
	return best;
}

int main(void)
{
	char dir[] = "/tmp/aon-bench-XXXXXX", path[64];
	struct store_opts o = { .create = true };
	struct answer top, sums, two;
	struct store_why why = { "" };
	double s, ready, keys;
	struct store *st;

	if (!mkdtemp(dir))
		bench_die("mkdtemp", -1);
	snprintf(path, sizeof(path), "%s/sql.db", dir);
	if (store_open_rw(&st, path, &o, &why) < 0)
		bench_die(why.text, -1);
	big_fill(st, 1);
	store_close(st);
	if (store_open_ro(&st, path, &why) < 0)
		bench_die(why.text, -1);
	s = ask(st,
		"select name, count(*), sum(dur) from kernel group by name order by 3 desc limit "
		"20",
		&top);
	keys = ask(st, "select device, count(*), name, sum(dur) from kernel group by device, name",
		   &two);
	ready = ask(st, "select name, count, total from summary order by total desc", &sums);
	store_close(st);
	unlink(path);
	rmdir(dir);
	if (top.rows != 20 || two.count != BIG_EVENTS || sums.count != BIG_EVENTS)
		bench_die("an answer is wrong", -1);
	bench_row("sql_10m_s", s, "s", BAR_S, s <= BAR_S,
		  "CPU; by device and name %.2f s, ready-made sums %.2f s", keys, ready);
	return 0;
}
