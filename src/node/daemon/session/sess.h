/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sess.h - sessions of processes: how they join, are drained, and leave.
 *
 *	accept -> (2 s) HELLO -> session -> its process ends -> drained to the last record, gone
 *	                            |  ^
 *	          its socket closes v  | it offers its pool again
 *	                      without a socket: emptied by the clock until its process ends
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/alarm/alarm.h"
#include "daemon/alarm/oom.h"
#include "daemon/budget/budget.h"
#include "daemon/budget/slot.h"
#include "daemon/session/channel.h"
#include "daemon/session/gate.h"
#include "daemon/session/msg.h"
#include "daemon/session/peer.h"
#include "daemon/stream/stream.h"

struct roster;

struct sess {
	struct sess *next, **prev;
	struct roster *roster; /* borrowed */
	struct peer peer;
	uint64_t id;
	uint64_t since_ns;
	uint64_t leave_ns;     /* 0, or when a session that has a successor ends */
	struct gate gate;      /* owned */
	struct stream *stream; /* owned; NULL: has not said HELLO */
	struct channel channel;
	struct sess_budget budget;
	struct slot slot;
	struct sess_alarms alarm;
	struct sess_oom oom;
};

/*
 * A journal entry that a process has caused, also logged: up to a daily limit, then only counted.
 * Its time is now.
 */
void sess_journal(struct sess *s, struct journal_entry *e);
void sess_unlink(struct sess *s);         /* ends one that has no stream */
void sess_end(struct sess *s, bool dead); /* drains to the end, reports, frees */
void sess_tier(struct sess *s);           /* sets the gate to the requested tier */
int sess_drain(struct sess *s);           /* 0; 1: it broke the protocol, and its session is gone */
int sess_hello(struct sess *s, const struct aon_msg_hello *m, struct msg_fds *fds);
bool sess_cannot_ring(const struct sess *s);
void sess_sock(struct watch *w, uint32_t events);
void sess_pid(struct watch *w, uint32_t events);
