/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/trace.h"
#include "sim/engine.h"
#include "t.h"
#include "theory/step.h"

#define US 1000ll
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

static void fault(struct job *j, const char *text)
{
	char why[JOB_WHY] = "";

	T_OK(job_fault(j, text, why) == 0, "%s is a fault of this job %s", text, why);
}

static struct play *play(const struct job *j, uint32_t without, uint32_t steps)
{
	struct play *p = NULL;
	int err = play_new(&p, j, without);

	for (uint32_t i = 0; i < steps && !err; i++)
		err = play_step(p);
	T_OK(err == 0, "it can be played (%d)", err);
	return p;
}

static int64_t span(const struct job *j, uint32_t steps)
{
	struct play *p = play(j, 0, steps);
	int64_t ns = p->end_ns;

	play_free(p);
	return ns;
}

static uint32_t op_named(const struct play *p, uint32_t rank, const char *name, uint32_t nth)
{
	const struct program *g = play_program(p, rank);

	for (uint32_t i = 0; i < g->ops; i++)
		if (!strcmp(g->op[i].name, name) && !nth--)
			return i;
	return 0;
}

static int64_t host_end(const struct play *p, uint32_t rank)
{
	return p->time[sim_end(play_call(p, rank, play_program(p, rank)->ops - 1))];
}

static int64_t work_ns(const struct play *p, uint32_t rank, uint32_t op)
{
	uint32_t w = play_work(p, rank, op);

	return p->time[sim_end(w)] - p->time[sim_start(w)];
}

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f16_RING_LL"

static void pipeline(void)
{
	struct job j = plain("dp=1,pp=4,layers=4,micro_batches=8,steps=3", 0);

	T_OK(span(&j, 1) == (8 + 3) * 300 * US, "a pipeline's bubble is a micro-batch a stage");
	T_OK(span(&j, 3) == 3 * (8 + 3) * 300 * US, "in each step");
	j = plain("dp=1,pp=4,layers=4,micro_batches=2", 0);
	T_OK(span(&j, 1) == (2 + 3) * 300 * US, "with fewer micro-batches than stages, too");
	j = plain("dp=1,pp=2,layers=2,micro_batches=1", 10e3);
	T_OK(span(&j, 1) == 2 * 300 * US + 2 * 10 * US, "and the way there and back");
}

static void overlap(void)
{
	struct job j = plain("dp=2,layers=4,steps=1", 150e3);

	T_OK(span(&j, 1) == (400 + 800 + 150) * US,
	     "exchanges hide behind compute but for the last");
	j.coll_ns = 300e3;
	T_OK(span(&j, 1) == (400 + 200 + 4 * 300) * US, "until they take longer than it");
	j.coll_ns = 150e3;
	fault(&j, "serialised_streams");
	T_OK(span(&j, 1) == (400 + 4 * 350) * US, "serialised streams hide nothing");
}

/* Weights that all share are gathered a layer ahead, forwards and backwards. */
static void sharded(void)
{
	struct job j = plain("dp=2,layers=4,steps=1,zero=3", 50e3);

	T_OK(span(&j, 1) == (50 + 400 + 50 + 800 + 50) * US,
	     "of sharded weights the first layer's are waited for, and the last gradients");
	j.coll_ns = 150e3;
	T_OK(span(&j, 1) == (4 * 150 + 100 + 150 + 800 + 150) * US,
	     "all of them where they take longer than a layer");
}

static void straggler(void)
{
	struct job j = plain("dp=4,layers=2,steps=2", 50e3);
	struct play *p;
	uint32_t ar;
	bool together = true, shortest = true;

	fault(&j, "slow_gpu:rank=2,by=2,from=1");
	p = play(&j, 0, 1);
	T_OK(p->end_ns == 650 * US, "before its onset a fault does nothing");
	T_OK(play_step(p) == 0 && p->end_ns == 650 * US + 1250 * US,
	     "a rank that takes twice as long holds up all");
	ar = op_named(p, 0, ALL_REDUCE, 0);
	for (uint32_t r = 0; r < 4; r++) {
		together &= host_end(p, r) == p->end_ns;
		shortest &= r == 2 ? work_ns(p, r, ar) == 50 * US : work_ns(p, r, ar) > 50 * US;
	}
	T_OK(together, "to the nanosecond");
	T_OK(shortest, "and spends the least time in the exchange: it came last");
	T_OK(play_step(p) == -ENODATA, "then the job is over");
	play_free(p);
}

