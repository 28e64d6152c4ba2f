/* SPDX-License-Identifier: Apache-2.0 */
/* panel.h - shared by the baselines: a step's records by rank, roles, medians, the history. */
#ifndef AON_LAB_PANEL_H
#define AON_LAB_PANEL_H

#include "model/diagnoser.h"

#define PAST  64u  /* steps that a history is made of */
#define SKIP  10u  /* before it: a job warms up */
#define LEVEL 0.05 /* of a step: less is not worth a word */

enum series { OF_COMPUTE, OF_HOST, OF_INPUT, OF_EXPOSED, OF_COPY, OF_STEP, SERIES };

struct panel {
	uint32_t world, roles, seen; /* seen: steps */
	const struct step_rec **at;  /* by rank, borrowed; NULL: it is missing */
	uint32_t *role;              /* by rank, from 0 */
	uint32_t *role_hash;         /* by role */
	double *room;                /* for the world */
	float *past;                 /* [series][rank][PAST] */
	float *base;                 /* [series][rank], once there is a past */
	bool learnt;
};

int panel_init(struct panel *p, uint32_t world);
void panel_fini(struct panel *p);
/* The next step. False: it is one that says nothing of the next (a checkpoint), or never ends. */
bool panel_take(struct panel *p, const struct step_rec *rec, size_t n);

/* Time that a rank spends by itself: what others wait for, never waiting. */
static inline double panel_own(const struct step_rec *r)
{
	return (double)r->t.compute + r->t.host + r->t.input;
}
double panel_value(const struct step_rec *r, enum series s);
static inline double panel_base(const struct panel *p, enum series s, uint32_t rank)
{
	return p->base[(size_t)s * p->world + rank];
}
/* What the rank's own time was. */
double panel_base_own(const struct panel *p, uint32_t rank);

double panel_middle(double *v, size_t n); /* median; reorders v; 0 of none */
/* Of value(rank) over ranks of the role that are there; *mad: 1.4826 times the median deviation. */
typedef double panel_value_fn(const struct panel *p, uint32_t rank, enum series s);
double panel_role(struct panel *p, uint32_t role, panel_value_fn *value, enum series s,
		  double *mad);

/* What kind of fault makes this rank's time grow over what it was, as far as one can guess. */
uint8_t panel_kind(const struct step_rec *r, const double was[SERIES]);

/* --- groups --- */

/* A rank's part in a communicator's operations of one kind. */
struct panel_member {
	uint64_t comm;
	const struct step_slot *slot; /* borrowed */
	uint32_t rank;
	uint8_t op;
};
struct panel_groups {
	struct panel_member *m; /* owned; by communicator, kind and rank */
	size_t n, cap;
};
/* Of the step that was taken. -ENOMEM */
int panel_groups(struct panel_groups *g, const struct panel *p);
/* Behind the last member of the group that begins at i. */
size_t panel_group_end(const struct panel_groups *g, size_t i);
/* What a transfer of the group takes: its last comer's stay. */
double panel_transfer(const struct panel_groups *g, size_t i, size_t end);
/* Says it of the members of a group, as many as go. */
void panel_say_group(diag_say_fn *say, void *arg, const struct panel_groups *g, size_t i,
		     size_t end, uint8_t kind, double gain);

/* Says it of one place. */
void panel_say(diag_say_fn *say, void *arg, enum diag_level level, uint32_t index, uint8_t kind,
	       double gain);

#endif /* AON_LAB_PANEL_H */
