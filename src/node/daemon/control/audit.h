/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit.h - records who asked aond for something that affects other users or shows their work, and
 * the result.
 *
 *	audit_say(c->uid, c->pid, "capture", err, "pid %d, %u ms", pid, ms);
 *
 * Refused requests are recorded, too: err is 0 or -errno. AUDIT_SELF stands for aond itself. The
 * loop passes lines to the writer's thread and never waits. A user has AUDIT_LINES a day, root and
 * aond have no limit. The file is bounded, with one older generation (model/audit.h). `aon audit`
 * reads it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#define AUDIT_LINES 2000u
#define AUDIT_SELF  geteuid(), getpid()

struct queue;

/* From here on, beside that store; kib 0: nothing is kept. */
void audit_init(struct queue *q, const char *store, uint32_t kib);
void audit_fini(void); /* once the writer has ended */

void audit_say(uid_t uid, pid_t pid, const char *what, int err, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Writer's thread: a line, with its LF. */
void audit_write(const char *line, size_t len);
