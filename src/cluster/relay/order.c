/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - orders for nodes: polls, files, time limits; see order.h. */
#include "relay/order.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"

int orders_new(struct orders **out)
{
	struct orders *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->seat = calloc(NODES_MAX, sizeof(*s->seat));
	if (!s->seat) {
		free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void orders_free(struct orders *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < ORDERS_MAX; i++)
		free(s->order[i].node);
	for (size_t i = 0; i < s->seats; i++)
		free(s->seat[i].lines);
	free(s->seat);
	free(s);
}

size_t orders_polling(const struct relay *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->orders->seats; i++)
		n += r->orders->seat[i].q != NULL;
	return n;
}

struct order *order_find(struct orders *s, uint64_t id)
{
	for (size_t i = 0; i < ORDERS_MAX; i++)
		if (id && s->order[i].id == id)
			return &s->order[i];
	return NULL;
}

struct order_node *order_node_of(struct order *o, const char *name)
{
	for (size_t i = 0; o && i < o->n; i++)
		if (!strcmp(o->node[i].name, name))
			return &o->node[i];
	return NULL;
}

void order_path(const struct relay *r, const struct order *o, const char *node, const char *part,
		char out[PATH_MAX + 256])
{
	snprintf(out, PATH_MAX + 256, "%.*s/capture-%" PRIu64 "-%s-%s", PATH_MAX - 1, r->o.dir,
		 o->id, node, part);
}

void order_end(struct relay *r, struct order *o)
{
	char path[PATH_MAX + 256];

	for (size_t i = 0; i < o->n; i++)
		for (uint32_t k = 0; k < o->node[i].parts; k++) {
			order_path(r, o, o->node[i].name, o->node[i].part[k], path);
			unlink(path);
		}
	free(o->node);
	*o = (struct order){ 0 };
}

bool order_over(const struct order *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->node[i].state < ORDER_DONE)
			return false;
	return true;
}

/* --- the nodes that poll --- */

static struct seat *seat_of(struct orders *s, const char *name)
{
	struct seat *oldest = NULL;

	for (size_t i = 0; i < s->seats; i++) {
		if (!strcmp(s->seat[i].name, name))
			return &s->seat[i];
		if (!s->seat[i].q && (!oldest || s->seat[i].at_ns < oldest->at_ns))
			oldest = &s->seat[i];
	}
	if (s->seats < NODES_MAX)
		oldest = &s->seat[s->seats++];
	if (!oldest)
		return NULL;
	free(oldest->lines);
	*oldest = (struct seat){ 0 };
	strcpy(oldest->name, name);
	return oldest;
}

