/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/record.h"
#include "t.h"

#define US 1e3
#define MS 1000000ll

static const struct job_kernel forward[] = { { "f", 100e3 } }, backward[] = { { "b", 200e3 } };

/* Kernels of 100 us and 200 us, no noise, hosts that take no time. */
static struct job plain(const char *set, double coll_ns)
{
	char why[JOB_WHY] = "";
	struct job j;

	job_init(&j);
	j.gpu = gpu_find("H100_SXM");
	j.forward = forward;
	j.backward = backward;
	j.forwards = j.backwards = 1;
	j.coll_ns = coll_ns;
	j.noise = j.call_us = j.gap_us = j.loader_ms = j.clock_ms = 0;
	if (job_set(&j, set, why) < 0 || job_check(&j, why) < 0)
		T_OK(0, "%s", why);
	return j;
}

/* A job of a model. */
static struct job model(const char *name, const char *set, const char *faults)
{
	char why[JOB_WHY] = "";
	struct job j;

	job_init(&j);
	j.gpu = gpu_find("H100_SXM");
	if (job_model(&j, name, why) < 0 || job_set(&j, set, why) < 0 || job_check(&j, why) < 0 ||
	    (faults && job_fault(&j, faults, why) < 0))
		T_OK(0, "%s", why);
	return j;
}

/* Records of all ranks of the last of so many steps; the caller's to free. */
static struct step_rec *records(const struct job *j, uint32_t steps, int64_t *end_ns)
{
	struct step_rec *r = calloc(job_ranks(j), sizeof(*r));
	struct recorder *rec = NULL;
	struct play *p = NULL;
	int err = play_new(&p, j, 0);

	for (uint32_t i = 0; i < steps && !err; i++)
		err = play_step(p);
	err = err ? err : recorder_new(&rec, p);
	T_OK(!err && r, "it can be played (%d)", err);
	recorder_step(rec);
	for (uint32_t i = 0; i < job_ranks(j); i++)
		recorder_rank(rec, i, &r[i]);
	if (end_ns)
		*end_ns = p->end_ns;
	recorder_free(rec);
	play_free(p);
	return r;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-5 * (fabs(b) + 1);
}

static void replicas(void)
{
	struct job j = plain("dp=4,layers=2,steps=1", 50e3);
	char why[JOB_WHY];
	struct step_rec *r;

	job_fault(&j, "slow_gpu:rank=2,by=2", why);
	r = records(&j, 1, NULL);
	T_OK(near(r[0].t.step, 1250 * US) && near(r[2].t.step, 1250 * US),
	     "all take as long as the slow one");
	T_OK(near(r[0].t.compute, 600 * US) && near(r[2].t.compute, 1200 * US),
	     "but only one computes for so long");
	T_OK(r[0].slots == 1 && r[0].slot[0].op == STEP_OP_ALL_REDUCE && r[0].slot[0].count == 2 &&
		     r[0].slot[0].members == 4 && r[0].slot[0].comm == r[3].slot[0].comm,
	     "a communicator is one slot, the same on all its members");
	T_OK(near(r[2].slot[0].probe[1].dur, 50 * US) && near(r[0].slot[0].probe[1].dur, 400 * US),
	     "who came last stays the shortest");
	T_OK(near(r[0].slot[0].exposed, r[0].t.exposed) && near(r[2].t.exposed, 50 * US),
	     "what no kernel hides is exposed");
	T_OK(r[0].slot[0].issued == 2 && r[0].slot[0].done == 2 && !r[0].slot[0].what,
	     "nothing is left to be done");
	free(r);
}

