/* SPDX-License-Identifier: Apache-2.0 */
/* detect_sim.c - a simulated job as one node would see it, through aond's windows and detectors. */
#include "detect_sim.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agg/roll.h"
#include "model/event.h"
#include "sim/engine.h"

#define S     1000000000ull
#define NODE  8u
#define NAMES 512u
#define DAY   86400e9
/* A node's part of a job over two, with steps of tens of milliseconds. */
#define TWO   "dp=16,coarse=1,"
#define ONE   "dp=8,"
#define HOST  "dp=8,micro_batch=1,call_us=20,gap_us=10," /* whose host has no time to spare */
#define LONG  "dp=8,coarse=1,micro_batch=64,"
#define SAVES "checkpoint_stall:by=20000,every=700"

/* Magnitudes are the table's own where they cost a tenth of a step or more, else larger, within what
 * was published. The last one must not be heard. */
const struct sim_case sim_faults[] = {
	/* clang-format off */
	{ "thermal_throttle",   ONE, "thermal_throttle:rank=3,by=1.3",   4500, 2500, 0, 0, false, 0 },
	{ "power_cap",          ONE, "power_cap:node=0",                 4500, 2500, 0, 0, false, 0 },
	{ "hbm_degraded",       ONE, "hbm_degraded:rank=3,by=2",         4500, 2500, 0, 0, false, 0 },
	{ "slow_gpu",           ONE, "slow_gpu:rank=3,by=1.25",          4500, 2500, 0, 0, false, 0 },
	{ "foreign_process",    ONE, "foreign_process:rank=3",           4500, 2500, 0, 0, false, 0 },
	{ "nvlink_degraded",    "dp=1,tp=8,coarse=1,", "nvlink_degraded:node=0,by=3", 9000, 5000, 0, 0, false, 0 },
	{ "pcie_downgrade",     TWO, "pcie_downgrade:rank=3,by=16",      4500, 2500, 0, 0, false, 0 },
	{ "cpu_contention",     HOST, "cpu_contention:node=0",            4500, 2500, 0, 0, false, 0 },
	{ "slow_cpu",           HOST, "slow_cpu:node=0",                  4500, 2500, 0, 0, false, 0 },
	{ "python_gc",          ONE "coarse=1,", "python_gc",            4500, 2500, 0, 0, false, 0 },
	{ "allocator_thrash",   ONE "coarse=1,", "allocator_thrash:rank=3", 4500, 2500, 0, 0, false, 0 },
	{ "stray_sync",         HOST, "stray_sync",                       4500, 2500, 0, 0, false, 0 },
	{ "storage_slow",       TWO, "storage_slow:node=0",              4500, 2500, 0, 0, false, 0 },
	{ "slow_preprocessing", TWO, "slow_preprocessing:by=40",         4500, 2500, 0, 0, false, 0 },
	{ "length_imbalance",   TWO, "length_imbalance",                 4500, 2500, 0, 0, false, 0 },
	{ "last_stage",         "dp=2,pp=4,micro_batches=8,coarse=1,", "last_stage", 1600, 800, 0, 0, false, 0 },
	{ "expert_imbalance",   "dp=8,ep=8,experts=8,coarse=1,", "expert_imbalance:rank=3,by=3", 4500, 2500, 0, 0, false, 0 },
	{ "serialised_streams", TWO, "serialised_streams",               4500, 2500, 0, 0, false, 0 },
	{ "nic_degraded",       TWO, "nic_degraded:rank=3,by=6",         4500, 2500, 0, 0, false, 0 },
	{ "link_flap",          TWO, "link_flap:rank=3",                 3500, 2500, 0, 0, false, 0 },
	{ "congestion",         TWO, "congestion:node=0,by=6",           4500, 2500, 0, 0, false, 0 },
	{ "switch_fault",       TWO, "switch_fault:node=0-1,by=6",       4500, 2500, 0, 0, false, 0 },
	{ "silent_loss",        TWO, "silent_loss:rank=3,by=6",          4500, 2500, 0, 0, false, 0 },
	{ "no_gdr",             TWO, "no_gdr:node=0,by=6",               4500, 2500, 0, 0, false, 0 },
	{ "proxy_starved",      TWO, "proxy_starved:rank=3",             3500, 2500, 0, 0, false, 0 },
	{ "checkpoint_stall",   TWO, "checkpoint_stall",                 3500, 2500, 0, 0, false, 0 },
	{ "crash",              TWO, "crash:rank=3",                     600,  500,  0, 0, false, 0 },
	{ "transport_hang",     TWO, "transport_hang:rank=3",            600,  500,  0, 0, false, 0 },
	{ "desync",             TWO, "desync:rank=3",                    600,  500,  0, 0, false, 0 },
	{ "host_hang",          TWO, "host_hang:rank=3",                 600,  500,  0, 0, false, 0 },
	{ "silent_corruption",  TWO, "silent_corruption:rank=3",         4500, 2500, 0, 0, true, 0  },
	{ NULL, NULL, NULL, 0, 0, 0, 0, false, 0 },
	/* clang-format on */
};

