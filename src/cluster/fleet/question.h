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
	uint64_t from_ns, to_ns; /* [from, to); roll-ups count whole hours */
};

/* A sum over ranks. */
struct fleet_sum {
	uint64_t steps; /* steps of ranks: one step of 8 ranks counts 8 */
	double held_ns; /* time for which GPUs were allocated, busy or not */
	double step_ns, compute_ns, exposed_ns, idle_ns, lost_ns;
};

static inline double fleet_busy(const struct fleet_sum *s)
{
	double busy = s->step_ns - s->exposed_ns - s->idle_ns;

	return busy > 0 ? busy : 0;
}

/* Allocated, but in no step. */
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
	struct fleet_finding *f; /* owned; actionable ones first, then by cost */
	size_t n;
};
/* `job` NULL: of all jobs. */
int fleet_findings(struct fleet_findings *out, struct fleet *f, const char *job,
		   struct fleet_span span, size_t most, struct store_why *why);
void fleet_findings_fini(struct fleet_findings *fs);

/* --- overview --- */

struct fleet_job {
	char job[FLEET_WORD], user[FLEET_WORD];
	char gpu[FLEET_WORD], driver[FLEET_WORD], framework[FLEET_WORD];
	uint32_t ranks, gpus, hosts, world;
	uint64_t begin_ns, end_ns;
	bool live;
	struct fleet_sum sum;
	double step_ns; /* mean duration of a step; 0: it has no steps */
	/*
	 * The rank with the most work of its own in the hour with the largest loss, and how far it
	 * exceeds the median, as a share; -1: no rank stands out.
	 */
	int32_t slow_rank;
	double slow_over;
	char slow_host[FLEET_WORD];
	double most_ns;    /* the loss in the hours in which that rank stood out */
	char finding[256]; /* its first finding, or "" */
};

struct fleet_node {
	char host[FLEET_WORD], rack[FLEET_WORD], version[32];
	uint32_t leaf, processes;
	uint64_t seen_ns; /* time of the last heartbeat */
	bool silent;      /* it had processes and has sent nothing for FLEET_SILENT_NS */
	uint64_t lost_records, spool_bytes;
	int64_t clock_off_us; /* INT64_MAX: not known */
	double lost_ns;       /* time that other ranks waited for ranks on this node */
	char job[FLEET_WORD]; /* the job that waited most, */
	double most_ns;       /* and for how long */
};
#define FLEET_SILENT_NS 90000000000ull

struct fleet_overview {
	struct fleet_span span;
	struct fleet_job *job; /* owned; sorted by loss, largest first */
	size_t jobs;
	/* owned; silent nodes first, then by the time that others waited for them */
	struct fleet_node *node;
	size_t nodes, silent;
	struct fleet_sum sum;
	uint32_t gpus;  /* GPUs of live jobs */
	uint64_t drops; /* rows that nodes dropped before they arrived */
};
int fleet_overview(struct fleet_overview *out, struct fleet *f, struct fleet_span span,
		   struct store_why *why);
void fleet_overview_fini(struct fleet_overview *o);

/* --- one job --- */

/* The owner of a job. -ENOENT: there is no such job. */
int fleet_job_user(struct fleet *f, const char *job, char user[FLEET_WORD], struct store_why *why);

struct fleet_rank {
	int32_t rank;
	uint32_t leaf;
	char host[FLEET_WORD], rack[FLEET_WORD];
	struct fleet_sum sum; /* the sum of this rank; `lost` is its waiting for others */
	double own_ns;        /* per step: everything except exposed communication */
	double over;          /* how far own_ns exceeds the median of the ranks, as a share */
};

struct fleet_kernel {
	uint64_t name;
	uint32_t kind; /* enum event_kind */
	uint64_t count, total_ns, min_ns, max_ns, bytes;
	uint64_t floor_ns, judged_ns; /* floor_ns: time at the roofline bound for the judged_ns */
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
	struct fleet_rank *rank; /* owned; sorted by rank */
	size_t ranks;
	struct fleet_kernel *kernel; /* owned; longest first */
	size_t kernels, more_kernels;
	/* time of all kernels, and of those that are not in the list */
	uint64_t kernel_ns, more_ns;
	struct fleet_hour *hour; /* owned; in order */
	size_t hours;
	struct fleet_findings findings;
	uint64_t first_step, last_step, steps; /* as the lowest rank counts them */
	double p50_ns, p99_ns;                 /* duration of a step, from the lowest rank */
	uint64_t emitted, stored, lost, overwritten;
};
#define FLEET_KERNELS 200u
int fleet_report(struct fleet_report *out, struct fleet *f, const char *job, struct fleet_span span,
		 struct store_why *why);
void fleet_report_fini(struct fleet_report *r);
/* The rank whose own work stands out, or NULL. */
const struct fleet_rank *fleet_slow_rank(const struct fleet_report *r);
#define FLEET_OVER 0.02 /* a smaller excess over the median is noise */

