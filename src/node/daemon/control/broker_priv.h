/* SPDX-License-Identifier: Apache-2.0 */
/* broker_priv.h - shared by broker.c and broker_ask.c. */
#pragma once

#include "daemon/control/broker.h"

/* A set of ids. */
struct id_set {
	uint64_t *bit; /* owned */
	size_t words;
};

struct consumer {
	struct consumer *next;
	struct watch sock; /* fd owned */
	struct audience *audience;
	struct broker_asker who;
	struct need need;
	uint64_t since_ns;
	bool deaf; /* has asked too often: not heard until the next second */
};

struct audience {
	struct audience *next;
	struct broker *broker; /* borrowed */
	struct ring ring;
	uid_t uid;
	bool all; /* the admin's: events of everybody */
	bool window;
	enum need_priority priority;
	struct consumer *first;
	uint64_t kinds;       /* that any of them needs */
	bool any_pid;         /* one of them needs all */
	uint64_t share, used; /* of this second's events; share UINT64_MAX: no limit */
	struct id_set name, track;
};

void seen_add(struct id_set *s, uint64_t id);

/* Whether an audience may see it at all. */
static inline bool audience_may(const struct audience *a, const struct process *p)
{
	return a->all || a->uid == p->uid;
}

/* The answer's length. -EINVAL: no question. */
int broker_answer(struct audience *a, const char *line, char *out, size_t cap);
