/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runs.c - groups the processes of all stores into runs.
 *
 * The processes of a store are read again when it may have changed. Reading takes at most a
 * twentieth of the time, however slow the store is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/order.h"
#include "base/vec.h"
#include "fleet/fleet.h"
#include "model/rollup.h"
#include "read/gather.h"
#include "read/procs.h"
#include "serve/analysis.h"
#include "serve/analysis_job.h"
#include "serve/cache.h"
#include "serve/metrics/health.h"
#include "serve/metrics/metrics.h"
#include "serve/capture_jobs.h"
#include "serve/timeline.h"
#include "store/store.h"

#define AGAIN_NS 1000000000u

int serve_new(struct serve **out)
{
	struct serve *s = calloc(1, sizeof(*s));

	if (!s || cache_new(&s->cache) < 0 || timelines_new(&s->timelines) < 0 ||
	    metrics_new(&s->metrics) < 0 || health_new(&s->health) < 0 ||
	    analysis_job_new(&s->analysis_job) < 0) {
		if (s) {
			health_free(s->health);
			cache_free(s->cache);
			timelines_free(s->timelines);
			metrics_free(s->metrics);
		}
		free(s);
		return -ENOMEM;
	}
	s->whole = ANALYSIS_WHOLE;
	s->part = ANALYSIS_PART;
	s->patience_ns = ANALYSIS_WAIT_NS;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->heavy, NULL);
	if (gethostname(s->host, sizeof(s->host) - 1) < 0)
		s->host[0] = '\0';
	*out = s;
	return 0;
}

static void source_free(struct source *src)
{
	if (!src)
		return;
	store_close(src->st);
	free(src->process);
	free(src->gpus);
	free(src->steps);
	free(src->extent);
	free(src->path);
	free(src->label);
	free(src);
}

int serve_add(struct serve *s, const char *path, const char *label, struct store_why *why)
{
	struct source *src = calloc(1, sizeof(*src));
	struct stat sb;
	int err = src ? vec_more(&s->source, s->sources, sizeof(src)) : -ENOMEM;

	if (!err) {
		src->path = strdup(path);
		src->label = strdup(label ? label : path);
		err = src->path && src->label ? store_open_ro(&src->st, path, why) : -ENOMEM;
	}
	if (err < 0) {
		source_free(src);
		return err;
	}
	src->owner = (uid_t)-1;
	src->group = (gid_t)-1;
	if (stat(path, &sb) == 0) {
		src->owner = sb.st_uid;
		src->group = sb.st_mode & S_IRGRP ? sb.st_gid : (gid_t)-1;
	}
	s->source[s->sources++] = src;
	return 0;
}

int serve_add_fleet(struct serve *s, const char *url, const struct http_files *files,
		    struct store_why *why)
{
	return s->fleet ? -EEXIST : fleet_open(&s->fleet, url, files, why);
}

void serve_free(struct serve *s)
{
	if (!s)
		return;
	ordered_free(s->orders);
	__atomic_store_n(&s->ending, true, __ATOMIC_RELAXED); /* A: analysis.c gives up */
	/* its thread reads the sources, so it ends before they close */
	analysis_job_free(s->analysis_job);
	timelines_free(s->timelines);
	metrics_free(s->metrics);
	health_free(s->health);
	fleet_close(s->fleet);
	for (size_t i = 0; i < s->sources; i++)
		source_free(s->source[i]);
	free(s->source);
	analysis_free(s->kept);
	cache_free(s->cache);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->heavy);
	free(s);
}

/* --- what a store holds of each process --- */

struct count {
	struct source *src;
	size_t at;
	uint32_t device[64]; /* devices seen of the process; more are not counted */
	uint32_t devices;
};

static int on_track(void *arg, const struct track *l)
{
	struct count *c = arg;

	if (l->device == TRACK_HOST)
		return 0;
	for (uint32_t i = 0; i < c->devices; i++)
		if (c->device[i] == l->device)
			return 0;
	if (c->devices < sizeof(c->device) / sizeof(c->device[0]))
		c->device[c->devices++] = l->device;
	return 0;
}

static int on_window(void *arg, const struct window *w)
{
	struct count *c = arg;

	for (uint32_t i = 0; i < w->rows; i++)
		if (w->row[i].kind == EVENT_STEP)
			c->src->steps[c->at] += w->row[i].count;
	return 0;
}

