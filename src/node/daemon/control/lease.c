/* SPDX-License-Identifier: Apache-2.0 */
/* lease.c - the table of leases, and its effects on processes. */
#include "daemon/control/lease.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/control/audit.h"
#include "daemon/control/lease_priv.h"
#include "daemon/session/peer.h"
#include "daemon/session/session_list.h"

enum { PROCESS, NODE };

const struct lease_row lease_table[LEASE_HW] = {
#define LEASE(NAME, word, of, source, what) { word, source, of == NODE },
#include "daemon/control/lease.tbl.h"
};

/* --- what it does --- */

static bool counters_leased(const struct leases *ls)
{
	for (const struct lease *l = ls->first; l; l = l->next)
		if (lease_table[l->ask.hw].node)
			return true;
	return false;
}

/* Of all processes, those that have joined since with them. */
static void tell_counters(struct leases *ls)
{
	bool leased = counters_leased(ls);

	for (struct sess *s = ls->roster->first; s; s = s->next)
		if (s->stream)
			gate_counters(&s->gate, !leased);
}

static uint32_t new_number(void)
{
	uint32_t n = 0;

	while (!n)
		if (getrandom(&n, sizeof(n), 0) != sizeof(n))
			n = (uint32_t)clock_mono_ns();
	return n;
}

/* --- ends --- */

static void end(struct lease *l, const char *why)
{
	struct leases *ls = l->leases;
	struct lease **at = &ls->first;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	audit_say(l->ask.uid, l->ask.pid, "lease", 0, "%s of %s %d", why,
		  lease_table[l->ask.hw].word, (int)l->ask.of);
	if (l->holder.fd >= 0) {
		loop_del(ls->loop, &l->holder);
		close(l->holder.fd);
	}
	if (l->ask.hw == LEASE_CUPTI) /* at once: not when its time would have been over */
		roster_room(ls->roster, l->ask.of, 0, new_number(), 1);
	free(l);
	leases_keep(ls);
	tell_counters(ls);
}

static void holder_ended(struct watch *w, uint32_t events)
{
	(void)events;
	end(container_of(w, struct lease, holder), "end of the holder");
}

void leases_tick(struct leases *ls, uint64_t now)
{
	for (struct lease *l = ls->first, *next; l; l = next) {
		next = l->next;
		if (now >= l->until_ns)
			end(l, "expiry");
	}
	tell_counters(ls);
}

/* --- taking --- */

struct lease *lease_find(const struct leases *ls, enum lease_hw hw, pid_t of)
{
	struct lease *l = ls->first;

	while (l && (l->ask.hw != hw || l->ask.of != of))
		l = l->next;
	return l;
}

/* Another's, of the same or of what shares its lock. */
static bool taken(const struct leases *ls, const struct lease_ask *a)
{
	unsigned n = 0;

	for (const struct lease *l = ls->first; l; l = l->next) {
		bool same = l->ask.hw == a->hw && l->ask.of == a->of;
		bool shared = lease_table[l->ask.hw].node && lease_table[a->hw].node;

		if ((same || shared) && l->ask.uid != a->uid)
			return true;
		n++;
	}
	return n >= LEASES_MAX;
}

static unsigned of_uid(const struct leases *ls, uid_t uid)
{
	unsigned n = 0;

	for (const struct lease *l = ls->first; l; l = l->next)
		n += l->ask.uid == uid;
	return n;
}

/* Whose end frees it: only a process of the asker's own. The pidfd, -1: none, or -errno. */
static int watch_holder(const struct lease_ask *a)
{
	char path[32];
	struct stat sb;
	int fd;

	if (!a->holder)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, a->holder, 0);
	if (fd < 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d", (int)a->holder);
	/* Alive still, so what /proc said was about this process. */
	if (stat(path, &sb) < 0 || peer_gone(fd) || (a->uid && sb.st_uid != a->uid)) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

static int check(const struct leases *ls, const struct lease_ask *a)
{
	if (a->hw >= LEASE_HW || !a->ms || a->ms > LEASE_MS_MAX || a->of < 0 ||
	    lease_table[a->hw].node != !a->of)
		return -EINVAL;
	if (lease_table[a->hw].node && a->guest)
		return -EPERM;
	if (taken(ls, a))
		return -EBUSY;
	return !lease_find(ls, a->hw, a->of) && of_uid(ls, a->uid) >= LEASES_PER_UID ? -ENOSPC : 0;
}

/* The order is given first: there is no lease on a process that is not there. told: it was, before. */
static int take(struct leases *ls, const struct lease_ask *a, uint32_t *number, bool told)
{
	struct lease *l = lease_find(ls, a->hw, a->of), *old = l;
	int err, fd;

	fd = watch_holder(a);
	if (fd < -1)
		return fd;
	l = calloc(1, sizeof(*l));
	err = l ? 0 : -ENOMEM;
	*number = new_number();
	if (!err && !told && a->hw == LEASE_CUPTI &&
	    !roster_room(ls->roster, a->of, a->uid, *number, a->ms))
		err = -ESRCH;
	if (!err) {
		*l = (struct lease){ .next = ls->first,
				     .leases = ls,
				     .ask = *a,
				     .holder = { fd, holder_ended },
				     .until_ns = clock_mono_ns() + a->ms * 1000000ull };
		err = fd >= 0 ? loop_add(ls->loop, &l->holder, EPOLLIN) : 0;
	}
	if (err) {
		free(l);
		if (fd >= 0)
			close(fd);
		return err;
	}
	if (old)
		lease_drop(ls, old);
	l->next = ls->first;
	ls->first = l;
	lease_known(l);
	leases_keep(ls);
	tell_counters(ls);
	return 0;
}

/* Replaced: nothing changes for processes. */
void lease_drop(struct leases *ls, struct lease *l)
{
	struct lease **at = &ls->first;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	if (l->holder.fd >= 0) {
		loop_del(ls->loop, &l->holder);
		close(l->holder.fd);
	}
	free(l);
}

int lease_take(struct leases *ls, const struct lease_ask *a, uint32_t *number)
{
	int err = check(ls, a);

	err = err ? err : take(ls, a, number, false);
	audit_say(a->uid, a->pid, "lease", err, "%s %d for %u ms, %s",
		  a->hw < LEASE_HW ? lease_table[a->hw].word : "?", (int)a->of, a->ms,
		  *a->tool ? a->tool : "some tool");
	return err;
}

int lease_again(struct leases *ls, const struct lease_ask *a)
{
	uint32_t number;
	int err = lease_find(ls, a->hw, a->of) ? -EEXIST : check(ls, a);

	return err ? err : take(ls, a, &number, true);
}

int lease_release(struct leases *ls, const struct lease_ask *a)
{
	struct lease *l = lease_find(ls, a->hw, a->of);

	if (!l)
		return -ENOENT;
	if (l->ask.uid != a->uid && a->guest) {
		audit_say(a->uid, a->pid, "lease", -EPERM, "release of %s %d",
			  lease_table[a->hw].word, (int)a->of);
		return -EPERM;
	}
	end(l, "release");
	return 0;
}

/* --- life --- */

void leases_init(struct leases *ls, struct loop *l, struct roster *r)
{
	*ls = (struct leases){ .loop = l, .roster = r, .run_dir = -1 };
}

void leases_fini(struct leases *ls)
{
	while (ls->first)
		lease_drop(ls, ls->first);
}
