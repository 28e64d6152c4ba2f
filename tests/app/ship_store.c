/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ship_store.c - writes the store of a node whose ranks train, second by second, for tests of what is sent of it.
 *
 *	ship_store STORE RANKS KERNELS SECONDS [STEP_MS [live]]
 *
 * With SHIP_STORE_TELEMETRY set (lines METRIC|DEVICE|LABELS|VALUE), collectors measured that in this minute and the next.
 * With SHIP_STORE_KEPT set, the journal tells an alarm and a capture that it raised, with 1,000 events of rank 0.
 * The same arguments give the same numbers; they end now, or with `live` they begin now and take their time. Prints
 * what it wrote as JSON: rollups, launches and time of kernels, steps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/proc.h"
#include "model/event.h"
#include "model/step_rec.h"
#include "model/telemetry.h"
#include "store/blob.h"
#include "store/store.h"

#define SECOND  1000000000ull
#define RANKS   64u
#define KERNELS 4096u

static struct store *st;
static struct process proc[RANKS];
static uint32_t track[RANKS], name[KERNELS], step_no[RANKS];
static uint32_t ranks, kernels;
static uint64_t seed = 1, rollups, launches, total_ns, steps, step_ns;

static void must(int err, const char *what)
{
	if (err < 0) {
		fprintf(stderr, "ship_store: %s: %s\n", what, strerror(-err));
		exit(1);
	}
}

