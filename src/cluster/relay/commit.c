/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit.c - group commit: while one transaction waits for the disk, the next batches gather, so
 * that many nodes cost few syncs. A sender sleeps until its own batch is durable.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fault.h"
#include "relay/priv.h"

#define GROUP 256u

/* --- the thread --- */

static size_t take(struct relay *r, struct relay_request **group)
{
	size_t n = 0;

	while (r->first && n < GROUP) {
		group[n] = r->first;
		r->first = group[n++]->next;
	}
	if (!r->first)
		r->last = &r->first;
	return n;
}

static void count(struct relay *r, const struct arrival *a, int err)
{
	if (err)
		relay_add(r, COUNT_no_room, 1);
	else if (a->result == -ESTALE)
		relay_add(r, COUNT_out_of_order, 1);
	else if (a->result)
		relay_add(r, COUNT_bad_batches, 1);
	else if (a->repeated)
		relay_add(r, COUNT_repeated, 1);
	if (err || a->result || a->repeated)
		return;
	relay_add(r, COUNT_batches, 1);
	relay_add(r, COUNT_rows, a->rows);
	relay_add(r, COUNT_wire_bytes, a->len);
}

static void *committer(void *arg)
{
	struct relay *r = arg;
	struct relay_request *group[GROUP];
	struct arrival *arrival[GROUP];

	pthread_mutex_lock(&r->lock);
	for (;;) {
		size_t n;
		int err;

		while (!r->first && !r->stopping)
			pthread_cond_wait(&r->news, &r->lock);
		n = take(r, group);
		if (!n)
			break;
		pthread_mutex_unlock(&r->lock);
		for (size_t i = 0; i < n; i++)
			arrival[i] = &group[i]->arrival;
		err = batch_store_commit(r->hold, arrival, n, clock_wall_ns());
		relay_add(r, COUNT_commits, 1);
		fault_point("relay.ack");
		pthread_mutex_lock(&r->lock);
		for (size_t i = 0; i < n; i++) {
			count(r, arrival[i], err);
			group[i]->result = err;
			relay_wake(group[i]);
		}
		sender_news(r->sender);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

int commit_start(struct relay *r)
{
	int err = pthread_create(&r->committer, NULL, committer, r);

	r->committing = !err;
	return -err;
}

void commit_stop(struct relay *r)
{
	if (!r->committing)
		return;
	pthread_mutex_lock(&r->lock);
	r->stopping = true;
	pthread_cond_signal(&r->news);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->committer, NULL);
	r->committing = false;
}

/* --- the request --- */

static enum MHD_Result told(struct relay *r, struct MHD_Connection *c,
			    const struct relay_request *q)
{
	const struct arrival *a = &q->arrival;
	char text[160];

	(void)r;
	if (q->result)
		return httpd_text(c, 507, 5, "The relay's disk is full.\n");
	if (a->result == -EPERM)
		return httpd_text(c, 403, 0, "That source is another node's.\n");
	snprintf(text, sizeof(text),
		 "last %" PRIu64 "\nreceived_ns %" PRIu64 "\nanswered_ns %" PRIu64 "\n", a->last,
		 q->came_ns, clock_wall_ns());
	return httpd_text(c, a->result == -ESTALE ? 409 : 200, 0, text);
}

enum MHD_Result batch_answer(struct relay *r, struct MHD_Connection *c, struct relay_request *q)
{
	char why[160], text[200];
	int err;

	if (q->done)
		return told(r, c, q);
	err = arrive(&q->arrival, q->http.body ? q->http.body : (uint8_t *)"", q->http.len,
		     q->rule.cluster, relay_shards(r), why);
	if (err) {
		relay_add(r, COUNT_bad_batches, 1);
		snprintf(text, sizeof(text), "%s\n", why);
		/*
		 * A batch that only a newer relay understands is kept by the sender; others it sets
		 * aside.
		 */
		return httpd_text(c,
				  err == -EPROTO   ? 426
				  : err == -ENOMEM ? 503
						   : 400,
				  err == -EPROTO   ? 60
				  : err == -ENOMEM ? 2
						   : 0,
				  text);
	}
	q->arrival.node = q->who;
	q->arrival.first = q->arrival.seq;
	if (!httpd_query_u64(c, "first", &q->arrival.first) || q->arrival.first > q->arrival.seq)
		return httpd_text(c, 400, 0, "Say the oldest number that you have: ?first=N\n");
	pthread_mutex_lock(&r->lock);
	if (r->stopping) {
		pthread_mutex_unlock(&r->lock);
		return httpd_text(c, 503, 2, "The relay stops.\n");
	}
	q->node->batches++;
	q->next = NULL;
	*r->last = q;
	r->last = &q->next;
	relay_sleep(c, q);
	pthread_cond_signal(&r->news);
	pthread_mutex_unlock(&r->lock);
	return MHD_YES;
}
