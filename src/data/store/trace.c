/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - reads a store into a trace.
 *
 * All that aon recorded is one file of the trace; each imported trace is a file of its own. Some
 * numbers of an event mean different things in the two (model/event.tbl.h and model/trace.h): those
 * that aon recorded are converted here.
 */
#include "store/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/dtype.h"
#include "model/trace.h"
#include "model/work.h"
#include "store/store.h"
#include "store/trace_priv.h"

#define IDS_MAX (1u << 24) /* no store of ours has a higher id */

static int put(struct ids *x, uint32_t id, uint32_t to)
{
	if (id >= IDS_MAX)
		return -EBADMSG;
	if (vec_room0(&x->to, &x->n, (size_t)id + 1, sizeof(*x->to)) < 0)
		return -ENOMEM;
	x->to[id] = to + 1;
	return 0;
}

/* As cli/store/into_store.c wrote it. */
static int on_comm(struct from_store *s, uint32_t id, const char *text)
{
	struct trace_comm c = { .rank = TRACE_NO_RANK };
	uint32_t *words[3] = { &c.name, &c.group, &c.dtype };
	uint32_t comm;
	int err = 0;

	for (size_t i = 0; i < 3 && !err; i++) {
		size_t len = strcspn(text, "\x1f");

		err = trace_name(s->t, text, len, words[i]);
		text += len + (text[len] != '\0');
	}
	if (err || sscanf(text, "%" SCNd32 "\x1f%" SCNu32 "\x1f%" SCNu64 "\x1f%" SCNu64, &c.rank,
			  &c.size, &c.bytes_in, &c.bytes_out) != 4)
		return err;
	err = trace_comm_add(s->t, &c, &comm);
	return err ? err : put(&s->comm, id, comm);
}

static int on_name(void *arg, uint32_t id, const char *text, size_t len)
{
	struct from_store *s = arg;
	uint32_t to;
	int err = trace_name(s->t, text, len, &to);

	if (!strcmp(text, INTO_SMS))
		s->sms = id;
	if (!strcmp(text, INTO_MEMORY))
		s->memory = id;
	if (!err && !strncmp(text, INTO_COMM, strlen(INTO_COMM)))
		err = on_comm(s, id, text + strlen(INTO_COMM));
	return err ? err : put(&s->name, id, to);
}

static int on_geo(void *arg, const struct geo *g)
{
	struct from_store *s = arg;
	uint32_t to;
	int err = trace_geo(s->t, g, &to);

	return err ? err : put(&s->geo, g->id, to);
}

static int on_stack(void *arg, const struct stack_row *r)
{
	struct stack_frame frame[STACK_FRAMES_MAX];
	struct from_store *s = arg;
	uint32_t to;
	int err;

	for (uint32_t i = 0; i < r->n; i++) {
		frame[i] = r->frame[i];
		frame[i].name = ids_get(&s->name, frame[i].name, TRACE_NAME_OTHER);
		frame[i].file = ids_get(&s->name, frame[i].file, 0);
	}
	err = trace_stack_add(s->t, frame, r->n, &to);
	return err ? err : put(&s->stack, r->id, to);
}

static int own_file(struct from_store *s, const struct process *p, uint32_t *file)
{
	int err = 0;

	if (p->origin.rank) { /* a rank is a file to all who compare ranks */
		err = trace_file_add(s->t, s->path, file);
		if (err)
			return err;
		s->t->file[*file].rank = (int32_t)(p->origin.rank - 1);
		s->t->file[*file].world = (int32_t)p->origin.world;
		s->t->file[*file].wall_offset_ns = p->wall_offset_ns;
		s->t->file[*file].tick_ns = 1;
		return 0;
	}
	if (!s->own) {
		err = trace_file_add(s->t, s->path, file);
		if (err)
			return err;
		s->own = *file + 1;
		s->t->file[*file].wall_offset_ns = p->wall_offset_ns;
	}
	*file = s->own - 1;
	return 0;
}

