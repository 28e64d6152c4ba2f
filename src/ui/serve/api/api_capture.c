/* SPDX-License-Identifier: Apache-2.0 */
/* api_capture.c - captures that are ordered through the page, if that is allowed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "serve/api/api.h"
#include "serve/capture_jobs.h"
#include "serve/http/url.h"

#define STEPS_MOST 100000u
#define MS_MOST    600000u
#define MS_DEFAULT 500u

/* Why `q` may not order a capture; NULL: it may. */
static const char *refusal(const struct ask *q)
{
	if (!q->s->orders)
		return "This server only reads. Start it with --allow-capture to capture from the "
		       "page.";
	if (q->who->uid != geteuid())
		return "Only the user who serves may capture here; others: aon capture.";
	if (!q->run.live || q->run.imported)
		return "The run has ended: there is nothing to capture any more.";
	return NULL;
}

static int refuse(struct ask *q, const char *why)
{
	q->mistake = why;
	return -EPERM;
}

/* The live processes of the run, limited to the ranks that were requested. */
static int choose(struct ask *q, struct order_want *w)
{
	const char *ranks;
	int err = ask_ranks(q, &ranks);

	for (size_t i = 0; i < q->run.processes && !err; i++) {
		const struct process *p = &q->run.process[i];

		if (!p->connected ||
		    (ranks && (!p->origin.rank || !url_listed(ranks, (int64_t)p->origin.rank - 1))))
			continue;
		if (w->pids == ORDER_PIDS)
			return ask_mistake(q, "these are more than %u processes: choose ranks",
					   ORDER_PIDS);
		w->pid[w->pids++] = p->pid;
	}
	if (!err && !w->pids)
		return ask_mistake(q, "no process of these ranks is here now");
	return err;
}

static int begin(struct ask *q)
{
	struct order_want w = { .trigger = url_get(&q->url, "trigger") };
	uint32_t number;
	int err;

	if (ask_number(q, "steps", 1, STEPS_MOST, &w.steps) < 0 ||
	    ask_number(q, "ms", 1, MS_MOST, &w.ms) < 0 ||
	    ask_number(q, "before", 1, MS_MOST, &w.before_ms) < 0)
		return -EINVAL;
	if (w.steps && w.ms)
		return ask_mistake(q, "steps or ms, not both");
	if (w.trigger && (!*w.trigger || strlen(w.trigger) >= ORDER_TRIGGER))
		return ask_mistake(q, "trigger is an expression of up to %u bytes",
				   ORDER_TRIGGER - 1);
	w.ms = w.steps || w.ms ? w.ms : MS_DEFAULT;
	err = choose(q, &w);
	err = err ? err : order_begin(q->s->orders, &q->run, &w, &number);
	if (err == -EBUSY)
		q->mistake = "As many captures as a server orders at a time are under way.";
	return err;
}

static int change(struct ask *q)
{
	const char *why = refusal(q);
	uint64_t number = 0;

	if (ask_number(q, "cancel", 1, UINT32_MAX, &number) < 0)
		return -EINVAL;
	/* A capture can be cancelled even after its process has ended. */
	if (number && q->s->orders && q->who->uid == geteuid())
		return order_cancel(q->s->orders, &q->run, (uint32_t)number);
	return why ? refuse(q, why) : begin(q);
}

int api_capture(struct ask *q, struct json *j)
{
	const char *why = refusal(q);
	int err = 0;

	q->fleeting = true;
	if (q->post)
		err = change(q);
	else if (q->url.args)
		err = ask_mistake(q, "POST orders; this only tells");
	if (err)
		return err;
	json_members(j, J_BOOL("allowed", !why), J_STR("why", why));
	if (q->s->orders && q->who->uid == geteuid()) {
		ordered_json(j, "orders", q->s->orders, &q->run);
		return 0;
	}
	json_open(j, "orders", '[');
	json_close(j);
	return 0;
}

int api_captured(struct ask *q, struct answer *a)
{
	uint64_t number;
	int fd = -ENOENT;

	if (q->s->orders && q->who->uid == geteuid() &&
	    num_u64(q->tail, 0, UINT32_MAX, &number) == 0)
		fd = order_open(q->s->orders, &q->run, (uint32_t)number);
	if (fd < 0)
		return fd;
	a->fd = fd;
	a->type = "application/octet-stream";
	snprintf(a->file, sizeof(a->file), "aon-capture-%s-%u.pftrace", q->run.id,
		 (unsigned)number);
	return 0;
}
