/* SPDX-License-Identifier: Apache-2.0 */
/* step_recorder.c - see step_recorder.h. */
#include "daemon/stream/step_recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "daemon/core/count.h"
#include "daemon/stream/stream.h"
#include "names/class.h"
#include "names/part.h"
#include "names/step_names.h"

/* --- what names mean --- */

int recorder_names_init(struct recorder_names *n, uint32_t max)
{
	int err;

	*n = (struct recorder_names){ .max = max };
	err = names_new(&n->names, NULL);
	return err ? err : parts_new(&n->parts);
}

void recorder_names_fini(struct recorder_names *n)
{
	names_free(n->names);
	parts_free(n->parts);
	free(n->means.of);
}

void recorder_name(struct recorder_names *n, uint32_t id, const char *text)
{
	struct step_means none = { .kernel = STEP_CLASS_OTHER,
				   .op = STEP_NO_OP,
				   .peer = STEP_NO_PEER };
	size_t room = n->means.n;
	enum host_part part;

	if (id > n->max || vec_room(&n->means.of, &room, (size_t)id + 1, sizeof(none)) < 0)
		return;
	while (n->means.n < room)
		n->means.of[n->means.n++] = none;
	n->means.of[id] = means_of_text(n->names, text);
	part = parts_range(n->parts, text);
	n->means.of[id].part = part < HOST_PARTS ? (uint8_t)(part + 1) : 0;
}

/* --- who it is --- */

/* Without a job, ranks of a user's run are one, and who is no rank is one of its own. */
static uint64_t job_hash(const struct process *p)
{
	uint64_t run[] = { p->uid, p->origin.world };
	uint64_t own[] = { p->boot_id[0], p->pid_start, p->pid };

	if (*p->job)
		return step_hash(p->job, strlen(p->job), 0);
	if (p->origin.rank)
		return step_hash(run, sizeof(run), step_hash(p->run, strlen(p->run), 0));
	return step_hash(own, sizeof(own), 0);
}

static void put_head(const struct stream *s, struct step_rec *r)
{
	const struct process *p = &s->proc;
	const struct node_ident *n = &s->plant->node;
	const char *host = *n->host ? n->host : p->node;

	step_rec_init(r);
	r->job = job_hash(p);
	r->rank = p->origin.rank ? p->origin.rank - 1 : 0;
	r->world = p->origin.world > r->rank ? p->origin.world : r->rank + 1;
	r->host = (uint32_t)step_hash(host, strlen(host), 0);
	r->leaf = *n->leaf ? (uint32_t)step_hash(n->leaf, strlen(n->leaf), 0) : 0;
	r->gpu = (uint16_t)(s->gpus         ? (unsigned)__builtin_ctzll(s->gpus)
			    : p->local_rank ? p->local_rank - 1
					    : 0);
	r->nic = r->gpu;
}

/* --- to the store --- */

struct batch {
	struct stream *s;
	struct store_steps of;
	uint8_t bytes[32 * STEP_MAX];
};

static void give(struct plant *pl, const struct store_steps *of)
{
	struct item *it = item_steps(of);

	if (it && pl->disk < SHED_ALL && !queue_offer(pl->queue, it, QUEUE_REST)) {
		pl->dirty = true;
		count_add(COUNT_step_records, of->count);
	} else {
		free(it);
		count_add(COUNT_step_records_dropped, of->count);
	}
}

static void hand_over(struct batch *b)
{
	if (!b->of.count)
		return;
	give(b->s->plant, &b->of);
	b->of.count = 0;
	b->of.len = 0;
}

static void on_record(void *arg, struct step_rec *r, uint64_t begin_ns, uint64_t end_ns)
{
	struct batch *b = arg;
	int n;

	launchers_waits(&b->s->launchers, (double)r->t.step, (double)(r->t.exposed + r->t.input));
	r->begin_ns += (uint64_t)b->s->proc.wall_offset_ns;
	gauge_put(&b->s->plant->gauges, b->s->proc.ident.gpu_uuid, b->s->proc.ident.nic,
		  &b->s->said, r);
	n = step_rec_encode(b->bytes + b->of.len, sizeof(b->bytes) - b->of.len, r);
	if (n == -ENOSPC) {
		hand_over(b);
		n = step_rec_encode(b->bytes, sizeof(b->bytes), r);
	}
	if (n < 0)
		return;
	b->of.t0_ns = b->of.count ? b->of.t0_ns : begin_ns;
	b->of.t1_ns = end_ns;
	b->of.len += (size_t)n;
	b->of.count++;
}