static void tensors(void)
{
	struct job j = plain("dp=1,tp=2,layers=2,steps=1", 10e3);
	struct play *p;
	uint32_t f;

	T_OK(span(&j, 1) == 2 * 300 * US + 4 * 10 * US,
	     "tensor parallel ranks meet in every layer");
	fault(&j, "slow_gpu:rank=1,by=1.5");
	p = play(&j, 0, 1);
	f = op_named(p, 0, "f", 1);
	T_OK(p->end_ns == 2 * 450 * US + 4 * 10 * US, "and each takes as long as the slower");
	T_OK(p->time[sim_start(play_work(p, 0, f))] == p->time[sim_start(play_work(p, 1, f))],
	     "they begin a layer together");
	T_OK(work_ns(p, 0, f) == 100 * US && work_ns(p, 1, f) == 150 * US,
	     "only one is slow in it");
	play_free(p);
}

static void loader(void)
{
	struct job j = plain("dp=1,layers=1,steps=4", 0);

	j.loader_ms = 0.2;
	T_OK(span(&j, 4) == 4 * 300 * US, "a loader that is faster than a step is not seen");
	j.loader_ms = 1;
	T_OK(span(&j, 4) == 300 * US + 3 * MS,
	     "a slower one sets the pace, from the second step on");
	j.loader_ms = 0.2;
	fault(&j, "slow_preprocessing:by=10,from=2,for=1");
	T_OK(span(&j, 4) == 3 * 300 * US + 2 * MS, "one late batch costs what it is late");
}

static void network(void)
{
	struct job j = plain("dp=2,tp=2,layers=1,steps=1,ranks_per_node=2", 20e3);
	struct play *p;
	uint32_t ar;

	fault(&j, "nic_degraded:rank=0,by=3");
	p = play(&j, 0, 1);
	ar = op_named(p, 0, ALL_REDUCE, 2);
	T_OK(work_ns(p, 0, ar) == 60 * US && work_ns(p, 2, ar) == 60 * US,
	     "a slow NIC slows the exchanges of its rank's group");
	T_OK(work_ns(p, 1, ar) == 20 * US && work_ns(p, 3, ar) == 20 * US, "and no other's");
	T_OK(work_ns(p, 0, op_named(p, 0, ALL_REDUCE, 0)) == 20 * US, "nor those within the node");
	play_free(p);
}

/* Two replicas of two ranks each, a node each: what the two groups exchange goes through one NIC. */
static void contention(void)
{
	const char *one = "dp=2,tp=2,layers=1,steps=2,ranks_per_node=2,nics=1,contend=1",
		   *each = "dp=2,tp=2,layers=1,steps=2,ranks_per_node=2,contend=1",
		   *leaf = "dp=4,layers=1,steps=1,ranks_per_node=1,leaf=2,oversub=2,contend=1",
		   *under = "dp=2,layers=1,steps=1,ranks_per_node=1,leaf=2,oversub=2,contend=1";
	struct job j = plain(each, 20e3);
	int64_t alone = 340 * US + 20 * US;
	struct play *p;

	T_OK(span(&j, 1) == alone, "with a NIC each nobody waits for another's exchange");
	j = plain(one, 20e3);
	T_OK(span(&j, 1) == alone + 20 * US, "two exchanges on one NIC take twice as long");
	T_OK(span(&j, 2) == 2 * (alone + 20 * US), "in the next step as in this one");
	fault(&j, "slow_gpu:rank=2-3,by=1.05");
	T_OK(span(&j, 1) == alone + 20 * US + 15 * US, "whoever else is late");
	j = plain(leaf, 20e3);
	T_OK(span(&j, 1) == 300 * US + 40 * US,
	     "what leaves a leaf with half the links takes twice as long");
	j = plain(under, 20e3);
	T_OK(span(&j, 1) == 300 * US + 20 * US, "what stays below it does not");
	/* Stages on other nodes: gradients of one micro-batch go up while another's are shared. */
	j = plain("dp=2,pp=2,layers=2,micro_batches=4,steps=1,ranks_per_node=1,contend=1", 90e3);
	p = play(&j, 0, 1);
	T_OK(p->meets > 0 && p->end_ns < SIM_NEVER, "exchanges of several kinds share, too");
	play_free(p);
}

