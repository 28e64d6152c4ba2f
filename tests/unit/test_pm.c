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
	return t_done();
}
