/* SPDX-License-Identifier: Apache-2.0 */
/* analysis_job.c - see analysis_job.h. */
#include "serve/analysis_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/store.h"

struct analysis_job {
	pthread_mutex_t lock;
	pthread_cond_t news;
	pthread_t thread;
	struct analysis *an; /* owned; NULL: none was begun. The thread writes it while `reading` */
	struct analysis key; /* the request that it answers */
	struct run run;      /* only `src` and `t0` are set */
	struct store_filter part; /* owns its list of ids */
	analysis_job_fn *fn;
	bool reading; /* a thread was started */
	bool done;
	int err;
};

int analysis_job_new(struct analysis_job **out)
{
	struct analysis_job *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->news, &attr);
	pthread_condattr_destroy(&attr);
	*out = c;
	return 0;
}

/* With the lock held. Waits for the thread, which is ending. */
static void forget(struct analysis_job *c)
{
	if (c->reading)
		pthread_join(c->thread, NULL);
	analysis_free(c->an);
	free((void *)(uintptr_t)c->part.process);
	c->an = NULL;
	c->part.process = NULL;
	c->reading = c->done = false;
}

void analysis_job_free(struct analysis_job *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	while (c->reading && !c->done)
		pthread_cond_wait(&c->news, &c->lock);
	forget(c);
	pthread_mutex_unlock(&c->lock);
	pthread_cond_destroy(&c->news);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void *reader(void *arg)
{
	struct analysis_job *c = arg;
	int err = c->fn(c->an, &c->run, &c->part);

	pthread_mutex_lock(&c->lock);
	c->err = err;
	c->done = true;
	pthread_cond_broadcast(&c->news);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static int begin(struct analysis_job *c, const struct analysis *want, const struct run *r,
		 const struct store_filter *part, analysis_job_fn *fn)
{
	uint32_t *id = malloc((part->processes + 1) * sizeof(*id));
	int err;

	c->an = malloc(sizeof(*c->an));
	if (!id || !c->an) {
		free(id);
		forget(c);
		return -ENOMEM;
	}
	if (part->processes)
		memcpy(id, part->process, part->processes * sizeof(*id));
	*c->an = c->key = *want;
	c->run = (struct run){ .src = r->src, .t0 = r->t0 };
	c->part = *part;
	c->part.process = id;
	c->fn = fn;
	err = pthread_create(&c->thread, NULL, reader, c);
	c->reading = !err;
	if (err)
		forget(c);
	return -err;
}

/* Waits until the thread is done, or for `ns`. False: it is not done yet. */
static bool await(struct analysis_job *c, uint64_t ns)
{
	struct timespec until = clock_after(CLOCK_MONOTONIC, ns);
	int late = 0;

	while (c->reading && !c->done && !late)
		late = pthread_cond_timedwait(&c->news, &c->lock, &until);
	return !c->reading || c->done;
}

int analysis_job_get(struct analysis_job *c, struct analysis **an, const struct run *r,
		     const struct store_filter *part, uint64_t wait_ns, analysis_job_fn *fn)
{
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (c->done && (!analysis_same(&c->key, *an) || (!c->err && !analysis_fresh(c->an, *an))))
		forget(c);
	if (!c->reading)
		err = begin(c, *an, r, part, fn);
	if (!err && !await(c, wait_ns))
		err = -EAGAIN;
	if (!err && !analysis_same(&c->key, *an)) /* the thread works on another request */
		err = -EAGAIN;
	err = err ? err : c->err;
	if (!err) {
		analysis_free(*an);
		*an = c->an;
		c->an = NULL;
	}
	/* a failure is kept: the next request gets it without reading again */
	if (c->done && err != -EAGAIN && err != -ERANGE)
		forget(c);
	pthread_mutex_unlock(&c->lock);
	return err;
}

bool analysis_job_runs(struct analysis_job *c, const struct analysis *want)
{
	bool is;

	pthread_mutex_lock(&c->lock);
	is = c->reading && !c->done && analysis_same(&c->key, want);
	pthread_mutex_unlock(&c->lock);
	return is;
}