static void hangs(void)
{
	static const char *const kind[] = { "host_hang:rank=1,from=1", "crash:rank=1,from=1",
					    "transport_hang:rank=1,from=1",
					    "desync:rank=1,from=1" };

	for (size_t i = 0; i < 4; i++) {
		struct job j = plain("dp=4,layers=2,steps=3", 50e3);
		struct play *p;
		bool stuck = true;

		fault(&j, kind[i]);
		p = play(&j, 0, 1);
		T_OK(!p->hung && play_step(p) == 0 && p->hung, "%s: a step never ends", kind[i]);
		for (uint32_t r = 0; r < 4; r++)
			stuck &= host_end(p, r) == SIM_NEVER;
		T_OK(stuck, "for anybody");
		T_OK(p->time[sim_end(play_work(p, 0, op_named(p, 0, "f", 0)))] == 750 * US,
		     "what waits for nobody was done");
		T_OK(play_step(p) == -ENODATA, "and no step follows");
		play_free(p);
	}
}

static void chance(void)
{
	struct job j = plain("dp=4,pp=2,layers=4,steps=5,micro_batches=3", 50e3), other;
	struct play *a, *b, *c;
	size_t points;

	j.noise = 1;
	other = j;
	fault(&other, "thermal_throttle:rank=3,by=2+python_gc:by=1,every=2");
	a = play(&j, 0, 5);
	b = play(&other, UINT32_MAX, 5);
	points = 2 * a->net->tasks;
	T_OK(!memcmp(a->time, b->time, points * sizeof(*a->time)),
	     "the same seed gives the same times, and leaving faults out a healthy twin");
	play_free(b);
	b = play(&other, 1, 5);
	c = play(&other, 0, 5);
	T_OK(c->end_ns > b->end_ns && b->end_ns > a->end_ns, "each fault costs its part");
	play_free(c);
	j.seed = 2;
	c = play(&j, 0, 5);
	T_OK(a->end_ns != c->end_ns, "another seed gives others");
	T_OK(llabs(a->end_ns - c->end_ns) < a->end_ns / 20, "that are not far off");
	play_free(a);
	play_free(b);
	play_free(c);
}

static void words(void)
{
	static const char *const bad[] = { "nosuch",
					   "slow_gpu:rank=8",
					   "slow_gpu:by=0.5",
					   "slow_gpu:node=0",
					   "slow_gpu:rank",
					   "last_stage",
					   "nic_degraded:rank=1",
					   "slow_gpu:from=1.5",
					   "",
					   "+",
					   "slow_gpu:rank=3-2",
					   "expert_imbalance:rank=1" };
	static const char *const sets[] = { "dp",     "dp=",      "dp=0",      "dp=1.5", "nosuch=1",
					    "dp=1,,", "noise=-1", "noise=nan", "dp=1e30" };
	char why[JOB_WHY];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct job j = plain("dp=8", 0);

		T_OK(job_fault(&j, bad[i], why) == -EINVAL && *why && !j.faults,
		     "'%s' is refused: %s", bad[i], why);
	}
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		struct job j = plain("dp=8", 0);

		T_OK(job_set(&j, sets[i], why) == -EINVAL && *why, "'%s' is refused: %s", sets[i],
		     why);
	}
}

static void courses(void)
{
	static const struct {
		const char *text;
		double share[6];
		uint32_t onset;
	} is[] = {
		{ "slow_gpu:rank=0,from=2,for=3", { 0, 0, 1, 1, 1, 0 }, 2 },
		{ "slow_gpu:rank=0,course=ramp,every=4", { .25, .5, .75, 1, 1, 1 }, 0 },
		{ "slow_gpu:rank=0,course=ladder", { 1 / 3., 1 / 3., 2 / 3., 2 / 3., 1, 1 }, 0 },
		{ "slow_gpu:rank=0,course=onoff,every=2,from=1", { 0, 1, 1, 0, 0, 1 }, 1 },
		{ "slow_gpu:rank=0,course=every,every=3", { 0, 0, 1, 0, 0, 1 }, 2 },
		{ "slow_gpu:rank=1", { 0 }, 0 },
	};

	for (size_t i = 0; i < T_LEN(is); i++) {
		struct job j = plain("dp=2,steps=6", 0);
		bool same = true;

		fault(&j, is[i].text);
		for (uint32_t s = 0; s < 6; s++)
			same &= fabs(fault_share(j.fault, &j, 0, s) - is[i].share[s]) < 1e-9;
		T_OK(same && fault_onset(j.fault, &j) == is[i].onset, "%s comes as it should",
		     is[i].text);
	}
}

