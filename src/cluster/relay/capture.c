/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - orders for users: permission, the nodes, the first step, the results; see order.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "relay/order.h"

#define AUDIT_MAX (1u << 20)

static const char *const state_word[] = { "waits", "given", "done", "failed" };

/* --- the audit log --- */

/* Appends one line to DIR/audit.log. */
static void order_audit(const struct relay *r, const char *who, const char *outcome,
			const char *text)
{
	char path[PATH_MAX + 16], old[PATH_MAX + 16], when[32];
	time_t now = time(NULL);
	struct stat sb;
	struct tm tm;
	FILE *f;

	snprintf(path, sizeof(path), "%s/audit.log", r->o.dir);
	snprintf(old, sizeof(old), "%s/audit.log.1", r->o.dir);
	if (stat(path, &sb) == 0 && sb.st_size > (off_t)AUDIT_MAX)
		rename(path, old);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	f = fopen(path, "ae");
	if (!f)
		return;
	fprintf(f, "%s\t%s\tcapture\t%s\t%s\n", when, who, outcome, text);
	fclose(f);
}

/* --- permission --- */

struct wish {
	char job[JOB_BYTES], ranks[RANKS_BYTES];
	uint64_t steps, ms, timeout_s;
};

static bool is_ranks(const char *s)
{
	return strlen(s) < RANKS_BYTES && strspn(s, "0123456789,") == strlen(s);
}

static bool is_job(const char *s)
{
	size_t n = s ? strlen(s) : 0;

	for (size_t i = 0; i < n; i++)
		if (!isgraph((unsigned char)s[i]))
			return false;
	return n > 0 && n < JOB_BYTES;
}

static const char *read_wish(struct MHD_Connection *c, struct wish *w)
{
	const char *job = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "job");
	const char *ranks = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "ranks");

	*w = (struct wish){ .timeout_s = 60 };
	if (!is_job(job))
		return "Say of which job: ?job=J\n";
	strcpy(w->job, job);
	if (ranks && !is_ranks(ranks))
		return "ranks: numbers with commas\n";
	strcpy(w->ranks, ranks ? ranks : "");
	httpd_query_u64(c, "steps", &w->steps);
	httpd_query_u64(c, "ms", &w->ms);
	httpd_query_u64(c, "timeout_s", &w->timeout_s);
	if (!w->steps == !w->ms)
		return "Say steps=N or ms=N.\n";
	if (w->timeout_s < 5 || w->timeout_s > 600)
		return "timeout_s: 5 to 600\n";
	return NULL;
}

/*
 * Counts the captures of each user in this hour. The table is bounded: users with the same hash
 * share a count.
 */
static bool use_up(struct orders *s, const struct relay_request *q)
{
	uint64_t hour = clock_wall_ns() / (3600 * SECOND);
	size_t i = fnv_text(FNV_BASIS, q->who) % (sizeof(s->used) / sizeof(s->used[0]));

	if (s->used[i].hour != hour)
		s->used[i].n = 0;
	s->used[i].hour = hour;
	return s->used[i].n++ < q->rule.hourly;
}

static unsigned may(struct orders *s, const struct relay_request *q, const struct wish *w,
		    char text[200])
{
	if (fnmatch(q->rule.jobs, w->job, 0) != 0)
		snprintf(text, 200, "%.64s may not capture job %s.\n", q->who, w->job);
	else if (w->steps > q->rule.steps)
		snprintf(text, 200, "%.64s may capture %u steps at most.\n", q->who, q->rule.steps);
	else if (w->ms > 1000ull * q->rule.seconds)
		snprintf(text, 200, "%.64s may capture %u s at most.\n", q->who, q->rule.seconds);
	else if (!use_up(s, q)) {
		snprintf(text, 200, "%.64s may capture %u times an hour.\n", q->who,
			 q->rule.hourly);
		return 429;
	} else
		return 0;
	return 403;
}

/* --- nodes and steps --- */

static struct order *free_order(struct relay *r)
{
	struct order *oldest = NULL;

	for (size_t i = 0; i < ORDERS_MAX; i++) {
		struct order *o = &r->orders->order[i];

		if (!o->id)
			return o;
		if (order_over(o) && (!oldest || o->at_ns < oldest->at_ns))
			oldest = o;
	}
	if (oldest)
		order_end(r, oldest);
	return oldest;
}

/* A step that no rank will have reached when every node has the order. */
static uint64_t step_ahead(const struct job_line *l, uint64_t told_ns, uint64_t now)
{
	uint64_t ns = now - told_ns + ORDER_AHEAD_S * SECOND;

	return l->step_ns ? l->step + 1 + ns / l->step_ns : 0;
}

