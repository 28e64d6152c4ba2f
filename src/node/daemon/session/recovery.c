/* SPDX-License-Identifier: Apache-2.0 */
/* recovery.c - takes over what an earlier aond left behind; see recovery.h. */
#include "daemon/session/recovery.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/proc.h"
#include "daemon/stream/stream.h"
#include "store/store.h"

static bool same_boot(const uint64_t a[2], const uint64_t b[2])
{
	return a[0] == b[0] && a[1] == b[1];
}

static bool alive(const struct recovery *l, const uint64_t boot_id[2], uint32_t pid, uint64_t start)
{
	uint64_t now;

	return same_boot(l->boot_id, boot_id) && !proc_start((pid_t)pid, &now) && now == start;
}

static int keep_row(void *arg, const struct process *p)
{
	struct recovery *l = arg;
	struct recovery_row *r;

	/* Closed rows of dead processes are history; all others are somebody's business. */
	if (!p->connected && !p->account.in_flight && !alive(l, p->boot_id, p->pid, p->pid_start))
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->row = *p;
	r->next = l->first;
	l->first = r;
	return 0;
}

int recovery_load(struct recovery *l, struct store *st, const uint64_t boot_id[2])
{
	l->first = NULL;
	memcpy(l->boot_id, boot_id, sizeof(l->boot_id));
	return store_each_process(st, keep_row, l);
}

void recovery_free(struct recovery *l)
{
	struct recovery_row *r;

	while ((r = l->first)) {
		l->first = r->next;
		free(r);
	}
}

struct recovery_row *recovery_take(struct recovery *l, const uint64_t pool_id[2])
{
	for (struct recovery_row **at = &l->first, *r; (r = *at); at = &r->next) {
		if (r->row.pool_id[0] != pool_id[0] || r->row.pool_id[1] != pool_id[1])
			continue;
		*at = r->next;
		r->next = NULL;
		return r;
	}
	return NULL;
}

void recovery_sweep(struct recovery *l, struct plant *pl)
{
	for (struct recovery_row **at = &l->first, *r; (r = *at);) {
		struct account *a = &r->row.account;

		if (alive(l, r->row.boot_id, r->row.pid, r->row.pid_start)) {
			at = &r->next;
			continue;
		}
		r->row.connected = 0;
		a->lost[AON_LOSS_CRASH] += a->in_flight;
		a->in_flight = 0;
		store_process(pl->store, &r->row);
		pl->dirty = true;
		*at = r->next;
		free(r);
	}
}

/* --- pools in files --- */

void recovery_pool_unlink(const char *dir, const uint64_t pool_id[2])
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%016llx%016llx.pool", dir, (unsigned long long)pool_id[0],
		 (unsigned long long)pool_id[1]);
	unlink(path);
}

static int read_pool(struct recovery *l, struct plant *pl, struct pool *pool, uint32_t rows_max)
{
	const struct aon_seg_head *h = pool_head(pool);
	struct recovery_row *r = recovery_take(l, h->pool_id);
	struct process row = {
		.pid = h->pid, .pid_start = h->pid_start, .uid = geteuid(), .tier = TIER_FLIGHT
	};
	const struct clock_map now = pl->clock;
	struct stream *s;
	int err;

	memcpy(row.boot_id, h->boot_id, sizeof(row.boot_id));
	memcpy(row.pool_id, h->pool_id, sizeof(row.pool_id));
	err = stream_new(&s, pl, pool, r ? &r->row : &row, r ? &r->row.account : NULL, rows_max);
	if (err) {
		pool_free(pool);
		goto done;
	}
	/* Its counter may be that of another boot. */
	if (clock_map_init(&pl->clock, h->tsc_base, h->ns_base, h->tsc_base + h->tsc_hz,
			   h->ns_base + 1000000000u) < 0)
		pl->clock = now;
	stream_report(s);
	while (stream_drain(s, true) == 1)
		;
	stream_finish(s, s->proc.last_ns);
	s->proc.connected = 0;
	stream_report(s);
	stream_free(s);
	pl->clock = now;
done:
	free(r);
	return err;
}

static void read_file(struct recovery *l, struct plant *pl, int dir, const char *name,
		      uint32_t rows_max)
{
	const struct aon_seg_head *h;
	struct pool *pool;
	int fd, err;

	fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	err = pool_adopt(&pool, fd, true);
	close(fd);
	if (!err) {
		h = pool_head(pool);
		if (alive(l, h->boot_id, h->pid, h->pid_start)) {
			pool_free(pool); /* its process will come with it */
			return;
		}
		err = read_pool(l, pl, pool, rows_max);
	}
	if (err)
		log_warn("pool %s: %s: left as it is, see aon recover", name, strerror(-err));
	else
		unlinkat(dir, name, 0);
}

void recovery_pools(struct recovery *l, struct plant *pl, const char *path, uint32_t rows_max)
{
	DIR *d = opendir(path);
	struct dirent *e;

	if (!d) {
		log_warn("pool_dir %s: %s", path, strerror(errno));
		return;
	}
	while ((e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');

		if (dot && !strcmp(dot, ".pool"))
			read_file(l, pl, dirfd(d), e->d_name, rows_max);
	}
	closedir(d);
}
