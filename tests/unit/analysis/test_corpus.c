/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/corpus.h"
#include "t.h"

struct heard {
	uint64_t hash;
	uint32_t steps, records, bad, partial;
};

static int hear(void *arg, uint32_t step, const void *data, size_t len)
{
	struct heard *h = arg;
	struct step_rec r;

	h->hash = step_hash(data, len, h->hash);
	for (size_t at = 0; at < len;) {
		int n = step_rec_decode(&r, (const char *)data + at, len - at);

		if (n < 0) {
			h->bad++;
			break;
		}
		h->bad += r.step != step;
		h->partial += !!(r.flags & STEP_F_PARTIAL);
		h->records++;
		at += (size_t)n;
	}
	h->steps++;
	return 0;
}

static struct corpus_opts small(uint64_t seed)
{
	struct corpus_opts o;

	corpus_opts_init(&o);
	o.seed = seed;
	o.gpu = gpu_find("H100_SXM");
	o.max_ranks = 32;
	o.steps = 64;
	return o;
}

static void same_again(void)
{
	struct corpus_opts o = small(7), p = small(8);
	struct heard a = { 0 }, b = { 0 };
	struct corpus_case c, d;
	struct corpus_truth t, u;

	T_OK(corpus_case(&c, &o, 3) == 0 && corpus_play(&c, hear, &a, &t) == 0, "a case is played");
	T_OK(corpus_case(&d, &o, 3) == 0 && corpus_play(&d, hear, &b, &u) == 0, "and again");
	T_OK(a.hash == b.hash && t.end_ns[t.steps - 1] == u.end_ns[u.steps - 1],
	     "the same seed and number are the same case, to the byte");
	T_OK(!a.bad && a.records == t.world * a.steps, "every record can be read");
	corpus_truth_fini(&t);
	corpus_truth_fini(&u);
	T_OK(corpus_case(&d, &p, 3) == 0 && d.job.seed != c.job.seed,
	     "another seed is another one");
}

static void shares(void)
{
	struct corpus_opts o = small(1);
	uint32_t clean = 0, several = 0, kinds[FAULTS] = { 0 }, seen = 0, inference = 0, packed = 0;
	struct corpus_case c;
	bool within = true;

	o.max_ranks = 4096;
	for (uint32_t i = 0; i < 2000; i++) {
		if (corpus_case(&c, &o, i) < 0)
			break;
		clean += !c.job.faults;
		several += c.job.faults > 1;
		inference += c.job.infer;
		packed += c.job.packed > 0;
		for (uint32_t k = 0; k < c.job.faults; k++) {
			const struct fault *f = &c.job.fault[k];
			uint32_t first, last;

			kinds[f->kind]++;
			fault_ranks(f, &c.job, &first, &last);
			within &= last < job_ranks(&c.job) && f->from < c.job.steps &&
				  !fault_misfit(f->kind, &c.job);
		}
	}
	for (int k = 0; k < FAULTS; k++)
		seen += kinds[k] > 3;
	T_OK(clean > 420 && clean < 580, "one case in four has no fault (%u of 2000)", clean);
	T_OK(several > 180 && several < 360, "some have two or three (%u)", several);
	T_OK(seen == 30, "all 30 kinds are drawn (%u)", seen);
	T_OK(within, "each strikes somebody of the job, in its time");
	T_OK(inference > 100 && packed > 100, "some answer, some pack");
}

static void chosen(void)
{
	struct corpus_opts o = small(2);
	struct corpus_case c;
	bool only = true, right = true;

	o.kinds = 1ull << FAULT_THERMAL | 1ull << FAULT_HOST_HANG;
	o.layouts = 1ull << 0; /* ddp8 */
	o.clean = 0;
	for (uint32_t i = 0; i < 50; i++) {
		only &= corpus_case(&c, &o, i) == 0 && c.job.faults >= 1;
		for (uint32_t k = 0; k < c.job.faults; k++)
			right &= c.job.fault[k].kind == FAULT_THERMAL ||
				 c.job.fault[k].kind == FAULT_HOST_HANG;
		right &= !strcmp(c.layout, "ddp8");
	}
	T_OK(only && right, "kinds and layouts can be chosen");
	o.ranks = 100000;
	o.max_ranks = 100000;
	T_OK(corpus_case(&c, &o, 0) == -ENOENT, "what no layout is, is said");
}