static int imported_file(struct from_store *s, const struct process *p, uint32_t *file)
{
	const struct origin *o = &p->origin;
	struct trace_file *f;
	int err;

	*file = ids_get(&s->file, o->file, UINT32_MAX);
	if (*file == UINT32_MAX) {
		err = trace_file_add(s->t, p->exe, file);
		err = err ? err : put(&s->file, o->file, *file);
		if (err)
			return err;
	}
	f = &s->t->file[*file];
	if (o->rank)
		f->rank = (int32_t)(o->rank - 1);
	f->world = (int32_t)o->world;
	f->tick_ns = o->tick_ns ? o->tick_ns : 1;
	f->wall_offset_ns = p->wall_offset_ns;
	if (o->rows) {
		f->rows = o->rows;
		f->imported = o->imported;
		f->left = o->left;
		f->lost = o->lost;
		f->mended = o->mended;
		f->broke_at = o->broke_at - 1;
		snprintf(f->why, sizeof(f->why), "%s", p->note);
	}
	return 0;
}

static int on_process(void *arg, const struct process *p)
{
	struct from_store *s = arg;
	uint32_t file, id;
	int err;

	if (!store_filter_process(&s->part, p->id))
		return 0;
	err = p->origin.file ? imported_file(s, p, &file) : own_file(s, p, &file);
	/* Not by pid: two processes of a store may have had the same, one after the other. */
	err = err ? err : trace_process(s->t, file, (uint64_t)p->id << 32 | p->pid, &id);
	err = err ? err : put(&s->process, p->id, id);
	if (err)
		return err;
	s->t->process[id].pid = p->pid;
	s->t->process[id].parent = p->parent;
	s->overwritten |= p->account.overwritten != 0;
	err = trace_name(s->t, p->comm, strlen(p->comm), &s->t->process[id].name);
	err = err ? err
		  : vec_room0(&s->owner, &s->owners, s->t->processes - s->first_process,
			      sizeof(*s->owner));
	if (err)
		return err;
	s->owner[id - s->first_process] = (struct owner){ .imported = p->origin.file != 0,
							  .sampled = p->overhead.unsampled != 0 };
	return 0;
}

/* Its stack, and who ran instead of it. */
static void own_sample(const struct from_store *s, struct event *e)
{
	enum sample_state state = sample_state(e->b);

	e->a = ids_get(&s->stack, (uint32_t)e->a, 0);
	if (state == SAMPLE_RUNNABLE)
		e->b = sample_b(state, sample_flags(e->b),
				ids_get(&s->name, sample_detail(e->b), 0));
}

static int on_track(void *arg, const struct track *l)
{
	struct from_store *s = arg;
	struct trace_track to = { .process = ids_get(&s->process, l->process, UINT32_MAX),
				  .device = TRACK_HOST,
				  .context = l->context,
				  .stream = l->stream,
				  .name = ids_get(&s->name, l->name, 0) };
	uint32_t id;
	int err = 0;

	if (to.process == UINT32_MAX)
		return 0; /* of a process that was forgotten */
	if (l->device != TRACK_HOST)
		err = trace_device(s->t, to.process, l->device, &to.device);
	err = err ? err : trace_track(s->t, &to, &id);
	if (!err && l->device != TRACK_HOST && l->stream == TRACE_NO_STREAM && to.name) {
		s->t->device[to.device].name = to.name;
		s->t->track[id].name = 0;
	}
	return err ? err : put(&s->track, l->id, id);
}

