/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep.h - the breakdown without events in memory: it keeps sixteen bytes of each instead of
 * forty-eight, and does not sort what came in order. Times and counts are those of
 * insight_new_breakdown(), as a test shows; launches, copies, idle causes and steps are left out.
 */
#pragma once

#include "insight/insight.h"
#include "model/work.h"

struct sweep;

/* `t` is borrowed and has all its tracks and names. */
int sweep_new(struct sweep **out, const struct trace *t);
void sweep_free(struct sweep *s); /* NULL is allowed */

/* Events that are not GPU work are skipped. -ENOMEM; -ERANGE: longer than a sweep can represent. */
int sweep_add(struct sweep *s, const struct work *w);

/* A step of a process with unsampled steps, before its work: weight as in sampling_estimator.h.
 * Classes are then estimates for all steps, and unsampled time is not idle time. */
int sweep_step(struct sweep *s, uint32_t process, uint64_t start_ns, uint64_t dur_ns,
	       uint32_t weight);

/* Sums up and frees what was added: later events start no earlier. So a recording of
 * any size is swept in little memory, if it comes in order of time stretch by stretch. */
int sweep_flush(struct sweep *s);

/* Devices and streams with their breakdowns, and the classes of devices; nothing else. Once. */
int sweep_end(struct sweep *s, struct insight **out);
