/* SPDX-License-Identifier: Apache-2.0 */
/*
 * limits_file.h - limits of jobs and processes that survive a restart of aond: a file in its run
 * directory, which, like the processes, does not survive a reboot.
 *
 *	job<tab>NAME<tab>admin | UID<tab>KEY<tab>VALUE
 *	pid<tab>PID<tab>START<tab>admin | own<tab>KEY<tab>VALUE      START: as proc_start()
 *
 * The file is rewritten with every change, and read once. Lines that do not parse are skipped.
 */
#pragma once

#include <stddef.h>

#include "daemon/budget/allow.h"

#define KEPT_NAME "limits"
#define KEPT_PIDS 1024u

/* Processes of the previous aond that have not joined yet. */
struct kept {
	struct kept_one {
		pid_t pid; /* 0: it has joined */
		uint64_t start;
		struct allow allow;
	} * one; /* owned */
	size_t n;
};

struct roster;

/* Any bytes are allowed; text is changed. */
void kept_parse(struct kept *k, struct allow_jobs *jobs, char *text);
/* Earlier limits of that process. */
void kept_claim(struct kept *k, pid_t pid, uint64_t start, struct allow *out);
void kept_fini(struct kept *k);

void kept_read(struct roster *r, int run_dir);
void kept_write(const struct roster *r, int run_dir);
