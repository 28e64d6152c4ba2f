/* SPDX-License-Identifier: Apache-2.0 */
/* samples.c - the tables of samples of threads, and of the stacks that they were taken of. */
#include "sql/static_tables.h"

#include "model/rollup.h"
#include "model/sample.h"
#include "names/part.h"

struct fill_samples {
	struct cells *c;
	const struct sql_source *src;
};

static const char *text_of(const struct dict *d, uint32_t name)
{
	return d->name[dict_name(d, name)].text;
}

static void add_sample(const struct fill_samples *f, const struct event *e)
{
	const struct dict *d = &f->src->dict;
	uint32_t track = dict_track(d, e->track);
	const struct dict_track *t = &d->track[track];
	const struct process *p = &d->process[t->process];
	uint32_t flags = sample_flags(e->b);

	cell_int(f->c, (int64_t)e->start_ns);
	cell_maybe(f->c, t->process, (int64_t)(e->start_ns + (uint64_t)p->wall_offset_ns));
	cell_maybe(f->c, t->process, p->id);
	cell_maybe(f->c, t->process, p->pid);
	cell_maybe(f->c, track, (int64_t)t->track.stream);
	cell_text(f->c, sample_state_word(sample_state(e->b)));
	cell_maybe(f->c, sample_detail(e->b) && sample_state(e->b) != SAMPLE_RUNNABLE,
		   sample_detail(e->b));
	cell_maybe(f->c, e->a, (int64_t)e->a);
	cell_text(f->c, text_of(d, e->name));
	cell_int(f->c, (int64_t)e->dur_ns);
	cell_int(f->c, (flags & SAMPLE_GC) != 0);
	cell_int(f->c, (flags & SAMPLE_HOLDER) != 0);
	cell_int(f->c, (flags & SAMPLE_UNCERTAIN) != 0);
	cell_int(f->c, (flags & SAMPLE_CUT) != 0);
	if (sample_state(e->b) == SAMPLE_RUNNABLE && sample_detail(e->b))
		cell_text(f->c, text_of(d, sample_detail(e->b)));
	else
		cell_null(f->c);
}

static int add_samples(void *arg, uint32_t process, const struct event_columns *c)
{
	struct fill_samples *f = arg;
	int err = source_late(f->src);

	(void)process;
	for (size_t i = 0; i < c->n && !err; i++) {
		struct event e = event_at(c, i);

		add_sample(f, &e);
		err = f->c->err;
	}
	return err;
}

/* The samples of the time that is asked for; false: there can be none. */
static bool asks_for(const struct small_ask *ask, struct store_filter *f)
{
	*f = (struct store_filter){ .kinds = 1u << EVENT_SAMPLE };
	if (ask->from > ask->to || ask->to < 0)
		return false;
	f->from_ns = ask->from > 0 ? (uint64_t)ask->from : 0;
	f->to_ns = ask->to < INT64_MAX ? (uint64_t)ask->to + 1 : 0;
	return true;
}

int fill_sample(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	struct store_filter f;
	struct fill_samples fill = { c, src };

	return asks_for(ask, &f)
		       ? store_each_events(src->st, &f, EVENT_COLS_ALL, add_samples, &fill)
		       : 0;
}

static void add_rolled(const struct fill_samples *f, const struct window *w, const struct rollup *r)
{
	static const char *const gpu[] = { NULL, "idle", "busy" };
	const struct dict *d = &f->src->dict;
	const struct process *p = &d->process[dict_at(&d->by_process, w->process)];
	uint32_t track = dict_track(d, r->track), holder = sample_rolled_holder(r->bytes);
	struct sample_key k = sample_rolled_key(r->bytes);
	uint32_t part = k.part && k.part <= HOST_PARTS ? k.part : 0;

	cell_int(f->c, (int64_t)w->start_ns);
	cell_int(f->c, (int64_t)(w->start_ns + (uint64_t)p->wall_offset_ns));
	cell_ints(f->c, w->process, p->pid);
	cell_maybe(f->c, track, (int64_t)d->track[track].track.stream);
	cell_text(f->c, sample_state_word(k.state));
	cell_maybe(f->c, r->name > 1, (int64_t)r->name - 1);
	cell_int(f->c, r->name == SAMPLE_ROLLED_OTHER);
	cell_text(f->c, part ? host_part_word[part - 1] : NULL);
	cell_text(f->c, gpu[k.gpu]);
	cell_int(f->c, k.holder);
	cell_maybe(f->c, k.state == SAMPLE_GIL && holder, holder);
	cell_text(f->c, k.state == SAMPLE_RUNNABLE && holder ? text_of(d, holder) : NULL);
	cell_ints(f->c, (int64_t)r->count, (int64_t)r->total_ns);
}

static int add_window(void *arg, const struct window *w)
{
	struct fill_samples *f = arg;

	for (uint32_t i = 0; i < w->rows && !f->c->err; i++)
		add_rolled(f, w, &w->row[i]);
	return f->c->err ? f->c->err : source_late(f->src);
}

int fill_sample_window(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	struct store_filter f;
	struct fill_samples fill = { c, src };

	return asks_for(ask, &f) ? store_each_window(src->st, &f, add_window, &fill) : 0;
}

static int add_stack(void *arg, const struct stack_row *r)
{
	static const char *const kind[FRAME_KINDS] = { "python", "native", "task" };
	struct fill_samples *f = arg;
	const struct dict *d = &f->src->dict;

	for (uint32_t i = 0; i < r->n && !f->c->err; i++) {
		const struct stack_frame *x = &r->frame[i];

		cell_int(f->c, r->id);
		cell_int(f->c, r->n);
		cell_int(f->c, i);
		cell_text(f->c, kind[x->kind]);
		cell_text(f->c, text_of(d, x->name));
		cell_text(f->c, text_of(d, x->file));
		cell_maybe(f->c, x->line, x->line);
		cell_int(f->c, (x->flags & FRAME_USER) != 0);
		cell_int(f->c, (x->flags & FRAME_SCANNED) != 0);
		cell_int(f->c, (x->flags & FRAME_INLINE) != 0);
	}
	return f->c->err ? f->c->err : source_late(f->src);
}

int fill_stack(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	struct fill_samples fill = { c, src };

	(void)ask;
	return store_each_stack(src->st, add_stack, &fill);
}
