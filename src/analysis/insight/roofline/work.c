/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - GPU work by what launched it: kernel, op and module, and in which steps. */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"

static struct insight_work_row *row_of(struct insight *in, const struct insight_work_row *want)
{
	struct insight_work_table *tab = &in->work;
	struct state_work *b = &in->x->work;
	uint32_t reason = map_number(&b->reason, (uint64_t)want->op << 32 | want->module);
	uint32_t named = map_number(&b->named, (uint64_t)reason << 32 | want->name);
	uint32_t at = map_number(&b->row, (uint64_t)want->file << 32 | named);

	if (!reason || !named || !at)
		return NULL;
	if (at <= tab->rows)
		return &tab->row[at - 1];
	if (vec_more(&tab->row, tab->rows, sizeof(*tab->row)) < 0)
		return NULL;
	tab->row[tab->rows] = *want;
	return &tab->row[tab->rows++];
}

static int add(struct insight *in, uint32_t i)
{
	const struct trace *t = in->t;
	const struct event *e = &t->event[i];
	const struct insight_step *step = insight_step_of(in, i);
	struct insight_work_row want = {
		.file = t->process[t->track[e->track].process].file,
		.name = e->name,
		.op = insight_name(in, ROLL_OP, i),
		.module = insight_name(in, ROLL_MODULE, i),
		.first_step = step ? step->number : 0,
	};
	struct insight_work_row *r;

	want.rank = t->file[want.file].rank;
	r = row_of(in, &want);
	if (!r)
		return -ENOMEM;
	r->count++;
	r->total_ns += e->dur_ns;
	if (!step)
		return 0;
	if (!r->in_steps++ || step->number < r->first_step)
		r->first_step = step->number;
	if (step->number > r->last_step)
		r->last_step = step->number;
	return 0;
}

static int by_file_and_time(const void *a, const void *b)
{
	const struct insight_work_row *x = a, *y = b;

	return cmp_num(x->file, y->file) ?: cmp_num(y->total_ns, x->total_ns) ?:
	       cmp_num(x->name, y->name) ?: cmp_num(x->op, y->op) ?:
	       cmp_num(x->module, y->module);
}

int insight_work(struct insight *in)
{
	int err = 0;

	if (!in->kinds[EVENT_RANGE] && !in->parted)
		return 0;
	for (size_t i = 0; i < in->t->events && !err; i++) {
		const struct event *e = &in->t->event[i];

		if (event_is_gpu(e) && in->t->track[e->track].device != TRACK_HOST)
			err = add(in, (uint32_t)i);
	}
	return err;
}

int insight_work_end(struct insight *in)
{
	if (!in->kinds[EVENT_RANGE])
		in->work.rows = 0; /* nothing is known of what it was for */
	if (in->work.rows)
		qsort(in->work.row, in->work.rows, sizeof(*in->work.row), by_file_and_time);
	return 0;
}