/* By cause, as the record has them. */
static void count_lost(struct stream *s)
{
	uint64_t app[AON_LOSS_APP_MAX], lost[STEP_LOSSES] = { 0 };

	pool_lost(s->pool, app);
	for (uint32_t i = 0; i < AON_LOSS_APP_MAX; i++)
		lost[i == AON_LOSS_DISCARDED || i == AON_LOSS_SOURCE || i == AON_LOSS_UNTIMED
			     ? 2
			     : 0] += app[i];
	lost[1] = s->tally.lost[AON_LOSS_INVALID] + s->tally.lost[AON_LOSS_UNKNOWN] +
		  s->tally.lost[AON_LOSS_BUDGET];
	stepper_lost(s->stepper, lost);
}

void recorder_make(struct stream *s, uint64_t before_ns)
{
	struct batch b = { .s = s, .of = { .process = s->proc.id, .bytes = b.bytes } };
	struct step_rec head;

	if (!stepper_due(s->stepper, before_ns))
		return;
	count_lost(s);
	put_head(s, &head);
	stepper_make(s->stepper, before_ns, &head, on_record, &b);
	hand_over(&b);
}

/* What is seen of the step that has not ended. False: nothing. */
static bool partial(struct stream *s, uint64_t now_ns, struct step_rec *r, uint64_t *begin)
{
	struct step_rec head;
	struct step_words w;
	struct aon_heartbeat p;

	pool_heartbeat(s->pool, &p);
	w = (struct step_words){ p.step > s->step ? p.step : s->step + 1, p.collective_comm,
				 p.collective };
	count_lost(s);
	put_head(s, &head);
	return stepper_partial(s->stepper, now_ns, &w, &head, r, begin);
}

void recorder_hang(struct stream *s, uint64_t now_ns)
{
	struct batch b = { .s = s, .of = { .process = s->proc.id, .bytes = b.bytes } };
	struct step_rec r;
	uint64_t begin;

	recorder_make(s, now_ns);
	if (!partial(s, now_ns, &r, &begin))
		return;
	on_record(&b, &r, begin, now_ns);
	hand_over(&b);
}

/* --- ranks that are gone --- */

void recorder_ended(struct recorder_gones *g, struct stream *s, uint64_t now_ns)
{
	struct recorder_gone *to = &g->gone[g->next];
	struct step_rec r;
	uint64_t begin;
	int n;

	if (!s->proc.origin.rank || s->proc.origin.world < 2)
		return;
	recorder_make(s, UINT64_MAX);
	if (!partial(s, now_ns, &r, &begin))
		return;
	r.flags |= STEP_F_GONE;
	r.begin_ns += (uint64_t)s->proc.wall_offset_ns;
	n = step_rec_encode(to->rec, sizeof(to->rec), &r);
	to->len = n > 0 ? (uint32_t)n : 0;
	to->job = r.job;
	to->uid = s->proc.uid;
	to->rank = r.rank;
	to->process = s->proc.id;
	to->begin_ns = begin;
	to->end_ns = now_ns;
	g->next = (g->next + 1) % RECORDER_GONE;
}

static bool is_of(const struct recorder_gone *g, const struct stream *s)
{
	return g->len && g->uid == s->proc.uid && g->job == job_hash(&s->proc);
}

void recorder_tell_gone(struct recorder_gones *g, const struct stream *s)
{
	for (uint32_t i = 0; i < RECORDER_GONE; i++) {
		struct recorder_gone *x = &g->gone[i];

		if (!is_of(x, s))
			continue;
		give(s->plant, &(struct store_steps){ .process = x->process,
						      .t0_ns = x->begin_ns,
						      .t1_ns = x->end_ns,
						      .count = 1,
						      .bytes = x->rec,
						      .len = x->len });
		x->len = 0;
	}
}

void recorder_came(struct recorder_gones *g, const struct stream *s)
{
	for (uint32_t i = 0; i < RECORDER_GONE; i++)
		if (is_of(&g->gone[i], s) && g->gone[i].rank + 1 == s->proc.origin.rank)
			g->gone[i].len = 0;
}
