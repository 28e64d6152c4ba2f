/* SPDX-License-Identifier: Apache-2.0 */
/* kineto.c - the table of processes that poll for orders; see kineto.h. */
#include "daemon/capture/kineto.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/core/count.h"
#include "daemon/session/peer.h"

static void drop_order(struct kineto_proc *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
	p->state = KINETO_FREE;
	p->owner = 0;
	p->config[0] = '\0';
}

/* It was silent for long, and nobody waits for it. */
static bool is_stale(const struct kineto_proc *p, uint64_t now_ns)
{
	return p->pid && p->state == KINETO_FREE && now_ns > p->last_ns + KINETO_GONE_NS;
}

static struct kineto_proc *find(struct kineto *k, pid_t pid)
{
	for (struct kineto_proc *p = k->proc; p < k->proc + k->top; p++)
		if (p->pid == pid)
			return p;
	return NULL;
}

/* Room for one more, unless its user has enough. */
static struct kineto_proc *make_room(struct kineto *k, uid_t uid, uint64_t now_ns)
{
	struct kineto_proc *room = NULL;
	unsigned own = 0;

	for (struct kineto_proc *p = k->proc; p < k->proc + k->top; p++) {
		if (is_stale(p, now_ns))
			p->pid = 0;
		if (!p->pid)
			room = room ? room : p;
		else
			own += p->uid == uid;
	}
	if (!room && k->top < KINETO_PROCS)
		room = &k->proc[k->top++];
	return own < KINETO_PER_UID ? room : NULL;
}

int kineto_heard(struct kineto *k, const struct fabric_msg *m, pid_t pid, uid_t uid,
		 uint64_t now_ns, char config[KINETO_CONFIG])
{
	struct kineto_proc *p;
	int err = 0;

	config[0] = '\0';
	if (pid <= 0) /* of a pid namespace that we cannot see into */
		return -ESRCH;
	pthread_mutex_lock(&k->lock);
	p = find(k, pid);
	if (p && p->uid != uid) { /* another process has its number now */
		drop_order(p);
		p->uid = uid;
	}
	if (!p) {
		p = make_room(k, uid, now_ns);
		if (p)
			*p = (struct kineto_proc){ .pid = pid, .uid = uid, .pidfd = -1 };
		else
			err = -ENOSPC;
	}
	if (p) {
		p->last_ns = now_ns;
		p->job = m->job;
		p->ready = m->ready || m->kind != FABRIC_REQ;
		if (m->kind == FABRIC_REQ && m->ready && p->state == KINETO_WAITS) {
			memcpy(config, p->config, KINETO_CONFIG);
			p->state = KINETO_GIVEN;
		}
	}
	pthread_mutex_unlock(&k->lock);
	return err;
}

size_t kineto_list(struct kineto *k, uid_t uid, uint64_t now_ns, struct kineto_row *row, size_t max)
{
	size_t n = 0;

	if (!k->proc)
		return 0;
	pthread_mutex_lock(&k->lock);
	for (struct kineto_proc *p = k->proc; p < k->proc + k->top && n < max; p++)
		if (p->pid && !is_stale(p, now_ns) && (uid == 0 || p->uid == uid))
			row[n++] =
				(struct kineto_row){ p->pid, p->uid, p->job, p->ready, p->state };
	pthread_mutex_unlock(&k->lock);
	return n;
}

int kineto_order(struct kineto *k, pid_t pid, uid_t uid, uint64_t owner, const char *config)
{
	int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1, err = 0;
	struct kineto_proc *p;

	if (pid <= 0 || (pidfd < 0 && errno == ESRCH))
		return -ESRCH;
	pthread_mutex_lock(&k->lock);
	p = k->proc ? find(k, pid) : NULL;
	if (!p)
		err = -ESRCH;
	else if (uid != 0 && p->uid != uid)
		err = -EPERM;
	else if (p->state == KINETO_GIVEN && p->owner == owner)
		drop_order(p); /* it gives another: nothing came of the first */
	else if (p->state != KINETO_FREE)
		err = -EBUSY;
	if (!err) {
		p->pidfd = pidfd;
		p->owner = owner;
		p->state = KINETO_WAITS;
		snprintf(p->config, sizeof(p->config), "%s", config);
	}
	pthread_mutex_unlock(&k->lock);
	if (err && pidfd >= 0)
		close(pidfd);
	return err;
}

size_t kineto_orders(struct kineto *k, uint64_t owner, struct kineto_order *out, size_t max)
{
	size_t n = 0;

	if (!k->proc)
		return 0;
	pthread_mutex_lock(&k->lock);
	for (struct kineto_proc *p = k->proc; p < k->proc + k->top && n < max; p++)
		if (p->pid && p->owner == owner && p->state != KINETO_FREE)
			out[n++] = (struct kineto_order){ p->pid, p->state,
							  p->pidfd >= 0 && peer_gone(p->pidfd) };
	pthread_mutex_unlock(&k->lock);
	return n;
}

void kineto_forget(struct kineto *k, uint64_t owner)
{
	if (!k->proc)
		return;
	pthread_mutex_lock(&k->lock);
	for (struct kineto_proc *p = k->proc; p < k->proc + k->top; p++)
		if (p->pid && p->owner == owner && p->state != KINETO_FREE)
			drop_order(p);
	pthread_mutex_unlock(&k->lock);
}
