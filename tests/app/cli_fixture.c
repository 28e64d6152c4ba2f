/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_fixture.c - writes a store whose every number is known, for tests of the aon command.
 *
 *	cli_fixture STORE
 *
 * "train", pid 4242, run 7f3a: 40 steps of 10 ms on thread 100. In each: "work" 8 ms, in it
 * "load" 3 ms and a range with a hostile name 2 ms; 14 kernels of 100 us on GPU 0 stream 7, the
 * last with a name of C++; a mark. "batch" starts on thread 100 and ends 15 ms later.
 * A second process has a hostile name, no steps, one range, and losses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "agg/roll.h"
#include "store/blob.h"
#include "store/store.h"

#define MS    1000000ull
#define T0    (1000000 * MS)
#define STEPS 40u

static const char hostile[] =
	"\x1b[2J\x1b]0;pwn\x07<script>\xff\n\"\\ \xe2\x80\xae long long long long";

static const char cxx[] = "_ZN5flash10run_kernelILi512EN2at6native4TileIfEEEEvT0_";

static struct store *st;
static struct roll *roll;
static struct blob_enc *enc;
static struct process proc;

static void must(int err, const char *what)
{
	if (err < 0) {
		fprintf(stderr, "cli_fixture: %s: %s\n", what, strerror(-err));
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
	struct track l = { .process = proc.id, .device = device, .stream = stream };
	uint32_t id = 0;

	must(store_track(st, &l, &id), "lane");
	return id;
}

static void put_window(void *arg, const struct window *w)
{
	(void)arg;
	must(store_window(st, w), "window");
}

static void emit(uint32_t kind, uint32_t where, uint32_t what, uint64_t start, uint64_t dur,
		 uint64_t a, uint16_t depth)
{
	struct event e = { .start_ns = start,
			   .dur_ns = dur,
			   .a = a,
			   .name = what,
			   .track = where,
			   .kind = (uint8_t)kind,
			   .depth = depth };

	if (blob_add(enc, &e, 1) != 1)
		must(-1, "blob full");
	roll_add(roll, &e, 1, put_window, NULL);
}

static void begin(uint32_t pid, const char *comm, const char *run)
{
	struct roll_opts ro = { .rows_max = 100, .name_other = STORE_NAME_OTHER };

	memset(&proc, 0, sizeof(proc));
	proc.pid = pid;
	proc.pid_start = 1;
	proc.pool_id[0] = pid;
	proc.tier = TIER_FLIGHT;
	proc.first_ns = T0;
	snprintf(proc.comm, sizeof(proc.comm), "%s", comm);
	snprintf(proc.run, sizeof(proc.run), "%s", run);
	must(store_process(st, &proc), "process");
	ro.process = proc.id;
	must(roll_new(&roll, &ro), "roll");
	must(blob_enc_new(&enc), "encoder");
}

static void end(uint64_t last_ns, uint64_t pool_full)
{
	struct blob_packer *z;
	struct blob b;

	must(blob_packer_new(&z), "packer");
	must(blob_seal(enc, &b), "seal");
	must(blob_pack(z, &b), "pack");
	must(store_blob(st, proc.id, &b), "blob");
	roll_close(roll, UINT64_MAX, put_window, NULL);
	proc.last_ns = last_ns;
	proc.account.emitted = b.records + pool_full;
	proc.account.stored = b.records;
	proc.account.lost[AON_LOSS_POOL_FULL] = pool_full;
	must(store_process(st, &proc), "process");
	must(store_commit(st, last_ns), "commit");
	blob_fini(&b);
	blob_packer_free(z);
	blob_enc_free(enc);
	roll_free(roll);
}

static void train(void)
{
	uint32_t work, load, evil, batch, mark, kernel[14], thread, stream;
	char text[32];

	begin(4242, "train", "7f3a");
	work = name("work");
	load = name("load");
	evil = name(hostile);
	batch = name("batch");
	mark = name("mark");
	for (int i = 0; i < 14; i++) {
		snprintf(text, sizeof(text), "kernel_%02d", i);
		kernel[i] = name(i < 13 ? text : cxx);
	}
	thread = track(TRACK_HOST, 100);
	stream = track(0, 7);
	for (uint64_t s = 0; s < STEPS; s++) {
		uint64_t t = T0 + s * 10 * MS;

		emit(EVENT_RANGE, thread, load, t + 1 * MS, 3 * MS, 0, 1);
		emit(EVENT_RANGE, thread, evil, t + 5 * MS, 2 * MS, 0, 1);
		emit(EVENT_RANGE, thread, work, t, 8 * MS, 0, 0);
		emit(EVENT_MARK, thread, mark, t + 8 * MS, 0, 0, 0);
		for (uint64_t k = 0; k < 14; k++)
			emit(EVENT_KERNEL, stream, kernel[k], t + k * MS / 5, MS / 10, 0, 0);
		emit(EVENT_STEP, thread, 0, t, 10 * MS, s, 0);
		emit(EVENT_RANGE, thread, batch, t, 15 * MS, 1 + s, 0);
	}
	end(T0 + STEPS * 10 * MS, 0);
}

int main(int argc, char *argv[])
{
	struct store_opts so = { .names_max = 1000, .create = true };
	struct store_why why = { "" };
	struct journal_entry line = { .wall_ns = 1700000000000000000ull, .kind = ENTRY_LINE };

	if (argc != 2 || store_open_rw(&st, argv[1], &so, &why) < 0) {
		fprintf(stderr, "cli_fixture: %s\n", argc == 2 ? why.text : "STORE");
		return 1;
	}
	train();
	begin(4343, "\x1b]0;x\x07\xff", "");
	emit(EVENT_RANGE, track(TRACK_HOST, 200), name("only"), T0, MS, 0, 0);
	end(T0 + MS, 6);
	entry_s(&line, FIELD_WHAT, "start");
	entry_s(&line, FIELD_LINE, hostile);
	must(store_entry(st, &line), "journal");
	must(store_commit(st, T0), "commit");
	store_close(st);
	return 0;
}
