/* SPDX-License-Identifier: Apache-2.0 */
/* source_priv.h - a source's internals. */
#pragma once

#include "model/node.h"
#include "model/telemetry.h"
#include "ship/source/fold.h"
#include "ship/source/meter.h"
#include "ship/source/pack.h"
#include "ship/source/source.h"

#define CURSOR_MAGIC   0x634e4f41u /* "AONc" */
#define CURSOR_VERSION 1u

/* The position in the store, kept in the spool's state with the batches up to it. */
struct cursor {
	uint32_t magic, version;
	uint64_t dev, ino; /* of the store's file */
	uint64_t window, step, telemetry;
	uint64_t not_before_ns; /* of the first look */
	uint64_t alarm_ns; /* the newest alarm that was put, and how many of the same moment were */
	uint32_t alarms, boot; /* boot: its low half */
};

/* Sums since we began, for metrics. */
struct metric_sums {
	uint64_t kernels, kernel_ns, collective_ns, copy_bytes, steps, step_ns;
};

/* A series of telemetry: its value now, and the last one sent. */
struct told_series {
	struct series s;
	double now, said;
	uint64_t at_ns, wall_ns;
};

/* A process of the store, as rows refer to it. */
struct known {
	uint32_t id, pid;
	int32_t rank;
	uint64_t proc, route;
	int64_t wall_offset_ns;
	char job[48];
	uint64_t sum, put_ns;           /* of its last row */
	uint64_t cost_sum, cost_put_ns; /* of that of its overhead */
	struct metric_sums seen;
};

struct ship_source {
	struct source_opts o;
	struct store *st; /* owned; NULL: none yet */
	struct cursor at;
	struct node_ident node;
	uint64_t boot[2];
	char boot_text[33];
	struct known *known; /* owned; by id */
	size_t knowns;
	uint64_t *name_hash; /* owned; by id, 0: not asked */
	uint8_t *name_said;  /* owned; week in which it was sent, + 1, modulo 256 */
	size_t names;
	struct fold fold;
	struct packs packs;
	uint64_t beat_ns;            /* last heartbeat */
	uint64_t stored, lost, live; /* of all processes */
	struct told_series *series;  /* owned; by id */
	size_t seriess;
	uint32_t series_known;
	uint32_t unknown, unknown_looks; /* process of a window that no row of the store explains */
	uint64_t newest;                 /* number of the store's newest window */
};

/* All of the store's processes; rows of those that changed. */
int source_processes(struct ship_source *s);
struct known *source_known(struct ship_source *s, uint32_t id);
/* The hash of a name; the name is sent before its first use. 0: none. */
uint64_t source_name(struct ship_source *s, uint32_t id);
int source_windows(struct ship_source *s, bool all);
int source_steps(struct ship_source *s);
int source_telemetry(struct ship_source *s);
/* What a process did between two moments (CLOCK_MONOTONIC), as rows of `event`. */
int source_events(struct ship_source *s, const char *label, uint32_t process, uint64_t from_ns,
		  uint64_t to_ns);
void source_count(struct known *k, const struct fold_row *r);
int source_alarms(struct ship_source *s, struct spool *spool);
void source_beat(struct ship_source *s, struct spool *spool, const struct source_node *node);
