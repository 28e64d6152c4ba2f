/* SPDX-License-Identifier: Apache-2.0 */
/* quota.h - a quota per user and period: a day, a second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define QUOTA_USERS \
	256u /* that are distinguished; one that comes later in a span shares with one of them */
#define QUOTA_DAY (86400 * 1000000000ull)

struct quota {
	uint64_t span; /* that the following are of */
	struct {
		uid_t uid;
		uint32_t used; /* 0: free */
	} user[QUOTA_USERS];
};

/* Takes one for that user, at `now_ns`. False: the user has had `max` in this span. */
bool quota_take(struct quota *q, uid_t uid, uint64_t now_ns, uint64_t span_ns, uint32_t max);