/* over_time.c: the hour since which steps take a different time. */
struct fleet_since {
	uint64_t t_ns;
	double before_ns, after_ns; /* duration of a step, medians of hours */
};
bool fleet_since(const struct fleet_report *r, struct fleet_since *out); /* false: no such hour */

/* --- ranks x steps --- */

enum fleet_measure { FLEET_OWN, FLEET_STEP, FLEET_COMM, FLEET_IDLE, FLEET_MEASURES };

/* The order of ranks: by number, node, rack and switch, or the slowest first. */
enum fleet_order { FLEET_BY_RANK, FLEET_BY_HOST, FLEET_BY_LEAF, FLEET_BY_SLOW, FLEET_ORDERS };

struct fleet_heat_ask {
	const char *job;
	enum fleet_measure measure;
	enum fleet_order order;
	uint32_t wide, high;         /* limits on cells */
	uint64_t from_step, to_step; /* inclusive */
	/* if there are too many steps: true reads the newest ones, false a sample of all */
	bool newest;
};

/*
 * The worst rank and step of a cell, and its duration; NaN: no data. Shares are relative to the
 * step's median.
 */
struct fleet_cell {
	float worst, mean;
	int32_t rank;
	uint32_t step;
	double ns;
};

#define FLEET_SLOWEST 8u
struct fleet_heat {
	uint32_t ranks, rows, columns;
	uint64_t all;          /* steps of the job in the requested range */
	uint64_t steps, every; /* steps that were read: one in `every` */
	uint64_t first, last;  /* step */
	struct fleet_rank *
		/*
		 * owned, in the requested order: own_ns is the measure, `over` its excess over the
		 * median
		 */
		rank;
	uint32_t *row;           /* owned: index of the first rank of each row, and one more */
	uint64_t *step;          /* owned: first step of each column */
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
	struct fleet_step *s; /* owned; newest first */
	size_t n;
};
int fleet_steps(struct fleet_steps *out, struct fleet *f, const char *job, int32_t rank,
		uint64_t last, size_t most, struct store_why *why);
void fleet_steps_fini(struct fleet_steps *x);

/* --- records of steps --- */

struct step_rec;
/* All records of one step, sorted by rank. Called in the order of steps. */
typedef int fleet_step_fn(void *arg, const struct step_rec *rec, size_t n);
int fleet_records(struct fleet *f, const char *job, uint32_t ranks, uint64_t first, uint64_t last,
		  fleet_step_fn *fn, void *arg, struct store_why *why);

/* --- jobs that run --- */

struct fleet_running {
	char job[FLEET_WORD];
	uint32_t world;
	bool live;                 /* at least one of its processes is connected */
	uint64_t begin_ns, end_ns; /* when its first process joined, when the last was heard of */
};
struct fleet_runnings {
	struct fleet_running *r; /* owned; sorted by name */
	size_t n;
};
/* Jobs with ranks that reported since `since`; `job` NULL: all. */
int fleet_running(struct fleet_runnings *out, struct fleet *f, const char *job, uint64_t since_ns,
		  size_t most, struct store_why *why);

/* How many ranks have sent the record of a step, and how many of these hang in it. */
struct fleet_new_step {
	uint64_t step, ranks, partial, t_ns;
};
typedef int fleet_new_step_fn(void *arg, const struct fleet_new_step *s);
/* Up to `most` steps, in order, from step `first` on, that began at or after from_ns. */
int fleet_new_steps(struct fleet *f, const char *job, uint64_t first, uint64_t from_ns, size_t most,
		    fleet_new_step_fn *fn, void *arg, struct store_why *why);
/* The newest partial record of each rank for these steps. The caller frees *out. */
int fleet_stand(struct step_rec **out, size_t *n, struct fleet *f, const char *job, uint64_t first,
		uint64_t from_ns, size_t most, struct store_why *why);

/* Ranks whose process has ended since. The caller frees *rank. */
int fleet_gone(uint32_t **rank, size_t *n, struct fleet *f, const char *job, uint64_t from_ns,
	       size_t most, struct store_why *why);

/* Where a rank runs; empty and 0: unknown. */
struct fleet_place {
	char host[FLEET_WORD];
	uint64_t proc;
};
int fleet_place(struct fleet_place *out, struct fleet *f, const char *job, uint32_t rank,
		struct store_why *why);

/* --- kernels that a version made slower --- */

struct fleet_change {
	char *text; /* owned: kernel */
	uint64_t name;
	char what[12]; /* driver or framework */
	char gpu[FLEET_WORD], before[FLEET_WORD], after[FLEET_WORD];
	double before_ns, after_ns; /* mean duration of a call */
	uint64_t before_count, after_count, before_jobs, after_jobs;
	double cost_ns; /* the additional time of all calls in the span */
};
struct fleet_changes {
	struct fleet_change *c; /* owned; costliest first */
	size_t n;
};
int fleet_changes(struct fleet_changes *out, struct fleet *f, struct fleet_span span,
		  struct store_why *why);
void fleet_changes_fini(struct fleet_changes *cs);
