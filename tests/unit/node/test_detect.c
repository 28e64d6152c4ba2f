/* SPDX-License-Identifier: Apache-2.0 */
/* Detectors on simulated processes: what is wrong is told, and soon; healthy days are silent. */
#include "detect/detect.h"

#include <math.h>
#include <string.h>

#include "model/event.h"
#include "t.h"

#define S 1000000000ull

static uint64_t state = 1, step = 1;
static const struct detect_names none, memory = { .memory = 5 };

static double uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) / (double)(1ull << 53);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform() + 1e-18)) * cos(6.283185307179586 * uniform());
}

struct heard {
	uint32_t n[ALARMS], all;
	struct alarm last;
};

static void hear(void *arg, const struct alarm *a)
{
	struct heard *h = arg;

	h->n[a->kind]++;
	h->all++;
	h->last = *a;
}

/* Noise that lasts, bursts of a few steps, checkpoints: what healthy jobs do. */
struct job {
	double ar;
	uint32_t burst;
	uint64_t n;
};

static uint64_t job_step(struct job *j, double ns, double noise)
{
	j->ar = 0.7 * j->ar + 0.714 * noise * normal();
	if (!j->burst && uniform() < 1.0 / 2000)
		j->burst = 4;
	ns *= exp(j->ar + 0.5 * noise * normal());
	if (j->burst && j->burst--)
		ns *= 1.5;
	if (++j->n % 500 == 0)
		ns *= 6;
	return (uint64_t)ns;
}

static void test_healthy_day(double noise)
{
	static struct detect d;
	struct heard h = { 0 };
	struct job j = { 0 };
	uint64_t now = S;

	memset(&d, 0, sizeof(d));
	while (now < 86400 * S) {
		uint64_t ns = job_step(&j, 0.3e9, noise);

		now += ns;
		detect_step(&d, step++, ns, now, hear, &h);
	}
	T_OK(h.all <= 1, "a day of steps with %.0f %% of noise: %u alarms", 100 * noise, h.all);
}

/* How many steps until it is told; 0: never, or at once. */
static uint32_t steps_to_tell(double factor, double noise, enum alarm_kind kind)
{
	static struct detect d;
	struct heard h = { 0 };
	struct job j = { 0 };
	uint64_t now = S;

	memset(&d, 0, sizeof(d));
	for (uint32_t i = 0; i < 1000; i++) {
		uint64_t ns = job_step(&j, i < 600 ? 0.3e9 : 0.3e9 * factor, noise);

		now += ns;
		detect_step(&d, step++, ns, now, hear, &h);
		if (h.all)
			return h.n[kind] && i >= 600 ? i - 599 : 0;
	}
	return 0;
}

static void test_slower(void)
{
	uint32_t runs = 100, told = 0, worst = 0;

	for (uint32_t i = 0; i < runs; i++) {
		uint32_t n = steps_to_tell(1.2, 0.02, ALARM_STEP_SLOWER);

		told += n != 0;
		worst = n > worst ? n : worst;
	}
	T_OK(told >= 95 && worst <= 60,
	     "steps that are 20 %% slower: told in %u of %u, after %u at most", told, runs, worst);
	T_OK(steps_to_tell(0.8, 0.02, ALARM_STEP_FASTER) != 0, "and 20 %% faster");
	T_OK(steps_to_tell(1.04, 0.01, ALARM_STEP_SLOWER) == 0, "4 %% is not worth an alarm");
}

static void test_back(void)
{
	static struct detect d;
	struct heard h = { 0 };
	struct job j = { 0 };
	uint64_t now = S;

	memset(&d, 0, sizeof(d));
	for (uint32_t i = 0; i < 3000; i++) {
		uint64_t ns = job_step(&j, i / 1000 == 1 ? 0.5e9 : 0.3e9, 0.01);

		now += ns;
		detect_step(&d, step++, ns, now, hear, &h);
	}
	T_OK(h.n[ALARM_STEP_SLOWER] == 1 && h.n[ALARM_STEP_FASTER] == 1 && h.all == 2,
	     "slower, and back: each is told once");
}

