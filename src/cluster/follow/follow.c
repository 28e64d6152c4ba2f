/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - see follow.h.
 *
 * One thread looks at each job in turn, puts findings into the spool together with the cursor, and
 * sends. A query that fails is repeated at the next look, from the last commit on.
 */
#include "follow/follow.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "follow/watch.h"
#include "ship/spool/netday.h"
#include "ship/send.h"

#define SECOND   1000000000ull
#define HEARD_NS (3600 * SECOND) /* a job that was silent for this long is forgotten */
/* An ended job is still looked at for this long: its last records may be on their way. */
#define ENDED_NS  (120 * SECOND)
#define COMMIT_MS 30000u
#define MAX_BYTES (64ull << 20)
#define MAX_AGE   (7 * 86400 * SECOND)

struct job {
	struct job_watch *w;     /* owned */
	struct cursor_job saved; /* its state before this look, to restore if the look fails */
	bool listed;
};

struct follow {
	const struct follow_opts *o;
	struct fleet *f;
	struct spool *spool;
	struct send *send;
	struct netday day; /* without a limit, because findings are few */
	struct packs packs;
	struct job *job; /* owned; FOLLOW_JOBS */
	size_t jobs;
	uint64_t commit_ms;
	bool moved;             /* something changed since the last commit */
	uint64_t not_before_ns; /* findings that began earlier may have been reported already */
	char trouble[256];
	char host[64];
};

/* --- opening --- */

static int open_send(struct follow *x, struct net_why *why)
{
	struct send_opts so = { .files = x->o->files, .timeout_ms = 30000, .day = &x->day };

	netday_init(&x->day, x->o->spool, 0, clock_mono_ns());
	if (getrandom(&so.seed, sizeof(so.seed), 0) != (ssize_t)sizeof(so.seed))
		return -EIO;
	return send_new(&x->send, fleet_url(x->f), &so, why);
}

static int open_spool(struct follow *x, struct net_why *why)
{
	struct spool_opts so = { .dir = x->o->spool,
				 .cluster = fleet_cluster(x->f),
				 .host = x->host,
				 .max_bytes = MAX_BYTES,
				 .max_age_ns = MAX_AGE };
	struct spool_why sw = { "" };
	int err = spool_open(&x->spool, &so, clock_wall_ns(), &sw);

	return err ? why_say(why, err, "%s", sw.text) : 0;
}

static int add_job(struct follow *x, const struct cursor_job *at)
{
	struct job *j = &x->job[x->jobs];
	int err;

	if (x->jobs == FOLLOW_JOBS)
		return -E2BIG;
	err = watch_new(&j->w, x->o, x->f, &x->packs, at);
	if (err)
		return err;
	j->saved = *at;
	j->listed = true;
	x->jobs++;
	return 0;
}

static int load_cursor(struct follow *x)
{
	struct cursor_job *job;
	size_t len, n;
	const void *data = spool_cursor(x->spool, &len);
	int err;

	if (!len && spool_next(x->spool) <= 1)
		return 0;
	err = cursor_decode(&job, &n, data, len);
	if (err == -EBADMSG) {
		log_warn("the spool does not say how far jobs were read: they are read from now");
		x->not_before_ns = clock_wall_ns();
		return 0;
	}
	if (err)
		return err;
	for (size_t i = 0; i < n && !err; i++)
		err = add_job(x, &job[i]);
	free(job);
	return err;
}

/* --- commits the results of a look --- */

static void forget_rows(struct follow *x)
{
	for (size_t i = 0; i < PACK_OPEN; i++)
		x->packs.pack[i].n = 0, x->packs.pack[i].rows.len = 0;
	x->packs.err = 0;
	x->packs.rows = 0;
}

static int commit(struct follow *x)
{
	const struct cursor_job **list = calloc(x->jobs + 1, sizeof(void *));
	void *data = NULL;
	size_t len = 0;
	int err = list ? packs_end(&x->packs) : -ENOMEM;

	for (size_t i = 0; list && i < x->jobs; i++)
		list[i] = &x->job[i].w->at;
	if (!err) {
		data = cursor_encode(list, x->jobs, &len);
		err = data ? spool_commit(x->spool, data, len) : -ENOMEM;
	}
	if (err && spool_abort(x->spool))
		err = -ENOTRECOVERABLE;
	forget_rows(x);
	x->moved = false;
	x->commit_ms = clock_mono_ms();
	free(list);
	free(data);
	return err;
}

/* The look failed: restores the state that the job had before it. */
static int take_back(struct follow *x, struct job *j)
{
	struct job_watch *w;
	int err = watch_new(&w, x->o, x->f, &x->packs, &j->saved);

	if (err)
		return err;
	watch_free(j->w);
	j->w = w;
	forget_rows(x);
	return 0;
}

static void trouble(struct follow *x, const char *text)
{
	if (*text && strcmp(text, x->trouble))
		log_warn("%s", text);
	snprintf(x->trouble, sizeof(x->trouble), "%s", text);
}

/* --- a look --- */

static struct job *job_of(struct follow *x, const char *name)
{
	for (size_t i = 0; i < x->jobs; i++)
		if (!strcmp(x->job[i].w->at.job, name))
			return &x->job[i];
	return NULL;
}

/* Of a job that is new to us, at most the last hour is read. */
static int begin_job(struct follow *x, const struct fleet_running *is, uint64_t now_ns)
{
	struct cursor_job at = { .from_ns = now_ns > HEARD_NS ? now_ns - HEARD_NS : 0 };

	if (at.from_ns < x->not_before_ns)
		at.from_ns = x->not_before_ns;
	snprintf(at.job, sizeof(at.job), "%s", is->job);
	return add_job(x, &at);
}

