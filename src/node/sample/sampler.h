/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler.h - looks at a list of threads, each at its own rate and at random moments, and says what it
 * saw in messages of wire.h.
 *
 * A moment is uniform in each period: programs that go on in step with a clock are not always met at
 * the same place. Threads of the same rate share it: one waking for all. What it costs is bounded: above its share of a CPU rates go down, of those users
 * whose threads cost most.
 */
#pragma once

#include "sample/guard.h"
#include "sample/intern.h"

struct sampler;

struct sampler_opts {
	send_fn *send;    /* gets whole messages */
	void *arg;        /* borrowed */
	double cpu_share; /* of a CPU that it may use; 0: any */
	uint64_t seed;
	struct look_guard *guard; /* borrowed; NULL: nobody takes over from it */
};

int sampler_new(struct sampler **out, const struct sampler_opts *o);
void sampler_free(struct sampler *s);

/* The threads to look at from now on, instead of those before; known ones go on. */
int sampler_targets(struct sampler *s, const struct swire_target *t, size_t n, uint64_t now_ns);

/* The share of a CPU that it may use from now on; 0: any. */
void sampler_limit(struct sampler *s, double cpu_share);

/* Looks at those that are due. Returns when it wants to be called again. */
uint64_t sampler_run(struct sampler *s, uint64_t now_ns);
/* Sends what it has, and its status. */
void sampler_flush(struct sampler *s, uint64_t now_ns);

/* Threads of the targets' process that run Python; `pid` must have a target. */
size_t sampler_threads(struct sampler *s, pid_t pid, uint64_t now_ns, pid_t *out, size_t cap);
bool sampler_full(const struct sampler *s);    /* it knows no new stacks: begin anew */
size_t sampler_alive(const struct sampler *s); /* targets that are not gone */