static void test_hang(void)
{
	static struct detect d;
	struct heard h = { 0 };
	struct signs s = { .step = 1 };
	uint64_t now = S, stop;

	memset(&d, 0, sizeof(d));
	for (uint32_t i = 0; i < 20; i++) {
		now += S;
		s.step++;
		detect_step(&d, step++, S / 2, now, hear, &h);
		detect_look(&d, &s, now, hear, &h);
	}
	stop = now;
	while (!h.n[ALARM_HANG] && now < stop + 60 * S) {
		now += S;
		detect_look(&d, &s, now, hear, &h);
	}
	T_OK(h.n[ALARM_HANG] == 1 && now - stop <= 10 * S && h.last.since_ns == stop,
	     "a hang is told after %lu s, and since when", (unsigned long)((now - stop) / S));
	for (uint32_t i = 0; i < 600; i++)
		detect_look(&d, &s, now += S, hear, &h);
	T_OK(h.n[ALARM_HANG] == 1, "once");
	s.collective++;
	detect_look(&d, &s, now += S, hear, &h);
	T_OK(h.n[ALARM_HANG_OVER] == 1, "and that it is over");
	memset(&d, 0, sizeof(d));
	memset(&h, 0, sizeof(h));
	for (uint32_t i = 0; i < 60; i++)
		detect_look(&d, &s, now += S, hear, &h);
	T_OK(!h.all, "a process that never stepped does not hang");
	for (uint32_t i = 0; i < 20; i++)
		detect_step(&d, step++, 8 * S, now += 8 * S, hear, &h);
	s.step++;
	detect_look(&d, &s, now += S, hear, &h);
	for (uint32_t i = 0; i < 39; i++)
		detect_look(&d, &s, now += S, hear, &h);
	T_OK(!h.all, "steps of 8 s may take 40");
	memset(&d, 0, sizeof(d));
	for (uint32_t i = 0; i < 20; i++)
		detect_step(&d, step++, S, now += S, hear, &h);
	for (uint32_t k = 0; k < 10; k++) {
		s.step++;
		for (uint32_t i = 0; i < 30; i++)
			detect_look(&d, &s, now += S, hear, &h);
	}
	T_OK(h.n[ALARM_HANG] == 1, "who comes back from half a minute is taken for hung once");
	for (uint32_t i = 0; i < 60; i++)
		detect_look(&d, &s, now += S, hear, &h);
	T_OK(h.n[ALARM_HANG] == 2, "and again when it is twice as long");
}

/* Steps of a second; then `s` says what is seen while it stands still, for so many seconds. */
static uint32_t stand(struct detect *d, struct signs *s, uint64_t *now, uint64_t seconds,
		      uint64_t bytes, struct heard *h)
{
	uint32_t before = h->n[ALARM_HANG], told = 0;

	for (uint32_t i = 1; i <= seconds; i++) {
		s->written += bytes;
		detect_look(d, s, *now += S, hear, h);
		if (h->n[ALARM_HANG] > before && !told)
			told = i;
	}
	return told;
}

static void step_on(struct detect *d, struct signs *s, uint64_t *now, struct heard *h)
{
	for (uint32_t i = 0; i < 20; i++) {
		s->step++;
		s->saves = s->peer_saves = false;
		detect_step(d, step++, S, *now += S, hear, h);
		detect_look(d, s, *now, hear, h);
	}
}

