/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect - what aond's detectors find in simulated processes, and what they make up.
 *
 *	detector_recall   of runs with a fault, those in which it is told, by its kind, within a minute
 *	false_alarms_day  alarms in a healthy day, the worst of several kinds of noise
 *
 * Noise: an autoregressive part, bursts of slow steps, checkpoints, a slow drift. Seeds differ from
 * those of the unit test.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "detect/detect.h"
#include "model/event.h"

#define S     1000000000ull
#define RUNS  50u
#define USUAL 400u /* seconds before the fault */

static uint64_t state;

static double uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) / (double)(1ull << 53);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform() + 1e-18)) * cos(6.283185307179586 * uniform());
}

/* What is multiplied, from USUAL on; 1: as before. */
struct fault {
	const char *word;
	enum alarm_kind kind;
	double step, kernel, busy, leak;
	bool hang;
};

static const struct fault faults[] = {
	{ "steps 15 % slower", ALARM_STEP_SLOWER, 1.15, 1, 1, 0, false },
	{ "steps 30 % slower", ALARM_STEP_SLOWER, 1.30, 1, 1, 0, false },
	{ "a kernel 30 % slower", ALARM_KERNEL, 1, 1.3, 1, 0, false },
	{ "GPUs a third as busy", ALARM_GPU_IDLE, 1, 1, 0.33, 0, false },
	{ "a leak", ALARM_MEMORY, 1, 1, 1, 2e6, false },
	{ "a hang", ALARM_HANG, 1, 1, 1, 0, true },
};

struct heard {
	uint32_t n[ALARMS], all;
};

static void hear(void *arg, const struct alarm *a)
{
	struct heard *h = arg;

	h->n[a->kind]++;
	h->all++;
}

struct plant {
	struct detect d;
	double ar, drift;
	uint32_t burst;
	uint64_t steps, now, next_window;
	struct signs signs;
};

static double noisy(struct plant *p, double noise)
{
	double f;

	p->ar = 0.7 * p->ar + 0.714 * noise * normal();
	p->drift += 1e-5 * normal();
	if (!p->burst && uniform() < 1.0 / 2000)
		p->burst = 5;
	f = exp(p->ar + p->drift + 0.5 * noise * normal());
	if (p->burst && p->burst--)
		f *= 1.4;
	return p->steps % 700 == 699 ? 5 * f : f;
}

static void window(struct plant *p, const struct fault *f, double noise, struct heard *h)
{
	double busy = f->busy * exp(noise * normal());
	struct rollup row[] = {
		{ .kind = EVENT_KERNEL, .name = 3, .count = 200 },
		{ .kind = EVENT_KERNEL, .name = 4, .count = 200 },
		{ .kind = EVENT_COUNTER, .name = 9, .count = 4 },
	};
	struct window w = { .rows = 3, .start_ns = p->next_window, .row = row };

	row[0].total_ns = (uint64_t)(3e8 * f->kernel * exp(noise * normal()));
	row[1].total_ns = (uint64_t)(4e8 * busy);
	if (f->busy < 1)
		row[0].total_ns = (uint64_t)((double)row[0].total_ns * f->busy);
	row[2].min_ns = 4000000000u + (uint64_t)(f->leak * (double)(p->next_window / S)) +
			(uint64_t)(1e6 * uniform());
	detect_window(&p->d, &w, 9, p->next_window + S, hear, h);
	p->next_window += S;
}

static void run(struct plant *p, const struct fault *f, double noise, double seconds,
		struct heard *h)
{
	uint64_t end = p->now + (uint64_t)(seconds * 1e9), look = p->now;

	while (p->now < end) {
		if (f->hang) {
			p->now += S;
		} else {
			uint64_t ns = (uint64_t)(0.25e9 * f->step * noisy(p, noise));

			p->now += ns;
			p->steps++;
			p->signs.step++;
			p->signs.records += 100;
			detect_step(&p->d, ns, p->now, hear, h);
		}
		while (!f->hang && p->next_window + S < p->now)
			window(p, f, noise, h);
		for (; look < p->now; look += S)
			detect_look(&p->d, &p->signs, look, hear, h);
	}
}

int main(void)
{
	static const struct fault healthy = { "none", ALARMS, 1, 1, 1, 0, false };
	static struct plant p;
	uint32_t told = 0, all = 0, worst = 0;
	char note[400] = "";
	size_t at = 0;

	for (size_t k = 0; k < sizeof(faults) / sizeof(faults[0]); k++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < RUNS; i++) {
			struct heard h = { 0 };
			/* What is told in pieces of seconds needs more of them. */
			double wait = faults[k].kind == ALARM_GPU_IDLE ? 200
				      : faults[k].kind == ALARM_MEMORY ? 120
								       : 60;
			double before = faults[k].kind == ALARM_GPU_IDLE ? 900 : USUAL;

			memset(&p, 0, sizeof(p));
			p.now = p.next_window = S;
			state = 1000 * k + i + 77;
			run(&p, &healthy, 0.02, before, &h);
			memset(&h, 0, sizeof(h));
			run(&p, &faults[k], 0.02, wait, &h);
			n += h.n[faults[k].kind] > 0;
		}
		told += n;
		all += RUNS;
		at += (size_t)snprintf(note + at, sizeof(note) - at, "%s%s %u/%u", k ? "; " : "",
				       faults[k].word, n, RUNS);
	}
	printf("{\"id\":\"detector_recall\",\"value\":%.3f,\"unit\":\"\",\"bar\":0.95,\"ok\":%s,"
	       "\"least\":true,"
	       "\"note\":\"%s\"}\n",
	       (double)told / all, told >= 0.95 * all ? "true" : "false", note);
	for (int k = 1; k <= 4; k++) {
		struct heard h = { 0 };

		memset(&p, 0, sizeof(p));
		p.now = p.next_window = S;
		state = 4242u + (unsigned)k;
		run(&p, &healthy, 0.01 * k, 86400, &h);
		worst = h.all > worst ? h.all : worst;
	}
	printf("{\"id\":\"false_alarms_day\",\"value\":%u,\"unit\":\"\",\"bar\":1,\"ok\":%s,"
	       "\"note\":\"four healthy days with 1 to 4 %% of noise, the worst\"}\n",
	       worst, worst <= 1 ? "true" : "false");
	return 0;
}
