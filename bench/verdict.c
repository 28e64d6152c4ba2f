/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.c - aond's cost of finding what limits each kernel of each window.
 *
 * The work of aond for an event without what takes it out of the pool: rolled up, encoded, packed;
 * windows packed. With verdicts (geometries kept, every kernel of a window judged and stored) and
 * without, turn and turn about on the same events: 150 names on 8 streams, about 60,000 events a
 * second, half of the names tell their work. The ratio is the median of the turns', as what slows
 * the machine down for a moment is in both of a turn. Reading the pool would be in both, too, and
 * make it smaller.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "agg/roll.h"
#include "lib/bench.h"
#include "daemon/stream/roofline_live.h"
#include "model/event.h"
#include "store/blob.h"
#include "store/window.h"
#include "theory/gpu.h"

#define NAMES  150u
#define TRACKS 8u
#define EVENTS (1u << 18)
#define RUN    127u
#define TURNS  61

static struct event ev[EVENTS];

struct way {
	struct roll *roll;
	struct judge *judge; /* NULL: without */
	struct blob_enc *enc;
	struct blob_packer *packer;
	struct window_codec *codec;
	struct rows out;
	uint64_t windows, judged;
};

static uint32_t below(uint32_t n)
{
	static uint64_t seed = 1;

	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (uint32_t)((seed * 0x2545f4914f6cdd1dull >> 32) * n >> 32);
}

static void make_events(void)
{
	uint64_t t[TRACKS];

	for (uint32_t i = 0; i < TRACKS; i++)
		t[i] = 1000000000;
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint32_t name = i / TRACKS % NAMES, track = i % TRACKS;
		uint32_t mean = 2000 + name * name * 17, dur = mean + below(mean / 5);

		t[track] += 900 + below(600);
		ev[i] = (struct event){ .kind = EVENT_KERNEL,
					.start_ns = t[track],
					.dur_ns = dur,
					.track = track + 1,
					.name = name + 2,
					.a = name + 2,
					.corr = i };
		t[track] += dur;
	}
}

static void take(void *arg, const struct window *w)
{
	struct way *x = arg;

	if (x->judge)
		judge_window(x->judge, w);
	for (uint32_t i = 0; i < w->rows; i++)
		x->judged += w->row[i].verdict != 0;
	x->windows++;
	x->out.len = 0;
	if (window_pack(x->codec, w, &x->out) < 0)
		bench_die("packing a window", EINVAL);
}

static void pack(struct way *x)
{
	struct blob b;

	if (!blob_count(x->enc))
		return;
	if (blob_seal(x->enc, &b) < 0 || blob_pack(x->packer, &b) < 0)
		bench_die("packing events", ENOMEM);
	blob_fini(&b);
}

static double turn(struct way *x)
{
	uint64_t t = bench_cpu_ns(0);

	for (size_t i = 0; i < EVENTS; i += RUN) {
		size_t n = EVENTS - i < RUN ? EVENTS - i : RUN, at = 0;

		roll_add(x->roll, ev + i, n, take, x);
		while ((at += blob_add(x->enc, ev + i + at, n - at)) < n)
			pack(x);
	}
	roll_close(x->roll, UINT64_MAX, take, x);
	pack(x);
	return (double)(bench_cpu_ns(0) - t) / EVENTS;
}

static void open_way(struct way *x, bool judges)
{
	char name[256];
	struct geo g = { .block = { 128, 1, 1 } };

	if (roll_new(&x->roll,
		     &(struct roll_opts){
			     .process = 1, .rows_max = 4096, .name_other = 1, .geos = judges }) <
		    0 ||
	    blob_enc_new(&x->enc) < 0 || blob_packer_new(&x->packer) < 0 ||
	    window_codec_new(&x->codec) < 0 ||
	    (judges && judge_new(&x->judge, gpu_find("H100_SXM")) < 0))
		bench_die("starting", ENOMEM);
	for (uint32_t i = 0; judges && i < NAMES; i++) {
		snprintf(name, sizeof(name),
			 i % 2 ? "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x%ux64_cublas"
			       : "void at::native::vectorized_elementwise_kernel<4, "
				 "at::native::Functor%u<float>, std::array<char*, 3ul> >(int)",
			 64 + i);
		judge_name(x->judge, i + 2, name);
		g.grid[0] = 1 + i * i * 17;
		g.grid[1] = g.grid[2] = 1;
		judge_geo(x->judge, i + 2, &g);
	}
}

int main(void)
{
	static struct way way[2];
	double ns[2][TURNS], ratio[TURNS], value;

	make_events();
	open_way(&way[0], false);
	open_way(&way[1], true);
	for (int i = -2; i < TURNS; i++) /* the first ones fill caches */
		for (int k = 0; k < 2; k++) {
			int which = (i + k) & 1;
			double t = turn(&way[which]);

			if (i >= 0)
				ns[which][i] = t;
		}
	for (int i = 0; i < TURNS; i++)
		ratio[i] = ns[1][i] / ns[0][i];
	value = bench_median(ratio, TURNS);
	bench_row("verdict_cost_ratio", value, "x", 1.02, value <= 1.02,
		  "%.2f ns an event with verdicts, %.2f without; %.0f rows judged of each window; "
		  "quarters %.4f to %.4f",
		  bench_median(ns[1], TURNS), bench_median(ns[0], TURNS),
		  (double)way[1].judged / (double)way[1].windows, ratio[TURNS / 4],
		  ratio[TURNS * 3 / 4]);
	return 0;
}
