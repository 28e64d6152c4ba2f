/* SPDX-License-Identifier: Apache-2.0 */
/* allow.c - limits of jobs and processes; see allow.h. */
#include "daemon/budget/allow.h"

#include <stdio.h>
#include <string.h>

const char *const allow_name[ALLOWS] = {
#define ALLOW(key, used, given) #key,
#include "daemon/budget/allow.tbl.h"
};

enum allow_key allow_find(const char *key)
{
	const struct param_row *r = conf_find(&param_conf, key);
	int i = 0;

	while (i < ALLOWS && (!r || strcmp(allow_name[i], r->key)))
		i++;
	return (enum allow_key)i;
}

int64_t allow_node(const struct param *p, enum allow_key key)
{
	switch (key) {
#define ALLOW(name, used, given) \
	case ALLOW_##name:       \
		return p->name;
#include "daemon/budget/allow.tbl.h"
	case ALLOWS:
		break;
	}
	return 0;
}

bool allow_tighter(enum allow_key key, int64_t a, int64_t b)
{
	if (key == ALLOW_fidelity)
		return a > b;
	return a && (!b || a < b);
}

static void tighten(enum allow_key key, const struct allow *a, int64_t *limit)
{
	if (a->own_set[key] && allow_tighter(key, a->own[key], *limit))
		*limit = a->own[key];
}

static const struct allow *of_job(const struct allow_jobs *jobs, const char *job, bool admin,
				  uid_t uid)
{
	for (size_t i = 0; *job && i < ALLOW_JOBS; i++) {
		const struct allow_job *r = &jobs->row[i];

		if (!strcmp(r->job, job) && r->any == admin && (admin || r->uid == uid))
			return &r->allow;
	}
	return NULL;
}

int64_t allow_limit(const struct param *p, const struct allow_jobs *jobs, const struct allow *own,
		    const char *job, uid_t uid, enum allow_key key)
{
	const struct allow *all = of_job(jobs, job, true, 0), *mine = of_job(jobs, job, false, uid);
	int64_t limit = allow_node(p, key);

	if (key == ALLOW_disk_mib_day)
		limit = 0; /* the node's is of all processes together */
	if (own->admin_set[key])
		limit = own->admin[key];
	else if (all && all->admin_set[key])
		limit = all->admin[key];
	tighten(key, own, &limit);
	if (mine)
		tighten(key, mine, &limit);
	return limit;
}

struct allow_job *allow_job(struct allow_jobs *jobs, const char *job, bool admin, uid_t uid,
			    bool make)
{
	const struct allow *is = of_job(jobs, job, admin, uid);
	struct allow_job *room = NULL;
	unsigned theirs = 0;

	for (size_t i = 0; i < ALLOW_JOBS; i++) {
		struct allow_job *r = &jobs->row[i];

		if (is == &r->allow)
			return r;
		if (!*r->job)
			room = r;
		else
			theirs += !r->any && r->uid == uid;
	}
	if (!make || !room || !*job || strlen(job) >= ALLOW_JOB_LEN ||
	    (!admin && theirs >= ALLOW_JOBS_UID))
		return NULL;
	*room = (struct allow_job){ .any = admin, .uid = uid };
	snprintf(room->job, sizeof(room->job), "%s", job);
	return room;
}

void allow_set(struct allow *a, enum allow_key key, bool admin, const int64_t *value)
{
	(admin ? a->admin_set : a->own_set)[key] = value != NULL;
	(admin ? a->admin : a->own)[key] = value ? *value : 0;
}

bool allow_empty(const struct allow *a)
{
	for (int i = 0; i < ALLOWS; i++)
		if (a->admin_set[i] || a->own_set[i])
			return false;
	return true;
}