/* Steps of 0.85 s: a day has 100,000. Checkpoints, evaluations, heat, packed sequences, routing. */
const struct sim_case sim_days[] = {
	/* clang-format off */
	{ "plain",          LONG,                          NULL, 118000, 0, 0,    0,    true, 0 },
	{ "noise x 2",      LONG "noise=2,",               NULL, 118000, 0, 0,    0,    true, 0 },
	{ "packed",         LONG "packed=0.5,",            NULL, 118000, 0, 0,    0,    true, 0 },
	{ "checkpoints, by ranges", LONG, SAVES, 115000, 1, 0, 0, true, SAVES_RANGE },
	{ "checkpoints, by bytes", LONG, SAVES, 115000, 1, 0, 0, true, SAVES_WRITTEN },
	{ "evaluations, heat", LONG,                       NULL, 112000, 0, 0.02, 1500,  true, 0 },
	{ "pipeline",       "dp=2,pp=4,micro_batches=8,coarse=1,micro_batch=16,", NULL, 125000, 0, 0, 0, true, 0 },
	{ "experts",        "dp=8,ep=8,experts=8,routing=0.02,coarse=1,micro_batch=64,", NULL, 70000, 0, 0, 0, true, 0 },
	{ NULL, NULL, NULL, 0, 0, 0, 0, false, 0 },
	/* clang-format on */
};

/* A process of a stranger that names no range: its first checkpoint looks like a hang. */
const struct sim_case sim_unseen = {
	"checkpoints that nothing tells of", LONG, SAVES, 115000, 1, 0, 0, true, SAVES_UNSEEN
};

/* --- what aond has --- */

struct rank {
	struct detect d;
	struct roll *roll;
	struct signs signs;
	bool began;                  /* has something to roll */
	uint64_t save_from, save_to; /* when a checkpoint was written, last */
};

struct node {
	const struct sim_case *c;
	struct rank rank[NODE];
	uint32_t ranks;
	const char *name[NAMES]; /* ids + 1: texts of the program */
	uint32_t names;
	struct late late;
	uint64_t late_at, looked, idle_ns;
	double scale, origin;
	struct heard *heard;
	uint64_t told_ns, same[ALARMS];
	enum alarm_kind first;
};

static uint64_t told_at;

static void hear(void *arg, const struct alarm *a)
{
	struct node *n = arg;

	/* As aond: ranks that say the same within a minute are one alarm. */
	if (n->same[a->kind] && told_at < n->same[a->kind] + 60 * S)
		return;
	n->same[a->kind] = told_at;
	n->heard->n[a->kind]++;
	if (a->kind == ALARM_STEP_FASTER || a->kind == ALARM_HANG_OVER) /* what was over */
		return;
	if (!n->heard->all++) {
		n->told_ns = told_at;
		n->first = a->kind;
	}
}

static uint32_t name_of(struct node *n, const char *text)
{
	uint32_t i = 0;

	while (i < n->names && strcmp(n->name[i], text))
		i++;
	if (i == n->names && n->names < NAMES)
		n->name[n->names++] = text;
	return i + 1;
}

static bool is_comm(void *arg, uint32_t name)
{
	const struct node *n = arg;

	return name <= n->names && !strncmp(n->name[name - 1], "nccl", 4);
}

struct closing {
	struct node *n;
	struct rank *r;
};

