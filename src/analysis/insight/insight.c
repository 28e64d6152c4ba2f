/* SPDX-License-Identifier: Apache-2.0 */
/* insight.c - computes everything that reports and findings read, once; see insight.h. */
#include "insight/insight.h"

#include <errno.h>
#include <stdlib.h>

#include "insight/find/join.h"
#include "insight/live/account_host.h"
#include "insight/state.h"
#include "insight/stretch.h"

#define BREAKDOWN_PASSES 6u

typedef int pass_fn(struct insight *in);

static int insight_pm(struct insight *in)
{
	return pm_add(&in->pm, in->t);
}

static int insight_pm_end(struct insight *in)
{
	pm_end(&in->pm);
	return 0;
}

static const struct {
	pass_fn *begin, *add, *end;
} pass[] = {
	{ NULL, insight_link, NULL },
	{ NULL, insight_classes, NULL },
	{ insight_hosts_begin, insight_hosts, NULL },
	{ NULL, insight_samples_take, NULL },
	{ insight_devices_begin, insight_devices, insight_devices_end },
	{ insight_steps_begin, insight_steps, insight_steps_end },
	{ insight_accounts_begin, insight_accounts, NULL }, /* while samples wait */
	{ NULL, insight_samples, insight_samples_end },
	{ NULL, insight_ops, insight_ops_end },
	{ NULL, insight_tables, insight_tables_end },
	{ NULL, insight_work, insight_work_end },
	{ NULL, insight_pm, insight_pm_end },
	{ NULL, insight_roofs, insight_roofs_end },
	{ NULL, insight_traffic, NULL },
	{ NULL, insight_waits, insight_waits_end },
	{ NULL, NULL, insight_traffic_end },
	{ insight_memory_begin, insight_memory, insight_memory_end },
	{ NULL, insight_compiles, NULL },
	{ NULL, insight_stopped, insight_stopped_end },
	{ NULL, NULL, insight_accounts_end },
	{ NULL, NULL, insight_gaps_end },
};

#define PASSES (sizeof(pass) / sizeof(pass[0]))

static int begin(struct insight **out, const struct trace *t, size_t passes)
{
	struct insight *in;
	int err;

	if (!t->track_first || t->events >= NO_EVENT)
		return -EINVAL;
	in = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	in->t = t;
	in->hi_ns = UINT64_MAX;
	in->x = calloc(1, sizeof(*in->x));
	err = in->x ? names_new(&in->names, t) : -ENOMEM;
	if (!err) {
		in->x->process = calloc(t->processes + 1, sizeof(*in->x->process));
		err = in->x->process ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < passes && !err; i++)
		err = pass[i].begin ? pass[i].begin(in) : 0;
	if (err < 0)
		insight_free(in);
	else
		*out = in;
	return err;
}

static int add(struct insight *in, size_t passes)
{
	int err = 0;

	for (size_t i = 0; i < in->t->events; i++)
		in->kinds[in->t->event[i].kind % EVENT_MAX] += event_counts(&in->t->event[i]);
	for (size_t i = 0; i < passes && !err; i++)
		err = pass[i].add ? pass[i].add(in) : 0;
	return err;
}

static int end(struct insight *in, size_t passes)
{
	int err = 0;

	for (size_t i = 0; i < passes && !err; i++)
		err = pass[i].end ? pass[i].end(in) : 0;
	return err;
}

static int analyse(struct insight **out, const struct trace *t, size_t passes)
{
	struct insight *in;
	int err = begin(&in, t, passes);

	if (err < 0)
		return err;
	err = add(in, passes);
	err = err ? err : end(in, passes);
	if (err < 0)
		insight_free(in);
	else
		*out = in;
	return err;
}

int insight_new(struct insight **out, const struct trace *t)
{
	return analyse(out, t, PASSES);
}

int insight_new_breakdown(struct insight **out, const struct trace *t)
{
	return analyse(out, t, BREAKDOWN_PASSES);
}

int insight_open(struct insight **out, const struct trace *t)
{
	int err = begin(out, t, PASSES);

	if (!err)
		(*out)->parted = true;
	return err;
}

