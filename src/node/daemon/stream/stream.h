/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - the pipeline of one process's records: drained from the pool, understood, rolled up,
 * encoded, handed to the writer.
 *
 * Everything here runs on the drain thread. struct plant is what all streams share; a stream is one
 * pool and its pipeline. It knows no sockets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agg/clock.h"
#include "agg/weigh.h"
#include "daemon/sample/launchers.h"
#include "daemon/sample/place.h"
#include "daemon/stream/gauge.h"
#include "daemon/alarm/alarm.h"
#include "daemon/budget/cost.h"
#include "daemon/stream/queue.h"
#include "daemon/stream/step_recorder.h"
#include "daemon/budget/shed.h"
#include "daemon/stream/tally.h"
#include "ident/gpus.h"
#include "model/node.h"
#include "model/process.h"
#include "pool/pool.h"

struct broker;
struct event;
struct judge;
struct store;
struct texts;

struct plant {
	struct queue *queue;   /* borrowed */
	struct store *store;   /* borrowed from the writer: for small rows, which take no disk */
	struct broker *broker; /* borrowed: the live consumers; NULL: there can be none */
	uint32_t names_max;
	uint32_t steps_left, steps_unseen; /* names of rows: model/rollup.h */
	uint32_t geo_other;                /* for geometries that did not fit */
	struct clock_map clock;
	void *buf;                   /* copies of what is drained; owned, untouched until used */
	struct pool_run *run;        /* owned */
	struct event *ev;            /* owned: of one run */
	bool dirty;                  /* something was queued since the last commit */
	enum shed_level shed;        /* what the CPU and memory budgets shed */
	enum shed_level disk;        /* and that of the disk: SHED_ALL drops rollups */
	bool full;                   /* no memory for further processes */
	struct judge *judge;         /* owned; NULL: kernels are not judged */
	struct texts *texts;         /* owned; NULL until a process sends one */
	struct recorder_names means; /* owned */
	uint8_t *stack_part;         /* owned: by stack, the part of a step that it tells + 1 */
	size_t stack_parts;
	struct gpus gpus;       /* and has */
	struct node_ident node; /* what this node is */
	struct gauges gauges;   /* what its devices measure now */
};

int plant_init(struct plant *pl, struct queue *q, struct store *st, uint32_t names_max);
void plant_fini(struct plant *pl);
void plant_idle(struct plant *pl); /* give back memory that a burst has touched */

struct understand;
struct graphs;
struct learn;
struct roll;
struct blob_enc;

struct stream {
	struct plant *plant;           /* borrowed */
	struct pool *pool;             /* owned */
	struct process proc;           /* its row; .account is what was last reported */
	struct understand *understand; /* these three owned */
	struct roll *roll;
	struct graphs *graphs; /* NULL until there is one */
	struct learn *learn;   /* owned; NULL but in tier full and shortly behind it */
	uint32_t learn_for;    /* runs of records that it still is for */
	struct blob_enc *enc;
	struct event *samples; /* owned: samples that wait until there are many; NULL: none ever */
	uint32_t samples_n;    /* those that wait; behind them, up to samples_top, stored ones */
	uint32_t samples_rolled; /* the first of them: those that are in their windows */
	uint32_t samples_top;
	struct places places; /* what it did in the last seconds: while there are samples */
	struct launchers launchers;
	struct stepper *stepper; /* owned */
	struct gauge_said said;  /* of devices, in records */
	struct tally tally;
	struct cost cost;
	struct weigh weigh;
	uint32_t tid;            /* of the run that is taken */
	uint32_t step_tid;       /* of the thread whose steps count; 0: none yet */
	struct watcher *watcher; /* owned; NULL: no step yet */
	struct arm *arms;        /* owned: triggers that wait for it */
	uint64_t text_ns;        /* when the piece of a text that is taken was sent */
	uint32_t names;          /* distinct ones that it has used */
	uint64_t step, step_ns;  /* number of its last step, length of late ones; 0: none yet */
	uint64_t gpus;           /* a bit for each that it uses, modulo 64 */
	uint64_t disk_bytes;     /* events handed over since disk_day began */
	uint64_t disk_day;
	bool sums_only; /* it has written what it may, today */
	bool changed;   /* its row, since it was last reported */
	bool fresh;     /* drained something since stream_windows() */
};

/*
 * Owns `pool` from here on, unless it fails. `row` says whose it is; the store gives the id.
 * `was` is the account of a row that an earlier aond left for this pool, or NULL.
 */
int stream_new(struct stream **out, struct plant *pl, struct pool *pool, const struct process *row,
	       const struct account *was, uint32_t rows_max);
void stream_free(struct stream *s); /* NULL is allowed */

/* Drains what is there. 1: there is more, call again; 0: all; -EPROTO: the protocol is broken. */
int stream_drain(struct stream *s, bool dead);
/* A value of aond's about the process, for windows only: it has no record. */
void stream_gauge(struct stream *s, const char *name, int64_t value, uint64_t now_ns);
/* No steps come: from here on all is recorded. */
void stream_stepless(struct stream *s, uint64_t now_ns);
/* Hands over what is encoded. */
void stream_flush(struct stream *s);
/* Samples of its threads: events of kind SAMPLE without a track; tid[i] is the thread of each, as the
 * process itself calls it. */
void stream_samples(struct stream *s, struct event *ev, const uint32_t *tid, size_t n);
/* Encodes samples with the other events if there are many, or some are old; UINT64_MAX: all. Behind
 * stream_windows(), before stream_flush(). */
void stream_ripe_samples(struct stream *s, uint64_t now_ns);
/* Of samples from then on that wait and had no CPU: the name of the process that had it. */
void stream_preempted(struct stream *s, uint64_t from_ns, uint32_t name);
/* The samples of the last seconds, stored or not. */
struct sample_most;
void stream_now(const struct stream *s, uint64_t now_ns, struct sample_most *out);
/* A stack of the store, whose frames tell that part of a step. */
void plant_stack(struct plant *pl, uint32_t stack, enum host_part part);
/* Closes the windows that ended before. */
void stream_windows(struct stream *s, uint64_t before_ns);
/* Makes the records of steps that ended before. */
void stream_steps(struct stream *s, uint64_t before_ns);
/* Ends everything that is open, and passes on what is encoded. The pool stays as it is. */
void stream_finish(struct stream *s, uint64_t end_ns);
/* The account of its records. */
void stream_account(struct stream *s, struct account *out);
/* Queues its row if it has changed: after stream_flush(), before the commit. The last time
 * (its row says that it is not connected) nothing is pending any more. */
void stream_report(struct stream *s);
