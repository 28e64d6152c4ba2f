/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allow.h - limits of a job or a process that differ from the node's settings.
 *
 * The node's admin may set any limit; the owner of the processes may only tighten one. A limit that
 * the admin sets for a process overrides that of its job, which overrides the settings; of the
 * users' limits the tightest counts. Pure: nothing here knows sockets or sessions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/core/param.h"

enum allow_key {
#define ALLOW(key, used, given) ALLOW_##key,
#include "daemon/budget/allow.tbl.h"
	ALLOWS,
};

#define ALLOW_JOBS     32u /* rows of jobs in all, */
#define ALLOW_JOBS_UID 4u  /* and of one user */
#define ALLOW_JOB_LEN  48u

struct allow {
	bool admin_set[ALLOWS], own_set[ALLOWS];
	int64_t admin[ALLOWS], own[ALLOWS];
};

struct allow_job {
	char job[ALLOW_JOB_LEN]; /* "": free */
	bool any;                /* the admin's: for all users' processes of that name */
	uid_t uid;
	struct allow allow;
};

struct allow_jobs {
	struct allow_job row[ALLOW_JOBS];
};

extern const char *const allow_name[ALLOWS];

/* ALLOWS: no such key. */
enum allow_key allow_find(const char *key);
/* The node's. */
int64_t allow_node(const struct param *p, enum allow_key key);
/* True if `a` leaves less than `b`: 0 is no limit, but for a fidelity level, which is lower if larger. */
bool allow_tighter(enum allow_key key, int64_t a, int64_t b);
/* The limit for a process of that user and job ("": none). own: limits of the process alone. */
int64_t allow_limit(const struct param *p, const struct allow_jobs *jobs, const struct allow *own,
		    const char *job, uid_t uid, enum allow_key key);
/* The row of a job, for the admin or for a user; made if `make`. NULL: there is none, or no room. */
struct allow_job *allow_job(struct allow_jobs *jobs, const char *job, bool admin, uid_t uid,
			    bool make);
/* One value, or NULL: removes an earlier one. */
void allow_set(struct allow *a, enum allow_key key, bool admin, const int64_t *value);
bool allow_empty(const struct allow *a);
