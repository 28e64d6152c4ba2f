/* SPDX-License-Identifier: Apache-2.0 */
/*
 * question.h - the questions that people ask a cluster, and their answers as data, for any
 * presentation.
 *
 * Times of day are nanoseconds since 1970, UTC; durations are nanoseconds, summed over GPUs where
 * it says so. Of a step that all ranks take together
 *
 *	step = busy + exposed + idle
 *
 * exposed: a collective was under way and no kernel ran. `lost` is the part spent waiting for
 * others: how much longer a rank waits than the rank that waits least in the same hour. A
 * collective cannot be shorter than for the rank that came last, so the rest is the transfer
 * itself.
 */
#pragma once

#include "fleet/fleet.h"

struct fleet_span {
	uint64_t from_ns, to_ns; /* [from, to); of roll-ups whole hours count */
};

/* Summed over ranks. */
struct fleet_sum {
	uint64_t steps; /* of ranks: a step of 8 ranks is 8 */
	double held_ns; /* GPUs were taken, whatever they did */
	double step_ns, compute_ns, exposed_ns, idle_ns, lost_ns;
};

static inline double fleet_busy(const struct fleet_sum *s)
{
	double busy = s->step_ns - s->exposed_ns - s->idle_ns;

	return busy > 0 ? busy : 0;
}

/* Taken, and in no step. */
static inline double fleet_outside(const struct fleet_sum *s)
{
	return s->held_ns > s->step_ns ? s->held_ns - s->step_ns : 0;
}

/* --- finding rows --- */

struct fleet_finding {
	char job[FLEET_WORD], kind[FLEET_WORD], level[16], part[FLEET_WORD], host[FLEET_WORD];
	char text[256], source[24];
	uint64_t t_ns, until_ns;
	double gain, confidence;
	bool act;
};
struct fleet_findings {
	struct fleet_finding *f; /* owned; those to act on first, then by what they cost */
	size_t n;
};
/* `job` NULL: of all. */
int fleet_findings(struct fleet_findings *out, struct fleet *f, const char *job,
		   struct fleet_span span, size_t most, struct store_why *why);
void fleet_findings_fini(struct fleet_findings *fs);

/* --- the whole --- */

struct fleet_job {
	char job[FLEET_WORD], user[FLEET_WORD];
	char gpu[FLEET_WORD], driver[FLEET_WORD], framework[FLEET_WORD];
	uint32_t ranks, gpus, hosts, world;
	uint64_t begin_ns, end_ns;
	bool live;
	struct fleet_sum sum;
	double step_ns; /* of one, in the mean; 0: it has none */
	/* The rank with the most work of its own in the hour that lost most, and its excess over
	 * the ranks' median as a share; -1: none stands out. */
	int32_t slow_rank;
	double slow_over;
	char slow_host[FLEET_WORD];
	double most_ns;    /* lost in the hours in which that was so */
	char finding[256]; /* the first, or "" */
};

struct fleet_node {
	char host[FLEET_WORD], rack[FLEET_WORD], version[32];
	uint32_t leaf, processes;
	uint64_t seen_ns; /* last heartbeat */
	bool silent;      /* it had processes, and has not reported for FLEET_SILENT_NS */
	uint64_t lost_records, spool_bytes;
	int64_t clock_off_us; /* INT64_MAX: not known */
	double lost_ns;       /* time that others waited for its ranks */
	char job[FLEET_WORD]; /* the one that waited most, */
	double most_ns;       /* and how long */
};
#define FLEET_SILENT_NS 90000000000ull

struct fleet_overview {
	struct fleet_span span;
	struct fleet_job *job; /* owned; what lost most first */
	size_t jobs;
	struct fleet_node *node; /* owned; silent ones first, then those waited for most */
	size_t nodes, silent;
	struct fleet_sum sum;
	uint32_t gpus;  /* of jobs that are live */
	uint64_t drops; /* rows that nodes dropped before they arrived */
};
int fleet_overview(struct fleet_overview *out, struct fleet *f, struct fleet_span span,
		   struct store_why *why);
