/* SPDX-License-Identifier: Apache-2.0 */
/* procs.c - choosing processes of a store; see procs.h. */
#include "read/procs.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/order.h"
#include "base/proc.h"
#include "base/vec.h"

bool procs_live(const struct procs *ps, const struct process *p)
{
	uint64_t start;

	if (!p->connected || memcmp(p->boot_id, ps->boot_id, sizeof(ps->boot_id)) != 0)
		return false;
	return proc_start((pid_t)p->pid, &start) == 0 && start == p->pid_start;
}

static bool wanted(const struct procs *ps, const struct process *p)
{
	const struct procs_want *w = ps->want;

	if (w->id && p->id != w->id)
		return false;
	if (w->pid && p->pid != w->pid)
		return false;
	if (w->run && strncmp(p->run, w->run, sizeof(p->run)) != 0)
		return false;
	if (w->since_ns && (p->first_ns < w->since_ns ||
			    memcmp(p->boot_id, ps->boot_id, sizeof(ps->boot_id)) != 0))
		return false;
	return !w->connected || procs_live(ps, p);
}

static int on_process(void *arg, const struct process *p)
{
	struct procs *ps = arg;

	ps->in_store++;
	if (!wanted(ps, p))
		return 0;
	if (vec_more(&ps->p, ps->n, sizeof(*ps->p)) < 0)
		return -ENOMEM;
	ps->p[ps->n++] = *p;
	return 0;
}

static int process_cmp(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return cmp_num(y->connected, x->connected) ?: cmp_num(y->last_ns, x->last_ns) ?: cmp_num(x->id, y->id);
}

int procs_load(struct procs *ps, struct store *st, const struct procs_want *want)
{
	int err;

	memset(ps, 0, sizeof(*ps));
	ps->want = want;
	proc_boot_id(ps->boot_id);
	err = store_each_process(st, on_process, ps);
	if (err < 0) {
		procs_fini(ps);
		return err;
	}
	if (ps->n)
		qsort(ps->p, ps->n, sizeof(*ps->p), process_cmp);
	return 0;
}

void procs_fini(struct procs *ps)
{
	free(ps->p);
	ps->p = NULL;
	ps->n = 0;
}

uint64_t procs_now(const struct procs *ps)
{
	uint64_t last = 0;

	for (size_t i = 0; i < ps->n; i++) {
		if (procs_live(ps, &ps->p[i]))
			return clock_mono_ns();
		if (ps->p[i].last_ns > last)
			last = ps->p[i].last_ns;
	}
	return last;
}

const char *procs_tier(uint32_t tier)
{
	static const char *const word[] = { "off", "heartbeat", "rollup", "flight", "full" };

	return tier < sizeof(word) / sizeof(word[0]) ? word[tier] : "?";
}

const char *procs_detail(uint32_t tier)
{
	static const char *const word[] = { "off", "heartbeat", "sums", "normal", "full" };

	return tier < sizeof(word) / sizeof(word[0]) ? word[tier] : "?";
}

char *procs_user(uint32_t uid, char *buf, size_t cap)
{
	struct passwd pw, *found = NULL;
	char text[1024];

	if (getpwuid_r(uid, &pw, text, sizeof(text), &found) == 0 && found)
		snprintf(buf, cap, "%s", pw.pw_name);
	else
		snprintf(buf, cap, "%u", uid);
	return buf;
}