static int look_at(struct follow *x, struct job *j, const struct fleet_running *is, uint64_t now_ns,
		   struct store_why *why)
{
	uint32_t told = j->w->told;
	uint64_t next = j->w->at.next;
	int err = watch_look(j->w, is, clock_mono_ms(), why);

	if (!err && !is->live && is->end_ns + ENDED_NS < now_ns)
		err = watch_end(j->w);
	if (err)
		return take_back(x, j) ? -ENOMEM : err;
	x->moved |= j->w->at.next != next;
	if (j->w->told != told)
		err = commit(x);
	if (err)
		return take_back(x, j) ? -ENOMEM : err;
	j->saved = j->w->at;
	return 0;
}

static void forget_jobs(struct follow *x)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->jobs; i++) {
		if (x->job[i].listed)
			x->job[kept++] = x->job[i];
		else
			watch_free(x->job[i].w);
	}
	x->moved |= kept != x->jobs;
	x->jobs = kept;
}

/* One job of the list. If it fails, that is reported and the others are still read. */
static int look_one(struct follow *x, const struct fleet_running *is, uint64_t now_ns,
		    struct store_why *why)
{
	struct job *j = job_of(x, is->job);
	int err = 0;

	if (!j) {
		err = begin_job(x, is, now_ns);
		j = err ? NULL : &x->job[x->jobs - 1];
	}
	if (j) {
		j->listed = true;
		err = look_at(x, j, is, now_ns, why);
	}
	if (err != -ERANGE && err != -E2BIG)
		return err;
	snprintf(why->text, sizeof(why->text), "job %.64s is not followed: %s", is->job,
		 err == -ERANGE ? "nobody says how many ranks it has" : "there are too many");
	return 0;
}

static int look(struct follow *x)
{
	uint64_t now_ns = clock_wall_ns();
	struct fleet_runnings rs = { .n = 0 };
	struct store_why why = { "" };
	int err = fleet_running(&rs, x->f, x->o->job, now_ns - HEARD_NS, FOLLOW_JOBS, &why);

	x->packs.now_ns = now_ns;
	for (size_t i = 0; i < x->jobs; i++)
		x->job[i].listed = false;
	for (size_t i = 0; i < rs.n && !err; i++)
		err = look_one(x, &rs.r[i], now_ns, &why);
	free(rs.r);
	if (!err)
		forget_jobs(x); /* otherwise not all jobs were queried */
	if (err == -ENOTRECOVERABLE || err == -ENOMEM)
		return err;
	trouble(x, *why.text ? why.text : err ? strerror(-err) : "");
	if (x->moved && clock_mono_ms() >= x->commit_ms + COMMIT_MS)
		return commit(x);
	return 0;
}

static bool wait_for(const struct follow *x, uint64_t until_ms)
{
	struct pollfd p = { .fd = x->o->stop_fd, .events = POLLIN };
	uint64_t now = clock_mono_ms();

	return poll(&p, p.fd >= 0, until_ms > now ? (int)(until_ms - now) : 0) > 0;
}

static int run(struct follow *x, struct net_why *why)
{
	bool stop = false;
	int err = 0;

	while (!stop && !err) {
		uint64_t next = clock_mono_ms() + x->o->every_ms;

		err = look(x);
		err = err ? err : send_round(x->send, x->spool, clock_mono_ns(), next * 1000000);
		err = err ? err : spool_drops(x->spool, clock_wall_ns());
		if (!err && *send_stat(x->send)->trouble && !*x->trouble)
			trouble(x, send_stat(x->send)->trouble);
		if (err == -ENOSPC || err == -EIO) {
			log_warn("%s: %s", x->o->spool, strerror(-err));
			err = 0;
		}
		stop = !err && wait_for(x, next);
	}
	if (!err && x->moved)
		err = commit(x);
	return err ? why_say(why, err, "%s: %s", x->o->spool, strerror(-err)) : 0;
}

int follow_run(const struct follow_opts *o, struct net_why *why)
{
	struct follow *x = calloc(1, sizeof(*x));
	struct store_why sw = { "" };
	int err = -ENOMEM;

	if (!x || !(x->job = calloc(FOLLOW_JOBS, sizeof(*x->job))))
		goto free_x;
	x->o = o;
	gethostname(x->host, sizeof(x->host) - 1);
	err = fleet_open(&x->f, o->url, &o->files, &sw);
	if (err) {
		why_say(why, err, "%s", *sw.text ? sw.text : strerror(-err));
		goto free_x;
	}
	err = open_send(x, why);
	err = err ? err : open_spool(x, why);
	if (!err) {
		x->packs.spool = x->spool;
		x->packs.cluster = fleet_cluster(x->f);
		err = load_cursor(x);
	}
	if (!err) {
		log_info("cluster %s of %s: %s", fleet_cluster(x->f), fleet_shown(x->f),
			 o->job ? o->job : "all jobs");
		err = run(x, why);
	}
	for (size_t i = 0; i < x->jobs; i++)
		watch_free(x->job[i].w);
	packs_fini(&x->packs);
	send_free(x->send);
	spool_close(x->spool);
	fleet_close(x->f);
free_x:
	if (err && !*why->text)
		why_say(why, err, "%s", strerror(-err));
	free(x ? x->job : NULL);
	free(x);
	return err;
}
