/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the audit log come back as they were said; shares of users are their own. */
#include "model/audit.h"

#include <errno.h>
#include <string.h>

#include "daemon/budget/quota.h"
#include "t.h"

static const struct {
	const char *what, *outcome, *text, *read;
} said[] = {
	{ "capture", "ok", "pid 7, 100 ms", "pid 7, 100 ms" },
	{ "set", "denied", "", "" },
	{ "set", "misuse", "key=a\tb\nc\x1b[31m", "key=a\\x09b\\x0ac\\x1b[31m" },
	{ "subscribe", "busy", "caf\xc3\xa9 \xff", "caf\xc3\xa9 \\xff" },
};

static void lines(void)
{
	char line[AUDIT_LINE], longest[2 * AUDIT_LINE];
	struct audit_line got;
	size_t n;

	for (size_t i = 0; i < T_LEN(said); i++) {
		struct audit_line l = { 123456789012345678ull, 4294967294u,     77,
					said[i].what,          said[i].outcome, said[i].text };

		n = audit_put(line, &l);
		T_OK(n < AUDIT_LINE && line[n - 1] == '\n' && !memchr(line, '\n', n - 1),
		     "line %zu is one", i);
		line[n - 1] = '\0';
		T_OK(!audit_get(line, &got) && got.wall_ns == l.wall_ns && got.uid == l.uid &&
			     got.pid == l.pid && !strcmp(got.what, l.what) &&
			     !strcmp(got.outcome, l.outcome) && !strcmp(got.text, said[i].read),
		     "and comes back, with nothing in it that a terminal obeys: %s", said[i].read);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	n = audit_put(line, &(struct audit_line){ UINT64_MAX, UINT32_MAX, UINT32_MAX, longest,
						  longest, longest });
	T_OK(n < AUDIT_LINE && line[n - 1] == '\n', "what is too long is cut, its end is not");
}

static void bad(void)
{
	static const char *const no[] = { "",
					  "1",
					  "1\t2\t3\tset\tok",
					  "x\t2\t3\tset\tok\t",
					  "-1\t2\t3\tset\tok\t",
					  "1\t4294967296\t3\tset\tok\t",
					  "99999999999999999999\t2\t3\tset\tok\t" };
	struct audit_line got;
	char line[64];

	for (size_t i = 0; i < T_LEN(no); i++) {
		snprintf(line, sizeof(line), "%s", no[i]);
		T_OK(audit_get(line, &got) == -EINVAL, "not a line: %zu", i);
	}
}

static void quotas(void)
{
	static struct quota q;
	unsigned mine = 0, yours = 0, others = 0;

	for (int i = 0; i < 10; i++) {
		mine += quota_take(&q, 1000, 5, 100, 3);
		yours += quota_take(&q, 1000 + QUOTA_USERS, 5, 100, 4);
	}
	T_OK(mine == 3 && yours == 4, "users with alike numbers have each their own share");
	T_OK(!quota_take(&q, 1000, 99, 100, 3) && quota_take(&q, 1000, 100, 100, 3),
	     "that is full again in the next span");
	for (uid_t u = 0; u < 4 * QUOTA_USERS; u++)
		others += quota_take(&q, 5000 + u, 300, 100, 1);
	T_OK(others == QUOTA_USERS, "however many users there are, the table stays bounded");
}

int main(void)
{
	lines();
	bad();
	quotas();
	return t_done();
}
