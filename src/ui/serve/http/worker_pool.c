/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_pool.c - workers for slow requests. The connection sleeps meanwhile, and the server's
 * threads go on with other requests.
 *
 * A worker owns a request from pool_ask() until MHD_resume_connection(). Then the connection owns
 * it again: libmicrohttpd calls the handler once more, and pool_done() says that the answer is
 * ready.
 */
#include <errno.h>
#include <string.h>

#include "serve/api/api.h"
#include "serve/http/http_priv.h"

#define RETRY_S 5u

static struct request *take(struct pool_queue *q)
{
	struct request *r = q->first;

	q->first = r->next;
	if (!q->first)
		q->last = &q->first;
	q->n--;
	return r;
}

/* With the lock held; it is released while the request is answered. */
static void answer(struct worker_pool *p, struct request *r)
{
	bool ending = p->ending;

	pthread_mutex_unlock(&p->lock);
	if (ending)
		answer_error(&r->answer, 503, "The server is shutting down.", "");
	else
		serve_ask(p->s, &r->who, r->http.target, &r->answer);
	pthread_mutex_lock(&p->lock);
	r->done = true;
	MHD_resume_connection(r->mhd);
}

static void *work(void *arg)
{
	struct pool_queue *q = arg;
	struct worker_pool *p = q->pool;

	pthread_mutex_lock(&p->lock);
	while (!p->ending || q->first) {
		if (q->first)
			answer(p, take(q));
		else
			pthread_cond_wait(&p->news, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pool_start(struct worker_pool *p, struct serve *s)
{
	int err = 0;

	p->s = s;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->news, NULL);
	for (size_t i = 0; i < POOL_SORTS && !err; i++) {
		struct pool_queue *q = &p->queue[i];

		q->pool = p;
		q->last = &q->first;
		err = pthread_create(&q->worker, NULL, work, q);
		q->working = !err;
	}
	return -err;
}

void pool_stop(struct worker_pool *p)
{
	if (!p->s)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	__atomic_store_n(&p->s->ending, true, __ATOMIC_RELAXED); /* A: analysis.c gives up */
	pthread_cond_broadcast(&p->news);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < POOL_SORTS; i++)
		if (p->queue[i].working)
			pthread_join(p->queue[i].worker, NULL);
}

void pool_fini(struct worker_pool *p)
{
	if (!p->s)
		return;
	pthread_cond_destroy(&p->news);
	pthread_mutex_destroy(&p->lock);
}

static enum MHD_Result too_many(struct MHD_Connection *c)
{
	struct answer a = { .fd = -1 };

	answer_error(&a, 503, "Too many requests are waiting.", "Ask again in a moment.");
	a.retry_s = RETRY_S;
	return http_reply(c, &a);
}

enum MHD_Result pool_ask(struct worker_pool *p, struct MHD_Connection *c, struct request *r,
			 const struct viewer *who, enum serve_slow slow)
{
	struct pool_queue *q = &p->queue[slow == SERVE_HEAVY ? POOL_HEAVY : POOL_WAITS];
	bool full;

	r->mhd = c;
	r->who = *who;
	r->next = NULL;
	pthread_mutex_lock(&p->lock);
	full = p->ending || q->n == POOL_WAITING;
	if (!full) {
		r->with_pool = true;
		MHD_suspend_connection(c);
		*q->last = r;
		q->last = &r->next;
		q->n++;
		pthread_cond_broadcast(&p->news);
	}
	pthread_mutex_unlock(&p->lock);
	return full ? too_many(c) : MHD_YES;
}

bool pool_done(struct worker_pool *p, struct request *r)
{
	bool done;

	pthread_mutex_lock(&p->lock);
	done = r->with_pool && r->done;
	r->with_pool = r->with_pool && !done;
	pthread_mutex_unlock(&p->lock);
	return done;
}
