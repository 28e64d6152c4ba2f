/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql.c - what SQL over 10 million kernels costs.
 *
 *	sql_10m_s   CPU seconds of: name, count(*), sum(dur) from kernel group by name, top 20
 *
 * The store is made here: 61 names of 120 characters on 8 devices, like a training run's. The
 * least of three rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "sql/sql.h"
#include "store/blob.h"
#include "store/store.h"

#define KERNELS 10000000u
#define NAMES   61u
#define DEVICES 8u
#define ROUNDS  3
#define BAR_S   1.5

static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (uint32_t)((seed * 0x2545f4914f6cdd1dull >> 32) * n >> 32);
}

static void must(int err, const char *what)
{
	if (err < 0)
		bench_die(what, err);
}

static void put(struct store *st, struct process *p, struct blob_enc *e, struct blob_packer *z)
{
	struct blob b;

	must(blob_seal(e, &b), "seal");
	must(blob_pack(z, &b), "pack");
	must(store_blob(st, p->id, &b), "store a blob");
	p->account.emitted += b.records;
	p->account.stored += b.records;
	must(store_process(st, p), "account");
	blob_fini(&b);
}

static void fill(struct store *st)
{
	struct process p = { .pid = 4242, .pid_start = 1, .comm = "train" };
	uint32_t name[NAMES], lane[DEVICES], order[600];
	uint64_t t[DEVICES];
	struct blob_packer *z;
	struct blob_enc *e;
	char text[128];

	must(store_process(st, &p), "process");
	must(blob_enc_new(&e), "encoder");
	must(blob_packer_new(&z), "packer");
	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(text, sizeof(text), "void cutlass_kernel_%02u<%095u>", i, i);
		name[i] = 0;
		must(store_name(st, text, strlen(text), &name[i]), "name");
	}
	for (uint32_t i = 0; i < DEVICES; i++) {
		struct lane l = { .process = p.id, .device = i, .stream = 7 };

		lane[i] = 0;
		t[i] = 1000000000;
		must(store_lane(st, &l, &lane[i]), "lane");
	}
	for (uint32_t i = 0; i < 600; i++)
		order[i] = below(NAMES);
	for (uint32_t i = 0; i < KERNELS; i++) {
		uint32_t k = order[i / DEVICES % 600], d = i % DEVICES, mean = 2000 + k * 700;
		struct event ev = { .kind = EVENT_KERNEL,
				    .name = name[k],
				    .lane = lane[d],
				    .corr = i,
				    .start_ns = t[d] += 900 + below(600),
				    .dur_ns = mean + below(mean / 5) };

		t[d] += ev.dur_ns;
		if (blob_add(e, &ev, 1) != 1)
			bench_die("a full blob", -1);
		if (blob_count(e) == BLOB_EVENTS)
			put(st, &p, e, z);
		if (i % 1000000 == 999999)
			must(store_commit(st, 1), "commit");
	}
	blob_enc_free(e);
	blob_packer_free(z);
}

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
		must(sql_open(&s, st, &o, &why), "open");
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
	fill(st);
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
	bench_row("sql_10m_s", s, "s", BAR_S,
		  s <= BAR_S && top.rows == 20 && two.count == KERNELS && sums.count == KERNELS,
		  "CPU; by device and name %.2f s, ready-made sums %.2f s", keys, ready);
	return 0;
}