static unsigned choose(struct relay *r, struct order *o)
{
	uint64_t now = clock_mono_ns();

	o->node = calloc(ORDER_NODES, sizeof(*o->node));
	if (!o->node)
		return 503;
	for (size_t i = 0; i < r->orders->seats && o->n < ORDER_NODES; i++) {
		struct seat *s = &r->orders->seat[i];
		struct order_node *n = &o->node[o->n];
		struct job_line l;
		uint64_t from;

		if (!seat_job(s, o->job, &l))
			continue;
		strcpy(n->name, s->name);
		o->n++;
		if (now - s->at_ns > SEAT_OLD_S * SECOND) {
			n->state = ORDER_FAILED;
			snprintf(n->why, sizeof(n->why), "has not been heard of for %" PRIu64 " s",
				 (now - s->at_ns) / SECOND);
			continue;
		}
		from = step_ahead(&l, s->at_ns, now);
		o->from = o->steps && from > o->from ? from : o->from;
		if (s->q)
			relay_wake(s->q);
	}
	return o->n ? 0 : 404;
}

static unsigned place(struct relay *r, const struct relay_request *q, const struct wish *w,
		      char text[200], struct order **out)
{
	unsigned status = may(r->orders, q, w, text);
	struct order *o = status ? NULL : free_order(r);

	if (status)
		return status;
	snprintf(text, 200, "Too many captures are under way.\n");
	if (!o)
		return 503;
	*o = (struct order){ .id = ++r->orders->ids,
			     .steps = w->steps,
			     .ms = w->ms,
			     .timeout_s = w->timeout_s,
			     .at_ns = clock_mono_ns() };
	strcpy(o->who, q->who);
	strcpy(o->job, w->job);
	strcpy(o->ranks, w->ranks);
	status = choose(r, o);
	if (status) {
		order_end(r, o);
		snprintf(text, 200, "No node here has reported job %s.\n", w->job);
		return status;
	}
	*out = o;
	return 0;
}

enum MHD_Result capture_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q)
{
	struct order *o = NULL;
	struct wish w;
	const char *wrong = read_wish(c, &w);
	char text[200], line[300];
	unsigned status;

	if (wrong)
		return httpd_text(c, 400, 0, wrong);
	pthread_mutex_lock(&r->lock);
	status = place(r, q, &w, text, &o);
	if (!status)
		snprintf(text, sizeof(text), "id %" PRIu64 "\nnodes %zu\nfrom %" PRIu64 "\n", o->id,
			 o->n, o->from);
	pthread_mutex_unlock(&r->lock);
	relay_add(r, status ? COUNT_orders_refused : COUNT_orders, 1);
	snprintf(line, sizeof(line), "job %s, %" PRIu64 " steps, %" PRIu64 " ms", w.job, w.steps,
		 w.ms);
	order_audit(r, q->who, !status ? "ok" : status == 404 ? "none" : "denied", line);
	return status ? httpd_text(c, status, 0, text) : httpd_text(c, 200, 0, text);
}

/* --- results --- */

enum MHD_Result capture_state_answer(struct relay *r, struct MHD_Connection *c,
				     struct relay_request *q)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	struct order *o;
	uint64_t id = 0;

	if (!f)
		return MHD_NO;
	httpd_query_u64(c, "id", &id);
	pthread_mutex_lock(&r->lock);
	o = order_find(r->orders, id);
	if (o && strcmp(o->who, q->who) != 0)
		o = NULL;
	if (o)
		fprintf(f, "state %s\nfrom %" PRIu64 "\n", order_over(o) ? "done" : "runs",
			o->from);
	for (size_t i = 0; o && i < o->n; i++) {
		const struct order_node *n = &o->node[i];

		fprintf(f, "node %s %s %" PRIu64 " %s\n", n->name, state_word[n->state], n->bytes,
			n->why);
		for (uint32_t k = 0; k < n->parts; k++)
			fprintf(f, "part %s %s\n", n->name, n->part[k]);
	}
	pthread_mutex_unlock(&r->lock);
	if (fclose(f) != 0 || !o) {
		free(text);
		return httpd_text(c, 404, 0, "There is no such capture of yours.\n");
	}
	return httpd_reply(c, 200,
			   MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE),
			   "text/plain; charset=utf-8");
}

enum MHD_Result trace_give_answer(struct relay *r, struct MHD_Connection *c,
				  struct relay_request *q)
{
	const char *node = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "node");
	const char *part = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "part");
	char path[PATH_MAX + 256];
	struct order_node *n = NULL;
	struct order *o;
	struct stat sb;
	uint64_t id = 0;
	int fd = -1;

	httpd_query_u64(c, "id", &id);
	pthread_mutex_lock(&r->lock);
	o = order_find(r->orders, id);
	if (o && !strcmp(o->who, q->who) && node)
		n = order_node_of(o, node);
	for (uint32_t i = 0; n && part && i < n->parts; i++)
		/* compared with our own names: the client cannot pass a path */
		if (!strcmp(n->part[i], part)) {
			order_path(r, o, n->name, n->part[i], path);
			fd = open(path, O_RDONLY | O_CLOEXEC);
		}
	pthread_mutex_unlock(&r->lock);
	if (fd < 0 || fstat(fd, &sb) < 0)
		return httpd_text(c, 404, 0, "There is no such file.\n");
	return httpd_reply(c, 200, MHD_create_response_from_fd((uint64_t)sb.st_size, fd),
			   "application/octet-stream");
}
