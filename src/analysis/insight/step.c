/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - the steps of each process, and what its GPUs did within each. */
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "insight/state.h"

/* The thread whose steps cover most: others may mark parts of the same steps. */
static uint32_t stepping_track(const struct trace *t, uint32_t process)
{
	uint64_t best = 0;
	uint32_t track = UINT32_MAX;

	for (uint32_t l = 0; l < t->tracks; l++) {
		uint64_t sum = 0;

		if (t->track[l].process != process || t->track[l].device != TRACK_HOST)
			continue;
		for (size_t i = t->track_first[l]; i < t->track_first[l + 1]; i++)
			if (t->event[i].kind == EVENT_STEP)
				sum += t->event[i].dur_ns;
		if (sum > best) {
			best = sum;
			track = l;
		}
	}
	return track;
}

static size_t find_steps(struct insight *in, uint32_t process, uint32_t track)
{
	const struct trace *t = in->t;
	size_t n = 0;
	uint64_t end = 0;

	for (size_t i = t->track_first[track]; i < t->track_first[track + 1]; i++) {
		const struct event *e = &t->event[i];

		if (e->kind != EVENT_STEP || e->start_ns < end || !e->dur_ns)
			continue;
		end = event_end(e);
		if (e->flags & EVENT_UNSAMPLED) {
			in->x->left[in->x->lefts++] =
				(struct insight_span){ e->start_ns, end, (uint32_t)i, IDLE_OTHER };
			in->unsampled++;
			continue;
		}
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
static int fill_steps(struct insight *in, struct state_process *p, const uint32_t *track,
		      size_t tracks)
{
	struct insight_step *step = &in->step[p->step_first];
	struct unions *u = &in->x->step[p->step_first];
	struct merge m;
	size_t i;
	int err;

	err = merge_init(&m, in->t, track, tracks);
	if (err < 0)
		return err;
	while ((i = merge_next(&m)) != MERGE_END) {
		const struct event *e = &in->t->event[i];
		uint32_t of = class_parts(event_class(in->names, in->t, i));
		uint64_t end = event_end(e);

		if (!event_counts(e))
			continue;
		while (p->step_from < p->steps &&
		       step[p->step_from].start_ns + step[p->step_from].dur_ns <= e->start_ns)
			p->step_from++;
		for (size_t k = p->step_from; k < p->steps && step[k].start_ns < end; k++) {
			uint64_t to = step[k].start_ns + step[k].dur_ns;
			uint64_t s =
				e->start_ns > step[k].start_ns ? e->start_ns : step[k].start_ns;

			unions_add(u[k].until, u[k].sum, of, s, end < to ? end : to);
			step[k].b.kernels += e->kind == EVENT_KERNEL && e->start_ns == s;
		}
	}
	merge_fini(&m);
	return 0;
}

static void tell_step(struct insight_step *s, const struct unions *u)
{
	unions_take(u, &s->b);
	s->b.first_ns = s->start_ns;
	s->b.last_ns = s->start_ns + s->dur_ns;
	s->b.span_ns = s->dur_ns;
	s->b.idle_ns = s->dur_ns - s->b.busy_ns;
}

static void fill_input(const struct insight *in, const struct state_process *p)
{
	const struct insight_spans *s = &in->spans[SPAN_MARK];
	struct insight_step *step = &in->step[p->step_first];
	size_t k = 0;

	for (size_t i = s->track_first[p->track]; i < s->track_first[p->track + 1]; i++) {
		const struct insight_span *x = &s->span[i];

		if (x->cause != IDLE_INPUT || x->event == NO_EVENT) /* was, in an earlier stretch */
			continue;
		while (k < p->steps && step[k].start_ns + step[k].dur_ns <= x->start_ns)
			k++;
		for (size_t j = k; j < p->steps && step[j].start_ns < x->end_ns; j++) {
			uint64_t from = step[j].start_ns, to = from + step[j].dur_ns;
			uint64_t a = x->start_ns > from ? x->start_ns : from;
			uint64_t b = x->end_ns < to ? x->end_ns : to;

			step[j].input_ns += b - a;
		}
	}
}

/* The tracks where a process works: its streams, or its threads if it has none. */
static size_t work_tracks(const struct trace *t, uint32_t process, uint32_t *track)
{
	size_t tracks = 0;

	for (uint32_t l = 0; l < t->tracks; l++)
		if (t->track[l].process == process && t->track[l].device != TRACK_HOST)
			track[tracks++] = l;
	if (tracks)
		return tracks;
	for (uint32_t l = 0; l < t->tracks; l++)
		if (t->track[l].process == process)
			track[tracks++] = l;
	return tracks;
}

/* Of devices: they are known by now. */
static void begin_accounts(struct insight *in)
{
	for (uint32_t i = 0; i < in->t->processes; i++)
		account_spans(&in->x->base[in->x->process[i].step_first], in->x->process[i].steps);
	for (uint32_t i = 0; i < in->x->devices; i++) {
		const struct state_process *p = &in->x->process[in->t->device[i].process];

		account_begin(&in->x->device[i].account, &in->x->base[p->step_first], p->steps);
	}
}

int insight_steps_begin(struct insight *in)
{
	size_t all = 0, left = 0;

	for (size_t i = 0; i < in->t->events; i++) {
		if (in->t->event[i].kind != EVENT_STEP)
			continue;
		all++;
		left += (in->t->event[i].flags & EVENT_UNSAMPLED) != 0;
	}
	in->step = calloc(all + 1, sizeof(*in->step));
	in->x->left = calloc(left + 1, sizeof(*in->x->left));
	if (!in->step || !in->x->left)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->t->processes; i++) {
		struct state_process *p = &in->x->process[i];

		p->track = all ? stepping_track(in->t, i) : UINT32_MAX;
		p->step_first = in->steps;
		p->left_first = in->x->lefts;
		p->steps = p->track == UINT32_MAX ? 0 : find_steps(in, i, p->track);
		p->lefts = in->x->lefts - p->left_first;
		in->steps += p->steps;
	}
	in->x->step = calloc(in->steps + 1, sizeof(*in->x->step));
	in->x->base = calloc(in->steps + 1, sizeof(*in->x->base));
	if (!in->x->step || !in->x->base)
		return -ENOMEM;
	for (size_t i = 0; i < in->steps; i++)
		in->x->base[i] =
			(struct account_span){ in->step[i].start_ns,
					       in->step[i].start_ns + in->step[i].dur_ns, 0 };
	begin_accounts(in);
	return 0;
}

int insight_steps(struct insight *in)
{
	uint32_t *track = calloc(in->t->tracks + 1, sizeof(*track));
	int err = track ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < in->t->processes && !err; i++) {
		struct state_process *p = &in->x->process[i];

		if (!p->steps)
			continue;
		fill_input(in, p);
		err = fill_steps(in, p, track, work_tracks(in->t, i, track));
	}
	free(track);
	return err;
}

