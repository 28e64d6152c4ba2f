/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stopped.c - collectives that were issued and never ended: where a job stopped.
 *
 * One that never ended is a moment with the group and number of a collective, behind which no other
 * of its group ended. The end of any recording may cut one off. It is stuck if, from when all work
 * that had been launched before it was done until the last record of its rank, more time passed than
 * any collective took that ended.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "insight/state.h"

#define OPEN_MAX 65536u /* of a recording: more are no end, but another way to record */

static struct insight_member *member_of(struct insight *in, uint32_t file, uint32_t group)
{
	struct stopped *s = &in->stopped;
	uint32_t at = map_number(&in->x->member_of, (uint64_t)file << 32 | group);
	struct insight_member *m;

	if (!at || vec_room0(&s->member, &s->member_room, at, sizeof(*m)) < 0)
		return NULL;
	m = &s->member[at - 1];
	m->file = file;
	m->group = group;
	s->members = in->x->member_of.used;
	return m;
}

/* An operator ends as soon as it has launched. */
static bool is_issue(const struct event *e)
{
	return !e->dur_ns &&
	       (e->kind == EVENT_COLLECTIVE || (e->kind == EVENT_RANGE && e->a == TRACE_USER));
}

static int see(struct insight *in, size_t i)
{
	const struct trace *t = in->t;
	const struct event *e = &t->event[i];
	const struct trace_comm *c = &t->comm[t->event_comm[i] - 1];
	uint32_t file = t->process[t->track[e->track].process].file;
	struct insight_member *m;
	struct state_open *o;

	if (!c->group || (!is_issue(e) && !(e->dur_ns && event_is_gpu(e))))
		return 0;
	m = member_of(in, file, c->group);
	if (!m)
		return -ENOMEM;
	if (e->dur_ns) {
		m->ended++;
		m->done = c->sequence > m->done ? c->sequence : m->done;
		m->last_ns = e->start_ns > m->last_ns ? e->start_ns : m->last_ns;
		m->longest_ns = e->dur_ns > m->longest_ns ? e->dur_ns : m->longest_ns;
		return 0;
	}
	if (in->x->opens == OPEN_MAX)
		return 0;
	if (vec_more(&in->x->open, in->x->opens, sizeof(*o)) < 0)
		return -ENOMEM;
	o = &in->x->open[in->x->opens++];
	*o = (struct state_open){ c->sequence, e->start_ns, (uint32_t)(m - in->stopped.member),
				  e->name };
	return 0;
}

/* When the work was done that had been launched before the first one that is open. */
static void see_work(struct insight *in, const uint64_t *since, size_t i)
{
	struct stopped *s = &in->stopped;
	const struct event *e = &in->t->event[i];
	uint32_t file = in->t->process[in->t->track[e->track].process].file;
	uint64_t end = event_end(e);
	uint32_t call;

	if (!s->file[file].end_ns || e->start_ns < s->file[file].first_ns)
		s->file[file].first_ns = e->start_ns;
	s->file[file].end_ns = end > s->file[file].end_ns ? end : s->file[file].end_ns;
	if (in->t->track[e->track].device == TRACK_HOST) {
		s->file[file].launches += e->kind == EVENT_API && event_counts(e) &&
					  names_call(in->names, e->name) == CALL_LAUNCH;
		return;
	}
	s->file[file].work += e->kind == EVENT_KERNEL && event_counts(e);
	call = insight_launch(in, i);
	if (call != NO_EVENT && in->t->event[call].start_ns < since[file] &&
	    end > s->file[file].ready_ns)
		s->file[file].ready_ns = end;
}

int insight_stopped(struct insight *in)
{
	const struct trace *t = in->t;
	uint64_t *since;
	int err = 0;

	if (!t->comms)
		return 0;
	for (size_t i = 0; t->event_comm && i < t->events && !err; i++)
		if (t->event_comm[i] && event_counts(&t->event[i]))
			err = see(in, i);
	if (err || !in->x->opens)
		return err;
	in->stopped.file = in->stopped.file ?: calloc(t->files + 1, sizeof(*in->stopped.file));
	since = calloc(t->files + 1, sizeof(*since));
	if (!since || !in->stopped.file) {
		free(since);
		return -ENOMEM;
	}
	for (size_t i = 0; i < in->x->opens; i++) {
		uint32_t file = in->stopped.member[in->x->open[i].member].file;

		if (!since[file] || in->x->open[i].ns < since[file])
			since[file] = in->x->open[i].ns;
	}
	for (size_t i = 0; i < t->events; i++)
		see_work(in, since, i);
	free(since);
	return 0;
}

int insight_stopped_end(struct insight *in)
{
	struct stopped *s = &in->stopped;

	for (size_t i = 0; i < in->x->opens; i++) {
		const struct state_open *o = &in->x->open[i];
		struct insight_member *m = &s->member[o->member];

		if (o->number ? o->number <= m->done : o->ns <= m->last_ns)
			continue;
		if (!m->open++ || o->ns < m->since_ns) {
			m->since_ns = o->ns;
			m->name = o->name;
		}
		m->issued = o->number > m->issued ? o->number : m->issued;
	}
	for (size_t i = 0; i < s->members; i++) {
		struct insight_member *m = &s->member[i];
		const struct stopped_file *f = s->file ? &s->file[m->file] : NULL;
		uint64_t from;

		m->issued = m->issued ? m->issued : m->done ? m->done : m->ended + m->open;
		if (!m->open)
			continue;
		from = f->ready_ns > m->since_ns ? f->ready_ns : m->since_ns;
		m->stuck_ns = f->end_ns > from ? f->end_ns - from : 0;
		/* If none ended, a tenth of the recording is more than a cut takes. */
		s->stuck |= m->ended ? m->stuck_ns > m->longest_ns
				     : 10 * m->stuck_ns > f->end_ns - f->first_ns;
	}
	return 0;
}
