/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - captures that users order: processes rise to tier full for a number of steps or a
 * time, all ranks of a job at the same steps.
 *
 *	begin -> armed -> runs -> settles -> stores -> done    the asker reads the store, and closes,
 *	           ^                                     |     or lets it wait for the next time
 *	           +-------------------------------------+
 *
 * All gates rise at once. Then the heartbeats say where each rank is, and the capture begins at the
 * first step that no rank had begun by then. So every rank records that step completely, and no
 * rank waits for another. A process returns to its own tier as soon as it has finished the steps.
 * The store is the trace: it already holds what was recorded before, and nothing is copied or
 * joined.
 *
 * A capture belongs to its client: it ends when the client closes its socket, for whatever reason.
 * Persistent triggers are the exception (persistent_triggers.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "daemon/core/loop.h"
#include "detect/trigger.h"
#include "model/process.h"

#define CAPTURES        32u  /* at a time */
#define CAPTURES_OF_UID 8u   /* of these, of one user */
#define CAPTURE_LIST    400u /* bytes of a list of pids or ranks */
#define CAPTURE_USERS   64u  /* users that share a count, by their number */

/* A request for a capture. */
struct capture_want {
	uint64_t steps, ms; /* both 0: the past alone */
	uint64_t from; /* not before this step, which nodes have agreed on; 0: as soon as can be */
	uint64_t before_ms;
	uint64_t timeout_ms;        /* for all of the steps */
	uint64_t expires_s, cool_s; /* of a trigger */
	uint64_t stand;             /* persistent: outlives its client; expires_s 0: for ever */
	char when[TRIGGER_TEXT];    /* "": at once */
	struct trigger trigger;
	char pids[CAPTURE_LIST], ranks[CAPTURE_LIST], job[48]; /* "": any */
};

/* "steps=5 before=10000 pids=41,42 when=step_ms > 100": words in any order, `when` last. -EINVAL: *why
 * says what was expected. */
int capture_parse(struct capture_want *out, char *text, const char **why);

enum capture_state {
	CAPTURE_FREE,
	CAPTURE_ARMED, /* waits for its trigger */
	CAPTURE_RUNS,
	CAPTURE_SETTLES, /* waits for records that the probes still hold */
	CAPTURE_STORES,
	CAPTURE_DONE,
	CAPTURE_EXPIRED, /* its time is over, or what a day allows */
};

enum capture_end { CAPTURE_GOES_ON, CAPTURE_THROUGH, CAPTURE_LEFT, CAPTURE_LATE };

struct capture_proc {
	uint64_t sess;        /* its id */
	uint32_t pid, id;     /* id: of the store */
	uint32_t rank;        /* + 1; 0: not known */
	uint64_t first, last; /* steps; 0: by time */
	uint64_t step;        /* that it has begun */
	uint64_t end_ns;
	enum capture_end end;
	struct account was, is; /* when it began, and ended */
};

struct capture {
	enum capture_state state;
	uint64_t id, asker;
	uid_t uid;
	pid_t pid; /* of the asker */
	struct capture_want want;
	struct capture_proc *proc; /* owned; sorted by sess, falling as the roster is */
	size_t n;
	uint64_t asked_ns, begin_ns, settle_ns, commit;
	uint64_t next_ns;  /* does not fire before */
	uint32_t fired;    /* times */
	uint32_t fired_by; /* pid */
	char why[160];     /* of the last time: its values */
	int err;           /* of the store */
};

struct aond;
struct sess;

struct captures {
	struct aond *aond;  /* borrowed */
	struct watch timer; /* fd owned: while one of them runs */
	struct capture c[CAPTURES];
	uint64_t ids, day;
	uint32_t count[CAPTURE_USERS]; /* begun on that day */
	bool kept;                     /* persistent triggers are saved */
};

int captures_init(struct captures *cs, struct aond *d);
void captures_fini(struct captures *cs);
/* Commits up to `done` are in the store, or err says why not. */
void captures_flushed(struct captures *cs, uint64_t done, int err);
void captures_forget(struct captures *cs, uint64_t asker);

void captures_tick(struct captures *cs, uint64_t now_ns); /* a second has passed */
void captures_fired(struct captures *cs);                 /* a trigger fired: look soon */

/* Begins a capture, or arms its trigger, for that client. *why is set on failure. */
struct admin_client;
int capture_begin(struct captures *cs, struct capture **out, const struct admin_client *asker,
		  const struct capture_want *w, const char **why);
/* It is done, and waits again. */
int capture_again(struct captures *cs, struct capture *c, const char **why);
void capture_end(struct captures *cs, struct capture *c); /* whatever its state */

/* --- between capture.c and capture_rise.c --- */

bool capture_wants(const struct capture *c, const struct sess *s);
struct capture_proc *capture_proc_of(const struct capture *c,
				     const struct sess *s); /* NULL: none */
/* Chooses the processes; `by` fired: it and the other ranks of its job only. NULL: all. */
int capture_choose(struct captures *cs, struct capture *c, const struct sess *by);
/* Raises their gates, and sets the steps of the capture. */
void capture_rise(struct captures *cs, struct capture *c, uint64_t now_ns);
void capture_lower(struct sess *s);

/* A job whose processes the client may capture, and its progress. */
struct capture_job {
	char job[48];
	uint64_t ranks, step, step_ns;
};
/* Fills at most `cap` of them; how many. */
size_t capture_jobs(struct captures *cs, uid_t uid, struct capture_job *out, size_t cap);

/* A request (admin.h), and its answer to `f`. */
void capture_ask(FILE *f, struct captures *cs, const struct admin_client *asker, char *request);