int insight_steps_end(struct insight *in)
{
	for (size_t i = 0; i < in->steps; i++)
		tell_step(&in->step[i], &in->x->step[i]);
	for (size_t d = 0; d < in->devices; d++) {
		uint32_t process = in->t->device[in->device[d].device].process;
		const struct state_process *p = &in->x->process[process];

		in->device[d].steps = p->steps;
		for (size_t k = 0; k < p->steps; k++)
			in->device[d].step_ns += in->step[p->step_first + k].dur_ns;
	}
	return 0;
}

const struct insight_step *insight_step_at(const struct insight *in, uint32_t process, uint64_t ns)
{
	const struct state_process *p = &in->x->process[process];
	const struct insight_step *step = &in->step[p->step_first];
	size_t next = first_where(i, 0, p->steps, step[i].start_ns > ns);

	if (!next || step[next - 1].start_ns + step[next - 1].dur_ns <= ns)
		return NULL;
	return &step[next - 1];
}

const struct insight_step *insight_step_of(const struct insight *in, uint32_t gpu_event)
{
	uint32_t call = insight_launch(in, gpu_event);
	const struct event *e = &in->t->event[call == NO_EVENT ? gpu_event : call];

	return insight_step_at(in, in->t->track[e->track].process, e->start_ns);
}