bool seat_job(const struct seat *s, const char *job, struct job_line *out)
{
	const char *line = s->lines;
	struct job_line l;
	char name[JOB_BYTES];

	while (line && *line) {
		if (sscanf(line, "job %47s %" SCNu64 " %" SCNu64 " %" SCNu64, name, &l.ranks,
			   &l.step, &l.step_ns) == 4 &&
		    !strcmp(name, job)) {
			*out = l;
			return true;
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return false;
}

/* Reads what the node reports: the last order that it has seen, and its jobs. */
static void seat_take(struct seat *s, const struct relay_request *q)
{
	const char *text = (const char *)q->http.body;

	free(s->lines);
	s->lines = text ? strndup(text, ORDER_LINES) : NULL;
	s->last = 0;
	if (text && !strncmp(text, "last ", 5))
		s->last = num_front(text + 5, NULL);
	s->at_ns = clock_mono_ns();
}

static struct order *next_order(struct orders *s, const struct seat *seat)
{
	for (size_t i = 0; i < ORDERS_MAX; i++) {
		struct order_node *n = order_node_of(&s->order[i], seat->name);

		if (n && n->state < ORDER_DONE && s->order[i].id > seat->last)
			return &s->order[i];
	}
	return NULL;
}

static enum MHD_Result give(struct MHD_Connection *c, struct order *o, const char *name)
{
	char text[384];

	order_node_of(o, name)->state = ORDER_GIVEN;
	snprintf(text, sizeof(text),
		 "order %" PRIu64 "\njob %s\nsteps %" PRIu64 "\nms %" PRIu64 "\nfrom %" PRIu64
		 "\ntimeout_s %" PRIu64 "\nby %s\n%s%s%s",
		 o->id, o->job, o->steps, o->ms, o->from, o->timeout_s, o->who,
		 *o->ranks ? "ranks " : "", o->ranks, *o->ranks ? "\n" : "");
	return httpd_text(c, 200, 0, text);
}

enum MHD_Result orders_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q)
{
	enum MHD_Result rc = MHD_YES;
	struct order *o;
	struct seat *s;

	pthread_mutex_lock(&r->lock);
	s = seat_of(r->orders, q->who);
	if (!s) {
		pthread_mutex_unlock(&r->lock);
		return httpd_text(c, 503, 10, "Too many nodes.\n");
	}
	if (!q->done)
		seat_take(s, q);
	if (s->q && s->q != q) /* the node polls again, so its first connection is dead */
		relay_wake(s->q);
	s->q = NULL;
	o = next_order(r->orders, s);
	if (o) {
		rc = give(c, o, q->who);
	} else if (q->done || r->stopping) {
		rc = httpd_text(c, 200, 0, "none\n");
	} else {
		s->q = q;
		q->until_ns = clock_mono_ns() + POLL_S * SECOND;
		relay_sleep(c, q);
	}
	pthread_mutex_unlock(&r->lock);
	return rc;
}

void orders_gone(struct relay *r, struct relay_request *q)
{
	for (size_t i = 0; i < r->orders->seats; i++)
		if (r->orders->seat[i].q == q)
			r->orders->seat[i].q = NULL;
}

void orders_tick(struct relay *r)
{
	uint64_t now = clock_mono_ns();
	struct orders *s = r->orders;

	for (size_t i = 0; i < s->seats; i++)
		if (s->seat[i].q && (now > s->seat[i].q->until_ns || r->stopping))
			relay_wake(s->seat[i].q);
	for (size_t i = 0; i < ORDERS_MAX; i++) {
		struct order *o = &s->order[i];

		if (!o->id)
			continue;
		for (size_t k = 0; k < o->n && now - o->at_ns > (o->timeout_s + GRACE_S) * SECOND;
		     k++)
			if (o->node[k].state < ORDER_DONE) {
				o->node[k].state = ORDER_FAILED;
				snprintf(o->node[k].why, sizeof(o->node[k].why),
					 "did not answer within %" PRIu64 " s", o->timeout_s);
			}
		if (r->stopping || now - o->at_ns > ORDER_KEEP_S * SECOND)
			order_end(r, o);
	}
}

/* --- files --- */

static bool is_part(const char *s)
{
	size_t n = s ? strlen(s) : 0;

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return n > 0 && n < sizeof(((struct order_node *)0)->part[0]);
}

/* Copies the printable part of the body. */
static void read_why(const struct relay_request *q, char *out, size_t cap)
{
	ssize_t n = q->http.fd >= 0 ? pread(q->http.fd, out, cap - 1, 0) : 0;

	out[n > 0 ? n : 0] = '\0';
	for (char *p = out; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = ' ';
}

static const char *keep(struct relay *r, struct order *o, struct order_node *n,
			struct relay_request *q, const char *part)
{
	char to[PATH_MAX + 256];

	if (q->http.fd < 0)
		return "an empty file\n";
	if (n->parts == ORDER_PARTS)
		return "too many files\n";
	order_path(r, o, n->name, part, to);
	if (rename(q->http.path, to) < 0)
		return "cannot be kept\n";
	close(q->http.fd);
	q->http.fd = -1;
	strcpy(n->part[n->parts++], part);
	n->bytes += q->http.len;
	relay_add(r, COUNT_traces, 1);
	return NULL;
}

enum MHD_Result trace_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q)
{
	const char *part = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "part");
	const char *end = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "end");
	const char *wrong = NULL;
	struct order_node *n;
	struct order *o;
	uint64_t id = 0;

	httpd_query_u64(c, "order", &id);
	pthread_mutex_lock(&r->lock);
	o = order_find(r->orders, id);
	n = order_node_of(o, q->who);
	if (!n || n->state != ORDER_GIVEN)
		wrong = "there is no such order\n";
	else if (end) {
		n->state = strcmp(end, "ok") ? ORDER_FAILED : ORDER_DONE;
		read_why(q, n->why, sizeof(n->why));
	} else if (!is_part(part))
		wrong = "part=NAME or end=ok|failed\n";
	else
		wrong = keep(r, o, n, q, part);
	pthread_mutex_unlock(&r->lock);
	return wrong ? httpd_text(c, n ? 400 : 404, 0, wrong) : httpd_text(c, 200, 0, "ok\n");
}