void fleet_overview_fini(struct fleet_overview *o);

/* --- one job --- */

/* The owner of a job. -ENOENT: there is none of that name. */
int fleet_job_user(struct fleet *f, const char *job, char user[FLEET_WORD], struct store_why *why);

struct fleet_rank {
	int32_t rank;
	uint32_t leaf;
	char host[FLEET_WORD], rack[FLEET_WORD];
	struct fleet_sum sum; /* of this rank; lost: its waiting for others */
	double own_ns;        /* of a step: all but exposed communication */
	double over;          /* own_ns above the ranks' median, a share */
};

struct fleet_kernel {
	uint64_t name;
	uint32_t kind; /* enum event_kind */
	uint64_t count, total_ns, min_ns, max_ns, bytes;
	uint64_t floor_ns, judged_ns; /* of judged_ns, the time at its roofline bound */
	char *text;                   /* owned */
};

struct fleet_hour {
	uint64_t t_ns;
	struct fleet_sum sum;
	uint32_t ranks;
};

struct fleet_report {
	struct fleet_span span;
	struct fleet_job job;
	struct fleet_rank *rank; /* owned; by rank */
	size_t ranks;
	struct fleet_kernel *kernel; /* owned; longest first */
	size_t kernels, more_kernels;
	uint64_t kernel_ns, more_ns; /* of all, and of those that are not in the list */
	struct fleet_hour *hour;     /* owned; in order */
	size_t hours;
	struct fleet_findings findings;
	uint64_t first_step, last_step, steps; /* as one rank counts them */
	double p50_ns, p99_ns;                 /* of a step; of the lowest rank */
	uint64_t emitted, stored, lost, overwritten;
};
#define FLEET_KERNELS 200u
int fleet_report(struct fleet_report *out, struct fleet *f, const char *job, struct fleet_span span,
		 struct store_why *why);
void fleet_report_fini(struct fleet_report *r);
/* The rank whose own work stands out, or NULL. */
const struct fleet_rank *fleet_slow_rank(const struct fleet_report *r);
#define FLEET_OVER 0.02 /* above the median: less is noise */

/* over_time.c: the hour since which a step takes another time. */
struct fleet_since {
	uint64_t t_ns;
	double before_ns, after_ns; /* of a step, medians of hours */
};
bool fleet_since(const struct fleet_report *r, struct fleet_since *out); /* false: there is none */

/* --- ranks x steps --- */

enum fleet_measure { FLEET_OWN, FLEET_STEP, FLEET_COMM, FLEET_IDLE, FLEET_MEASURES };

/* The order of ranks: by number, node, rack and switch, or the slowest first. */
enum fleet_order { FLEET_BY_RANK, FLEET_BY_HOST, FLEET_BY_LEAF, FLEET_BY_SLOW, FLEET_ORDERS };

struct fleet_heat_ask {
	const char *job;
	enum fleet_measure measure;
	enum fleet_order order;
	uint32_t wide, high;         /* cells at most */
	uint64_t from_step, to_step; /* both included */
	bool newest; /* above the limit: the newest steps, all of them; else a sample of all */
};

/* The worst of a cell's ranks and steps, and what it took; NaN: nothing. Shares are against the step's median. */
struct fleet_cell {
	float worst, mean;
	int32_t rank;
	uint32_t step;
	double ns;
};

#define FLEET_SLOWEST 8u
struct fleet_heat {
	uint32_t ranks, rows, columns;
	uint64_t all;          /* steps of the job that were asked for; */
	uint64_t steps, every; /* steps that were read, one of every so many */
	uint64_t first, last;  /* step */
	struct fleet_rank *
		rank; /* owned, in order: own_ns is what was measured, over against the ranks' median */
	uint32_t *row;           /* owned: place of the first of each row, and one more */
	uint64_t *step;          /* owned: first of each column */
	struct fleet_cell *cell; /* owned: rows x columns */
	struct fleet_rank slow[FLEET_SLOWEST];
	size_t slows;
};
int fleet_heat(struct fleet_heat *out, struct fleet *f, const struct fleet_heat_ask *a,
	       struct store_why *why);
