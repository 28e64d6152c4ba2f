/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c - activities like a training run's, to feed aond and to encode as a reference.
 *
 * A step is a fixed order of kernels on three streams; each time every duration and gap moves
 * a little, because a trace replayed without jitter compresses twice as well as a real one.
 */
#include <aon/aon.h>
#include <aon/provider.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "bench.h"

#define NAMES  60
#define GEOS   120
#define TICK   32u      /* ns: what the clocks of most GPUs count in */
#define BURST  5000000u /* ns: a probe hands over buffers, not single events */
#define JITTER 0.0625   /* of a duration */
#define BLOB   10000u

static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static uint32_t name_id(int i, int names)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_%dx%d_32x6_"
		 "tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16::Params) [clone %d]",
		 64 << i % 3, 64 << i % 2, i);
	return names ? aon_name(text) : (uint32_t)i + 1;
}

static uint32_t geo_id(int i, int names)
{
	uint32_t grid[3] = { (uint32_t)i * 8 + 1, 1, 1 }, block[3] = { 128, 1, 1 };

	return names ? aon_geo(grid, block, 64, 0, 4096) : (uint32_t)i + 1;
}

/* The device must be able to do the step at this rate: its times are scaled to fit. */
static void scale(struct work *w, double rate)
{
	double busy = 0, want = 0.95e9 * WORK_KERNELS / rate;

	for (int i = 0; i < WORK_KERNELS; i++)
		busy += w->step[i].dur_ns * (1 + JITTER / 2.0) + w->step[i].gap_ns;
	for (int i = 0; i < WORK_KERNELS; i++) {
		w->step[i].dur_ns = (uint32_t)(w->step[i].dur_ns * want / busy);
		w->step[i].gap_ns = (uint32_t)(w->step[i].gap_ns * want / busy);
	}
}

void work_init(struct work *w, uint64_t seed, double rate, int names)
{
	uint32_t name[NAMES], geo[GEOS];

	for (int i = 0; i < NAMES; i++)
		name[i] = name_id(i, names);
	for (int i = 0; i < GEOS; i++)
		geo[i] = geo_id(i, names);
	*w = (struct work){ .rng = seed * 0x9e3779b97f4a7c15ull | 1, .now_ns = bench_ns() };
	for (uint32_t i = 0; i < WORK_TRACKS; i++)
		w->track[i] = names ? aon_track(0, 1, 7 + i, NULL) : i;
	for (int i = 0; i < WORK_KERNELS; i++) {
		struct work_kernel *k = &w->step[i];
		uint64_t r = next(&w->rng);
		uint32_t n = (uint32_t)(r % NAMES);

		k->name = name[n];
		k->geo = geo[(n * 2 + (r >> 8) % 2) % GEOS];
		k->track = (r >> 16) % 10 ? 0 : 1 + (r >> 20) % (WORK_TRACKS - 1);
		k->dur_ns =
			4000 + (uint32_t)((r >> 24) % 4 ? (r >> 32) % 16000 : (r >> 32) % 200000);
		k->gap_ns = 1600 + (uint32_t)(r >> 48) % 4000;
	}
	scale(w, rate);
}

void work_next(struct work *w, struct work_event *e)
{
	const struct work_kernel *k = &w->step[w->at];
	uint64_t r = next(&w->rng), *end = &w->track_end[k->track];
	uint32_t dur = k->dur_ns + (uint32_t)(k->dur_ns * JITTER * (double)(r & 0xffff) / 65536);

	w->at = w->at + 1 < WORK_KERNELS ? w->at + 1 : 0;
	if (*end < w->now_ns)
		*end = w->now_ns;
	*e = (struct work_event){ .start_ns = *end + k->gap_ns + (r >> 16 & 0x7f),
				  .dur_ns = dur / TICK * TICK,
				  .corr = ++w->corr,
				  .name = k->name,
				  .geo = k->geo,
				  .track = (uint16_t)k->track,
				  .kind = AON_ACT_KERNEL };
	*end = e->start_ns + e->dur_ns;
}