static void own_event(const struct from_store *s, struct event *e)
{
	switch (e->kind) {
	case EVENT_RANGE:
		e->a = TRACE_USER;
		e->b = 0;
		break;
	case EVENT_OP:
		e->kind = EVENT_RANGE;
		e->b = trace_op(e->a & 1, e->corr, ids_get(&s->name, (uint32_t)(e->a >> 1), 0));
		e->a = TRACE_OP;
		e->corr = 0; /* a sequence number, no id of a launch */
		break;
	case EVENT_MODULE:
		e->kind = EVENT_RANGE;
		e->a = TRACE_MODULE;
		break;
	case EVENT_KERNEL:
	case EVENT_COPY:
	case EVENT_MEMSET:
		e->b = (uint32_t)e->b; /* the node; the graph is the launch's */
		if (e->kind == EVENT_COPY && strstr(trace_text(s->t, e->name), "ageable"))
			e->b |= TRACE_PAGEABLE;
		break;
	default:
		break;
	}
}

bool from_is_size(const struct from_store *s, uint32_t track, uint32_t kind, uint32_t name)
{
	return kind == EVENT_COUNTER && name && s->t->track[track].device != TRACK_HOST &&
	       (name == s->sms || name == s->memory);
}

/* Takes what is no event of the trace: it says something of a device, or of the next event. */
static bool aside(struct from_store *s, struct owner *own, const struct event *e, int *err)
{
	uint32_t device = s->t->track[e->track].device, comm;
	struct trace_comm c;

	if (from_is_size(s, e->track, e->kind, e->name)) {
		if (e->name == s->sms)
			s->t->device[device].sms = (uint32_t)e->a;
		else
			s->t->device[device].memory_bytes = e->a;
		return true;
	}
	comm = e->kind == EVENT_MARK ? ids_get(&s->comm, e->name, UINT32_MAX) : UINT32_MAX;
	if (comm == UINT32_MAX)
		return false;
	c = s->t->comm[comm];
	c.sequence = e->b;
	if (c.rank == TRACE_NO_RANK) /* it stands behind the rows */
		c.rank = s->t->file[s->t->process[s->t->track[e->track].process].file].rank;
	*err = trace_comm_add(s->t, &c, &comm);
	own->comm = *err ? 0 : comm + 1;
	return true;
}

/*
 * What a probe recorded of a collective: its track is named after the group ("gloo 0 1/2", "NCCL world
 * 3/8"), the event after what it does and the type ("gloo:all_reduce f32", "AllReduce bf16 RING LL").
 */
static int own_comm(struct from_store *s, const struct event *e, uint32_t *comm)
{
	const char *track = trace_text(s->t, s->t->track[e->track].name);
	const char *group = strchr(track, ' '), *ranks = strrchr(track, ' ');
	const char *name = trace_text(s->t, e->name), *type;
	struct trace_comm c = { .bytes_in = e->a, .bytes_out = e->a, .sequence = e->b };
	size_t len;
	int err;

	if (!ranks || sscanf(ranks, " %" SCNd32 "/%" SCNu32, &c.rank, &c.size) != 2)
		return 0;
	name += strchr(name, ':') ? strcspn(name, ":") + 1 : 0;
	len = strcspn(name, " ");
	type = name[len] ? dtype_of_short(name + len + 1, strcspn(name + len + 1, " ")) : NULL;
	if (strcasestr(name, "all_gather") || strcasestr(name, "allgather"))
		c.bytes_out *= c.size;
	err = trace_name(s->t, name, len, &c.name);
	if (!err && group < ranks)
		err = trace_name(s->t, group + 1, (size_t)(ranks - group) - 1, &c.group);
	else if (!err)
		err = trace_name(s->t, track, (size_t)(group - track), &c.group);
	if (!err && type)
		err = trace_name(s->t, type, strlen(type), &c.dtype);
	err = err ? err : trace_comm_add(s->t, &c, comm);
	*comm += !err;
	return err;
}