void fleet_heat_fini(struct fleet_heat *h);

/* --- steps of one rank --- */

struct fleet_step {
	uint64_t step, t_ns;
	double step_ns, compute_ns, comm_ns, exposed_ns, idle_ns;
};
struct fleet_steps {
	struct fleet_step *s; /* owned; the newest first */
	size_t n;
};
int fleet_steps(struct fleet_steps *out, struct fleet *f, const char *job, int32_t rank,
		uint64_t last, size_t most, struct store_why *why);
void fleet_steps_fini(struct fleet_steps *x);

/* --- records of steps --- */

struct step_rec;
/* All of one step that are there, by rank; steps come in order. */
typedef int fleet_step_fn(void *arg, const struct step_rec *rec, size_t n);
int fleet_records(struct fleet *f, const char *job, uint32_t ranks, uint64_t first, uint64_t last,
		  fleet_step_fn *fn, void *arg, struct store_why *why);

/* --- jobs that run --- */

struct fleet_running {
	char job[FLEET_WORD];
	uint32_t world;
	bool live;                 /* one of its processes is connected */
	uint64_t begin_ns, end_ns; /* of its processes: joined, and last heard of */
};
struct fleet_runnings {
	struct fleet_running *r; /* owned; by name */
	size_t n;
};
/* Jobs with ranks that reported since; `job` NULL: all. */
int fleet_running(struct fleet_runnings *out, struct fleet *f, const char *job, uint64_t since_ns,
		  size_t most, struct store_why *why);

/* How many ranks have sent their record of a step, and how many of these hang in it. */
struct fleet_new_step {
	uint64_t step, ranks, partial, t_ns;
};
typedef int fleet_new_step_fn(void *arg, const struct fleet_new_step *s);
/* Steps from `first` on that begin at from_ns or later, in order, `most` of them. */
int fleet_new_steps(struct fleet *f, const char *job, uint64_t first, uint64_t from_ns, size_t most,
		    fleet_new_step_fn *fn, void *arg, struct store_why *why);
/* Of each rank the newest partial record of these steps. *out is the caller's to free(). */
int fleet_stand(struct step_rec **out, size_t *n, struct fleet *f, const char *job, uint64_t first,
		uint64_t from_ns, size_t most, struct store_why *why);

/* Ranks whose process has ended since. *rank is the caller's to free(). */
int fleet_gone(uint32_t **rank, size_t *n, struct fleet *f, const char *job, uint64_t from_ns,
	       size_t most, struct store_why *why);

/* The place of a rank; empty and 0: unknown. */
struct fleet_place {
	char host[FLEET_WORD];
	uint64_t proc;
};
int fleet_place(struct fleet_place *out, struct fleet *f, const char *job, uint32_t rank,
		struct store_why *why);

/* --- what got slower with a version --- */

struct fleet_change {
	char *text; /* owned: kernel */
	uint64_t name;
	char what[12]; /* driver or framework */
	char gpu[FLEET_WORD], before[FLEET_WORD], after[FLEET_WORD];
	double before_ns, after_ns; /* of a call, in the mean */
	uint64_t before_count, after_count, before_jobs, after_jobs;
	double cost_ns; /* over the span: the additional time of the calls */
};
struct fleet_changes {
	struct fleet_change *c; /* owned; the costliest first */
	size_t n;
};
int fleet_changes(struct fleet_changes *out, struct fleet *f, struct fleet_span span,
		  struct store_why *why);
void fleet_changes_fini(struct fleet_changes *cs);
