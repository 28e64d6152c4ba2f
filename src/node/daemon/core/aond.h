/* SPDX-License-Identifier: Apache-2.0 */
/* aond.h - the daemon as a whole: what is started, in order, and stopped in reverse order. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/control/admin.h"
#include "daemon/control/broker.h"
#include "daemon/capture/capture.h"
#include "daemon/capture/kineto.h"
#include "daemon/control/lease.h"
#include "daemon/session/recovery.h"
#include "daemon/core/loop.h"
#include "daemon/core/param.h"
#include "daemon/stream/queue.h"
#include "daemon/core/rundir.h"
#include "daemon/session/session_list.h"
#include "daemon/budget/shed.h"
#include "daemon/stream/stream.h"
#include "daemon/sample/sampler.h"
#include "daemon/stream/telemetry.h"
#include "daemon/stream/writer.h"

#define TICK_NS  1000000000ull
#define STALL_NS 500000000ull

#define AOND_SETS 64u

/* The options of the command line. */
struct aond_args {
	const char *config; /* NULL: PARAM_FILE if it is there */
	struct aond_set {
		const char *key, *value; /* value NULL: key is "key=value" */
	} set[AOND_SETS];
	unsigned sets;
	int parent_fd, ready_fd; /* -1: none */
};

struct aond {
	const struct aond_args *args; /* borrowed */
	struct param param;
	struct loop loop;
	struct rundir rundir;
	struct queue queue;
	struct plant plant;
	struct recovery left;
	struct roster roster;
	struct shed shed;
	enum shed_level memory; /* what the memory budget sheds */
	uint64_t rss;           /* bytes, a second ago at most */
	uint32_t gpus;          /* of the node, as its drivers say; 0: not known */
	struct admin admin;
	struct broker broker;
	struct leases leases;
	struct captures captures;
	struct kineto kineto;
	struct telemetry telemetry;
	struct sampler sampler;
	struct writer *writer;
	struct watch signal, timer, done, parent; /* fds owned */
	uint64_t start_ns, next_tick_ns, commit_ns, watchdog_ns;
	int64_t wall_offset_ns;
	uint64_t disk_day, disk_from;   /* the day, and store_written when it began */
	uint64_t idle_at, idle_records; /* COUNT_records when last looked at, and given back */
	bool stop, failed;
	bool given[4]; /* sockets that the service manager made */
};

/* Defaults, the file, then --set. */
int aond_settings(const struct aond_args *args, struct param *out, struct param_why *why);

/* Returns the exit status: 0, or 1 after one line on stderr. */
int aond_run(const struct aond_args *args, const struct param *param);

/* --- between aond.c, tick.c and admin.c --- */
int aond_clock(struct clock_map *c); /* measures the processor's counter anew: 20 ms */
void aond_tick(struct aond *d);      /* every second */
void aond_stalled(struct aond *d);   /* the loop was held up */
int aond_reload(struct aond *d, struct param_why *why);
/* One setting, from now on. -EINVAL: *why says what was expected. */
int aond_set(struct aond *d, const char *key, const char *value, struct param_why *why);
uint64_t aond_commit(struct aond *d, bool wake);            /* drains, reports, commits */
void aond_journal(struct aond *d, struct journal_entry *e); /* its time is now */

/* The status as JSON. */
void status_json(const struct aond *d, FILE *f);

/* A request about budgets by that client, and its answer to `f`. */
void budget_ask(FILE *f, struct admin_client *c, char *request);
uint64_t budget_disk(const struct aond *d);    /* bytes written today */
uint32_t budget_percent(const struct aond *d); /* of a core, as cpu_percent or the GPUs say */

/* A request about traces on demand of that asker. */
void kineto_ask(FILE *f, struct admin_client *asker, char *request);