/* A case of one fault, put there by hand. */
static void one_fault(const char *layout, const char *fault, struct corpus_truth *t,
		      struct heard *h)
{
	struct corpus_opts o = small(3);
	struct corpus_case c;
	char why[JOB_WHY] = "";

	o.clean = 1;
	o.max_ranks = 64;
	for (size_t i = 0; corpus_layout_at(i, NULL); i++)
		if (!strcmp(corpus_layout_at(i, NULL), layout))
			o.layouts = 1ull << i;
	corpus_case(&c, &o, 0);
	c.job.noise = 0;
	c.job.packed = c.job.ckpt_every = 0;
	T_OK(job_fault(&c.job, fault, why) == 0, "%s %s%s", layout, fault, why);
	T_OK(corpus_play(&c, hear, h, t) == 0 && t->events == 1, "is played");
}

static void truths(void)
{
	struct corpus_truth t;
	struct heard h = { 0 };

	one_fault("ddp8", "slow_gpu:rank=3,by=1.5,from=20,for=10", &t, &h);
	T_OK(t.event[0].from == 20 && t.event[0].end == 30 && t.event[0].part.level == DIAG_RANK &&
		     t.event[0].part.index == 3 && t.event[0].alikes == 1,
	     "who and when is known");
	/* All of a step of this job is compute, but for some of the exchange. */
	T_OK(t.event[0].gain > 0.28 && t.event[0].gain < 1 / 3. + 0.005,
	     "a GPU that takes 1.5 times as long costs a third (%.3f)", t.event[0].gain);
	T_OK(t.event[0].from_ns == t.end_ns[19] && t.event[0].end_ns == t.end_ns[29],
	     "in time as well");
	corpus_truth_fini(&t);
	one_fault("ddp64", "nic_degraded:rank=5,by=8", &t, &h);
	T_OK(t.event[0].alikes == 64, "which NIC of one ring is slow, no record tells");
	corpus_truth_fini(&t);
	one_fault("tp8pp2dp4", "nic_degraded:rank=5,by=8", &t, &h);
	T_OK(t.event[0].alikes == 1, "where it takes part in two exchanges, one can");
	corpus_truth_fini(&t);
	h = (struct heard){ 0 };
	one_fault("ddp8", "host_hang:rank=2,from=30", &t, &h);
	T_OK(t.hung && t.steps == 30 && h.steps == 31 && h.partial == 8 && t.event[0].stops,
	     "a job that stops ends with a record of each rank that says so");
	corpus_truth_fini(&t);
	for (int i = 0; i < 4; i++) {
		static const char *const stop[] = { "crash:rank=9,from=30",
						    "host_hang:rank=9,from=30",
						    "transport_hang:rank=9,from=30",
						    "desync:rank=9,from=30" };

		one_fault("infer32", stop[i], &t, &h);
		T_OK(t.hung && t.steps == 30, "an inference stops, too");
		corpus_truth_fini(&t);
	}
	one_fault("ddp8", "silent_corruption:rank=2", &t, &h);
	T_OK(t.event[0].gain == 0, "wrong results cost no time");
	corpus_truth_fini(&t);
}

static void lossy(void)
{
	struct corpus_opts o = small(4);
	struct heard h = { 0 };
	struct corpus_case c;
	struct corpus_truth t;

	o.missing = 0.2;
	o.layouts = 1;
	corpus_case(&c, &o, 0);
	T_OK(corpus_play(&c, hear, &h, &t) == 0 && !h.bad &&
		     fabs(h.records / (8.0 * h.steps) - 0.8) < 0.08,
	     "records get lost where they should");
	corpus_truth_fini(&t);
}

int main(void)
{
	same_again();
	shares();
	chosen();
	truths();
	lossy();
	return t_done();
}
