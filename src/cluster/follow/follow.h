/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.h - aon diagnose --follow: jobs of a cluster, diagnosed as their records come in.
 *
 *	ClickHouse: process, step --> one struct diag a job --> finding rows --> spool --> ClickHouse
 *
 * A cluster needs one such service. The rows and the cursor of each job are one commit of the
 * spool, so that each finding is reported once, through any crash: after a restart a job's newest
 * steps are read again, and its open findings are known.
 */
#pragma once

#include "diagnose/diagnose.h"
#include "net/http.h"

#define FOLLOW_JOBS 1024u /* jobs at a time; of more, the first by name */

/*
 * Called for each new actionable finding, with the ranks to capture: the culprit, a healthy rank
 * with the same role, and one that waits. `n` is at most 3.
 */
typedef void follow_act_fn(void *arg, const char *job, const struct diag_verdict *v,
			   const uint32_t *rank, uint32_t n);

struct follow_opts {
	const char *url;   /* clickhouse://... */
	const char *spool; /* folder */
	const char *job;   /* NULL: all */
	struct http_files files;
	uint32_t every_ms;    /* time between two looks */
	uint32_t patience_ms; /* how long to wait for records that some ranks have not sent */
	int stop_fd;          /* readable: stop in order */
	follow_act_fn *act;   /* NULL: not called */
	void *arg;
};

/* Runs until it is asked to end. 0; else *why says what went wrong. */
int follow_run(const struct follow_opts *o, struct net_why *why);
