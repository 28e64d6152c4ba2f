/* SPDX-License-Identifier: Apache-2.0 */
/* big.c - a store of 10 million kernels: 61 names of 120 characters, like a training run's. */
#include "big.h"

#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "store/blob.h"

#define NAMES 61u

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

void big_fill(struct store *st, uint32_t streams)
{
	struct process p = { .pid = 4242, .pid_start = 1, .comm = "train" };
	uint32_t name[NAMES], track[BIG_DEVICES * 3], order[600];
	uint32_t tracks = BIG_DEVICES * streams;
	uint64_t t[BIG_DEVICES * 3];
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
	for (uint32_t i = 0; i < tracks; i++) {
		struct track l = { .process = p.id,
				   .device = i / streams,
				   .stream = 7 + i % streams };

		track[i] = 0;
		t[i] = 1000000000;
		must(store_track(st, &l, &track[i]), "lane");
	}
	for (uint32_t i = 0; i < 600; i++)
		order[i] = below(NAMES);
	for (uint32_t i = 0; i < BIG_EVENTS; i++) {
		uint32_t k = order[i / tracks % 600], s = i % tracks, mean = 2000 + k * 700;
		struct event ev = { .kind = EVENT_KERNEL,
				    .name = name[k],
				    .track = track[s],
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
