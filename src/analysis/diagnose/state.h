/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the state that the diagnosis keeps per job. docs/diagnosis.md explains constants. */
#pragma once

#include "base/map.h"
#include "diagnose/diagnose.h"

#define WARM        10u    /* steps that a job needs to warm up */
#define LEARN       32u    /* steps that form a history */
#define LEARN_LEAST 6u     /* of a short recording */
#define RING        32u    /* steps that are kept */
#define SHORT       8u     /* of these, the newest */
#define WORTH       0.01   /* share of a step that is worth acting on */
#define NOISE_LOW   0.0005 /* share of a step: the minimum noise of a series */
#define ROLES_MAX   512u
#define COPY_LONGER 1.5f
#define PEERS_MIN   3u /* ranks of a role that can be compared */
#define NOBODY      UINT32_MAX
#define INCIDENTS   64u
#define PLAIN       1.0f /* of a transfer: twice as long is reported at once */
#define HOLD_OFF    32u  /* steps after which the same finding is reported again */
#define QUIET       8u   /* the same, if the series themselves say that it is over */

/* Time that a rank spends by itself, never waiting for others. */
enum own { OWN_COMPUTE, OWN_HOST, OWN_INPUT, OWNS };
/* Series of a role as a whole. */
enum whole {
	WHOLE_COMPUTE,
	WHOLE_HOST,
	WHOLE_INPUT,
	WHOLE_EXPOSED,
	WHOLE_HIDDEN,
	WHOLE_STAGE,
	WHOLES
};

/* One series against its past: a CUSUM and the newest values (cusum.c). */
struct cusum {
	float base, sum;
	float level, down; /* of what is up: how much, and the other side's sum: is it back? */
	float ring[RING];
	uint32_t seen, back; /* back: `seen` when it was; 0: never */
	uint8_t fast;        /* steps in a row that are far out */
	bool learnt;
};

struct diag_rank {
	const struct step_rec *rec; /* of this step, borrowed; NULL: missing */
	uint32_t role, cell;        /* cell: those with a batch of the same kind, in this step */
	uint32_t host, leaf;
	uint32_t regime;
	uint32_t pipe;      /* ranks that communicate with each other as stages */
	float y[OWNS];      /* against its peers, of a step */
	float effect[OWNS]; /* against its past, in the mean of the newest steps */
	struct cusum own[OWNS];
	float work;                /* compute that tokens and lengths explain, beyond the mean */
	float copy, copy_base;     /* between host and device */
	float retrans;             /* share of steps in which its NIC retransmitted; fading */
	float alloc;               /* of a step, fading */
	float expert, expert_base; /* tokens of its experts, against the mean */
	float begin[STEP_SLOTS];   /* by slot: its first operation in the last complete step */
	float pace[STEP_SLOTS];    /* time from one of them to the next */
	float mass;                /* waiting that ends at this rank, fading */
	bool copy_odd;             /* its copies always took longer than those of its peers */
	uint16_t copies, allocs, experts;
	uint16_t clock_mhz; /* the highest value seen */
	bool fixed;         /* its cost is reported: the next what-if excludes it */
	bool alarm[OWNS], level[OWNS], known; /* level: out of line from the start */
};

/* Least squares of compute on tokens and squared lengths, fading (fit.c). */
struct fit {
	double n, x[2], y, xx[3], xy[2];
	double slope[2], at[2];
};

/* Ranks that do the same work (a role), or those among them with similar batches (a cell). */
struct diag_role {
	uint32_t hash;
	uint32_t first; /* the lowest rank */
	uint32_t n;     /* ranks in this step, in order[from..] */
	uint32_t from;
	uint32_t host; /* of the first; many: there are others */
	bool many, staged;
	double step_ns; /* medians of this step */
	double ref[OWNS], exposed, hidden,
		plain; /* plain: compute without embedding, loss and optimizer */
	float noise[OWNS];
	struct fit fit;
	struct cusum whole[WHOLES];
	float whole_noise[WHOLES];
	float uneven, uneven_base; /* share of a step that equal work would save, fading */
	float issue, issue_base, launch, launch_base,
		call;   /* of hosts: medians, fading; and in the past */
	float scale;    /* of step_ns, when it began */
	uint32_t steps; /* in which it was there */
	bool judged;    /* the levels of its ranks were compared */
};

struct diag_comm {
	uint64_t comm;
	uint8_t op;
	bool far, mixed; /* mixed: members on several hosts */
	uint32_t members, host, first, role;
	/* of this step */
	uint32_t came, step, last; /* last: the rank that came last */
	float probe[STEP_PROBES], least, most;
	/* the transfer time against its past: ratio - 1 */
	struct cusum x;
	float whole;             /* of its members' records, fading */
	uint32_t full;           /* bits of x.ring: none was missing */
	float noise, was;        /* was: its own past, where it is odd */
	float now, extra_ns;     /* the newest value, and its share of a step's collectives */
	bool alarm, spikes, odd; /* odd: longer than its peers from the start */
	uint8_t up;              /* steps in a row that it was longer */
	bool prompts;            /* of this step: of batches that read prompts */
};

/* Medians of hours, and the steps of the one that is under way (drift.c). */
#define DRIFT_HOURS 50u
#define DRIFT_KEEP  256u
struct drift {
	uint64_t at; /* hour */
	uint32_t hours, n, skip, every;
	float hour[DRIFTS][DRIFT_HOURS];
	float now[DRIFTS][DRIFT_KEEP];
};

