/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - the tables of step records, and of their collectives. */
#include "model/step_rec.h"
#include "sql/static_tables.h"

struct fill_steps {
	struct cells *c;
	const struct dict *d;
};

/* The columns that both tables have after the time: process, pid, rank, step. */
static void add_who(const struct fill_steps *f, uint32_t process, const struct step_rec *r)
{
	uint32_t at = dict_at(&f->d->by_process, process);

	cell_int(f->c, process);
	cell_maybe(f->c, at, f->d->process[at].pid);
	cell_ints(f->c, r->rank, r->step);
}

static int add_step(void *arg, uint32_t process, const struct step_rec *of)
{
	struct fill_steps *f = arg;
	struct step_rec r = *of;
	uint64_t lost = 0;

	for (uint32_t i = 0; i < STEP_LOSSES; i++)
		lost += r.lost[i];
	cell_int(f->c, (int64_t)r.begin_ns);
	add_who(f, process, &r);
	cell_int(f->c, r.world);
	for (size_t i = 0; i < STEP_TIMES; i++)
		cell_int(f->c, (int64_t)(*step_time(&r, i) + 0.5f));
	cell_ints(f->c, r.tokens, r.slots, (int64_t)lost, (r.flags & STEP_F_PARTIAL) != 0,
		  (r.flags & STEP_F_GONE) != 0, r.regime);
	return f->c->err;
}

int fill_step_record(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	struct fill_steps f = { c, &src->dict };

	(void)ask;
	return store_each_step(src->st, &(struct store_filter){ 0 }, add_step, &f);
}

static int add_exchanges(void *arg, uint32_t process, const struct step_rec *r)
{
	struct fill_steps *f = arg;

	for (uint32_t i = 0; i < r->slots; i++) {
		const struct step_slot *s = &r->slot[i];
		const float ns[] = { s->sum,
				     s->min,
				     s->max,
				     s->exposed,
				     s->probe[0].start,
				     s->probe[0].dur,
				     s->probe[1].start,
				     s->probe[1].dur };

		cell_int(f->c, (int64_t)r->begin_ns);
		add_who(f, process, r);
		cell_int(f->c, (int64_t)s->comm);
		cell_text(f->c, step_op_word[s->op]);
		cell_int(f->c, s->members);
		cell_maybe(f->c, s->peer != UINT32_MAX, s->peer);
		cell_ints(f->c, s->count, s->kib, s->issued, s->done);
		for (size_t k = 0; k < sizeof(ns) / sizeof(ns[0]); k++)
			cell_int(f->c, (int64_t)(ns[k] + 0.5f));
	}
	return f->c->err;
}

int fill_exchange(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	struct fill_steps f = { c, &src->dict };

	(void)ask;
	return store_each_step(src->st, &(struct store_filter){ 0 }, add_exchanges, &f);
}
