/* SPDX-License-Identifier: Apache-2.0 */
/* audit.c - passes lines from the loop through the queue to one of two files that alternate. */
#include "daemon/control/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/core/count.h"
#include "daemon/core/param.h"
#include "daemon/stream/queue.h"
#include "daemon/budget/quota.h"
#include "daemon/session/session_list.h"
#include "model/audit.h"

static struct {
	struct queue *queue; /* borrowed; NULL: nothing is kept */
	struct quota quota;
	/* The writer's thread's. */
	char path[PARAM_PATH_BYTES + 16], before[PARAM_PATH_BYTES + 16];
	int fd; /* owned; -1: not open */
	uint64_t bytes, max_bytes;
} audit = { .fd = -1 };

void audit_init(struct queue *q, const char *store, uint32_t kib)
{
	audit.queue = kib ? q : NULL;
	audit.max_bytes = (uint64_t)kib << 10;
	snprintf(audit.path, sizeof(audit.path), "%s" AUDIT_SUFFIX, store);
	snprintf(audit.before, sizeof(audit.before), "%s" AUDIT_BEFORE, store);
}

void audit_fini(void)
{
	if (audit.fd >= 0)
		close(audit.fd);
	audit.fd = -1;
	audit.queue = NULL;
}

/* --- the loop --- */

static const char *outcome(int err)
{
	switch (err) {
	case 0:
		return "ok";
	case -EPERM:
	case -EACCES:
		return "denied";
	case -EBUSY:
		return "busy";
	case -ESRCH:
	case -ENOENT:
		return "none";
	case -EINVAL:
		return "misuse";
	default:
		return "failed";
	}
}

void audit_say(uid_t uid, pid_t pid, const char *what, int err, const char *fmt, ...)
{
	struct audit_line l = { clock_wall_ns(), uid, (uint32_t)pid, what, outcome(err), NULL };
	char text[AUDIT_LINE];
	struct item *it;
	va_list ap;

	if (!audit.queue)
		return;
	if (uid != 0 && uid != geteuid() &&
	    !quota_take(&audit.quota, uid, clock_mono_ns(), QUOTA_DAY, AUDIT_LINES)) {
		count_add(COUNT_audit_lost, 1);
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	l.text = text;
	it = item_new(ITEM_AUDIT, AUDIT_LINE);
	if (it) {
		it->seq = audit_put(item_tail(it), &l);
		queue_push(audit.queue, it);
	} else {
		count_add(COUNT_audit_lost, 1);
	}
}

/* --- the writer's thread --- */

static int open_file(void)
{
	struct stat sb;

	audit.fd = open(audit.path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (audit.fd < 0 || fstat(audit.fd, &sb) < 0)
		return -errno;
	audit.bytes = (uint64_t)sb.st_size;
	return 0;
}

static int write_line(const char *line, size_t len)
{
	int err = audit.fd < 0 ? open_file() : 0;
	ssize_t n;

	if (!err && audit.bytes && audit.bytes + len > audit.max_bytes) {
		if (rename(audit.path, audit.before) < 0)
			return -errno;
		close(audit.fd);
		err = open_file();
	}
	if (err)
		return err;
	n = write(audit.fd, line, len);
	if (n != (ssize_t)len) { /* no part of one stays: the disk is full */
		err = n < 0 ? -errno : -ENOSPC;
		(void)!ftruncate(audit.fd, (off_t)audit.bytes);
		return err;
	}
	audit.bytes += len;
	return 0;
}

void audit_write(const char *line, size_t len)
{
	int err = write_line(line, len);

	if (!err)
		return;
	count_add(COUNT_audit_lost, 1);
	log_err("%s: %s", audit.path, strerror(-err));
}
