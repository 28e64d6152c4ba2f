/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alarm.h - what detectors find goes into the journal, and may raise a short capture.
 *
 * Steps and windows of a process come from its stream; every second its pulse is looked at, and every
 * ten seconds who is late among the ranks of a job here.
 */
#ifndef AON_DAEMON_ALARM_H
#define AON_DAEMON_ALARM_H

#include "detect/detect.h"
#include "model/event.h"

#define ALARM_CAPTURES     24u  /* raised by alarms in a day, */
#define ALARM_CAPTURES_UID 8u   /* of these, by the processes of one user, */
#define ALARM_CAPTURE_S    600u /* so far apart at least, and one at a time */
#define ALARM_DAY_S        86400u

/* Of one process; from its first step on. */
struct watcher {
	struct detect detect;
	uint32_t memory;             /* name of what is allocated */
	uint64_t comm_ns;            /* in collectives, since ranks were last compared */
	struct alarm raised[ALARMS]; /* since the last tick */
	size_t n;
};

struct sess;
struct roster;
struct store;

int watcher_new(struct watcher **out, struct store *st);
void watcher_step(struct watcher *w, const struct event *e);
void watcher_window(struct watcher *w, const struct window *win);

void alarm_tick(struct roster *r, uint64_t now_ns);

#endif /* AON_DAEMON_ALARM_H */
