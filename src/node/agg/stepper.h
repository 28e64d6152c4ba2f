/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepper.h - events into the records of a process's steps (docs/step-record.md). One per process.
 *
 * Sixteen bytes of each event that counts are kept until the steps around it have settled. They are
 * then sorted and swept once, and the step's record is made. A process without steps costs nothing.
 * Above STEPPER_KEYS events the oldest are dropped, and the records say so. Of steps shorter than
 * STEPPER_APART_NS only some have a record: those whose number is a multiple of a power of two, so
 * that similar ranks choose the same steps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/event.h"
#include "model/process.h"
#include "model/step_means.h"
#include "model/step_rec.h"

#define STEPPER_KEYS     (192u << 10) /* events that wait: 3 MiB */
#define STEPPER_COLLS    8192u        /* operations that wait */
#define STEPPER_TRACKS   256u         /* streams and communicators */
#define STEPPER_STEPS    256u         /* that wait */
#define STEPPER_COMMS    64u          /* pairs of communicator and kind whose numbers are known */
#define STEPPER_APART_NS 100000000ull /* from one record of a process to the next */

/* By name of the store; names beyond `n` mean nothing. */
struct step_names {
	struct step_means *of;
	uint32_t n;
};

struct stepper;

/* `names` is borrowed and may grow. */
int stepper_new(struct stepper **out, const struct step_names *names);
void stepper_free(struct stepper *s); /* NULL is allowed */

/* A track that is no thread, or is named after a communicator: "gloo 0 1/2", "NCCL world 3/8". */
void stepper_track(struct stepper *s, const struct track *l, const char *name);
/* A step has ended, on the thread whose steps count. */
void stepper_step(struct stepper *s, const struct event *e, bool unsampled);
void stepper_events(struct stepper *s, const struct event *ev, size_t n);
/* Losses so far, by cause as in the record: losses between two records count for the later one. */
void stepper_lost(struct stepper *s, const uint64_t lost[STEP_LOSSES]);

/* Is there any step for stepper_make()? */
bool stepper_due(const struct stepper *s, uint64_t before_ns);
/* `head` has the fields that no event gives: job, rank, world, host, leaf, gpu, nic, clock. */
typedef void stepper_fn(void *arg, struct step_rec *r, uint64_t begin_ns, uint64_t end_ns);
/* Makes the records of steps that ended before, in their order. begin_ns of the record is CLOCK_MONOTONIC. */
void stepper_make(struct stepper *s, uint64_t before_ns, const struct step_rec *head,
		  stepper_fn *fn, void *arg);

/* The operations begun last, from the words that survive a hang (abi/segment.h). */
struct step_words {
	uint64_t step;
	uint64_t comm, sequence; /* of the last collective or transfer begun; 0: unknown */
};
/* The step that does not end, as far as it is known at now_ns. False: there is none. */
bool stepper_partial(struct stepper *s, uint64_t now_ns, const struct step_words *w,
		     const struct step_rec *head, struct step_rec *out, uint64_t *begin_ns);