/* A linear search: processes are few, and in no order of their ids. */
static int on_piece(void *arg, const struct store_piece *p)
{
	struct source *src = arg;

	for (size_t i = 0; i < src->processes; i++) {
		struct extent *e = &src->extent[i];

		if (src->process[i].id != p->process)
			continue;
		if (!e->events || p->t0_ns < e->t0_ns)
			e->t0_ns = p->t0_ns;
		if (p->t1_ns > e->t1_ns)
			e->t1_ns = p->t1_ns;
		e->events += p->events;
		break;
	}
	return 0;
}

static int count_all(struct source *src)
{
	struct store_filter f = { .processes = 1 };
	int err = 0;

	for (size_t i = 0; i < src->processes && !err; i++) {
		struct count c = { .src = src, .at = i };

		f.process = &src->process[i].id;
		err = store_each_track(src->st, *f.process, on_track, &c);
		src->gpus[i] = c.devices;
		err = err ? err : store_each_window(src->st, &f, on_window, &c);
	}
	return err ? err : store_each_piece(src->st, 0, on_piece, src);
}

static int refresh(struct source *src)
{
	struct procs_want all = { .id = 0 };
	uint64_t begun = clock_mono_ns(), blob = 0, events;
	struct procs ps;
	int err;

	if (src->process && begun < src->again_ns)
		return 0;
	err = store_extent(src->st, &blob, &events);
	err = err ? err : procs_load(&ps, src->st, &all);
	if (err < 0)
		return err;
	free(src->process);
	free(src->gpus);
	free(src->steps);
	free(src->extent);
	src->process = ps.p ? ps.p : calloc(1, sizeof(*src->process));
	src->processes = ps.n;
	for (size_t i = 0; i < ps.n; i++) /* seen from this machine */
		src->process[i].connected = procs_live(&ps, &ps.p[i]);
	src->gpus = calloc(ps.n + 1, sizeof(*src->gpus));
	src->steps = calloc(ps.n + 1, sizeof(*src->steps));
	src->extent = calloc(ps.n + 1, sizeof(*src->extent));
	src->blob = blob;
	err = src->process && src->gpus && src->steps && src->extent ? count_all(src) : -ENOMEM;
	src->seen_ns = clock_mono_ns();
	src->again_ns = src->seen_ns + 20 * (src->seen_ns - begun);
	if (src->again_ns < begun + AGAIN_NS)
		src->again_ns = begun + AGAIN_NS;
	return err;
}

/* --- runs --- */

/* The id of a run: a hash of what its processes have in common. */
static void run_id(char id[RUN_ID], const struct source *src, const struct process *p)
{
	uint64_t h = fnv_bytes(FNV_BASIS, &p->uid, sizeof(p->uid));

	if (p->origin.file) {
		h = fnv_bytes(h, src->label, strlen(src->label));
	} else if (*p->job || *p->run) {
		h = fnv_bytes(h, p->job, strlen(p->job) + 1);
		h = fnv_bytes(h, p->run, strlen(p->run) + 1);
		h = fnv_bytes(h, p->boot_id, sizeof(p->boot_id));
	} else {
		h = fnv_bytes(h, p->boot_id, sizeof(p->boot_id));
		h = fnv_bytes(h, &p->pid, sizeof(p->pid));
		h = fnv_bytes(h, &p->pid_start, sizeof(p->pid_start));
	}
	h ^= h >> 32;
	snprintf(id, RUN_ID, "%08x", (uint32_t)h);
}

bool source_is_open_to(const struct source *src, const struct viewer *who)
{
	if (who->all || who->uid == src->owner)
		return true;
	for (size_t i = 0; i < who->groups && src->group != (gid_t)-1; i++)
		if (who->group[i] == src->group)
			return true;
	return false;
}

static struct run *run_of(struct runs *rs, struct source *src, const char *id)
{
	for (size_t i = 0; i < rs->n; i++)
		if (rs->run[i].src == src && !strcmp(rs->run[i].id, id))
			return &rs->run[i];
	if (vec_more(&rs->run, rs->n, sizeof(*rs->run)) < 0)
		return NULL;
	rs->run[rs->n] = (struct run){ .src = src, .t0 = UINT64_MAX, .blob = src->blob };
	memcpy(rs->run[rs->n].id, id, RUN_ID);
	return &rs->run[rs->n++];
}