static void test_checkpoint(void)
{
	static struct detect d;
	struct heard h = { 0 };
	struct signs s = { .step = 1 };
	uint64_t now = S;

	step_on(&d, &s, &now, &h);
	T_OK(!stand(&d, &s, &now, 100, 3 << 20, &h), "who writes for 100 s writes a checkpoint");
	T_OK(stand(&d, &s, &now, 60, 0, &h) == 34 && !h.last.saving,
	     "who stops to write and does not go on hangs, half a minute later");
	step_on(&d, &s, &now, &h);
	s.saves = true;
	T_OK(!stand(&d, &s, &now, 299, 0, &h), "a range of one may take thrice the longest");
	T_OK(stand(&d, &s, &now, 1000, 0, &h) > 1 && h.last.saving, "not for ever");
	step_on(&d, &s, &now, &h);
	T_OK(stand(&d, &s, &now, 10, 0, &h) == 5, "a hang without one is told as soon as ever");
	memset(&d, 0, sizeof(d));
	step_on(&d, &s, &now, &h);
	T_OK(stand(&d, &s, &now, 60, 100 << 10, &h) == 5, "what a log writes is none");

	memset(&d, 0, sizeof(d));
	step_on(&d, &s, &now, &h);
	s.peer_saves = true;
	T_OK(!stand(&d, &s, &now, 590, 0, &h),
	     "the first one of a peer is waited for, for ten minutes");
	s.peer_saves = false;
	T_OK(!stand(&d, &s, &now, 4, 0, &h), "and seconds more, to go on");
	step_on(&d, &s, &now, &h);
	s.peer_saves = true;
	T_OK(stand(&d, &s, &now, 2000, 0, &h) > 1700, "the next, thrice as long at most");
	memset(&d, 0, sizeof(d));
	memset(&h, 0, sizeof(h));
	step_on(&d, &s, &now, &h);
	s.saves = true;
	T_OK(stand(&d, &s, &now, 700, 0, &h) == 600, "a first one that does not end is told");
}

static struct rollup gpu_row(uint32_t name, uint64_t count, uint64_t total)
{
	return (struct rollup){
		.kind = EVENT_KERNEL, .name = name, .count = count, .total_ns = total
	};
}

/* A program says itself when its steps were: it must not fill the journal by it. */
static void test_liar(void)
{
	static struct detect d;
	struct heard h = { 0 };

	memset(&d, 0, sizeof(d));
	for (uint32_t i = 0; i < 100000; i++)
		detect_step(&d, i, i / 200 % 2 ? S : S / 4, i % 2 ? 1000000 * S : S, hear, &h);
	T_OK(h.n[ALARM_STEP_SLOWER] <= 2 && h.n[ALARM_STEP_FASTER] <= 2,
	     "times that jump back and forth raise no more alarms: %u", h.all);
}

static void test_windows(void)
{
	static struct detect d;
	struct heard h = { 0 };
	uint64_t now = S;

	memset(&d, 0, sizeof(d));
	for (uint32_t i = 0; i < 3600; i++, now += S) {
		struct rollup row[3] = {
			gpu_row(7, 100,
				(uint64_t)(3e8 * (i > 1800 ? 1.5 : 1) * exp(0.02 * normal()))),
			gpu_row(8, 100, (uint64_t)(3e8 * exp(0.02 * normal()))),
			gpu_row(9, 1, (uint64_t)(1e6 * exp(normal()))),
		};
		struct window w = { .rows = 3, .start_ns = now, .row = row };

		detect_window(&d, &w, &none, now + S, hear, &h);
	}
	T_OK(h.n[ALARM_KERNEL] == 1 && h.last.name == 7 && h.all == 1,
	     "of two kernels the one that got slower is told, what ran once is not judged");
	memset(&h, 0, sizeof(h));
	for (uint32_t i = 0; i < 3600; i++, now += S) {
		struct rollup row = gpu_row(8, 100, i < 1800 ? 700000000 : 100000000);
		struct window w = { .rows = 1, .start_ns = now, .row = &row };

		detect_window(&d, &w, &none, now + S, hear, &h);
	}
	T_OK(h.n[ALARM_GPU_IDLE] == 1, "a GPU that does a seventh of what it did");
}

static uint32_t leak(uint64_t by, uint64_t noise)
{
	static struct detect d;
	struct heard h = { 0 };
	uint64_t now = S;

	memset(&d, 0, sizeof(d));
	for (uint64_t i = 0; i < 2000; i++, now += S) {
		struct rollup row = { .kind = EVENT_COUNTER,
				      .name = 5,
				      .count = 4,
				      .min_ns = 1000000000 + i * by +
						(uint64_t)((double)noise * uniform()) };
		struct window w = { .rows = 1, .start_ns = now, .row = &row };

		detect_window(&d, &w, &memory, now + S, hear, &h);
	}
	return h.n[ALARM_MEMORY];
}

static void test_memory(void)
{
	T_OK(leak(1000000, 20000000) >= 1, "memory that grows by a megabyte a second is told");
	T_OK(leak(0, 200000000) == 0, "memory that goes up and down is not");
}