static void on_window(void *arg, const struct window *w)
{
	struct closing *c = arg;
	const struct detect_names names = { .is_comm = is_comm, .arg = c->n };

	told_at = w->start_ns + S;
	detect_window(&c->r->d, w, &names, told_at, hear, c->n);
}

/* --- from the play to events --- */

/* As a day's heat and pauses for evaluation make it. */
static uint64_t at(const struct node *n, int64_t ns)
{
	return S + n->idle_ns + (uint64_t)(n->origin + ((double)ns - n->origin) * n->scale);
}

static void take_op(struct node *n, const struct play *p, uint32_t r, uint32_t i)
{
	const struct program *g = play_program(p, r);
	const struct op *op = &g->op[i];
	uint32_t work = play_work(p, r, i);
	struct closing c = { n, &n->rank[r] };
	struct event e = { .kind = op->kind == OP_COPY ? EVENT_COPY : EVENT_KERNEL, .track = 1 };
	int64_t from = p->time[sim_start(work)], to = p->time[sim_end(work)];

	if (op->kind < OP_WORK || from >= SIM_NEVER || to >= SIM_NEVER)
		return;
	e.name = name_of(n, op->kind == OP_COLL ? "nccl" : op->name ? op->name : "?");
	e.start_ns = at(n, from);
	e.dur_ns = at(n, to) - e.start_ns;
	n->rank[r].signs.launches++;
	roll_add(n->rank[r].roll, &e, 1, on_window, &c);
}

/* The host pauses where the program has its checkpoint. */
static void take_pause(struct node *n, const struct play *p, uint32_t r, uint32_t i)
{
	const struct op *op = &play_program(p, r)->op[i];
	uint32_t call = play_call(p, r, i);
	int64_t from = p->time[sim_start(call)], to = p->time[sim_end(call)];

	if (op->kind != OP_PAUSE || op->what != PAUSE_CHECKPOINT || to >= SIM_NEVER || to <= from)
		return;
	n->rank[r].save_from = at(n, from);
	n->rank[r].save_to = at(n, to);
}

static void take_rank(struct node *n, const struct play *p, uint32_t r)
{
	const struct program *g = play_program(p, r);
	int64_t from = p->time[sim_start(play_call(p, r, 0))],
		to = p->time[sim_end(play_call(p, r, g->ops - 1))];
	struct rank *k = &n->rank[r];
	struct closing c = { n, k };
	uint64_t end;

	for (uint32_t i = 0; i < g->ops; i++) {
		take_op(n, p, r, i);
		take_pause(n, p, r, i);
	}
	k->signs.records++;
	if (to >= SIM_NEVER)
		return;
	end = at(n, to);
	k->signs.step++;
	told_at = end;
	detect_step(&k->d, p->step, end - at(n, from), end, hear, n);
	roll_close(k->roll, end - 2 * S, on_window, &c);
}

/* As checkpoint_guard.c does: for the rank that is paused, and for the ranks beside it. */
static void see_saves(struct node *n, uint32_t r)
{
	struct rank *k = &n->rank[r];
	bool in = n->looked >= k->save_from && n->looked < k->save_to;

	if (r == 0 && in && n->c->saves == SAVES_WRITTEN)
		k->signs.written += 100u << 20;
	if (!detect_still(&k->d))
		return;
	k->signs.saves = r == 0 && in && n->c->saves == SAVES_RANGE;
	k->signs.peer_saves = r > 0 && detect_saving(&n->rank[0].d);
}

/* What aond's clock does until `now`. */
static void look(struct node *n, uint64_t now)
{
	uint64_t id[NODE], comm[NODE];
	double share;
	size_t who;

	for (; n->looked < now; n->looked += S) {
		told_at = n->looked;
		for (uint32_t r = 0; r < n->ranks; r++) {
			see_saves(n, r);
			detect_look(&n->rank[r].d, &n->rank[r].signs, n->looked, hear, n);
		}
		if (n->looked < n->late_at + LATE_S * S)
			continue;
		n->late_at = n->looked;
		for (uint32_t r = 0; r < n->ranks; r++) {
			id[r] = r + 1;
			comm[r] = n->rank[r].d.comm_ns;
			n->rank[r].d.comm_ns = 0;
		}
		who = late_add(&n->late, id, comm, n->ranks, LATE_S * S, &share);
		if (who != SIZE_MAX)
			hear(n, &(struct alarm){ .kind = ALARM_STRAGGLER });
	}
}

