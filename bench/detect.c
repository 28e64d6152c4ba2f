/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detect - recall and false alarms of aond's detectors on simulated processes, for detect.py.
 *
 * Own generator: an autoregressive part, bursts of slow steps, checkpoints, a slow drift. Seeds differ
 * from those of the unit test. Then the simulator's faults, and its healthy days (detect_sim.c).
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/detect_sim.h"
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
struct trouble {
	const char *word;
	enum alarm_kind kind;
	double step, kernel, busy, leak;
	bool hang;
};

static const struct trouble troubles[] = {
	{ "steps 15 % slower", ALARM_STEP_SLOWER, 1.15, 1, 1, 0, false },
	{ "steps 30 % slower", ALARM_STEP_SLOWER, 1.30, 1, 1, 0, false },
	{ "a kernel 30 % slower", ALARM_KERNEL, 1, 1.3, 1, 0, false },
	{ "GPUs a third as busy", ALARM_GPU_IDLE, 1, 1, 0.33, 0, false },
	{ "a leak", ALARM_MEMORY, 1, 1, 1, 2e6, false },
	{ "a hang", ALARM_HANG, 1, 1, 1, 0, true },
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

static void window(struct plant *p, const struct trouble *f, double noise, struct heard *h)
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
	detect_window(&p->d, &w, &(struct detect_names){ .memory = 9 }, p->next_window + S, hear,
		      h);
	p->next_window += S;
}

static void run(struct plant *p, const struct trouble *f, double noise, double seconds,
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
			detect_step(&p->d, p->steps, ns, p->now, hear, h);
		}
		while (!f->hang && p->next_window + S < p->now)
			window(p, f, noise, h);
		for (; look < p->now; look += S)
			detect_look(&p->d, &p->signs, look, hear, h);
	}
}

/* --- what is reported --- */

struct sum {
	uint32_t told, all;
	char note[2000];
	size_t at;
};

static void note(struct sum *s, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(s->note + s->at, sizeof(s->note) - s->at, fmt, ap);
	va_end(ap);
	s->at += n > 0 && s->at + (size_t)n < sizeof(s->note) ? (size_t)n : 0;
}

static const struct trouble healthy = { "none", ALARMS, 1, 1, 1, 0, false };
static struct plant p;

static void own_troubles(struct sum *s)
{
	for (size_t k = 0; k < sizeof(troubles) / sizeof(troubles[0]); k++) {
		const struct trouble *t = &troubles[k];
		/* What is reported in pieces of seconds needs more of them. */
		double wait = t->kind == ALARM_GPU_IDLE ? 200 : t->kind == ALARM_MEMORY ? 120 : 60;
		uint32_t n = 0;

		for (uint32_t i = 0; i < RUNS; i++) {
			struct heard h = { 0 };

			memset(&p, 0, sizeof(p));
			p.now = p.next_window = S;
			state = 1000 * k + i + 77;
			run(&p, &healthy, 0.02, USUAL, &h);
			memset(&h, 0, sizeof(h));
			run(&p, t, 0.02, wait, &h);
			n += h.n[t->kind] > 0;
		}
		s->told += n;
		s->all += RUNS;
		note(s, "%s%s %u/%u", k ? "; " : "", t->word, n, RUNS);
	}
}

/*
 * Faults that cost less than a tenth are not for detectors: they are skipped, and reported as such.
 */
static int sim_troubles(struct sum *s, uint32_t seeds)
{
	uint32_t told = 0, all = 0;
	double worst = 0;

	for (const struct sim_case *c = sim_faults; c->word; c++) {
		for (uint32_t i = 1; i <= seeds; i++) {
			struct sim_got g;
			bool hangs, heard;

			if (sim_watch(c, i, !c->quiet, &g) < 0)
				return 1;
			hangs = !c->quiet && g.slowdown == 0;
			heard = c->quiet ? !g.before.all : g.after.all && !g.before.all;
			if (!c->quiet && !hangs && g.slowdown < 1.1 && !g.after.all) {
				note(s, "; %s costs %.1f %%, not told", c->word,
				     100 * (g.slowdown - 1));
				continue;
			}
			all++;
			told += heard && (!hangs || g.after.n[ALARM_HANG]);
			worst = hangs && g.tell_s > worst ? g.tell_s : worst;
			if (!heard)
				note(s, "; MISSED %s, seed %u", c->word, i);
		}
	}
	note(s, "; of the simulator's faults %u/%u, hangs after %.0f s", told, all, worst);
	s->told += told;
	s->all += all;
	return 0;
}

static int days(struct sum *s)
{
	uint32_t worst = 0;
	struct sim_got g;

	for (int k = 1; k <= 4; k++) {
		struct heard h = { 0 };

		memset(&p, 0, sizeof(p));
		p.now = p.next_window = S;
		state = 4242u + (unsigned)k;
		run(&p, &healthy, 0.01 * k, 86400, &h);
		worst = h.all > worst ? h.all : worst;
	}
	note(s, "own noise of 1 to 4 %%: %u", worst);
	for (const struct sim_case *c = sim_days; c->word; c++) {
		if (sim_watch(c, 5, false, &g) < 0)
			return 1;
		note(s, "; %s (%.0f h): %u", c->word, g.hours, g.before.all);
		worst = g.before.all > worst ? g.before.all : worst;
	}
	if (sim_watch(&sim_unseen, 5, false, &g) < 0)
		return 1;
	note(s, "; not counted: %s: %u", sim_unseen.word, g.before.all);
	s->told = worst;
	return 0;
}

/* detect [SEEDS]: a line of JSON for detect.py. */
int main(int argc, char **argv)
{
	static struct sum faults, quiet;

	own_troubles(&faults);
	if (sim_troubles(&faults, argc > 1 ? (uint32_t)atoi(argv[1]) : 1) || days(&quiet))
		return 1;
	printf("{\"told\":%u,\"all\":%u,\"note\":\"%s\",\"worst\":%u,\"days\":\"%s\"}\n",
	       faults.told, faults.all, faults.note, quiet.told, quiet.note);
	return 0;
}