/* A step of the models, added up, and the same step played: two ways to one number. */
static void as_composed(const char *model, const char *set)
{
	char why[JOB_WHY] = "";
	struct step s = { .mode = STEP_TRAIN, .type = GPU_BF16 };
	struct step_cost cost = { 0 };
	const char *wrong = NULL;
	int64_t played;
	struct job j;
	int err;

	job_init(&j);
	j.gpu = gpu_find("H100_SXM");
	j.noise = 0;
	T_OK(job_model(&j, model, why) == 0 && job_set(&j, set, why) == 0, "%s %s", model, set);
	s.model = (struct step_model){ .layers = j.layers,
				       .hidden = j.hidden,
				       .heads = j.heads,
				       .kv_heads = j.kv_heads,
				       .ffn = j.ffn,
				       .vocab = j.vocab,
				       .gated = j.gated };
	s.seq = j.seq;
	s.batch = (uint64_t)j.micro_batch * j.micro_batches * j.dp;
	s.tp = j.tp;
	s.pp = j.pp;
	s.dp = j.dp;
	s.micro = j.micro_batches;
	s.zero = j.zero;
	s.gpus_per_node = j.ranks_per_node;
	err = step_cost(&cost, &wrong, j.gpu, &s);
	played = span(&j, 1);
	T_OK(err == 0 && fabs((double)played - cost.ns) < 0.04 * cost.ns,
	     "%s %s: composed %.2f ms, played %.2f ms %s", model, set, cost.ns / 1e6,
	     (double)played / 1e6, err ? wrong : "");
}

/* --- as events --- */

static struct trace *trace_of(const struct job *j, uint32_t without, int64_t *end)
{
	struct play_out *out = NULL;
	struct play *p = NULL;
	struct trace *t;
	int err = trace_new(&t);

	err = err ? err : play_new(&p, j, without);
	err = err ? err : play_out_new(&out, j, t);
	while (!err && !(err = play_step(p)))
		err = play_out_step(out, p);
	T_OK(err == -ENODATA && trace_seal(t) == 0, "a trace is made (%d)", err);
	*end = p->end_ns;
	play_out_free(out);
	play_free(p);
	return t;
}

static void events(void)
{
	struct job j = plain("dp=2,layers=2,steps=3", 50e3);
	uint64_t kernels = 0, comm = 0, steps = 0, compute = 0;
	int64_t end;
	struct trace *t = trace_of(&j, 0, &end);

	for (size_t i = 0; i < t->events; i++) {
		const struct event *e = &t->event[i];
		bool is = t->event_comm && t->event_comm[i];

		steps += e->kind == EVENT_STEP;
		kernels += e->kind == EVENT_KERNEL && !is;
		comm += is;
		compute += e->kind == EVENT_KERNEL && !is ? e->dur_ns : 0;
	}
	T_OK(t->files == 2 && t->file[1].rank == 1 && t->file[1].world == 2, "each rank is a file");
	T_OK(steps == 6 && kernels == 24 && comm == 12, "each kernel, exchange and step an event");
	T_OK(compute == 2ull * 3 * 600 * US, "of the length that it has");
	T_OK(end == 3 * 650 * US, "and steps are made of them and of what is not hidden");
	trace_free(t);
}

static void batches(void)
{
	struct job j =
		plain("dp=2,layers=1,steps=2,packed=1,seq=4096,micro_batch=1,micro_batches=2", 0);
	uint64_t tokens = 0, squares = 0, n = 0;
	int64_t end;
	struct trace *t = trace_of(&j, 0, &end);

	for (size_t i = 0; i < t->events; i++) {
		const struct event *e = &t->event[i];

		if (e->kind != EVENT_COUNTER)
			continue;
		n++;
		if (!strcmp(trace_text(t, e->name), "tokens"))
			tokens += e->a;
		else
			squares += e->a;
	}
	T_OK(n == 8 && tokens == 4 * 2 * 4096, "of packed batches their tokens are told");
	T_OK(squares < 4 * 2 * 4096ull * 4096 && squares > tokens * 16,
	     "and the squares of their sequences' lengths");
	trace_free(t);
}