/* While nothing steps, but the program is well: it evaluates. */
static void evaluate(struct node *n)
{
	for (int s = 0; s < 60; s++) {
		for (uint32_t r = 0; r < n->ranks; r++)
			n->rank[r].signs.launches++;
		n->idle_ns += S;
		look(n, n->looked + S);
	}
}

static int job_of(const struct sim_case *c, uint64_t seed, struct job *j)
{
	char why[JOB_WHY] = "", set[256], fault[256];
	int err;

	job_init(j);
	j->seed = seed;
	j->gpu = gpu_find("H100_SXM");
	j->steps = c->steps;
	snprintf(set, sizeof(set), "%.*s", (int)strlen(c->set) - 1, c->set); /* its last comma */
	err = job_model(j, "small", why);
	err = err ? err : job_set(j, set, why);
	if (!err && c->fault) {
		snprintf(fault, sizeof(fault), "%s%sfrom=%u", c->fault,
			 strchr(c->fault, ':') ? "," : ":", c->from);
		err = job_fault(j, fault, why);
	}
	err = err ? err : job_check(j, why);
	if (err)
		fprintf(stderr, "detect: %s: %s\n", c->word, why);
	return err;
}

/* Mean step from the fault on, with the faults that `without` leaves. 0: it hung. */
static double mean_step(const struct job *j, uint32_t from, uint32_t without)
{
	struct play *p;
	int64_t begin = 0;
	double mean = 0;

	if (play_new(&p, j, without) < 0)
		return 0;
	for (uint32_t i = 0; i < j->steps && !play_step(p); i++) {
		if (p->hung) {
			mean = 0;
			break;
		}
		if (i + 1 == from)
			begin = p->end_ns;
		if (i >= from)
			mean = (double)(p->end_ns - begin) / (double)(i + 1 - from);
	}
	play_free(p);
	return mean;
}

static int node_init(struct node *n, const struct sim_case *c, const struct job *j)
{
	struct roll_opts o = { .process = 1, .rows_max = 256, .name_other = 255 };
	int err = 0;

	memset(n, 0, sizeof(*n));
	n->c = c;
	n->scale = 1;
	n->looked = n->late_at = S;
	n->ranks = job_ranks(j) < NODE ? job_ranks(j) : NODE;
	for (uint32_t r = 0; r < n->ranks && !err; r++)
		err = roll_new(&n->rank[r].roll, &o);
	return err;
}

static void one_step(struct node *n, const struct play *p)
{
	uint64_t now;

	if (n->c->daily > 0) { /* the day's sine, from step to step */
		n->origin = (double)p->begin_ns;
		n->scale = 1 + n->c->daily * sin(6.283185307179586 * (double)p->begin_ns / DAY);
	}
	for (uint32_t r = 0; r < n->ranks; r++)
		take_rank(n, p, r);
	now = p->hung ? n->looked + 15 * S : at(n, p->end_ns);
	look(n, now);
	if (n->c->eval_every && p->step % n->c->eval_every == n->c->eval_every - 1)
		evaluate(n);
}

int sim_watch(const struct sim_case *c, uint64_t seed, bool twin, struct sim_got *got)
{
	static struct node n;
	uint64_t onset = 0;
	struct job j;
	struct play *p;
	int err = job_of(c, seed, &j);

	err = err ? err : node_init(&n, c, &j);
	err = err ? err : play_new(&p, &j, 0);
	if (err)
		return err;
	memset(got, 0, sizeof(*got));
	n.heard = &got->before;
	while (!play_step(p)) {
		if (p->step == c->from && c->fault && !c->quiet) {
			n.heard = &got->after;
			onset = at(&n, p->begin_ns);
		}
		one_step(&n, p);
		if (p->hung)
			break;
	}
	got->hours = (double)n.looked / 3600e9;
	got->tell_s = got->after.all ? ((double)n.told_ns - (double)onset) / 1e9 : -1;
	got->first = n.first;
	if (twin && !p->hung)
		got->slowdown = mean_step(&j, c->from, 0) / mean_step(&j, c->from, UINT32_MAX);
	play_free(p);
	for (uint32_t r = 0; r < n.ranks; r++)
		roll_free(n.rank[r].roll);
	return 0;
}
