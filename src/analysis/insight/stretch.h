/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stretch.h - an insight of a recording that is never in memory as a whole: a stretch of time after
 * the other, each looked at once.
 *
 *	t has all tracks and names, and of the events those that are steps; sealed
 *	insight_open(&in, t); insight_reading(in, e) for each counter
 *	for each stretch [lo, hi), from 0 to UINT64_MAX:
 *		trace_clear(t, comms); insight_carried(in, t);
 *		trace_add() of all that trace_stretch() takes; trace_seal(t);
 *		insight_stretch(in, lo, hi)
 *	insight_close(in)
 *
 * What comes out is what insight_new() says of all at once, to the nanosecond, but for quantiles of
 * durations, which are a sketch's, and for what lies further apart than is kept from one stretch to
 * the next (stretch.c). What is by event (link, spans) is of the stretch, and gone in the end.
 */
#pragma once

#include "insight/insight.h"

int insight_open(struct insight **out, const struct trace *t);
int insight_reading(struct insight *in, const struct event *e);
/* Adds what the stretches before left to be referred to. */
int insight_carried(const struct insight *in, struct trace *t);
int insight_stretch(struct insight *in, uint64_t lo_ns, uint64_t hi_ns);
int insight_close(struct insight *in);
