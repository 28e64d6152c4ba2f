/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.h - a collector's output: series are declared once, then their values are set at each poll.
 *
 *	id = emit_series(e, "node_load1", "", "");	(finds it, or declares it)
 *	emit_set(e, id, 0.42);
 *
 * Only changes are sent. A series that a poll does not set has ended (a GPU fell off the bus),
 * unless it belongs to a group that this poll skipped: emit_group().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EMIT_NONE   UINT32_MAX /* no series: setting it does nothing */
#define EMIT_GROUPS 32u

struct emit;

int emit_new(struct emit **out);
void emit_free(struct emit *e); /* NULL is allowed */

/* `device` is "" for a metric without one; `labels` as series_label() makes them. EMIT_NONE: the metric
 * is not in the table, labels are none, or there are too many series. Declares into the current group. */
uint32_t emit_series(struct emit *e, const char *metric, const char *device, const char *labels);
/* Rounded as the metric says. A value that is none (telemetry_is_none()) is as if it were not set. */
void emit_set(struct emit *e, uint32_t id, double v);
/* The same of what is never such a value, a counter of the kernel: one that stands at all ones is at its end. */
void emit_count(struct emit *e, uint32_t id, double v);
/* What follows in this poll is of that group (0 at the beginning of each poll). */
void emit_group(struct emit *e, unsigned group);
/* An event: its kind ("xid"), and a line for people. Bounded: 20 a poll. */
void emit_event(struct emit *e, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint64_t emit_dropped(const struct emit *e); /* series and events over the bounds */
/* The table is full, and mostly of series that have ended, as those of processes do: begin a new one. */
bool emit_is_worn(const struct emit *e);

/* --- for the runner of collectors --- */

/* Where frames go: a connected socket or a pipe, not owned. It is greeted, and all series are declared anew. */
void emit_to(struct emit *e, int fd, const char *name, uint32_t interval_ms);
/* Or as text, a line each. */
void emit_print(struct emit *e, FILE *f);
void emit_begin(struct emit *e, uint64_t t_ns);
/* Sends the poll. -EPIPE and others: the reader is gone. */
int emit_end(struct emit *e);
/* Ends all series: the collector was closed. */
int emit_clear(struct emit *e, uint64_t t_ns);