static void test_late(void)
{
	const uint64_t one[] = { 4 * S, 4 * S, S / 2, 4 * S },
		       even[] = { 4 * S, 3900000000, 4 * S };

	T_OK(late_of(one, 4, 10 * S) == 2, "who spends least time in collectives came last");
	T_OK(late_of(even, 3, 10 * S) == SIZE_MAX, "nobody stands out: nobody is late");
	T_OK(late_of(one, 1, 10 * S) == SIZE_MAX, "one rank waits for nobody");
}

/* What is told of 4000 steps of 0.3 s when from the 1500th on each takes `slow` times as long once in
 * `every`, and `gap` goes by between them. */
static struct heard pace(double slow, uint32_t every, double gap)
{
	static struct detect d;
	struct heard h = { 0 };
	struct job j = { 0 };
	uint64_t now = S;

	memset(&d, 0, sizeof(d));
	for (uint64_t i = 0; i < 4000; i++) {
		uint64_t ns = job_step(&j, 0.3e9, 0.02);

		if (i > 1500 && uniform() < 1.0 / every)
			ns = (uint64_t)(slow * (double)ns);
		now += ns + (uint64_t)(i > 1500 ? gap * 1e9 : 0);
		detect_step(&d, i, ns, now, hear, &h);
	}
	return h;
}

static void test_pace(void)
{
	struct heard spikes = pace(4, 8, 0), gaps = pace(1, 1, 0.1), all = pace(1.5, 1, 0),
		     few = pace(3, 100, 0);

	T_OK(spikes.n[ALARM_THROUGHPUT] == 1 && spikes.all == 1 && spikes.last.is > 0.33e9,
	     "one step of eight takes four times as long: throughput, told once");
	T_OK(gaps.n[ALARM_THROUGHPUT] == 1 && gaps.all == 1, "so is time lost between steps");
	T_OK(all.n[ALARM_STEP_SLOWER] == 1 && all.all == 1, "slower steps are not told twice");
	T_OK(!few.all, "one of a hundred is not worth an alarm");
}

/* A kernel that comes in two shapes, one after the other, and one that exchanges. */
static bool seven(void *arg, uint32_t name)
{
	(void)arg;
	return name == 7;
}

static void test_shapes(void)
{
	const struct detect_names names = { .is_comm = seven };
	static struct detect d;
	struct heard h = { 0 };

	memset(&d, 0, sizeof(d));
	for (uint64_t i = 0; i < 400; i++) {
		struct rollup row[] = { gpu_row(4, 100, i < 200 ? 100000000 : 300000000),
					gpu_row(7, 100, i < 200 ? 100000000 : 400000000),
					gpu_row(9, 100, 500000000) };
		struct window w = { .rows = 3, .start_ns = (i + 1) * S, .row = row };

		row[0].geo = i < 200 ? 11 : 12;
		detect_window(&d, &w, &names, (i + 2) * S, hear, &h);
	}
	T_OK(!h.all, "another shape is another kernel, and exchanges may wait");
	T_OK(d.comm_ns == 200 * (100000000ull + 400000000),
	     "whose time is what ranks are compared by");
}

static void test_late_times(void)
{
	const uint64_t comm[] = { 4 * S, S, 4 * S }, even[] = { 4 * S, 4 * S, 4 * S },
		       id[] = { 5, 6, 7 };
	struct late l = { 0 };
	double share = 0;
	size_t got[8];

	for (int i = 0; i < 8; i++)
		got[i] = late_add(&l, id, i == 1 ? even : comm, 3, 10 * S, &share);
	T_OK(got[0] == SIZE_MAX && got[3] == SIZE_MAX && got[4] == 1 && got[5] == SIZE_MAX &&
		     share > 0.29 && share < 0.31,
	     "late three times in a row: told once, with what the others wait");
}

int main(void)
{
	test_healthy_day(0.01);
	test_healthy_day(0.03);
	test_slower();
	test_back();
	test_hang();
	test_checkpoint();
	test_liar();
	test_windows();
	test_memory();
	test_late();
	test_pace();
	test_shapes();
	test_late_times();
	return t_done();
}
