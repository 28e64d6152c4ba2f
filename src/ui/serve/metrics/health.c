/* SPDX-License-Identifier: Apache-2.0 */
/* health.c - /metrics and /health. See health.h. */
#include "serve/metrics/health.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "serve/api/api.h"
#include "serve/metrics/metrics.h"
#include "store/store.h"

#define SECOND   1000000000ull
#define KNOWN_NS (10 * SECOND) /* a canary that arrived is trusted for this long */
/* how long to wait for a canary: a drain and a commit take up to two seconds */
#define WAIT_NS (5 * SECOND)
#define LOOK_NS 100000000u

struct health {
	pthread_mutex_t lock; /* guards all members; held while waiting for a canary */
	uint64_t pid_start, boot_id[2];
	uint64_t arrived_ns; /* 0: no canary has arrived */
	uint64_t took_ns;
};

int health_new(struct health **out)
{
	struct health *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	pthread_mutex_init(&h->lock, NULL);
	if (proc_start(getpid(), &h->pid_start) < 0 || proc_boot_id(h->boot_id) < 0)
		h->pid_start = 0;
	*out = h;
	return 0;
}

void health_free(struct health *h)
{
	if (!h)
		return;
	pthread_mutex_destroy(&h->lock);
	free(h);
}

bool health_is_canary(const struct process *p)
{
	return !strcmp(p->run, CANARY_RUN);
}

struct ours {
	const struct health *h;
	uint64_t stored;
};

static int on_process(void *arg, const struct process *p)
{
	struct ours *x = arg;

	if (p->pid == (uint32_t)getpid() && p->pid_start == x->h->pid_start &&
	    !memcmp(p->boot_id, x->h->boot_id, sizeof(p->boot_id)))
		x->stored += p->account.stored + p->account.overwritten;
	return 0;
}

/* Counts the canary's records in all stores. */
static int stored(struct serve *s, uint64_t *out)
{
	struct ours x = { .h = s->health };
	int err = 0;

	for (size_t i = 0; i < s->sources && !err; i++)
		err = store_each_process(s->source[i]->st, on_process, &x);
	*out = x.stored;
	return err;
}

/* NULL: a canary arrived. Otherwise the reason. */
static const char *send_canary(struct serve *s)
{
	struct timespec pause = { 0, LOOK_NS };
	uint64_t had, has, sent;
	int err;

	if (!s->canary)
		return "this server has no aond";
	if (stored(s, &had) < 0)
		return "the store cannot be read";
	sent = clock_mono_ns();
	err = s->canary();
	if (err < 0)
		return err == -ENOENT ? "libaon is not installed" : "no aond takes records";
	while (clock_mono_ns() - sent < WAIT_NS) {
		if (stored(s, &has) < 0)
			return "the store cannot be read";
		if (has > had) {
			s->health->arrived_ns = clock_mono_ns();
			s->health->took_ns = s->health->arrived_ns - sent;
			return NULL;
		}
		nanosleep(&pause, NULL);
	}
	return "a record was handed over and did not arrive in the store";
}

static int say(struct answer *a, const struct health *h, const char *why)
{
	FILE *f = open_memstream(&a->body, &a->len);
	bool is = h->arrived_ns;
	struct json j;

	if (!f)
		return -ENOMEM;
	json_init(&j, f);
	json_open(&j, NULL, '{');
	json_members(&j, J_U64("v", 1), J_BOOL("healthy", !why), J_STR("why", why),
		     J_REAL("canary_age_s",
			    is ? (double)(clock_mono_ns() - h->arrived_ns) / (double)SECOND : NAN),
		     J_REAL("canary_took_s", is ? (double)h->took_ns / (double)SECOND : NAN));
	json_end(&j);
	a->type = "application/json";
	a->status = why ? 503 : 200;
	return fclose(f) == 0 ? 0 : -ENOMEM;
}

int api_node(struct ask *q, struct answer *a)
{
	struct health *h = q->s->health;
	const char *why = NULL;
	uint64_t fresh = 0;
	int err = ask_number(q, "fresh", 0, 1, &fresh);

	if (err < 0)
		return err;
	pthread_mutex_lock(&h->lock);
	if (fresh || !h->arrived_ns || clock_mono_ns() - h->arrived_ns > KNOWN_NS)
		why = send_canary(q->s);
	err = say(a, h, why);
	pthread_mutex_unlock(&h->lock);
	return err;
}

int api_metrics(struct ask *q, struct answer *a)
{
	FILE *f = open_memstream(&a->body, &a->len);
	int err;

	if (!f)
		return -ENOMEM;
	err = metrics_write(q->s->metrics, q->s, f);
	if (fclose(f) != 0)
		err = err ? err : -ENOMEM;
	a->type = "text/plain; version=0.0.4; charset=utf-8";
	return err;
}