uint64_t work_feed(uint64_t seed, double rate, double seconds)
{
	uint64_t t0, n = 0, total = (uint64_t)(rate * seconds);
	struct work *w = malloc(sizeof(*w));
	struct work_event e;

	if (!w || aon_join(2000) < 0)
		bench_die("joining aond", EAGAIN);
	work_init(w, seed, rate, 1);
	t0 = bench_ns();
	for (uint64_t burst = 1; n < total; burst++) {
		uint64_t due = (uint64_t)(rate * (double)(burst * BURST) / 1e9);

		w->now_ns = bench_ns();
		for (; n < due && n < total; n++) {
			work_next(w, &e);
			aon_act_emit(&(struct aon_act){ .size = sizeof(struct aon_act),
							.kind = e.kind,
							.name = e.name,
							.track = w->track[e.track],
							.geo = e.geo,
							.corr = e.corr,
							.start_ns = e.start_ns,
							.end_ns = e.start_ns + e.dur_ns });
		}
		bench_sleep_until(t0 + burst * BURST);
	}
	free(w);
	return n;
}

void feed_start(struct feed *f, int count, double rate, double seconds)
{
	f->count = count;
	f->emitted = mmap(NULL, sizeof(uint64_t) * 64, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (f->emitted == MAP_FAILED)
		bench_die("mmap", errno);
	for (int i = 0; i < count; i++) {
		f->pid[i] = fork();
		if (f->pid[i] < 0)
			bench_die("fork", errno);
		if (f->pid[i] == 0) {
			f->emitted[i] = work_feed((uint64_t)i + 1, rate / count, seconds);
			_exit(0);
		}
	}
}

uint64_t feed_wait(struct feed *f)
{
	uint64_t sum = 0;
	int status;

	for (int i = 0; i < f->count; i++) {
		waitpid(f->pid[i], &status, 0);
		if (status)
			bench_die("a feeder failed", ECHILD);
		sum += f->emitted[i];
	}
	munmap(f->emitted, sizeof(uint64_t) * 64);
	return sum;
}

/* --- the reference: the least that must be done to such events --- */

#define COLUMNS 6

static uint8_t *put(uint8_t *p, int64_t v)
{
	uint64_t u = (uint64_t)v << 1 ^ (uint64_t)(v >> 63);

	for (; u >= 128; u >>= 7)
		*p++ = (uint8_t)(u | 128);
	*p++ = (uint8_t)u;
	return p;
}

static void encode(const struct work_event *e, size_t n, uint8_t *col[COLUMNS],
		   uint8_t *end[COLUMNS])
{
	uint64_t last[WORK_TRACKS] = { e->start_ns, e->start_ns, e->start_ns };
	uint32_t corr = 0;

	for (int c = 0; c < COLUMNS; c++)
		end[c] = col[c];
	for (size_t i = 0; i < n; i++, e++) {
		end[0] = put(end[0], (int64_t)(e->start_ns - last[e->track]));
		end[1] = put(end[1], e->dur_ns);
		end[2] = put(end[2], (int64_t)e->corr - corr);
		end[3] = put(end[3], e->name);
		end[4] = put(end[4], e->geo);
		end[5] = put(end[5], e->kind << 8 | e->track);
		last[e->track] = e->start_ns + e->dur_ns;
		corr = e->corr;
	}
}

uint64_t work_reference(struct work *w, size_t n)
{
	static struct work_event in[BLOB], copy[BLOB];
	static uint8_t column[COLUMNS][BLOB * 10], out[COLUMNS][BLOB * 11];
	static ZSTD_CCtx *z;
	uint8_t *col[COLUMNS], *end[COLUMNS];
	uint64_t spent = 0;

	if (!z)
		z = ZSTD_createCCtx();
	for (int c = 0; c < COLUMNS; c++)
		col[c] = column[c];
	for (size_t done = 0; done < n; done += BLOB) {
		uint64_t t;

		for (size_t i = 0; i < BLOB; i++)
			work_next(w, &in[i]);
		t = bench_cpu_ns(0);
		memcpy(copy, in, sizeof(copy));
		encode(copy, BLOB, col, end);
		for (int c = 0; c < COLUMNS; c++)
			if (ZSTD_isError(ZSTD_compressCCtx(z, out[c], sizeof(out[c]), col[c],
							   (size_t)(end[c] - col[c]), 1)))
				bench_die("zstd", EIO);
		spent += bench_cpu_ns(0) - t;
	}
	return spent;
}
