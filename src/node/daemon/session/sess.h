/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sess.h - the processes that are here: how they join, are heard, and leave.
 *
 *	accept -> (2 s) HELLO -> session -> its process ends -> drained to the last record, gone
 *	                            |  ^
 *	          its socket closes v  | it offers its pool again
 *	                      without a socket: emptied by the clock until its process ends
 */
#ifndef AON_SESS_H
#define AON_SESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/proc.h"
#include "daemon/control/admin.h"
#include "daemon/budget/allow.h"
#include "daemon/budget/limits_file.h"
#include "daemon/session/gate.h"
#include "daemon/session/recovery.h"
#include "daemon/core/loop.h"
#include "daemon/session/msg.h"
#include "daemon/core/param.h"
#include "daemon/session/peer.h"
#include "daemon/budget/quota.h"
#include "daemon/stream/step_recorder.h"
#include "daemon/alarm/stacks.h"
#include "daemon/stream/stream.h"

#define HELLO_NS      2000000000ull /* for saying HELLO */
#define DOORBELLS_MAX 1000u         /* in a second; then it is not heard until the next */
#define POLL_NS       20000000ull   /* between two looks at a process that cannot ring */
#define POLLS_IDLE    50u           /* looks that found nothing: then only the tick looks */
#define SECCOMP_ALL   64u           /* with more sessions than this, looked at every 10th tick */

struct roster;

struct sess {
	struct sess *next, **prev;
	struct roster *roster; /* borrowed */
	struct watch sock;     /* fd owned; -1: it has closed its end */
	struct watch pid;      /* pidfd, owned */
	struct peer peer;
	uint64_t id;
	uint64_t since_ns;
	uint64_t leave_ns;      /* 0, or when a session that has a successor ends */
	struct gate gate;       /* owned */
	struct stream *stream;  /* owned; NULL: has not said HELLO */
	struct sess *leader;    /* borrowed: budget.c; NULL: not looked for yet */
	enum tier was_asked;    /* before an alarm raised a capture, */
	uint64_t full_until_ns; /* until then; 0: none did */
	struct late late;       /* of the ranks that it leads */
	uint32_t captures;      /* that need tier full of it now */
	struct allow allow;     /* what was said of it alone */
	char moved[160]; /* its last move between the fidelity levels, and why; "": none yet */
	uint32_t alarms; /* that were told of it */
	enum tier asked; /* what the process is to show, if the budget allows it */
	struct proc_seccomp at_join;
	unsigned doorbells;                    /* in this second */
	unsigned idle;                         /* polls that found nothing */
	bool deaf;                             /* rang too often: not heard until the next second */
	bool quiet;                            /* must make no system call: cannot ring */
	bool more;                             /* there is more than one turn takes */
	bool trials;                           /* its libaon can leave steps out */
	bool slotted;                          /* slot.c: it has no steps, but launches */
	uint64_t launches;                     /* a second ago */
	uint64_t slot, slot_ns, slot_launches; /* under way, its beginning; 0: none */
	struct stacks_due stacks;
	uint64_t told_ns[ALARMS]; /* of the ranks that it leads */
};

#define JOURNAL_LINES 500u /* of the journal that the processes of a user may cause in a day */

struct roster {
	struct loop *loop; /* these borrowed */
	struct plant *plant;
	const struct param *param;
	struct left *left;
	struct admin *admin; /* NULL: nobody can ask here */
	struct watch listen; /* fd owned */
	struct watch poll;   /* timerfd, owned */
	struct watch slots;  /* the same, slot.c */
	bool slotting;       /* it is armed */
	int reserve;         /* a descriptor to give up when there are none; owned */
	struct sess *first;
	unsigned count;
	uint64_t ids;
	uint64_t boot_id[2];
	uint64_t ticks;
	uint64_t pool_bytes;    /* of all pools, the spare one with them */
	struct pool *spare;     /* owned; made ahead for who comes next */
	struct gate spare_gate; /* owned */
	bool more;              /* a session has more */
	bool polling;
	double emit_ns; /* what a record costs a process here */
	struct quota journal;
	uint64_t capture_next_ns, captures_day; /* of captures that alarms raise */
	uint32_t captures;
	struct quota raised; /* of these, each user's */
	struct stacks stacks;
	struct recorder_gones gones; /* ranks that have ended */
	struct faults faults;        /* of hardware, that were told lately */
	struct allow_jobs jobs;      /* limits of jobs */
	struct kept kept;            /* those of processes that an aond before had */
	uint64_t led_ids, led_count; /* when leaders were last looked for */
};

/* Owns listen_fd from here on, unless it fails. */
int roster_init(struct roster *r, struct loop *l, struct plant *pl, const struct param *p,
		struct left *left, int listen_fd);
/* Every session ends, its gate as it is: the process goes on filling its pool for the next aond. */
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

uint64_t now_mono(void);
uint64_t now_wall(void);

/* --- between sess.c, hello.c and roster.c --- */

/* A line that a user or a process has caused: so many a day of each user, then counted. */
void roster_journal(struct roster *r, uid_t uid, uint64_t now_ns, const char *what,
		    const char *text);
/* A line that a process has caused, in the journal and the log: so many a day, then counted. */
void sess_journal(struct sess *s, const char *what, const char *text);
/* budget.c: once a second, what recording costs each, and what it may. */
void budget_tick(struct roster *r, uint64_t now_ns);
void budget_note(struct sess *s); /* into its row */
/* slot.c: programs without steps, before budget_tick(). */
int slot_init(struct roster *r);
void slot_fini(struct roster *r);
void slot_tick(struct roster *r);
uint64_t budget_written(const struct sess *s);                  /* bytes of events, today */
int64_t budget_limit(const struct sess *s, enum allow_key key); /* what holds for it */
void sess_unlink(struct sess *s);                               /* ends one that has no stream */
void sess_end(struct sess *s, bool dead); /* drains to the end, reports, frees */
void sess_tier(struct sess *s);           /* its gate says what its process is asked for */
int sess_drain(struct sess *s);           /* 0; 1: it lied, and is gone */
int sess_hello(struct sess *s, const struct aon_msg_hello *m, struct msg_fds *fds);
bool sess_cannot_ring(const struct sess *s);
void roster_poll_on(struct roster *r);
void roster_accept(struct watch *w, uint32_t events);
void sess_sock(struct watch *w, uint32_t events);
void sess_pid(struct watch *w, uint32_t events);

#endif /* AON_SESS_H */
