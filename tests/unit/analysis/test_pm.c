/* SPDX-License-Identifier: Apache-2.0 */
/* What counters of a device say of its kernels: samples, shares of them, rest. */
#include "insight/insight.h"
#include "t.h"
#include "tracekit.h"

#define SM   "[pm] SM throughput"
#define DRAM "[pm] DRAM throughput"

static struct insight *in;

static void begin(const char *text)
{
	if (insight_new(&in, kit_trace(text)) < 0)
		abort();
}

static void done(void)
{
	struct trace *t = (struct trace *)in->t;

	insight_free(in);
	trace_free(t);
}

static const struct pm_use *use(const char *name)
{
	for (uint32_t i = 0; i < in->t->names; i++)
		if (!strcmp(in->t->name[i].s, name))
			return pm_of_name(&in->pm, i);
	return NULL;
}

static int near(double a, double b)
{
	return a > b - 0.01 && a < b + 0.01;
}

static void check_alone(void)
{
	begin("kernel 0 7 1000 3000 1 gemm\n"
	      "kernel 0 7 4000 2000 2 copy\n"
	      "sample 0 1000 60 " SM "\nsample 0 1000 20 " DRAM "\n"
	      "sample 0 2000 50 " SM "\nsample 0 2000 10 " DRAM "\n"
	      "sample 0 3000 40 " SM "\nsample 0 3000 30 " DRAM "\n"
	      "sample 0 4000 2 " SM "\nsample 0 5000 4 " SM "\n");
	T_OK(in->pm.samples == 5 && in->pm.interval_ns == 1000, "samples, and how often they come");
	T_OK(use("gemm") && near(use("gemm")->mean[PM_SM_ISSUE], 50) &&
		     near(use("gemm")->mean[PM_DRAM], 20) && use("gemm")->seen_ns == 3000,
	     "the mean of the samples in which a kernel ran");
	T_OK(use("copy") && near(use("copy")->mean[PM_SM_ISSUE], 3) &&
		     use("copy")->mean[PM_DRAM] < 0 && use("copy")->mean[PM_TENSOR] < 0,
	     "what was not read is not known");
	T_OK(near(use("gemm")->alone, 1) && near(use("copy")->alone, 1), "each was alone");
	done();
}

static void check_shared(void)
{
	begin("kernel 0 7 1000 250 1 a\n"
	      "kernel 0 7 1250 250 2 b\n"
	      "kernel 0 7 2000 400 3 a\n"
	      "kernel 0 7 2500 100 4 a\n"
	      "sample 0 1000 40 " SM "\nsample 0 2000 30 " SM "\nsample 0 3000 0 " SM "\n");
	T_OK(near(use("b")->mean[PM_SM_ISSUE], 80) && near(use("b")->alone, 0.5),
	     "half of a sample at rest: its value is of the other half, which two kernels share");
	T_OK(near(use("a")->mean[PM_SM_ISSUE], (80 * 250 + 60 * 500) / 750.0) &&
		     near(use("a")->alone, (0.5 * 250 + 500) / 750.0),
	     "runs of one name in a sample are one");
	done();
	begin("kernel 0 7 1000 1000 1 a\n"
	      "kernel 0 8 1000 1000 2 b\n"
	      "sample 0 1000 70 " SM "\nsample 0 2000 0 " SM "\n");
	T_OK(near(use("a")->mean[PM_SM_ISSUE], 70) && near(use("a")->alone, 0.5),
	     "at the same time: what the device did while each ran");
	done();
}

static void check_verdict(void)
{
	static const struct {
		const char *name;
		enum roof_limit limit;
		double fraction;
		enum work_how how;
	} want[] = {
		{ "busy", ROOF_COMPUTE, 0.7, WORK_COUNTER },
		{ "mover", ROOF_MEMORY, 0.9, WORK_COUNTER },
		{ "waiter", ROOF_LATENCY, 0.3, WORK_COUNTER },
		{ "guest", ROOF_UNKNOWN, 0, WORK_NONE },
	};

	begin("kernel 0 7 1000 1000 1 busy\nkernel 0 7 2000 1000 2 mover\n"
	      "kernel 0 7 3000 1000 3 waiter\n"
	      "kernel 0 7 4000 500 4 guest\nkernel 0 7 4500 500 5 other guest\n"
	      "sample 0 1000 70 " SM "\nsample 0 1000 5 " DRAM "\n"
	      "sample 0 2000 10 " SM "\nsample 0 2000 90 " DRAM "\n"
	      "sample 0 3000 30 " SM "\nsample 0 3000 20 " DRAM "\n"
	      "sample 0 4000 99 " SM "\nsample 0 4000 99 " DRAM "\n");
	for (size_t i = 0; i < T_LEN(want); i++) {
		const struct roof_name *n = NULL;

		for (uint32_t k = 0; k < in->t->names && !n; k++)
			if (!strcmp(in->t->name[k].s, want[i].name))
				n = roofs_name(&in->roofs, k);
		T_OK(n && roof_name_limit(n) == want[i].limit && roof_name_how(n) == want[i].how &&
			     near(roof_name_fraction(n), want[i].fraction),
		     "by counters: %s is limited by %s", want[i].name,
		     roof_limit_word[want[i].limit] ? roof_limit_word[want[i].limit] : "-");
	}
	done();
}

static void check_apart(void)
{
	begin("kernel 0 7 1000 1000 1 a\n"
	      "kernel 1 7 1000 1000 2 b\n"
	      "kernel 0 7 9000 1000 3 late\n"
	      "sample 0 1000 70 " SM "\nsample 1 1000 20 " SM "\n"
	      "sample 0 2000 0 " SM "\nsample 1 2000 0 " SM "\nsample 0 3000 -5 " SM "\n"
	      "sample 0 3000 1e30 " SM "\ncounter 1 1500 90 " SM "\n");
	T_OK(near(use("a")->mean[PM_SM_ISSUE], 70) && near(use("b")->mean[PM_SM_ISSUE], 20),
	     "each device has its own");
	T_OK(!use("late"), "after the last sample nothing is known");
	T_OK(in->pm.samples == 4, "what is no percentage, and what is no device's, is left out");
	done();
	begin("kernel 0 7 1000 1000 1 a\ncounter 1 1500 90 loss\n");
	T_OK(!in->pm.samples && !use("a"), "no samples, no means");
	done();
}

int main(void)
{
	check_alone();
	check_shared();
	check_apart();
	check_verdict();
	return t_done();
}
