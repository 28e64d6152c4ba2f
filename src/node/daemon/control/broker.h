/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - live consumers of events: a ring for each user that has consumers, one for the
 * admin's; each event is written once for all of them (abi/consume.h).
 *
 * Consumers of a user that want events, or windows, with the same priority are an audience and
 * share a ring, which gets the union of what they need. Rings share a second's events by priority;
 * events above a ring's share are dropped from that ring alone, and its readers see how many.
 *
 * A consumer is a connection. It may ask for names, tracks and processes of events that its ring
 * has held, and for no others, because those may be another user's. A client that asks too often
 * has to wait.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/core/loop.h"
#include "daemon/control/subscribe_parse.h"
#include "daemon/budget/quota.h"
#include "daemon/control/ring.h"
#include "model/process.h"
#include "model/rollup.h"

#define BROKER_RINGS     16    /* at a time, */
#define BROKER_PER_USER  4     /* of one user, */
#define BROKER_CONSUMERS 512   /* in all, */
#define BROKER_PER_UID   128   /* and of one user */
#define BROKER_ASKS      4000u /* questions of a user in a second; further ones wait for the next */
#define BROKER_GONE      64u   /* processes that are reported when they have ended */

struct json;
struct roster;
struct store;
struct audience;

struct broker {
	struct loop *loop;      /* borrowed, as are */
	struct store *store;    /* for names and tracks */
	struct roster *roster;  /* for processes; NULL: none are here */
	struct audience *first; /* owned; NULL: nobody consumes */
	unsigned rings, consumers;
	uint64_t budget;   /* events a second for all rings; 0: no limit */
	bool lean;         /* aond is over its CPU budget: consumers of low priority get nothing */
	struct quota asks; /* since the last tick */
	struct process gone[BROKER_GONE];
	uint64_t left; /* processes that have ended while there were consumers */
};

struct broker_asker {
	uid_t uid;
	pid_t pid;
	bool all; /* processes of everybody */
};

void broker_init(struct broker *b, struct loop *l, struct store *st);
void broker_fini(struct broker *b); /* every subscription ends */

/*
 * A consumer on a socket that we own from here on, unless it fails: -EBUSY, -ENOMEM, -errno.
 * `mib` is the size of a ring that has to be made.
 */
int broker_subscribe(struct broker *b, int sock, const struct broker_asker *who,
		     const struct need *need, uint32_t mib);

/* Events of a process, and its rollups of a second, for consumers that may see them and need them. */
void broker_events(struct broker *b, const struct process *p, const struct event *ev, size_t n);
void broker_window(struct broker *b, const struct process *p, const struct window *w);
void broker_gone(struct broker *b, const struct process *p); /* it has ended */
/* Whether a consumer that may see the process needs full detail. */
bool broker_detail(const struct broker *b, const struct process *p);

void broker_tick(struct broker *b, uint64_t events, bool lean); /* every second */
void broker_json(const struct broker *b, struct json *j);       /* "consumers": [...] */