struct diag {
	uint32_t world, ranks; /* ranks: that came */
	uint32_t step, steps;
	uint32_t warm, learn; /* steps before a history begins, and steps that form it */
	struct diag_rank *rank;
	struct diag_role role[ROLES_MAX]; /* roles, and cells */
	uint32_t roles;
	struct step_rec *stand; /* owned; of a hang: the last record of each rank. NULL: none */
	uint32_t *order;        /* ranks by cell */
	uint32_t *index;        /* [rank][slot]: which communicator */
	struct diag_comm *comm;
	struct lookup by_comm;
	uint32_t comms;
	float *room, *room2; /* for the world */
	double step_ns;      /* of this step: median */
	struct cusum whole;  /* of the step's time */
	float whole_noise;
	double slowdown; /* mean ratio of step time to that with equal work and no bad place */
	uint32_t slowdowns;
	double mass;           /* waiting that was followed back, fading */
	double gc[2], ckpt[2]; /* of the newest steps: time lost, and total; fading */
	float gcs, ckpts;      /* how many, fading */
	uint32_t ckpt_step, ckpt_gap;
	uint32_t unexplained; /* steps in which communication grew and no place explained it */
	struct incident {
		struct diag_verdict said; /* the last word */
		uint32_t last;            /* number of the step, in d->steps */
		float gain;
		bool act, open;
	} incident[INCIDENTS]; /* reported, and not over */
	struct drift drift;
	uint32_t hosts, stages; /* stages of a pipeline; 1: none */
	uint16_t micro;
	bool infer, regrouped, judged; /* judged: transfers were compared with their peers */
};

/* --- stat.c --- */
float select_at(float *v, size_t n, double q);  /* reorders; 0 of none */
float spread_of(float *v, size_t n, float mid); /* 1.4826 median deviation; overwrites */
/*
 * Benjamini-Hochberg: the highest of these p-values that counts as a discovery, at a false
 * discovery rate of q; sorts. -1: none.
 */
float discoveries(float *p, size_t n, double q);

/* --- cusum.c --- */
#define CUSUM_LIMIT 13.0f /* h */
void track_reset(struct cusum *t);
/* Adds a value to the history of `steps` values; true if the history was complete before. */
bool track_learn(struct cusum *t, float v, uint32_t steps);
void track_add(struct cusum *t, float v, float noise);
static inline uint32_t track_len(const struct cusum *t)
{
	return t->seen < RING ? t->seen : RING;
}
/* It came back from being up, not long ago. */
static inline bool track_is_back(const struct cusum *t)
{
	return t->back && t->seen - t->back <= RING;
}
float track_mean(const struct cusum *t, uint32_t newest);
float track_at(const struct cusum *t, uint32_t newest, double q);
static inline float track_middle(const struct cusum *t, uint32_t newest)
{
	return track_at(t, newest, 0.5);
}
uint32_t track_above(const struct cusum *t, uint32_t newest, float least);
/* The series is higher than before: enough to report, and not by chance. */
bool track_is_up(const struct cusum *t, float noise);

/* --- fit.c --- */
void fit_add(struct fit *f, double tokens, double q, double y, double keep);
void fit_solve(struct fit *f);
double fit_more(const struct fit *f, double tokens, double q); /* beyond the mean */

/* --- role.c --- */
int roles_take(struct diag *d, const struct step_rec *rec, size_t n);
static inline struct diag_role *cell_of(struct diag *d, uint32_t r)
{
	return &d->role[d->rank[r].cell];
}

/* --- comm.c --- */
int comms_take(struct diag *d);
void comms_track(struct diag *d);
void comms_judge(struct diag *d);
void comm_not_odd(struct diag_comm *c);
uint32_t comm_at(struct diag *d, uint64_t comm, uint8_t op); /* NOBODY: it is not there */
double comm_cover(const struct diag_comm *c);

/* --- self_time.c, role_trend.c --- */
void own_take(struct diag *d);
void whole_take(struct diag *d);

/* --- blame.c --- */
void blame_step(struct diag *d);
float blame_share(const struct diag *d, struct diag_part p);

/* --- whatif.c --- */
void whatif_take(struct diag *d);
/* The share of a step that is saved if the ranks of the place are like others of their role. */
double whatif_part(struct diag *d, struct diag_part p);
double whatif_stage(struct diag *d, uint32_t role);
double whatif_step(const struct diag *d); /* mean time of the newest steps */
double whatif_lost(const struct diag *d); /* against the job's own past */

/* --- classify.c --- */
uint8_t kind_of_own(const struct diag *d, struct diag_part p, enum own s);

/* --- verdicts; each function reports what it finds --- */
struct saying {
	struct diag *d;
	diag_verdict_fn *say;
	void *arg;
	uint32_t said;    /* acts */
	double explained; /* share of a step that findings explain */
	bool network;     /* a finding is about a collective */
};
void verdict_init(const struct diag *d, struct diag_verdict *v, enum diag_why why,
		  struct diag_part p, uint8_t kind);
void verdict_say(struct saying *s, struct diag_verdict *v);
void find_own(struct saying *s);
void find_network(struct saying *s);
void find_whole(struct saying *s, bool overlap); /* overlap: after all other findings */
void find_pauses(struct saying *s, bool usual);
void find_hang(struct saying *s);
void find_drift(struct saying *s);
/* Whether hourly medians changed by more than chance; *at is the first hour after the change. */
bool drift_cut(const float *v, uint32_t n, uint32_t *at);

bool part_has(const struct diag *d, struct diag_part p, uint32_t rank);