/* Whatever the job is, a step is what ran, what was waited for, and nothing. */
static void adds_up(const char *name, const char *set, const char *faults)
{
	struct job j = model(name, set, faults);
	struct step_rec *r = records(&j, 2, NULL);
	bool whole = true, classes = true, wire = true;

	for (uint32_t i = 0; i < job_ranks(&j); i++) {
		double sum = 0;
		struct step_rec back;
		uint8_t buf[STEP_MAX];
		int n = step_rec_encode(buf, sizeof(buf), &r[i]);

		for (int c = 0; c < STEP_CLASSES; c++)
			sum += r[i].class[c].sum;
		classes &= fabs(sum - r[i].t.compute) < 1e-4 * r[i].t.compute;
		whole &= r[i].t.idle + r[i].t.compute + r[i].t.exposed <= r[i].t.step * 1.00001 &&
			 r[i].t.idle + r[i].t.compute + r[i].t.exposed + r[i].t.copy >=
				 r[i].t.step * 0.99999 &&
			 r[i].t.host <= r[i].t.idle * 1.00001;
		wire &= n > 0 && step_rec_decode(&back, buf, (size_t)n) == n;
	}
	T_OK(whole, "%s %s: times add up to the step", name, set);
	T_OK(classes, "classes to the compute");
	T_OK(wire, "and all of it goes over the wire");
	free(r);
}

/* As long as kernels, one by one. */
static void coarse(const char *set)
{
	struct job fine = model("small", set, NULL), j;
	struct step_rec *a, *b;
	int64_t fine_ns, ns;

	fine.noise = 0;
	fine.call_us = fine.gap_us = 0;
	j = fine;
	j.coarse = 1;
	a = records(&fine, 1, &fine_ns);
	b = records(&j, 1, &ns);
	T_OK(llabs(fine_ns - ns) < fine_ns / 20, "%s: coarse takes as long (%.2f %% off)", set,
	     100.0 * (double)llabs(fine_ns - ns) / (double)fine_ns);
	T_OK(a[0].class[STEP_CLASS_GEMM].count == b[0].class[STEP_CLASS_GEMM].count &&
		     fabs(a[0].t.compute - b[0].t.compute) < 0.01 * a[0].t.compute,
	     "and stands for the same kernels");
	free(a);
	free(b);
}

static void packed(void)
{
	struct job j =
		model("small", "dp=8,packed=1,seq=32768,micro_batch=1,micro_batches=2", NULL);
	struct step_rec *r;
	double sxy = 0, sxx = 0, syy = 0, mx = 0, my = 0;

	j.noise = 0;
	r = records(&j, 1, NULL);
	for (uint32_t i = 0; i < 8; i++) {
		mx += r[i].sum_len2 / 8;
		my += r[i].t.compute / 8;
	}
	for (uint32_t i = 0; i < 8; i++) {
		double x = r[i].sum_len2 - mx, y = r[i].t.compute - my;

		sxy += x * y;
		sxx += x * x;
		syy += y * y;
	}
	T_OK(sqrt(syy / 8) > 0.03 * my, "packed sequences make ranks differ by %.0f %%",
	     100 * sqrt(syy / 8) / my);
	T_OK(sxy / sqrt(sxx * syy) > 0.999, "and the squares of their lengths say by how much");
	T_OK(r[0].tokens == 2 * 32768 && r[1].tokens == 2 * 32768 && r[0].sequences > 2,
	     "though all have as many tokens");
	free(r);
}

static void experts(void)
{
	struct job j = model("small-moe", "dp=8,ep=8,experts=8,routing=0.3", NULL);
	struct step_rec *r;
	bool follows = true;

	j.noise = 0;
	r = records(&j, 1, NULL);
	for (uint32_t i = 1; i < 8; i++)
		follows &= fabs(r[i].class[STEP_CLASS_EXPERT].sum / r[i].expert_tokens /
					(r[0].class[STEP_CLASS_EXPERT].sum / r[0].expert_tokens) -
				1) < 1e-3;
	T_OK(r[0].expert_tokens != r[1].expert_tokens, "experts of ranks get different tokens");
	T_OK(follows, "and take as long as they have tokens");
	free(r);
}

