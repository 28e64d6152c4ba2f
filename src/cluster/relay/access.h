/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h - what each client may do at a relay: a file with one rule per line; the first that fits
 * counts.
 *
 *	# who    name in the certificate   and what
 *	node     node-*                    cluster=prod
 *	user     alice                     jobs=alice-* steps=20 seconds=30 hour=10
 *	watch    prometheus
 *
 * node: sends batches of that cluster, and takes orders. user: orders captures of those jobs, up to
 * these steps or seconds, and so many an hour; and may watch. watch: reads the metrics. Names and
 * jobs are patterns of the shell.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ACCESS_RULES 1024u
#define ACCESS_NAME  128u

enum access_role { ACCESS_NODE = 1, ACCESS_USER = 2, ACCESS_WATCH = 4 };

struct access_rule {
	unsigned role;
	char name[ACCESS_NAME];
	char cluster[64];                /* role node; "": any cluster */
	char jobs[ACCESS_NAME];          /* role user: pattern of job names */
	uint32_t steps, seconds, hourly; /* role user: limits */
};

struct access_list {
	struct access_rule *rule; /* owned */
	size_t n;
};

/* -errno; `why` then names file, line and what was expected. */
int access_read(struct access_list *out, const char *path, char why[256]);
void access_fini(struct access_list *a);

/* The rule for that name and one of the roles; NULL: none. */
const struct access_rule *access_find(const struct access_list *a, const char *name,
				      unsigned roles);
