/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_fixture.c - writes a store whose every number is known, for tests of queries.
 *
 *	sql_fixture STORE
 *
 * Two ranks, pids 100 (GPU 0) and 200 (GPU 1), run "job": 20 steps of 10 ms from 1 s on. In each,
 * on thread pid: "forward" and "backward" of 4 ms; every millisecond from the start, 8 times, a
 * launch of 10 us and 50 us after it on stream 7 a kernel, gemm (500 us; 600 on rank 1) and
 * add (4 us) in turn; then a collective of 1 MiB on stream 20 that begins at 8 ms (8.1 on rank 1)
 * and ends at 9 ms; copies of 1 MiB to the GPU (100 us) and 4 KiB back (10 us), a memset, a wait
 * of 500 us, and the power counter, 300 W and a watt more each step. Marks at steps 0 and 10.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agg/roll.h"
#include "aon/provider.h"
#include "store/blob.h"
#include "store/store.h"

#define US    1000ull
#define MS    1000000ull
#define T0    (1000 * MS)
#define STEPS 20u

static struct store *st;
static struct roll *roll;
static struct blob_enc *enc;
static struct process proc;
static uint32_t thread, compute, comm;

static void must(int err, const char *what)
{
	if (err < 0) {
		fprintf(stderr, "sql_fixture: %s: %s\n", what, strerror(-err));
		exit(1);
	}
}

static uint32_t name(const char *text)
{
	uint32_t id = 0;

	must(store_name(st, text, strlen(text), &id), "name");
	return id;
}

static uint32_t track(uint32_t device, uint64_t stream)
{
	struct track l = { .process = proc.id, .device = device, .context = 1, .stream = stream };
	uint32_t id = 0;

	must(store_track(st, &l, &id), "lane");
	return id;
}

static uint32_t geo(uint32_t grid, uint32_t block)
{
	struct geo g = { .grid = { grid, 1, 1 }, .block = { block, 1, 1 }, .regs = 64 };
	uint32_t id = 0;

	must(store_geo(st, &g, &id), "geometry");
	return id;
}

static void put_window(void *arg, const struct window *w)
{
	(void)arg;
	must(store_window(st, w), "window");
}

static void emit(const struct event *e)
{
	if (blob_add(enc, e, 1) != 1)
		must(-1, "blob full");
	roll_add(roll, e, 1, put_window, NULL);
}

#define EMIT(KIND, where, what, start, dur, ...)               \
	emit(&(struct event){ .kind = EVENT_##KIND,            \
			      .track = (where),                \
			      .name = (what) ? name(what) : 0, \
			      .start_ns = (start),             \
			      .dur_ns = (dur),                 \
			      __VA_ARGS__ })

static void step(uint64_t t, uint64_t s, uint32_t rank)
{
	double power = 300.0 + (double)s;
	uint64_t bits;

	memcpy(&bits, &power, sizeof(bits));
	for (uint64_t k = 0; k < 8; k++) {
		uint32_t corr = (uint32_t)(s * 100 + k + 1);
		uint64_t gemm = rank ? 600 * US : 500 * US;

		EMIT(API, thread, "cudaLaunchKernel", t + k * MS, 10 * US, .corr = corr);
		if (k % 2 == 0)
			EMIT(KERNEL, compute, "gemm_128x128", t + k * MS + 50 * US, gemm,
			     .corr = corr, .a = geo(108, 256));
		else
			EMIT(KERNEL, compute, "add_kernel", t + k * MS + 50 * US, 4 * US,
			     .corr = corr, .a = geo(4, 128));
	}
	EMIT(RANGE, thread, "forward", t, 4 * MS, .depth = 1);
	EMIT(RANGE, thread, "backward", t + 4 * MS, 4 * MS, .depth = 1);
	EMIT(COLLECTIVE, comm, "all_reduce", t + 8 * MS + rank * 100 * US, MS - rank * 100 * US,
	     .a = 1u << 20, .b = s);
	EMIT(COPY, compute, "memcpy", t + 9 * MS, 100 * US, .a = 1u << 20,
	     .flags = AON_COPY_HTOD << EVENT_COPY_SHIFT);
	EMIT(COPY, compute, "memcpy", t + 9 * MS + 200 * US, 10 * US, .a = 4096,
	     .flags = AON_COPY_DTOH << EVENT_COPY_SHIFT);
	EMIT(MEMSET, compute, "memset", t + 9 * MS + 300 * US, 5 * US, .a = 65536);
	EMIT(SYNC, thread, "cudaStreamSynchronize", t + 9 * MS + 400 * US, 500 * US, .a = 0);
	EMIT(COUNTER, thread, "power", t, 0, .a = bits, .flags = EVENT_FLOAT);
	if (s % 10 == 0)
		EMIT(MARK, thread, "epoch", t, 0, .a = s / 10);
	EMIT(STEP, thread, NULL, t, 10 * MS, .a = s);
}

static void rank(uint32_t r)
{
	struct roll_opts ro = { .rows_max = 100, .name_other = STORE_NAME_OTHER };
	struct blob_packer *z;
	struct blob b;

	proc = (struct process){ .pid = 100 + 100 * r, .pid_start = 1, .tier = TIER_FLIGHT };
	proc.pool_id[0] = proc.pid;
	proc.first_ns = T0;
	proc.wall_offset_ns = 1000000 * (int64_t)MS;
	snprintf(proc.comm, sizeof(proc.comm), "rank%u", r);
	snprintf(proc.run, sizeof(proc.run), "job");
	must(store_process(st, &proc), "process");
	ro.process = proc.id;
	must(roll_new(&roll, &ro), "roll");
	must(blob_enc_new(&enc), "encoder");
	must(blob_packer_new(&z), "packer");
	thread = track(TRACK_HOST, proc.pid);
	compute = track(r, 7);
	comm = track(r, 20);
	for (uint64_t s = 0; s < STEPS; s++)
		step(T0 + s * 10 * MS, s, r);
	must(blob_seal(enc, &b), "seal");
	must(blob_pack(z, &b), "pack");
	must(store_blob(st, proc.id, &b), "blob");
	roll_close(roll, UINT64_MAX, put_window, NULL);
	proc.last_ns = T0 + STEPS * 10 * MS;
	proc.account.emitted = b.records + 3;
	proc.account.stored = b.records;
	proc.account.lost[1] = 3;
	must(store_process(st, &proc), "process");
	must(store_commit(st, proc.last_ns), "commit");
	blob_fini(&b);
	blob_packer_free(z);
	blob_enc_free(enc);
	roll_free(roll);
}

int main(int argc, char *argv[])
{
	struct store_opts o = { .create = true };
	struct store_why why = { "" };
	struct journal_entry line = { .wall_ns = T0, .kind = ENTRY_LINE };

	if (argc != 2)
		return 2;
	if (store_open_rw(&st, argv[1], &o, &why) < 0) {
		fprintf(stderr, "sql_fixture: %s\n", why.text);
		return 1;
	}
	entry_s(&line, FIELD_WHAT, "start");
	entry_s(&line, FIELD_LINE, "a fixture");
	must(store_entry(st, &line), "journal");
	rank(0);
	rank(1);
	store_close(st);
	return 0;
}
