/* SPDX-License-Identifier: Apache-2.0 */
/*
 * breakdown.c - what a breakdown of 10 million events of a store costs.
 *
 *	store_breakdown_s   CPU seconds of: aon report STORE --by rank, the whole process
 *
 * The store is made here: kernels of 61 names on 8 GPUs with 3 streams each, like a training
 * run's. The least of some rounds: what disturbs one only makes it longer.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "store/blob.h"
#include "store/store.h"

#define EVENTS  10000000u
#define NAMES   61u
#define STREAMS 24u /* of 8 GPUs */
#define ROUNDS  5
#define BAR_S   1.0

static uint32_t below(uint32_t n)
{
	static uint64_t seed = 1;

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
	uint32_t name[NAMES], lane[STREAMS], order[600];
	uint64_t t[STREAMS];
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
	for (uint32_t i = 0; i < STREAMS; i++) {
		struct lane l = { .process = p.id, .device = i / 3, .stream = 7 + i % 3 };

		lane[i] = 0;
		t[i] = 1000000000;
		must(store_lane(st, &l, &lane[i]), "lane");
	}
	for (uint32_t i = 0; i < 600; i++)
		order[i] = below(NAMES);
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t k = order[i / STREAMS % 600], s = i % STREAMS, mean = 2000 + k * 700;
		struct event ev = { .kind = EVENT_KERNEL,
				    .name = name[k],
				    .lane = lane[s],
				    .corr = i,
				    .start_ns = t[s] += 900 + below(600),
				    .dur_ns = mean + below(mean / 5) };

		t[s] += ev.dur_ns;
		if (blob_add(e, &ev, 1) != 1)
			bench_die("a full blob", -1);
		if (blob_count(e) == BLOB_EVENTS)
			put(st, &p, e, z);
		if (i % 1000000 == 999999)
			must(store_commit(st, 1), "commit");
	}
	if (blob_count(e))
		put(st, &p, e, z);
	must(store_commit(st, 1), "commit");
	blob_enc_free(e);
	blob_packer_free(z);
}

/* CPU seconds of the command, which has one thread; its peak in MB, and its wall seconds. */
static double run_once(const char *aon, const char *path, double *mb, double *wall)
{
	uint64_t t0 = bench_ns();
	struct rusage ru;
	double took;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(aon, aon, "report", path, "--by", "rank", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &ru) < 0 || status)
		bench_die("aon report", -1);
	*mb = (double)ru.ru_maxrss / 1024;
	took = (double)(bench_ns() - t0) / 1e9;
	*wall = took < *wall ? took : *wall;
	return (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) +
	       (double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char *argv[])
{
	char dir[] = "/tmp/aon-bench-XXXXXX", path[64];
	struct store_opts o = { .create = true };
	struct store_why why = { "" };
	double best = 1e9, wall = 1e9, mb = 0, took;
	struct store *st;

	if (argc != 2 || !mkdtemp(dir))
		bench_die("usage: breakdown AON", -1);
	snprintf(path, sizeof(path), "%s/breakdown.db", dir);
	if (store_open_rw(&st, path, &o, &why) < 0)
		bench_die(why.text, -1);
	fill(st);
	store_close(st);
	for (int i = 0; i < ROUNDS; i++) {
		took = run_once(argv[1], path, &mb, &wall);
		best = took < best ? took : best;
	}
	unlink(path);
	rmdir(dir);
	bench_row("store_breakdown_s", best, "s", BAR_S, best <= BAR_S,
		  "10 M kernels, 24 streams; wall %.2f s, %.0f MB at most", wall, mb);
	return 0;
}