int from_events(void *arg, uint32_t process, const struct event_columns *c)
{
	struct from_store *s = arg;
	uint32_t owner = ids_get(&s->process, process, UINT32_MAX);
	struct owner *own;
	int err = 0;

	if (owner == UINT32_MAX)
		return 0;
	own = &s->owner[owner - s->first_process];
	for (size_t i = 0; i < c->n && !err; i++) {
		struct event e = event_at(c, i);

		if (e.kind != EVENT_STEP) /* of which it says that it was left out */
			e.flags &= (uint8_t)~TRACE_SEEN;
		e.track = ids_get(&s->track, e.track, UINT32_MAX);
		if (e.track == UINT32_MAX || (own->imported && aside(s, own, &e, &err)))
			continue;
		if (s->parted && !trace_stretch(s->t, &e, s->lo_ns, s->hi_ns)) {
			own->comm = 0;
			continue;
		}
		e.name = ids_get(&s->name, e.name, TRACE_NAME_OTHER);
		if (e.kind == EVENT_KERNEL)
			e.a = ids_get(&s->geo, (uint32_t)e.a, 0);
		else if (e.kind == EVENT_SAMPLE)
			own_sample(s, &e);
		if (!own->imported && e.kind == EVENT_COLLECTIVE)
			err = own_comm(s, &e, &own->comm);
		if (!own->imported)
			own_event(s, &e);
		else if (e.kind == EVENT_RANGE) {
			uint32_t shapes = trace_op_stored_shapes(e.b);

			e.a = e.b & ((1u << TRACE_STORED_SHAPES) - 1);
			e.b = trace_op_stored(e.b, shapes ? ids_get(&s->name, shapes, 0) : 0);
		}
		err = err ? err : trace_add(s->t, &e, own->comm);
		own->comm = 0;
		if (!own->imported && s->own && !(e.flags & TRACE_SEEN)) {
			s->t->file[s->own - 1].rows++;
			s->t->file[s->own - 1].imported++;
		}
	}
	return !err && s->go_on ? s->go_on(s->arg, s->t) : err;
}

int from_rows(struct from_store *s, struct store *st)
{
	uint32_t file;
	int err = put(&s->name, 0, 0);

	s->first_process = s->t->processes;
	err = err ? err : put(&s->geo, 0, 0);
	err = err ? err : store_each_name(st, on_name, s);
	err = err ? err : store_each_geo(st, on_geo, s);
	if (!err && s->part.kinds & 1u << EVENT_SAMPLE)
		err = store_each_stack(st, on_stack, s);
	err = err ? err : store_each_process(st, on_process, s);
	err = err ? err : store_each_track(st, 0, on_track, s);
	if (!err && s->t->processes == s->first_process)
		err = trace_file_add(s->t, s->path, &file); /* an empty store is an input, too */
	return err;
}

void from_fini(struct from_store *s)
{
	free(s->name.to);
	free(s->geo.to);
	free(s->stack.to);
	free(s->track.to);
	free(s->process.to);
	free(s->file.to);
	free(s->comm.to);
	free(s->owner);
}

int store_trace_part(struct trace *t, struct store *st, const char *path,
		     const struct store_filter *part, store_trace_fn *go_on, void *arg)
{
	struct from_store s = { .t = t, .path = path, .go_on = go_on, .arg = arg };
	int err;

	if (part)
		s.part = *part;
	s.part.kinds = s.part.kinds ? s.part.kinds : ~0u; /* with samples */
	err = from_rows(&s, st);
	err = err ? err : from_rolled(&s, st);
	err = err ? err : store_each_events(st, &s.part, EVENT_COLS_ALL, from_events, &s);
	from_fini(&s);
	return err;
}

int store_trace(struct trace *t, struct store *st, const char *path, store_trace_fn *go_on,
		void *arg)
{
	return store_trace_part(t, st, path, NULL, go_on, arg);
}

