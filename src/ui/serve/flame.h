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
	const char *name; /* of the trace, or a text of ours */
	uint32_t parent;  /* 0: of all; else lower than its own */
	uint32_t id;      /* in an answer, + 1 */
	int class;        /* of a kernel; of samples: the state; -1: is none */
	uint64_t self[FLAME_WEIGHTS], total[FLAME_WEIGHTS];
};

struct flame {
	struct flame_node *node; /* owned; node[0] stands for all */
	size_t n;
	struct lookup by_key;      /* parent and name */
	const struct names *names; /* borrowed while events are added */
	char *text[64];            /* owned: of names that are not the trace's */
	size_t texts;
	struct map label; /* function and file of a frame: place + 1 */
	char **labels;    /* owned */
	size_t labels_n;
};

int flame_init(struct flame *f);
/* Adds the GPU work of a trace, or of a stretch; its names must outlive the tree. -ENOMEM. */
int flame_add(struct flame *f, const struct trace *t, const struct names *n);
/* Adds samples of threads: weights are nanoseconds and samples; on top of each stack is its state. */
int flame_samples(struct flame *f, const struct insight *in, const struct samples_want *w);
void flame_fini(struct flame *f); /* all zero is allowed */