static uint64_t clock_ns(clockid_t which)
{
	struct timespec ts;

	clock_gettime(which, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static uint32_t chance(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static void begin(uint64_t t0)
{
	char text[256];
	int64_t off = (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC));

	for (uint32_t k = 0; k < kernels; k++) {
		int n = snprintf(text, sizeof(text), "void at::native::kernel_%u<", k);

		while (n < 200)
			n += snprintf(text + n, sizeof(text) - (size_t)n,
				      "at::native::Functor<%u, float>, ", (k * 7919u) % 9973u);
		must(store_name(st, text, strlen(text), &name[k]), "name");
	}
	must(store_node(st, &(struct node_ident){ .host = "n1",
						  .rack = "r7",
						  .leaf = "leaf-7",
						  .driver = "595.10",
						  .gpu_model = "NVIDIA H100" }),
	     "node");
	for (uint32_t r = 0; r < ranks; r++) {
		proc[r] = (struct process){ .pid = 1000 + r,
					    .pid_start = 77 + r,
					    .uid = 0,
					    .tier = TIER_FLIGHT,
					    .connected = 1,
					    .first_ns = t0,
					    .last_ns = t0,
					    .wall_offset_ns = off,
					    .comm = "python3",
					    .job = "train7",
					    .local_rank = r + 1,
					    .ident = { .user = "ann",
						       .pod = "train-0",
						       .namespace = "research",
						       .container = "c0ffee",
						       .gpu_uuid = "GPU-1",
						       .mig = "MIG-2",
						       .nic = "mlx5_0",
						       .framework = "torch-2.15" },
					    .origin = { .rank = r + 1, .world = ranks } };
		must(proc_boot_id(proc[r].boot_id), "boot");
		must(store_process(st, &proc[r]), "process");
		must(store_track(st,
				 &(struct track){ .process = proc[r].id,
						  .device = r,
						  .context = 1,
						  .stream = 7 },
				 &track[r]),
		     "lane");
	}
}

static void put_window(uint32_t r, uint64_t t)
{
	static struct rollup row[KERNELS];
	struct window w = { .process = proc[r].id, .rows = kernels, .start_ns = t, .row = row };

	memset(row, 0, sizeof(row));
	for (uint32_t k = 0; k < kernels; k++) {
		uint32_t base = 2000 + (k * 2654435761u) % 400000;

		row[k] = (struct rollup){ .track = track[r],
					  .name = name[k],
					  .kind = EVENT_KERNEL,
					  .min_ns = UINT64_MAX,
					  .verdict = rollup_verdict(1 + k % 2, 1,
								    0.4 + 0.01 * (k % 50)) };
		for (uint32_t i = 0, n = 1 + k % 4; i < n; i++) {
			uint64_t d = base + chance(base / 16 + 1);

			row[k].count++;
			row[k].total_ns += d;
			if (d < row[k].min_ns)
				row[k].min_ns = d;
			if (d > row[k].max_ns)
				row[k].max_ns = d;
			must(sketch_add(&row[k].sketch, d, 1), "sketch");
		}
		launches += row[k].count;
		total_ns += row[k].total_ns;
	}
	must(store_window(st, &w), "window");
	rollups += kernels;
	for (uint32_t k = 0; k < kernels; k++)
		sketch_fini(&row[k].sketch);
}

static void put_step(uint32_t r, uint64_t t, uint64_t dur)
{
	struct step_rec rec;
	uint8_t buf[STEP_MAX];
	struct store_steps b = {
		.process = proc[r].id, .count = 1, .t0_ns = t, .t1_ns = t + dur, .bytes = buf
	};
	int len;

	step_rec_init(&rec);
	rec.job = step_hash("train7", 6, 0);
	rec.rank = r;
	rec.world = ranks;
	rec.step = ++step_no[r];
	rec.begin_ns = t + (uint64_t)proc[r].wall_offset_ns;
	rec.tokens = 8192;
	for (size_t i = 0; i < STEP_TIMES; i++)
		*step_time(&rec, i) = (float)(dur / (i + 2) + chance(100000));
	rec.t.step = (float)dur;
	for (uint32_t s = 0; s < 3; s++)
		step_slot_add(step_rec_slot(&rec, 100 + s, STEP_OP_ALL_REDUCE), rec.step, 1 << 20,
			      1e6 * s, 1e6 + chance(100000));
	step_rec_seal(&rec);
	len = step_rec_encode(buf, sizeof(buf), &rec);
	must(len, "record");
	b.len = (size_t)len;
	must(store_steps(st, &b), "step");
	steps++;
	step_ns += dur;
}

/* Alarms of a rank, of a process that is not here, of a job and of the node; and a capture. */
static void put_entries(uint64_t wall, uint64_t t)
{
	static const uint8_t both[] = { 0, 1 };
	struct journal_entry e[5] = { { wall, ENTRY_STEP_SLOWER, NULL, 0, { { 0 } } },
				      { wall + 1, ENTRY_HANG, NULL, 0, { { 0 } } },
				      { wall + 2, ENTRY_HANG_STACKS, NULL, 0, { { 0 } } },
				      { wall + 3, ENTRY_XID, NULL, 0, { { 0 } } },
				      { wall + 5, ENTRY_RAISED, NULL, 0, { { 0 } } } };

	for (int i = 0; i < 5; i += 4) {
		entry_u(&e[i], FIELD_PROCESS, proc[0].id);
		entry_u(&e[i], FIELD_PID, 1000);
	}
	entry_u(&e[0], FIELD_RANK, 0);
	entry_s(&e[0], FIELD_JOB, "train7");
	entry_u(&e[0], FIELD_WAS_NS, 1000000);
	entry_u(&e[0], FIELD_IS_NS, 1300000);
	entry_u(&e[1], FIELD_RANK, 0);
	entry_s(&e[1], FIELD_JOB, "x, job train7");
	entry_u(&e[1], FIELD_PID, 1000);
	entry_list(&e[2], FIELD_RANKS, both, sizeof(both));
	entry_list(&e[2], FIELD_FRAMES, "f\0g", 4);
	entry_s(&e[2], FIELD_JOB, "train7");
	entry_s(&e[3], FIELD_DEVICE, "GPU 3");
	entry_s(&e[3], FIELD_LINE, "fell off the bus");
	entry_u(&e[4], FIELD_SECONDS, 2);
	entry_s(&e[4], FIELD_WHY, "step_slower");
	entry_u(&e[4], FIELD_FROM_NS, t);
	entry_u(&e[4], FIELD_TO_NS, t + 1000000);
	for (int i = 0; i < 5; i++)
		must(store_entry(st, &e[i]), "journal");
}

static void put_kept(uint64_t t)
{
	struct blob_packer *z;
	struct blob_enc *enc;
	struct blob b;
	uint64_t wall = t + (uint64_t)proc[0].wall_offset_ns;

	must(blob_enc_new(&enc), "encoder");
	for (uint32_t i = 0; i < 1000; i++) {
		struct event e = { .start_ns = t + i * 1000,
				   .dur_ns = 500,
				   .name = name[0],
				   .track = track[0],
				   .kind = EVENT_KERNEL };

		blob_add(enc, &e, 1);
	}
	must(blob_seal(enc, &b), "blob");
	must(blob_packer_new(&z), "packer");
	must(blob_pack(z, &b), "pack");
	must(store_blob(st, proc[0].id, &b), "blob");
	put_entries(wall, t);
	blob_fini(&b);
	blob_packer_free(z);
	blob_enc_free(enc);
}

/* aon ship reads whole minutes: whichever comes to be the last has the values. */
static void put_telemetry(const char *text, uint64_t now)
{
	static struct change change[128];
	uint64_t minute = (now - 12 * SECOND) / (60 * SECOND) * 60 * SECOND,
		 tick[2] = { minute - 30 * SECOND, minute + 30 * SECOND };
	struct telemetry_block b = { .source = 1, .ticks = 2, .tick_ns = tick, .change = change };
	char metric[96], device[96], labels[384];
	double value;
	int n;

	/* Changes are in order of their ticks. */
	for (uint32_t t = 0; t < 2; t++)
		for (const char *p = text;
		     b.changes < 128 && sscanf(p, " %95[^|]|%95[^|]|%383[^|]|%lf%n", metric, device,
					       labels, &value, &n) == 4;
		     p += n) {
			const struct metric *m = metric_by_name(metric);
			struct series s = { .metric = m ? m->number : 0 };
			uint32_t id;

			must(m ? 0 : -ENOENT, metric);
			snprintf(s.device, sizeof(s.device), "%s",
				 strcmp(device, "-") ? device : "");
			snprintf(s.labels, sizeof(s.labels), "%s",
				 strcmp(labels, "-") ? labels : "");
			must(store_series(st, &s, &id), "series");
			change[b.changes++] = (struct change){ id, t, value };
		}
	must(store_telemetry(st, &b, true), "telemetry");
	must(store_commit(st, now), "commit");
}

int main(int argc, char *argv[])
{
	uint64_t seconds = argc > 4 ? strtoull(argv[4], NULL, 10) : 0, now, t0;
	uint64_t step = argc > 5 ? strtoull(argv[5], NULL, 10) * 1000000 : 0;
	bool live = argc > 6;
	struct store_opts o = { .create = true };
	struct store_why why;

	if (argc < 5)
		return 2;
	ranks = (uint32_t)strtoul(argv[2], NULL, 10) % (RANKS + 1);
	kernels = (uint32_t)strtoul(argv[3], NULL, 10) % (KERNELS + 1);
	must(store_open_rw(&st, argv[1], &o, &why), "open");
	now = clock_ns(CLOCK_MONOTONIC);
	now -= now % SECOND;
	t0 = live ? now : now - (seconds + 1) * SECOND;
	begin(t0);
	for (uint64_t s = 0; s < seconds; s++) {
		uint64_t t = t0 + s * SECOND;

		for (uint64_t wait = live && t + SECOND > clock_ns(CLOCK_MONOTONIC); wait; wait = 0)
			usleep((useconds_t)((t + SECOND - clock_ns(CLOCK_MONOTONIC)) / 1000));
		for (uint32_t r = 0; r < ranks; r++) {
			put_window(r, t);
			for (uint64_t at = step ? (t + step - 1) / step * step : 0;
			     step && at < t + SECOND; at += step)
				put_step(r, at, step);
			proc[r].last_ns = t + SECOND;
			proc[r].account.emitted = launches / ranks;
			must(store_process(st, &proc[r]), "process");
		}
		must(store_commit(st, t + SECOND), "commit");
	}
	if (getenv("SHIP_STORE_TELEMETRY"))
		put_telemetry(getenv("SHIP_STORE_TELEMETRY"), now);
	if (getenv("SHIP_STORE_KEPT")) {
		put_kept(t0 + SECOND);
		must(store_commit(st, t0 + seconds * SECOND), "commit");
	}
	store_close(st);
	printf("{\"rollups\":%llu,\"launches\":%llu,\"total_ns\":%llu,\"steps\":%llu,\"step_ns\":%"
	       "llu}\n",
	       (unsigned long long)rollups, (unsigned long long)launches,
	       (unsigned long long)total_ns, (unsigned long long)steps,
	       (unsigned long long)step_ns);
	return 0;
}
