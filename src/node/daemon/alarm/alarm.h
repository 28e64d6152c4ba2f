/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alarm.h - detections become journal entries, and may start a short capture.
 *
 * A process's stream delivers its steps and windows. Its heartbeat is checked every second, and
 * late ranks of a job on this node every ten seconds.
 */
#pragma once

#include "detect/detect.h"
#include "detect/fault.h"
#include "daemon/alarm/stacks.h"
#include "daemon/budget/quota.h"
#include "model/event.h"
#include "model/process.h"

#define ALARM_CAPTURES     24u  /* raised by alarms in a day, */
#define ALARM_CAPTURES_UID 8u   /* of these, by the processes of one user, */
#define ALARM_CAPTURE_S    600u /* so far apart at least, and one at a time */
#define ALARM_DAY_S        86400u
#define ALARM_SAME_S       60u /* of a job: the same alarm of several ranks within it is one */
#define ALARM_RANKS_KEPT   8u  /* of a job here: more would be the whole recorder's */
#define WATCHER_COMM       512u

/* Of one process; from its first step on. */
struct watcher {
	struct detect detect;
	struct detect_names names;
	struct store *store; /* borrowed */
	struct {
		uint32_t name; /* 0: free */
		bool yes;
	} comm[WATCHER_COMM];        /* whether kernels communicate, by their name */
	struct alarm raised[ALARMS]; /* since the last tick */
	size_t n;
};

/* Alarms of one process, and of the ranks that it leads. */
struct sess_alarms {
	uint32_t count;           /* that were raised for it */
	enum tier was_asked;      /* before an alarm started a capture, */
	uint64_t full_until_ns;   /* until then; 0: none did */
	struct late late;         /* of the ranks */
	uint64_t told_ns[ALARMS]; /* of the ranks */
	struct stacks_due stacks;
};

/* Captures that alarms start. */
struct raised {
	uint64_t next_ns, day;
	uint32_t captures;
	struct quota of_user;
};

struct sess;
struct roster;
struct store;

int watcher_new(struct watcher **out, struct store *st);
/* counts: what it takes says what steps take. */
void watcher_step(struct watcher *w, const struct event *e, bool counts);
void watcher_window(struct watcher *w, const struct window *win);

void alarm_restore(struct store *st); /* what captures keep, after a start */
void alarm_tick(struct roster *r, uint64_t now_ns);
/* A collector's event: an alarm if it tells of a GPU or of memory that fails. The text is printable. */
void alarm_fault(struct roster *r, const char *what, const char *text, uint64_t now_ns);
struct journal_entry;
/* Whose entry it is: process, user, rank, job. */
void alarm_who(struct journal_entry *e, const struct sess *s);
/* The process has ended and is drained: if others of its job already hang, they wait for it. */
void alarm_ended(struct sess *s, uint64_t now_ns);