static void inference(void)
{
	struct job j = model("small", "dp=4,tp=2,infer=1,micro_batch=32,prefill=0.5,steps=40",
			     "slow_gpu:rank=3,by=1.5");
	struct step_rec r;
	struct recorder *rec;
	struct play *p;
	int prefills = 0;
	double longest = 0, shortest = INFINITY;

	T_OK(play_new(&p, &j, 0) == 0 && recorder_new(&rec, p) == 0, "an inference can be played");
	for (uint32_t i = 0; i < 40; i++) {
		if (play_step(p) < 0)
			break;
		recorder_step(rec);
		recorder_rank(rec, 0, &r);
		prefills += !!(r.flags & STEP_F_PREFILL);
		if (r.flags & STEP_F_PREFILL)
			shortest = r.t.compute < shortest ? r.t.compute : shortest;
		else
			longest = r.t.compute > longest ? r.t.compute : longest;
	}
	T_OK(prefills > 8 && prefills < 32, "some batches read prompts");
	T_OK(shortest > longest, "and take longer than those that decode");
	T_OK(r.flags & STEP_F_INFER && r.slots == 1 && r.slot[0].members == 2,
	     "replicas exchange nothing");
	recorder_free(rec);
	play_free(p);
}

/* Megatron's interleaved 1F1B: the bubble shrinks by the number of chunks. */
static void interleaved(void)
{
	struct job one = plain("dp=1,pp=4,layers=8,micro_batches=8,steps=1", 0),
		   two = plain("dp=1,pp=4,layers=8,micro_batches=8,steps=1,chunks=2", 0);
	int64_t ns, ns2;
	struct step_rec *r = records(&one, 1, &ns);
	char why[JOB_WHY];

	free(r);
	r = records(&two, 1, &ns2);
	T_OK(ns == (8 + 3) * 600 * (int64_t)US, "a pipeline's bubble is a micro-batch a stage");
	T_OK(ns2 == 8 * 600 * (int64_t)US + 3 * 300 * (int64_t)US,
	     "of two chunks it is half of that");
	T_OK(r[3].slots == 4 && r[0].slots == 4 && r[0].slot[0].members == 2,
	     "then the last stage sends to the first");
	free(r);
	T_OK(job_set(&two, "micro_batches=6", why) == 0 && job_check(&two, why) == -EINVAL, "%s",
	     why);
}

static void stopped(const char *fault, uint32_t culprit)
{
	struct job j = plain("dp=4,layers=2,steps=3", 50e3);
	char why[JOB_WHY];
	struct step_rec *r;
	bool partial = true;
	uint32_t least = UINT32_MAX, who = 0, stuck = 0;

	job_fault(&j, fault, why);
	r = records(&j, 2, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t issued = r[i].slots ? r[i].slot[0].issued : 0;

		partial &= !!(r[i].flags & STEP_F_PARTIAL) && r[i].t.step >= SIM_STALL_NS;
		stuck += r[i].slots && r[i].slot[0].issued > r[i].slot[0].done;
		if (issued < least) {
			least = issued;
			who = i;
		}
	}
	T_OK(partial, "%s: all records are of a step that has not ended", fault);
	T_OK(stuck >= 3, "most have issued what does not end");
	if (culprit != UINT32_MAX)
		T_OK(who == culprit, "and who has not come is behind");
	free(r);
}

int main(void)
{
	replicas();
	adds_up("small", "dp=4,tp=2,pp=2,micro_batches=4,steps=2", "slow_cpu:node=0,by=3");
	adds_up("small", "dp=8,zero=3,steps=2", "storage_slow:node=0,by=20");
	adds_up("small-moe", "dp=8,ep=4,tp=2,routing=0.2,steps=2,coarse=1", "python_gc:every=2");
	adds_up("small", "dp=2,pp=4,chunks=2,micro_batches=4,steps=2,coarse=1", "stray_sync");
	coarse("dp=4,tp=2,pp=2,micro_batches=4");
	coarse("dp=8,zero=3");
	packed();
	experts();
	inference();
	interleaved();
	stopped("host_hang:rank=1,from=1", 1);
	stopped("desync:rank=1,from=1", 1);
	stopped("transport_hang:rank=1,from=1", UINT32_MAX);
	stopped("crash:rank=1,from=1", UINT32_MAX);
	return t_done();
}
