/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - who consumes events live: a ring for each user that has consumers, one for the
 * admin's, each event written once for all of them (abi/consume.h).
 *
 * A consumer is a connection. It may ask for names and lanes of events that its ring has held, and
 * for no others: those may be another user's.
 */
#ifndef AON_BROKER_H
#define AON_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/loop.h"
#include "daemon/ring.h"
#include "model/process.h"

#define BROKER_RINGS     8   /* users at a time */
#define BROKER_CONSUMERS 512 /* in all, */
#define BROKER_PER_UID   128 /* and of one user */

struct store;
struct audience;

struct broker {
	struct loop *loop;      /* borrowed, as is */
	struct store *store;    /* for names and lanes */
	struct audience *first; /* owned; NULL: nobody consumes */
	unsigned rings, consumers;
};

void broker_init(struct broker *b, struct loop *l, struct store *st);
void broker_fini(struct broker *b); /* every subscription ends */

/*
 * A consumer of that user, or of all processes, on a socket that we own from here on, unless it
 * fails: -EBUSY, -ENOMEM, -errno. `mib` is the size of a ring that has to be made.
 */
int broker_subscribe(struct broker *b, int sock, uid_t uid, bool all, uint32_t mib);

/* Events of a process, for who may see them. */
void broker_events(struct broker *b, const struct process *p, const struct event *ev, size_t n);

#endif /* AON_BROKER_H */