/* The exchanges that rank issued in the step that never ended: how many, and the number of the first. */
static void issued(const struct trace *t, uint32_t rank, uint64_t *n, uint64_t *first)
{
	*n = *first = 0;
	for (size_t i = 0; i < t->events; i++) {
		if (t->event[i].kind != EVENT_COLLECTIVE || t->event_comm[i] == 0 ||
		    t->process[t->track[t->event[i].track].process].file != rank)
			continue;
		*first = *n && *first < t->event[i].b ? *first : t->event[i].b;
		*n += 1;
	}
}

static void evidence(void)
{
	static const struct {
		const char *what;
		uint64_t own, first, others, others_first;
	} is[] = {
		{ "host_hang:rank=1,from=1", 0, 0, 2, 3 },
		{ "transport_hang:rank=1,from=1", 2, 3, 2, 3 },
		{ "desync:rank=1,from=1", 1, 3, 2, 3 },
	};

	for (size_t i = 0; i < T_LEN(is); i++) {
		struct job j = plain("dp=4,layers=2,steps=3", 50e3);
		uint64_t own, first, others, others_first;
		struct trace *t;
		int64_t end;

		fault(&j, is[i].what);
		t = trace_of(&j, 0, &end);
		issued(t, 1, &own, &first);
		issued(t, 2, &others, &others_first);
		T_OK(own == is[i].own && first == is[i].first && others == is[i].others &&
			     others_first == is[i].others_first,
		     "%s: who issued what tells whose fault it is (%d %d, %d %d)", is[i].what,
		     (int)own, (int)first, (int)others, (int)others_first);
		trace_free(t);
	}
}

/*
 * What was recorded of a run with a fault, replayed with the fault's time taken off again. Of an
 * exchange beside the compute a recording does not tell what it waited for while it also waited
 * for the one before it: so within 2 %, not to the nanosecond.
 */
static void replayed(const char *set, const char *what, uint32_t rank, double by)
{
	struct job j = plain(set, 50e3);
	struct sim_graph *g = NULL;
	int64_t end, healthy, got = 0, *lag = NULL, *time = NULL;
	struct trace *t;

	j.noise = 1;
	j.clock_ms = 1;
	j.call_us = 4;
	j.gap_us = 3;
	fault(&j, what);
	trace_free(trace_of(&j, UINT32_MAX, &healthy));
	t = trace_of(&j, 0, &end);
	if (sim_graph_new(&g, t, NULL) == 0) {
		lag = malloc(g->edges * sizeof(*lag));
		time = malloc(2 * g->tasks * sizeof(*time));
		for (size_t i = 0; i < g->edges; i++)
			lag[i] = g->edge[i].lag;
		for (size_t i = 0; i < g->tasks; i++)
			if (g->task[i].file == rank && g->task[i].kind == SIM_COMPUTE)
				lag[g->task[i].own] = (int64_t)((double)lag[g->task[i].own] / by);
		sim_run(g, lag, time);
		got = sim_span(g, time);
	}
	T_OK(end > healthy * 11 / 10 && llabs(got - healthy) < healthy / 50,
	     "%s: %lld us with it, replayed without %lld, the twin took %lld", what,
	     (long long)end / 1000, (long long)got / 1000, (long long)healthy / 1000);
	free(lag);
	free(time);
	sim_graph_free(g);
	trace_free(t);
}

int main(void)
{
	pipeline();
	overlap();
	sharded();
	straggler();
	tensors();
	loader();
	network();
	contention();
	hangs();
	chance();
	courses();
	words();
	as_composed("small", "dp=8");
	as_composed("llama2-7b", "dp=2,tp=8");
	as_composed("llama2-7b", "dp=1,tp=4,pp=4,micro_batches=8");
	as_composed("llama3-8b", "dp=16,tp=2");
	as_composed("llama2-7b", "dp=8,zero=3");
	events();
	batches();
	evidence();
	replayed("dp=4,layers=4,steps=5", "slow_gpu:rank=2,by=1.5", 2, 1.5);
	replayed("dp=2,tp=2,layers=4,steps=5", "slow_gpu:rank=1,by=1.8", 1, 1.8);
	replayed("dp=1,pp=4,layers=4,steps=3,micro_batches=6", "slow_gpu:rank=1,by=1.6", 1, 1.6);
	return t_done();
}
