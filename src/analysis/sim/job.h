/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - a training job to simulate: model, layout, device, hosts, noise, faults. Data only.
 *
 * Ranks are numbered as in Megatron: tensor parallel ranks are neighbours, then replicas, then
 * stages.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/fault.h"
#include "theory/gpu.h"

#define JOB_RANKS_MAX  131072u
#define JOB_FAULTS_MAX 16u
#define JOB_WHY        256u

/* A kernel whose time is known, in place of a model. */
struct job_kernel {
	const char *name;
	double ns;
};

struct job {
#define COUNT(name, def, least, most, what) uint32_t name;
#define REAL(name, def, least, most, what)  double name;
#include "sim/job.tbl.h"
	const struct gpu *gpu; /* borrowed */
	uint64_t seed;
	struct fault fault[JOB_FAULTS_MAX];
	uint32_t faults;
	/* Of each layer, instead of the model's; both or none. Collectives then take coll_ns. */
	const struct job_kernel *forward, *backward;
	uint32_t forwards, backwards;
	double coll_ns;
};

struct job_param {
	const char *name, *what;
	size_t at;
	bool real;
	double def, least, most;
};
extern const struct job_param job_param[]; /* the last has no name */

void job_init(struct job *j);
/* Sizes of a model. -ENOENT: `why` lists those that are known. */
int job_model(struct job *j, const char *name, char why[JOB_WHY]);
const char *job_model_at(size_t i); /* NULL behind the last */
/* "dp=8,tp=2". -EINVAL with `why`: no such word, no such number. */
int job_set(struct job *j, const char *text, char why[JOB_WHY]);
/* "KIND:rank=3,by=1.5+KIND:..."; the layout must be set. -EINVAL with `why`. */
int job_fault(struct job *j, const char *text, char why[JOB_WHY]);
/* Whether the settings fit together. -EINVAL with `why`. */
int job_check(const struct job *j, char why[JOB_WHY]);

static inline uint32_t job_ranks(const struct job *j)
{
	return j->dp * j->tp * j->pp;
}
static inline uint32_t job_stage(const struct job *j, uint32_t rank)
{
	return rank / (j->dp * j->tp);
}
static inline uint32_t job_replica(const struct job *j, uint32_t rank)
{
	return rank / j->tp % j->dp;
}
static inline uint32_t job_node(const struct job *j, uint32_t rank)
{
	return rank / j->ranks_per_node;
}

/* --- groups --- */

enum job_group { GROUP_TP, GROUP_EP, GROUP_DP, GROUP_PP, JOB_GROUPS };

/* Members are first, first + stride, ...; of GROUP_PP: a rank and the one of the next stage. */
struct job_team {
	uint32_t first, stride, size, per_node;
};
struct job_team job_team(const struct job *j, enum job_group g, uint32_t rank);