int insight_stretch(struct insight *in, uint64_t lo_ns, uint64_t hi_ns)
{
	int err;

	if (!in->t->track_first || in->t->events >= NO_EVENT || in->t->tracks != in->x->tracks)
		return -EINVAL;
	in->lo_ns = lo_ns;
	in->hi_ns = hi_ns;
	err = add(in, PASSES);
	return err ? err : insight_keep(in);
}

/* What is by event goes with them. */
static void forget_events(struct insight *in)
{
	free(in->link);
	free(in->class);
	free(in->own_op);
	free(in->through);
	free(in->x->carry);
	in->link = in->own_op = in->through = NULL;
	in->class = NULL;
	in->x->carry = NULL;
	in->x->carries = in->x->carry_cap = 0;
	for (size_t i = 0; i < SPAN_KINDS; i++) {
		free(in->spans[i].span);
		free(in->spans[i].track_first);
		in->spans[i] = (struct insight_spans){ NULL, NULL };
	}
}

int insight_close(struct insight *in)
{
	int err = end(in, PASSES);

	forget_events(in);
	return err;
}

static void state_free(struct insight_state *x)
{
	if (!x)
		return;
	for (size_t i = 0; x->track && i < x->tracks; i++) {
		sketch_fini(&x->track[i].launch.delay);
		free(x->track[i].queue.v);
	}
	for (size_t i = 0; x->device && i < x->devices; i++) {
		map_fini(&x->device[i].frame_of);
		free(x->device[i].frame);
		free(x->device[i].experts.work);
	}
	for (size_t i = 0; i < ROLLS; i++) {
		map_fini(&x->table[i].row);
		for (size_t k = 0; k < x->table[i].rows; k++)
			sketch_fini(&x->table[i].sketch[k]);
		free(x->table[i].sketch);
	}
	for (size_t i = 0; i < HOST_ROLLS; i++)
		map_fini(&x->ops.row[i]);
	map_fini(&x->ops.known);
	free(x->ops.work);
	map_fini(&x->work.reason);
	map_fini(&x->work.named);
	map_fini(&x->work.row);
	map_fini(&x->roofs.launch);
	map_fini(&x->roofs.place);
	map_fini(&x->roofs.of);
	map_fini(&x->roofs.row);
	map_fini(&x->roofs.op);
	map_fini(&x->roofs.seen);
	map_fini(&x->roofs.before);
	map_fini(&x->traffic.who);
	map_fini(&x->traffic.size);
	map_fini(&x->traffic.class);
	map_fini(&x->traffic.row);
	for (size_t i = 0; i < SHARES; i++)
		free(x->share[i].v);
	samples_state_free(&x->samples);
	frames_free(&x->hold);
	free(x->carry);
	free(x->open);
	map_fini(&x->member_of);
	map_fini(&x->set_up);
	free(x->track);
	free(x->device);
	free(x->process);
	free(x->step);
	free(x->base);
	free(x->left);
	free(x);
}

void insight_free(struct insight *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->devices; i++)
		sketch_fini(&in->device[i].launch.delay);
	for (size_t i = 0; i < in->streams; i++)
		sketch_fini(&in->stream[i].launch.delay);
	for (size_t i = 0; i < SPAN_KINDS; i++) {
		free(in->spans[i].span);
		free(in->spans[i].track_first);
	}
	for (size_t i = 0; i < ROLLS; i++)
		free(in->roll[i].row);
	for (size_t i = 0; i < HOST_ROLLS; i++)
		free(in->on_host[i].row);
	state_free(in->x);
	free(in->class);
	free(in->own_op);
	free(in->through);
	free(in->work.row);
	free(in->samples.row);
	host_accounts_fini(&in->hosts);
	roofs_fini(&in->roofs);
	traffic_fini(&in->traffic);
	join_free(in->join);
	pm_fini(&in->pm);
	names_free(in->names);
	free(in->link);
	free(in->device);
	free(in->stream);
	free(in->step);
	free(in->host);
	free(in->waits.rank);
	free(in->memory);
	free(in->compile);
	free(in->stopped.member);
	free(in->stopped.file);
	free(in);
}
