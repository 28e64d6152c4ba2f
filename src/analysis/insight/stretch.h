/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stretch.h - an insight of a recording that is never in memory as a whole: one stretch of time
 * after the other, each read once.
 *
 *	t has all tracks and names, and of the events those that are steps; sealed
 *	insight_open(&in, t); insight_reading(in, e) for each counter
 *	for each stretch [lo, hi), from 0 to UINT64_MAX:
 *		trace_clear(t, comms); insight_carried(in, t);
 *		trace_add() of all that trace_stretch() takes; trace_seal(t);
 *		insight_stretch(in, lo, hi)
 *	insight_close(in)
 *
 * The result is the same as that of insight_new() over the whole, to the nanosecond. Exceptions:
 * quantiles of durations come from a sketch, and events further apart than what is kept from one
 * stretch to the next are not joined (stretch.c). Data per event (link, spans) covers the current
 * stretch only.
 */
#pragma once

#include "insight/insight.h"

int insight_open(struct insight **out, const struct trace *t);
int insight_reading(struct insight *in, const struct event *e);
/* Adds the events that earlier stretches kept for reference. */
int insight_carried(const struct insight *in, struct trace *t);
int insight_stretch(struct insight *in, uint64_t lo_ns, uint64_t hi_ns);
int insight_close(struct insight *in);