static int run_add(struct run *r, size_t i)
{
	const struct source *src = r->src;
	const struct process *p = &src->process[i];
	const struct extent *e = &src->extent[i];
	uint64_t begun;

	if (vec_more(&r->process, r->processes, sizeof(*r->process)) < 0 ||
	    vec_more(&r->gpus, r->processes, sizeof(*r->gpus)) < 0)
		return -ENOMEM;
	r->process[r->processes] = *p;
	r->gpus[r->processes++] = src->gpus[i];
	account_add(&r->account, &p->account);
	begun = p->first_ns || !e->events ? p->first_ns : e->t0_ns;
	r->t0 = begun < r->t0 ? begun : r->t0; /* kept even if its first events were evicted */
	r->t1 = p->last_ns > r->t1 ? p->last_ns : r->t1;
	r->t1 = e->t1_ns > r->t1 ? e->t1_ns : r->t1;
	r->held += e->events;
	r->wall_offset_ns = p->wall_offset_ns;
	r->steps += src->steps[i];
	r->devices += src->gpus[i];
	r->live |= p->connected;
	r->imported |= p->origin.file != 0;
	r->events += p->origin.file ? p->origin.imported : e->events;
	r->lost += p->origin.file ? p->origin.lost : account_lost(&p->account);
	return 0;
}

static void count_ranks(struct run *r)
{
	for (size_t i = 0; i < r->processes; i++) {
		bool first = r->process[i].origin.rank > 0;

		for (size_t k = 0; k < i && first; k++)
			first = r->process[k].origin.rank != r->process[i].origin.rank;
		r->ranks += first;
	}
}

static int newest_first(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return cmp_num(y->live, x->live) ?: cmp_num(y->t1, x->t1) ?: strcmp(x->id, y->id);
}

static int add_source(struct runs *rs, struct source *src, const struct viewer *who)
{
	bool all = source_is_open_to(src, who);
	int err = refresh(src);

	for (size_t i = 0; i < src->processes && !err; i++) {
		bool own = src->process[i].uid == who->uid;
		char id[RUN_ID];
		struct run *r;

		if (!(own || all) || health_is_canary(&src->process[i]))
			continue;
		run_id(id, src, &src->process[i]);
		r = run_of(rs, src, id);
		err = r ? run_add(r, i) : -ENOMEM;
	}
	return err;
}

int runs_load(struct runs *out, struct serve *s, const struct viewer *who)
{
	struct runs rs = { NULL, 0 };
	int err = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->sources && !err; i++)
		err = add_source(&rs, s->source[i], who);
	pthread_mutex_unlock(&s->lock);
	if (err < 0) {
		runs_fini(&rs);
		return err;
	}
	for (size_t i = 0; i < rs.n; i++)
		count_ranks(&rs.run[i]);
	if (rs.n)
		qsort(rs.run, rs.n, sizeof(*rs.run), newest_first);
	*out = rs;
	return 0;
}

void run_fini(struct run *r)
{
	free(r->process);
	free(r->gpus);
	r->process = NULL;
	r->gpus = NULL;
}

void runs_fini(struct runs *rs)
{
	for (size_t i = 0; i < rs->n; i++)
		run_fini(&rs->run[i]);
	free(rs->run);
	rs->run = NULL;
	rs->n = 0;
}

int run_find(struct run *out, struct serve *s, const struct viewer *who, const char *id)
{
	struct runs rs;
	int err = runs_load(&rs, s, who);

	if (err < 0)
		return err;
	err = -ENOENT;
	for (size_t i = 0; i < rs.n; i++) {
		if (strcmp(rs.run[i].id, id) != 0)
			continue;
		*out = rs.run[i];
		rs.run[i].process = NULL;
		rs.run[i].gpus = NULL;
		err = 0;
		break;
	}
	runs_fini(&rs);
	return err;
}

const char *run_name(const struct run *r)
{
	const struct process *p = &r->process[0];
	const char *slash = strrchr(r->imported ? r->src->label : p->exe, '/');

	if (*p->run)
		return p->run;
	if (*p->job)
		return p->job;
	if (r->imported)
		return slash ? slash + 1 : r->src->label;
	return *p->comm ? p->comm : slash ? slash + 1 : "?";
}
