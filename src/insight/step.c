/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - the steps of each process, and what its GPUs did within each. */
#include <errno.h>
#include <stdlib.h>

#include "insight/insight.h"

/* The thread whose steps cover most: others may mark parts of the same steps. */
static uint32_t stepping_lane(const struct trace *t, uint32_t process)
{
	uint64_t best = 0;
	uint32_t lane = UINT32_MAX;

	for (uint32_t l = 0; l < t->lanes; l++) {
		uint64_t sum = 0;

		if (t->lane[l].process != process || t->lane[l].device != LANE_HOST)
			continue;
		for (size_t i = t->lane_first[l]; i < t->lane_first[l + 1]; i++)
			if (t->event[i].kind == EVENT_STEP)
				sum += t->event[i].dur_ns;
		if (sum > best) {
			best = sum;
			lane = l;
		}
	}
	return lane;
}

static size_t find_steps(struct insight *in, uint32_t process, uint32_t lane)
{
	const struct trace *t = in->t;
	size_t n = 0;
	uint64_t end = 0;

	for (size_t i = t->lane_first[lane]; i < t->lane_first[lane + 1]; i++) {
		const struct event *e = &t->event[i];

		if (e->kind != EVENT_STEP || e->start_ns < end || !e->dur_ns)
			continue;
		end = event_end(e);
		in->step[in->steps + n++] = (struct insight_step){
			.process = process,
			.rank = insight_rank(t, process),
			.number = e->a,
			.start_ns = e->start_ns,
			.dur_ns = end - e->start_ns,
		};
	}
	return n;
}

/* Work may reach from one step into the next: each gets its part. */
static int fill_steps(struct insight *in, struct insight_step *step, size_t n, uint32_t *lane,
		      size_t lanes)
{
	struct unions *u = calloc(n, sizeof(*u));
	size_t i, from = 0;
	struct merge m;
	int err;

	if (!u)
		return -ENOMEM;
	err = merge_init(&m, in->t, lane, lanes);
	if (err < 0)
		goto free_unions;
	while ((i = merge_next(&m)) != MERGE_END) {
		const struct event *e = &in->t->event[i];
		uint32_t of = class_parts(event_class(in->names, in->t, i));
		uint64_t end = event_end(e);

		while (from < n && step[from].start_ns + step[from].dur_ns <= e->start_ns)
			from++;
		for (size_t k = from; k < n && step[k].start_ns < end; k++) {
			uint64_t to = step[k].start_ns + step[k].dur_ns;
			uint64_t s =
				e->start_ns > step[k].start_ns ? e->start_ns : step[k].start_ns;

			unions_add(&u[k], of, s, end < to ? end : to);
			step[k].b.kernels += e->kind == EVENT_KERNEL && e->start_ns == s;
		}
	}
	merge_fini(&m);
	for (size_t k = 0; k < n; k++) {
		unions_take(&u[k], &step[k].b);
		step[k].b.first_ns = step[k].start_ns;
		step[k].b.last_ns = step[k].start_ns + step[k].dur_ns;
		step[k].b.span_ns = step[k].dur_ns;
		step[k].b.idle_ns = step[k].dur_ns - step[k].b.busy_ns;
	}
free_unions:
	free(u);
	return err;
}

static void fill_input(const struct insight *in, struct insight_step *step, size_t n, uint32_t lane)
{
	const struct insight_spans *s = &in->spans[SPAN_INPUT];
	size_t i = s->lane_first[lane], end = s->lane_first[lane + 1];

	for (size_t k = 0; k < n; k++) {
		uint64_t from = step[k].start_ns, to = from + step[k].dur_ns;

		while (i < end && s->span[i].end_ns <= from)
			i++;
		for (size_t j = i; j < end && s->span[j].start_ns < to; j++) {
			uint64_t a = s->span[j].start_ns > from ? s->span[j].start_ns : from;
			uint64_t b = s->span[j].end_ns < to ? s->span[j].end_ns : to;

			step[k].input_ns += b - a;
		}
	}
}

/* The lanes where a process works: its streams, or its threads if it has none. */
static size_t work_lanes(const struct trace *t, uint32_t process, uint32_t *lane)
{
	size_t lanes = 0;

	for (uint32_t l = 0; l < t->lanes; l++)
		if (t->lane[l].process == process && t->lane[l].device != LANE_HOST)
			lane[lanes++] = l;
	if (lanes)
		return lanes;
	for (uint32_t l = 0; l < t->lanes; l++)
		if (t->lane[l].process == process)
			lane[lanes++] = l;
	return lanes;
}

static int add_process(struct insight *in, uint32_t process, uint32_t *lane)
{
	const struct trace *t = in->t;
	uint32_t from = stepping_lane(t, process);
	struct insight_step *step = &in->step[in->steps];
	size_t lanes, n;

	if (from == UINT32_MAX)
		return 0;
	n = find_steps(in, process, from);
	in->steps += n;
	fill_input(in, step, n, from);
	lanes = work_lanes(t, process, lane);
	for (size_t d = 0; d < in->devices; d++) {
		if (t->device[in->device[d].device].process != process)
			continue;
		in->device[d].steps = n;
		for (size_t k = 0; k < n; k++)
			in->device[d].step_ns += step[k].dur_ns;
	}
	return fill_steps(in, step, n, lane, lanes);
}

int insight_steps(struct insight *in)
{
	uint32_t *lane = calloc(in->t->lanes + 1, sizeof(*lane));
	size_t all = in->kinds[EVENT_STEP];
	int err = 0;

	in->step = calloc(all + 1, sizeof(*in->step));
	if (!lane || !in->step)
		err = -ENOMEM;
	for (uint32_t p = 0; p < in->t->processes && all && !err; p++)
		err = add_process(in, p, lane);
	free(lane);
	return err;
}

const struct insight_step *insight_step_of(const struct insight *in, uint32_t gpu_event)
{
	const struct trace *t = in->t;
	uint32_t call = insight_launch(in, gpu_event), process;
	const struct event *e = &t->event[call == NO_EVENT ? gpu_event : call];
	size_t lo = 0, hi = in->steps;

	process = t->lane[e->lane].process;
	while (lo < hi) { /* the first that begins later, or is of a later process */
		size_t mid = lo + (hi - lo) / 2;
		const struct insight_step *s = &in->step[mid];

		if (s->process < process || (s->process == process && s->start_ns <= e->start_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || in->step[lo - 1].process != process ||
	    in->step[lo - 1].start_ns + in->step[lo - 1].dur_ns <= e->start_ns)
		return NULL;
	return &in->step[lo - 1];
}
