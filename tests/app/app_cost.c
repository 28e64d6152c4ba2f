/* SPDX-License-Identifier: Apache-2.0 */
/*
 * app_cost - steps that take longer by a known share when they are recorded.
 *
 *	app_cost [-s seconds] [-N steps at least] [-x slowdown, 1/1000] [-n noise, 1/1000] [-r]
 *	         [-e marks a step] [-b length of a step, us] [-p pause between steps, us]
 *	         [-k: kernels in recorded steps, whose lengths hang on the step's number alone]
 *	         [-j step from which on it takes half as long again]
 *	         [-H step in which it hangs, until its input ends; that is no part of the seconds]
 *	         [-l launches a millisecond, and no steps]
 *	         [-t steps in which what is said comes and goes, about; else at once]
 *
 * Without -r the length of a step is said, not lived: it is exact on any machine. With -r the
 * program spins: the marks of a recorded step take -x of it. With -l there are fewer launches by
 * that share, of the time that has passed, while it is recorded: that is exact, too.
 *
 * Ends with {"steps":,"off":,"cost":} and the numbers of its last steps that were left out; cost is
 * what recording added to the last third of it all.
 */
#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include <aon/provider.h>

#include "app.h"

static struct {
	double seconds, slow, noise, base_ns;
	unsigned marks, pause_us;
	uint64_t least, jump, hang;
	bool real, kernels;
	double launches, tau;
} opt = { 2, 0.01, 0.01, 10e6, 10, 300, 0, UINT64_MAX, UINT64_MAX, false, false, 0, 1 };

static uint64_t seed = 1, hung_ns;

static double uniform(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(seed >> 11) / (double)(1ull << 53);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform() + 1e-18)) * cos(6.283185307179586 * uniform());
}

static void spin(double ns)
{
	uint64_t until = now_ns() + (uint64_t)ns;

	while (now_ns() < until)
		;
}

static void hang(void)
{
	uint64_t from = now_ns();

	aon_heartbeat_launch(1, aon_name("the_last_kernel"));
	while (getchar() != EOF)
		;
	hung_ns += now_ns() - from;
}

/* What a GPU would have done in it. */
static void kernels(uint64_t number, uint64_t at)
{
	static uint32_t track, name[2];
	uint64_t h = (number + 1) * 0x9e3779b97f4a7c15ull;

	if (!track) {
		track = aon_track(0, 1, 7, NULL);
		name[0] = aon_name("gemm");
		name[1] = aon_name("rare");
	}
	for (int k = 0; k < 2; k++)
		if (!k || h % 8 == 0)
			aon_act_emit(&(struct aon_act){ .size = sizeof(struct aon_act),
							.kind = AON_ACT_KERNEL,
							.track = track,
							.name = name[k],
							.start_ns = at + 1000 * (unsigned)k,
							.end_ns = at + 1000 * (unsigned)k + 200000 +
								  (h >> 40) % 400000 });
}

/* Returns how long it took: said, or lived. */
static double step(uint64_t number, bool *on)
{
	static double cost;
	uint64_t from = now_ns();
	double ns = number < opt.jump ? opt.base_ns : 1.5 * opt.base_ns;

	aon_heartbeat_step(number);
	*on = aon_wants(AON_WANT_MARK);
	cost += ((*on ? opt.slow : 0) - cost) / opt.tau;
	if (number == opt.hang)
		hang();
	aon_heartbeat_collective(1, number + 1);
	for (unsigned i = 0; i < opt.marks && *on; i++) {
		AON_MARK("mark", i, number, 0);
		if (opt.real)
			spin(opt.base_ns * opt.slow / opt.marks);
	}
	if (opt.kernels && aon_wants(AON_WANT_GPU))
		kernels(number, from);
	if (opt.real)
		spin(ns);
	else
		ns *= (1 + cost) * exp(opt.noise * normal());
	if (opt.real)
		ns = (double)(now_ns() - from);
	aon_act_emit(&(struct aon_act){ .size = sizeof(struct aon_act),
					.kind = AON_ACT_STEP,
					.track = aon_track_thread((uint32_t)gettid()),
					.start_ns = from,
					.end_ns = from + (uint64_t)ns,
					.bytes = number });
	return ns;
}

/* Instead of a step: as many launches as go into the time since the last. */
static double launch(uint64_t number, bool *on)
{
	static uint64_t last;
	static double owed;
	uint64_t now = now_ns();

	*on = aon_wants(AON_WANT_MARK);
	owed += last ? (double)(now - last) / 1e6 * opt.launches / (1 + (*on ? opt.slow : 0)) : 0;
	last = now;
	for (; owed >= 1; owed--)
		aon_heartbeat_launch(1, 0);
	AON_MARK("mark", 0, number, 0);
	return 0;
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:N:x:n:e:b:p:j:H:l:t:rk")) != -1) {
		switch (c) {
		case 's':
			opt.seconds = atof(optarg);
			break;
		case 'N':
			opt.least = strtoull(optarg, NULL, 10);
			break;
		case 'x':
			opt.slow = atof(optarg) / 1000;
			break;
		case 'n':
			opt.noise = atof(optarg) / 1000;
			break;
		case 'e':
			opt.marks = (unsigned)atoi(optarg);
			break;
		case 'b':
			opt.base_ns = atof(optarg) * 1000;
			break;
		case 'p':
			opt.pause_us = (unsigned)atoi(optarg);
			break;
		case 'j':
			opt.jump = strtoull(optarg, NULL, 10);
			break;
		case 'H':
			opt.hang = strtoull(optarg, NULL, 10);
			break;
		case 'k':
			opt.kernels = true;
			break;
		case 't':
			opt.tau = atof(optarg);
			break;
		case 'l':
			opt.launches = atof(optarg);
			break;
		case 'r':
			opt.real = true;
			break;
		default:
			exit(2);
		}
	}
}

/* How much is done of what was asked for, in time and in steps: 1 is all. */
static double progress(uint64_t begin, uint64_t steps)
{
	double time = (double)(now_ns() - begin - hung_ns) / (opt.seconds * 1e9);
	double count = opt.least ? (double)steps / (double)opt.least : 1;

	return time < count ? time : count;
}

int main(int argc, char **argv)
{
	enum { LAST = 1 << 16 };
	static bool last[LAST];
	uint64_t n = 0, off = 0, begin, tail_steps = 0, tail_on = 0;
	bool on;

	options(argc, argv);
	aon_join(2000);
	begin = now_ns();
	while (progress(begin, n) < 1) {
		(opt.launches > 0 ? launch : step)(n, &on);
		off += !on;
		last[n % LAST] = !on;
		if (progress(begin, n) > 2.0 / 3) {
			tail_steps++;
			tail_on += on;
		}
		n++;
		if (opt.pause_us)
			usleep(opt.pause_us);
	}
	printf("{\"steps\":%lu,\"off\":%lu,\"cost\":%.6f,\"left_out\":[", (unsigned long)n,
	       (unsigned long)off,
	       tail_steps ? opt.slow * (double)tail_on / (double)tail_steps : 0);
	for (uint64_t i = n > LAST ? n - LAST : 0, some = 0; i < n; i++)
		if (last[i % LAST])
			printf("%s%lu", some++ ? "," : "", (unsigned long)i);
	printf("]}\n");
	return 0;
}
