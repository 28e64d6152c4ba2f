/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault.h - a fault of a simulated job: what it affects, on which ranks, when and how much.
 *
 * A fault changes how long something takes, or whether it ends, and nothing else. Which ranks wait
 * for it follows from the graph.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct job;

enum fault_kind {
#define FAULT(ID, ...) FAULT_##ID,
#include "sim/fault.tbl.h"
	FAULTS
};

/* What `by` changes. */
enum fault_part {
	PART_NONE,
	PART_COMPUTE, /* kernels, as far as arithmetic limits them */
	PART_MEMORY,  /* kernels, as far as memory does */
	PART_KERNEL,  /* kernels */
	PART_LINK,    /* communication within a node */
	PART_NET,     /* communication between nodes */
	PART_PCIE,    /* copies; communication between nodes as far as the NIC's link limits it */
	PART_HOST,    /* the program and its calls */
	PART_CPU,     /* these, and preparing batches */
	PART_LOAD,    /* preparing batches */
	PART_LENGTH,  /* work of a micro-batch: the spread of a lognormal is ln(by) */
	PART_STAGE, /* kernels of the stage: the forward pass, and 0.38 of that in the backward pass */
	PART_EXPERT,     /* kernels of experts */
	PART_PAUSES,     /* from here on `by` is milliseconds */
	PART_LOAD_ADD,   /* on preparing a batch */
	PART_GC,         /* of the host, in the forward pass */
	PART_ALLOC,      /* of the host, which waits for the GPU first */
	PART_NET_ADD,    /* on the first communication of a step between nodes */
	PART_CHECKPOINT, /* of the host, behind the step */
	PART_SWITCHES,   /* from here on it is there or not */
	PART_SYNC,
	PART_SERIAL,
	PART_CRASH,
	PART_TRANSPORT,
	PART_DESYNC,
	PART_HOST_HANG,
};

enum fault_scope { SCOPE_RANK, SCOPE_NODE, SCOPE_ALL, SCOPE_LAST };
enum fault_course {
	COURSE_SUDDEN, /* in full from the first step on */
	COURSE_RAMP,   /* more and more, over `every` steps */
	COURSE_LADDER, /* a third, two thirds, all, over the time it lasts */
	COURSE_ONOFF,  /* `every` steps with it, as many without */
	COURSE_SPIKE,  /* by chance, in one of `every` steps of a rank */
	COURSE_EVERY,  /* in each of `every` steps' last */
	COURSES
};
extern const char *const course_word[COURSES];

struct fault {
	enum fault_kind kind;
	enum fault_course course;
	uint32_t first, last; /* ranks, or nodes, by the kind's scope */
	uint32_t from, steps; /* first step, and how many */
	uint32_t every;
	uint32_t how; /* how telemetry shows it: telemetry.h */
	double by;
};

struct fault_row {
	const char *code, *word, *what;
	enum fault_part part;
	enum fault_scope scope;
	enum fault_course course;
	double by, least, most;
	uint32_t every;
};
extern const struct fault_row fault_table[FAULTS];

/* By word or code, in any case; -1: there is none. */
int fault_kind_of(const char *word, size_t len);
/* NULL, or why such a fault has no effect on the job. */
const char *fault_misfit(enum fault_kind k, const struct job *j);
/* The ranks that the fault hits. */
void fault_ranks(const struct fault *f, const struct job *j, uint32_t *first, uint32_t *last);
/* How strong the fault is on this rank in this step: 0 to 1. */
double fault_share(const struct fault *f, const struct job *j, uint32_t rank, uint32_t step);

/* The first step in which the fault is on any rank; the job's number of steps: none. */
uint32_t fault_onset(const struct fault *f, const struct job *j);
