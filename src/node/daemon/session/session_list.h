/* SPDX-License-Identifier: Apache-2.0 */
/* session_list.h - all sessions, and their shared state. */
#pragma once

#include "daemon/budget/limits_file.h"
#include "daemon/budget/quota.h"
#include "daemon/control/admin.h"
#include "daemon/core/param.h"
#include "daemon/session/recovery.h"
#include "daemon/session/sess.h"
#include "daemon/stream/step_recorder.h"

#define JOURNAL_LINES 500u /* of the journal that the processes of a user may cause in a day */

struct roster {
	struct loop *loop; /* these borrowed */
	struct plant *plant;
	const struct param *param;
	struct recovery *left;
	struct admin *admin; /* NULL: no requests here */
	struct watch listen; /* fd owned */
	struct watch poll;   /* timerfd, owned */
	struct slots slots;
	int reserve; /* a descriptor to give up when there are none; owned */
	struct sess *first;
	unsigned count;
	uint64_t ids;
	uint64_t boot_id[2];
	uint64_t ticks;
	uint64_t pool_bytes;    /* of all pools, the spare one with them */
	struct pool *spare;     /* owned; made ahead for the next process */
	struct gate spare_gate; /* owned */
	bool more;              /* a session has more */
	bool polling;
	double emit_ns; /* what a record costs a process here */
	struct quota journal;
	struct raised raised;
	struct stacks stacks;
	struct recorder_gones gones; /* ranks that have ended */
	struct faults faults;        /* of hardware, that were reported lately */
	struct allow_jobs jobs;      /* limits of jobs */
	struct kept kept;            /* those of processes of the previous aond */
	uint64_t led_ids, led_count; /* when leaders were last looked for */
};

/* Owns listen_fd from here on, unless it fails. */
int roster_init(struct roster *r, struct loop *l, struct plant *pl, const struct param *p,
		struct recovery *left, int listen_fd);
/* Ends all sessions, but leaves gates: processes fill their pools on for the next aond. */
void roster_fini(struct roster *r);

void roster_refill(struct roster *r); /* makes the spare pool: 2 ms, off the path of a join */
void roster_more(struct roster *r);   /* a further turn for those that have more */
/* Once a second: drains, closes windows, hands over. */
void roster_tick(struct roster *r, uint64_t now_ns);
/* All that was committed before this call is handed over, and windows are closed. */
void roster_sync(struct roster *r);
void roster_report(struct roster *r);                  /* accounts of all, before a commit */
void roster_wall(struct roster *r, int64_t offset_ns); /* the wall clock was set */
unsigned roster_tier(struct roster *r, pid_t pid, enum tier tier); /* how many sessions */
/* A trace is asked of the process, for `uid`: its own user, or root. How many sessions. */
unsigned roster_capture(struct roster *r, pid_t pid, uid_t uid, uint32_t number, uint32_t ms);
unsigned roster_room(struct roster *r, pid_t pid, uid_t uid, uint32_t number, uint32_t ms);

/* --- for sess.c and hello.c --- */

/* A line that a user or a process has caused: so many a day of each user, then counted. */
void roster_journal(struct roster *r, uid_t uid, uint64_t now_ns, struct journal_entry *e);
void roster_poll_on(struct roster *r);
