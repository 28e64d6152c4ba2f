/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape_learner.h - learns which operator and shape a kernel works for, while operators are
 * recorded with their shapes (tier full). Later verdicts use that work when only names and
 * geometries are recorded.
 *
 * A launch has a call on a thread, and the innermost operator with a formula around it. The longest
 * kernel of an operator does its work. Everything is bounded; a launch that comes too late or finds
 * no room is not learnt: the next call shows the same. Used by the drain thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct learn;
struct judge;
struct store;
struct event;

int learn_new(struct learn **out, struct judge *j, struct store *st); /* both borrowed */
void learn_free(struct learn *l);                                     /* NULL is allowed */

/* Of one process, as they come. */
void learn_events(struct learn *l, const struct event *ev, size_t n);
/* Those that are complete go to the judge; all: nothing more will come. */
void learn_settle(struct learn *l, bool all);