/* As from_events(), with no more than a MARK before an event says: that it is a collective. */
static int on_columns(void *arg, uint32_t process, const struct event_columns *c)
{
	struct from_store *s = arg;
	uint32_t owner = ids_get(&s->process, process, UINT32_MAX);
	struct owner *own;
	int err = 0;

	if (owner == UINT32_MAX)
		return 0;
	own = &s->owner[owner - s->first_process];
	for (size_t i = 0; i < c->n && !err; i++) {
		struct work w = { .start_ns = c->start_ns[i],
				  .dur_ns = c->dur_ns[i],
				  .track = ids_get(&s->track, c->track[i], UINT32_MAX),
				  .name = ids_get(&s->name, c->name[i], TRACE_NAME_OTHER),
				  .kind = c->kind[i],
				  .comm = own->comm };

		if (w.track == UINT32_MAX ||
		    (own->imported && from_is_size(s, w.track, w.kind, c->name[i])))
			continue;
		if (own->imported && w.kind == EVENT_MARK &&
		    ids_get(&s->comm, c->name[i], UINT32_MAX) != UINT32_MAX) {
			own->comm = 1;
			continue;
		}
		own->comm = 0;
		if (w.start_ns >= s->lo_ns) /* else it only overlaps the stretch */
			err = s->work(s->arg, &w);
	}
	return err;
}

static int work_stretch(struct from_store *s, struct store *st)
{
	uint32_t cols = EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_TRACK | EVENT_COL_NAME;
	struct store_filter f = s->part;
	int err;

	for (size_t i = 0; i < s->t->processes - s->first_process; i++)
		s->owner[i].comm = 0;
	f.from_ns = s->lo_ns;
	f.to_ns = s->hi_ns == UINT64_MAX ? 0 : s->hi_ns;
	err = store_each_events(st, &f, cols, on_columns, s);
	return err ? err : s->work(s->arg, NULL);
}

static int on_steps(void *arg, uint32_t process, const struct event_columns *c)
{
	struct from_store *s = arg;
	uint32_t owner = ids_get(&s->process, process, UINT32_MAX);
	struct owner *own;
	int err = 0;

	if (owner == UINT32_MAX || !s->owner[owner - s->first_process].sampled)
		return 0;
	own = &s->owner[owner - s->first_process];
	for (size_t i = 0; i < c->n && !err; i++) {
		if (c->flags[i] & EVENT_OPEN)
			continue;
		if (!own->step_track) /* the first: as aond has it */
			own->step_track = c->track[i] + 1;
		if (own->step_track == c->track[i] + 1)
			err = s->step(s->arg, owner, c->start_ns[i], c->dur_ns[i],
				      c->flags[i] & EVENT_UNSAMPLED ? 0
				      : c->b[i]                     ? (uint32_t)c->b[i]
								    : 1);
	}
	return err;
}

static int tell_steps(struct from_store *s, struct store *st)
{
	struct store_filter f = s->part;
	bool some = false;

	for (size_t i = 0; i < s->t->processes - s->first_process; i++)
		some |= s->owner[i].sampled;
	if (!some || !s->step)
		return 0;
	f.kinds = 1u << EVENT_STEP;
	return store_each_events(st, &f,
				 EVENT_COL_START | EVENT_COL_DUR | EVENT_COL_TRACK | EVENT_COL_B |
					 EVENT_COL_FLAGS,
				 on_steps, s);
}

int store_trace_work(struct trace *t, struct store *st, const char *path,
		     const struct store_filter *part, const uint64_t *cut, size_t cuts,
		     store_work_fn *fn, store_step_fn *step, void *arg)
{
	struct from_store s = { .t = t, .path = path, .work = fn, .step = step, .arg = arg };
	int err;

	if (part)
		s.part = *part;
	err = from_rows(&s, st);
	err = err ? err : tell_steps(&s, st);
	s.lo_ns = s.part.from_ns;
	for (size_t i = 0; i <= cuts && !err; i++) {
		s.hi_ns = i < cuts ? cut[i] : s.part.to_ns ? s.part.to_ns : UINT64_MAX;
		if (s.hi_ns <= s.lo_ns)
			continue;
		err = work_stretch(&s, st);
		s.lo_ns = s.hi_ns;
	}
	from_fini(&s);
	return err;
}
