/* SPDX-License-Identifier: Apache-2.0 */
/* quota.c - a table of users, cleared when its period ends. */
#include "daemon/budget/quota.h"

#include <string.h>

bool quota_take(struct quota *q, uid_t uid, uint64_t now_ns, uint64_t span_ns, uint32_t max)
{
	uint32_t at = uid % QUOTA_USERS;

	if (now_ns / span_ns != q->span)
		memset(q->user, 0, sizeof(q->user));
	q->span = now_ns / span_ns;
	for (uint32_t i = 0; i < QUOTA_USERS; i++) {
		uint32_t k = (at + i) % QUOTA_USERS;

		if (!q->user[k].used || q->user[k].uid == uid) {
			at = k;
			q->user[k].uid = uid;
			break;
		}
	}
	if (q->user[at].used >= max)
		return false;
	q->user[at].used++;
	return true;
}
