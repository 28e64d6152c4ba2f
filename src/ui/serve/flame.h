/* SPDX-License-Identifier: Apache-2.0 */
/* flame.h - GPU time and launches by the code that launched them, as a tree. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct insight;
struct names;
struct samples_want;
struct trace;

enum flame_weight { FLAME_GPU, FLAME_LAUNCHES, FLAME_WEIGHTS };

struct flame_node {
	const char *name; /* borrowed from the trace, or in `text` */
	uint32_t parent;  /* index, always lower than the node's own; 0: the root */
	uint32_t id;      /* its id in the answer, plus 1 */
	int class;        /* of a kernel; in trees of samples the thread's state; -1: none */
	uint64_t self[FLAME_WEIGHTS], total[FLAME_WEIGHTS];
};

struct flame {
	struct flame_node *node; /* owned; node[0] is the root */
	size_t n;
	struct lookup by_key;      /* finds a node by parent and name */
	const struct names *names; /* borrowed while events are being added */
	char *text[64];            /* owned: names that are not the trace's */
	size_t texts;
	struct map label; /* finds a label by function and file: index + 1 */
	char **labels;    /* owned */
	size_t labels_n;
};

int flame_init(struct flame *f);
/* Adds the GPU work of a trace or stretch. Its names must outlive the tree. -ENOMEM. */
int flame_add(struct flame *f, const struct trace *t, const struct names *n);
/*
 * Adds samples of threads, weighted by time and count. The leaf of each stack is the thread's
 * state.
 */
int flame_samples(struct flame *f, const struct insight *in, const struct samples_want *w);
void flame_fini(struct flame *f); /* all zero is allowed */
