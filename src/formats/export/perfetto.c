/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.c - a trace as Perfetto's own protobuf (TracePacket, by its public field numbers).
 *
 * A process is a process track with its threads; its devices are tracks below it with a track a
 * stream; steps and counters have tracks of their own. Work carries its launch as annotations and
 * is joined to the call by a flow. Several files are several machines: a pid is then one of its
 * machine. Slices of a track must nest: what overlaps without nesting goes to a further track of
 * the same name, which Perfetto draws together.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/walk.h"

#define TRACKS_MAX 64u /* of one track */
#define DEPTH_MAX  256u
#define ID_OF_NAME (1ull << 63) /* of a pid or tid: no number, but a name (import) */

/* Fields of TracePacket, TrackDescriptor, TrackEvent, DebugAnnotation. */
enum { PACKET_TIME = 8, PACKET_SEQ = 10, PACKET_EVENT = 11, PACKET_INTERNED = 12 };
enum { PACKET_FLAGS = 13, PACKET_TRACK = 60, PACKET_FIRST = 87, PACKET_MACHINE = 98 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5 };
enum { TRACK_COUNTER = 8 };
enum { EVENT_CATEGORY = 3, EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_NAME = 10 };
enum { EVENT_TRACK = 11, EVENT_TEXT = 23, EVENT_VALUE = 30, EVENT_REAL = 44, EVENT_FLOWS = 47 };
enum { ANNOTATION_NAME = 1, ANNOTATION_UINT = 3, ANNOTATION_TEXT = 6 };
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_ANNOTATION = 3 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };

/* Tracks are numbers that must differ: the kind above, an index below. */
#define TRACK(kind, index) ((uint64_t)(kind) << 60 | (uint64_t)(index))
enum { T_PROCESS = 1, T_TRACK, T_COUNTER, T_DEVICE, T_STEPS };

enum {
	A_NONE,
#define ANNOTATION(ID, text) A_##ID,
#include "model/annotation.tbl.h"
};

static const char *const annotations[] = {
	[A_NONE] = NULL,
#define ANNOTATION(ID, text) [A_##ID] = text,
#include "model/annotation.tbl.h"
};

/* One track: the ends of the slices that are open on it. */
struct open_slices {
	uint64_t end[DEPTH_MAX];
	size_t depth;
	bool told; /* its descriptor is written */
};

struct perfetto {
	struct walk *w;
	struct pb_out *m; /* the packet under way */
	uint32_t file;
	bool machines;     /* more than one file */
	int64_t shift;     /* of this file's times */
	uint32_t *named;   /* owned: by name, file + 1 that it was interned for */
	uint32_t *counted; /* owned: by name, track + 1 that its counter was last told for */
	struct open_slices *track; /* owned: TRACKS_MAX of a track, then one for its steps */
};

static void packet_begin(const struct perfetto *p)
{
	p->m->len = 0;
	pb_put_u64(p->m, PACKET_SEQ, p->file + 1);
	if (p->machines)
		pb_put_u64(p->m, PACKET_MACHINE, p->file + 1);
}

static void packet_end(const struct perfetto *p)
{
	sink_pb(p->w->s, 1, p->m);
}

/* --- tracks --- */

static size_t track_begin(const struct perfetto *p, uint64_t uuid, uint64_t parent,
			  const char *name)
{
	size_t at;

	packet_begin(p);
	at = pb_open(p->m, PACKET_TRACK);
	pb_put_u64(p->m, TRACK_UUID, uuid);
	if (parent)
		pb_put_u64(p->m, TRACK_PARENT, parent);
	if (name && *name)
		sink_pb_text(p->m, TRACK_NAME, name);
	return at;
}

static void track_end(const struct perfetto *p, size_t at)
{
	pb_close(p->m, at);
	packet_end(p);
}

static void put_track(const struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name)
{
	track_end(p, track_begin(p, uuid, parent, name));
}

static bool is_pid(uint64_t id)
{
	return id <= INT32_MAX;
}

static void put_process(const struct perfetto *p, uint32_t process)
{
	const struct trace *t = p->w->t;
	const struct trace_process *proc = &t->process[process];
	const char *name = walk_name(p->w, proc->name);
	size_t at, inner;
	char text[300];

	if (t->file[proc->file].rank >= 0)
		snprintf(text, sizeof(text), "rank %d %.250s", t->file[proc->file].rank, name);
	else
		snprintf(text, sizeof(text), "%.250s", *name ? name : "process");
	if (!is_pid(proc->pid)) {
		put_track(p, TRACK(T_PROCESS, process + 1), 0, text);
		return;
	}
	at = track_begin(p, TRACK(T_PROCESS, process + 1), 0, NULL);
	inner = pb_open(p->m, TRACK_PROCESS);
	pb_put_u64(p->m, 1, proc->pid);
	sink_pb_text(p->m, 6, text);
	pb_close(p->m, inner);
	track_end(p, at);
}

static void put_device(const struct perfetto *p, uint32_t device)
{
	const struct trace_device *d = &p->w->t->device[device];
	char text[200];

	snprintf(text, sizeof(text), "GPU %u %.150s", d->device, walk_name(p->w, d->name));
	put_track(p, TRACK(T_DEVICE, device + 1), TRACK(T_PROCESS, d->process + 1), text);
}

static uint64_t stream_track(uint32_t track, size_t n)
{
	return TRACK(T_TRACK, ((uint64_t)track << 8) + n + 1);
}

/* The first track of a thread is the thread; others lie below it. */
static void put_stream(const struct perfetto *p, uint32_t track, size_t n)
{
	const struct trace_track *l = &p->w->t->track[track];
	const struct trace_process *proc = &p->w->t->process[l->process];
	const char *name = walk_name(p->w, l->name);
	bool host = l->device == TRACK_HOST;
	size_t at, inner;
	char text[200];

	if (!*name) {
		snprintf(text, sizeof(text), host ? "thread %llu" : "stream %llu",
			 (unsigned long long)l->stream);
		name = l->stream == TRACE_NO_STREAM ? "device" : text;
	}
	if (!host) {
		put_track(p, stream_track(track, n), TRACK(T_DEVICE, l->device + 1), name);
	} else if (n || l->stream & ID_OF_NAME || !is_pid(proc->pid)) {
		put_track(p, stream_track(track, n),
			  n ? stream_track(track, 0) : TRACK(T_PROCESS, l->process + 1), name);
	} else {
		at = track_begin(p, stream_track(track, 0), TRACK(T_PROCESS, l->process + 1), NULL);
		inner = pb_open(p->m, TRACK_THREAD);
		pb_put_u64(p->m, 1, proc->pid);
		pb_put_u64(p->m, 2, l->stream);
		sink_pb_text(p->m, 5, name);
		pb_close(p->m, inner);
		track_end(p, at);
	}
}

/* --- events --- */

static void put_interned(const struct perfetto *p, uint32_t field, uint64_t id, const char *text,
			 uint32_t flags)
{
	size_t data, entry;

	packet_begin(p);
	pb_put_u64(p->m, PACKET_FLAGS, flags);
	if (flags & STATE_CLEARED)
		pb_put_u64(p->m, PACKET_FIRST, 1);
	data = pb_open(p->m, PACKET_INTERNED);
	entry = pb_open(p->m, field);
	pb_put_u64(p->m, 1, id);
	sink_pb_text(p->m, 2, text);
	pb_close(p->m, entry);
	pb_close(p->m, data);
	packet_end(p);
}

static size_t begin_event(const struct perfetto *p, uint64_t ns, uint32_t type, uint64_t track)
{
	size_t at;

	packet_begin(p);
	pb_put_u64(p->m, PACKET_FLAGS, NEEDS_STATE);
	pb_put_u64(p->m, PACKET_TIME, ns + (uint64_t)p->shift);
	at = pb_open(p->m, PACKET_EVENT);
	pb_put_u64(p->m, EVENT_TYPE, type);
	pb_put_u64(p->m, EVENT_TRACK, track);
	return at;
}

static void end_event(const struct perfetto *p, size_t at)
{
	pb_close(p->m, at);
	packet_end(p);
}

static void note_u64(struct pb_out *e, uint32_t name, uint64_t v)
{
	size_t at = pb_open(e, EVENT_ANNOTATION);

	pb_put_u64(e, ANNOTATION_NAME, name);
	pb_put_u64(e, ANNOTATION_UINT, v);
	pb_close(e, at);
}

static void note_text(struct pb_out *e, uint32_t name, const char *text)
{
	size_t at = pb_open(e, EVENT_ANNOTATION);

	pb_put_u64(e, ANNOTATION_NAME, name);
	sink_pb_text(e, ANNOTATION_TEXT, text);
	pb_close(e, at);
}

static void note_three(struct pb_out *e, uint32_t name, const uint32_t v[3])
{
	char text[48];

	snprintf(text, sizeof(text), "%u x %u x %u", v[0], v[1], v[2]);
	note_text(e, name, text);
}

static void note_geo(struct pb_out *e, const struct geo *g)
{
	note_three(e, A_GRID, g->grid);
	note_three(e, A_BLOCK, g->block);
	note_u64(e, A_REGISTERS, g->regs);
	note_u64(e, A_STATIC, g->smem_static);
	note_u64(e, A_DYNAMIC, g->smem_dynamic);
}

static void note_comm(const struct perfetto *p, const struct event *ev)
{
	struct pb_out *e = p->m;
	const struct trace *t = p->w->t;
	uint32_t id = t->event_comm ? t->event_comm[ev - t->event] : 0;
	const struct trace_comm *c = id ? &t->comm[id - 1] : NULL;

	if (!c)
		return;
	note_text(e, A_COLLECTIVE, walk_name(p->w, c->name));
	note_text(e, A_GROUP, walk_name(p->w, c->group));
	note_text(e, A_DTYPE, walk_name(p->w, c->dtype));
	note_u64(e, A_RANKS, c->size);
	note_u64(e, A_BYTES_IN, c->bytes_in);
	note_u64(e, A_BYTES_OUT, c->bytes_out);
}

/* Whose it is; of an operator its shapes, and which pass it is of. */
static void note_range(const struct perfetto *p, const struct event *ev)
{
	uint32_t shapes = trace_op_shapes(ev);
	uint64_t pass = ev->b & ((1ull << 33) - 1);

	if (ev->a)
		note_u64(p->m, A_RANGE, ev->a);
	if (shapes)
		note_text(p->m, A_SHAPES, walk_name(p->w, shapes));
	if (pass)
		note_u64(p->m, A_PASS, pass);
}

static void note_all(const struct perfetto *p, const struct event *ev)
{
	struct pb_out *e = p->m;
	const struct trace *t = p->w->t;
	bool work = link_is_work(ev);

	if (ev->corr && ev->kind != EVENT_RANGE && ev->kind != EVENT_STEP)
		note_u64(e, A_CORRELATION, ev->corr);
	if (ev->kind != EVENT_COLLECTIVE && ev->kind != EVENT_ALLOC && trace_external(ev))
		note_u64(e, A_EXTERNAL, trace_external(ev));
	if (ev->kind == EVENT_KERNEL && ev->a && ev->a < t->geos)
		note_geo(e, &t->geo[ev->a]);
	if (ev->kind == EVENT_COPY || ev->kind == EVENT_MEMSET || ev->kind == EVENT_ALLOC ||
	    ev->kind == EVENT_COLLECTIVE)
		note_u64(e, A_BYTES, ev->a);
	if (work && trace_node(ev))
		note_u64(e, A_NODE, trace_node(ev));
	if (work)
		note_u64(e, A_CONTEXT, t->track[ev->track].context);
	if (ev->kind == EVENT_COLLECTIVE)
		note_u64(e, A_SEQUENCE, ev->b);
	if (ev->kind == EVENT_STEP) {
		note_u64(e, A_STEP, ev->a);
		note_u64(e, A_THREAD, t->track[ev->track].stream);
	}
	if (ev->kind == EVENT_RANGE)
		note_range(p, ev);
	if (ev->kind == EVENT_COPY && ev->b & TRACE_PAGEABLE)
		note_u64(e, A_PAGEABLE, 1);
	if (ev->kind == EVENT_ALLOC) {
		note_u64(e, A_ADDRESS, ev->b);
		note_u64(e, A_FREED, ev->flags >> EVENT_COPY_SHIFT == 2);
	}
	if (ev->kind == EVENT_SYNC && ev->a)
		note_u64(e, A_WAITS_FOR, ev->a - 1);
	note_comm(p, ev);
}

static void flow(const struct perfetto *p, const struct event *ev)
{
	uint32_t process = p->w->t->track[ev->track].process;
	struct link k;

	if ((link_is_work(ev) || ev->kind == EVENT_API) &&
	    link_find(&k, &p->w->links, process, ev->corr) && k.flags == (LINK_CALL | LINK_WORK))
		pb_put_fixed64(p->m, EVENT_FLOWS, k.key);
}

static void put_begin(struct perfetto *p, const struct event *ev, uint64_t track, uint32_t type)
{
	char room[64];
	size_t at;

	if (ev->name && p->named[ev->name] != p->file + 1) {
		p->named[ev->name] = p->file + 1;
		put_interned(p, INTERNED_NAME, ev->name, walk_name(p->w, ev->name), NEEDS_STATE);
	}
	at = begin_event(p, ev->start_ns, type, track);
	pb_put_u64(p->m, EVENT_CATEGORY, ev->kind);
	if (ev->name)
		pb_put_u64(p->m, EVENT_NAME, ev->name);
	else
		sink_pb_text(p->m, EVENT_TEXT, walk_event_name(p->w, ev, room, sizeof(room)));
	note_all(p, ev);
	flow(p, ev);
	end_event(p, at);
}

static void put_end(const struct perfetto *p, uint64_t ns, uint64_t track)
{
	end_event(p, begin_event(p, ns, SLICE_END, track));
}

/* --- slices that nest --- */

static void close_until(const struct perfetto *p, struct open_slices *t, uint64_t now,
			uint64_t track)
{
	while (t->depth && t->end[t->depth - 1] <= now) {
		t->depth--;
		put_end(p, t->end[t->depth], track);
	}
}

static bool fits(const struct open_slices *t, uint64_t end)
{
	return t->depth < DEPTH_MAX && (!t->depth || end <= t->end[t->depth - 1]);
}

static void slice(struct perfetto *p, const struct event *ev, struct open_slices *t, uint64_t track)
{
	put_begin(p, ev, track, SLICE_BEGIN);
	t->end[t->depth++] = ev->start_ns + ev->dur_ns;
}

static bool track_slice(struct perfetto *p, const struct event *ev)
{
	for (size_t i = 0; i < TRACKS_MAX; i++) {
		struct open_slices *t = &p->track[i];

		close_until(p, t, ev->start_ns, stream_track(ev->track, i));
		if (!fits(t, ev->start_ns + ev->dur_ns))
			continue;
		if (!t->told)
			put_stream(p, ev->track, i);
		t->told = true;
		slice(p, ev, t, stream_track(ev->track, i));
		return true;
	}
	return false;
}

static bool step_slice(struct perfetto *p, const struct event *ev)
{
	uint64_t uuid = TRACK(T_STEPS, ev->track + 1);
	struct open_slices *t = &p->track[TRACKS_MAX];

	close_until(p, t, ev->start_ns, uuid);
	if (!fits(t, ev->start_ns + ev->dur_ns))
		return false;
	if (!t->told)
		put_track(p, uuid, TRACK(T_PROCESS, p->w->t->track[ev->track].process + 1),
			  "steps");
	t->told = true;
	slice(p, ev, t, uuid);
	return true;
}

static bool counter(struct perfetto *p, const struct event *ev)
{
	const struct trace_track *l = &p->w->t->track[ev->track];
	uint64_t uuid = TRACK(T_COUNTER, (uint64_t)ev->track << 32 | ev->name);
	size_t at;

	if (p->counted[ev->name] != ev->track + 1) {
		p->counted[ev->name] = ev->track + 1;
		at = track_begin(p, uuid,
				 l->device == TRACK_HOST ? TRACK(T_PROCESS, l->process + 1)
							 : TRACK(T_DEVICE, l->device + 1),
				 walk_name(p->w, ev->name));
		pb_put_bytes(p->m, TRACK_COUNTER, NULL, 0);
		track_end(p, at);
	}
	at = begin_event(p, ev->start_ns, COUNTER, uuid);
	if (ev->flags & EVENT_FLOAT)
		pb_put_fixed64(p->m, EVENT_REAL, ev->a);
	else
		pb_put_u64(p->m, EVENT_VALUE, ev->a);
	end_event(p, at);
	return true;
}

static bool instant(struct perfetto *p, const struct event *ev)
{
	if (!p->track[0].told)
		put_stream(p, ev->track, 0);
	p->track[0].told = true;
	put_begin(p, ev, stream_track(ev->track, 0), INSTANT);
	return true;
}

static bool put_event(struct perfetto *p, const struct event *ev)
{
	switch (ev->kind) {
	case EVENT_COUNTER:
		return counter(p, ev);
	case EVENT_FLOW:
		return false; /* between ids of ranges that are not here */
	case EVENT_SAMPLE:
		return false; /* a moment, whatever time it stands for: of formats of stacks */
	case EVENT_MARK:
	case EVENT_ALLOC:
		return instant(p, ev);
	case EVENT_COLLECTIVE:
		return ev->dur_ns ? track_slice(p, ev) : instant(p, ev);
	case EVENT_STEP:
		return step_slice(p, ev) || track_slice(p, ev);
	default:
		return track_slice(p, ev);
	}
}

static int put_events(struct perfetto *p, uint32_t track)
{
	const struct trace *t = p->w->t;
	int err = 0;

	for (size_t i = 0; i <= TRACKS_MAX; i++)
		p->track[i].depth = p->track[i].told = 0;
	for (size_t i = t->track_first[track]; i < t->track_first[track + 1] && !err; i++) {
		if (put_event(p, &t->event[i]))
			err = walk_step(p->w, &t->event[i]);
		else
			p->w->n->left++;
	}
	for (size_t i = 0; i < TRACKS_MAX; i++)
		close_until(p, &p->track[i], UINT64_MAX, stream_track(track, i));
	close_until(p, &p->track[TRACKS_MAX], UINT64_MAX, TRACK(T_STEPS, track + 1));
	return err;
}

/* --- a file --- */

static void put_head(const struct perfetto *p)
{
	uint32_t flags = STATE_CLEARED;

	for (uint32_t i = 1; i < sizeof(annotations) / sizeof(*annotations);
	     i++, flags = NEEDS_STATE)
		put_interned(p, INTERNED_ANNOTATION, i, annotations[i], flags);
	for (uint32_t i = 1; i < EVENT_MAX; i++)
		if (*event_word(i) != '?')
			put_interned(p, INTERNED_CATEGORY, i, event_word(i), NEEDS_STATE);
}

static int put_file(struct perfetto *p)
{
	const struct trace *t = p->w->t;
	int err = 0;

	put_head(p);
	for (uint32_t i = 0; i < t->processes; i++)
		if (t->process[i].file == p->file)
			put_process(p, i);
	for (uint32_t i = 0; i < t->devices; i++)
		if (t->process[t->device[i].process].file == p->file)
			put_device(p, i);
	for (uint32_t i = 0; i < t->tracks && !err; i++)
		if (t->process[t->track[i].process].file == p->file)
			err = put_events(p, i);
	return err;
}

int export_perfetto(struct walk *w)
{
	const struct trace *t = w->t;
	struct pb_out packet = { 0 };
	struct perfetto p = { .w = w, .m = &packet, .machines = t->files > 1 && w->o->file < 0 };
	bool wall = true;
	int err = 0;

	p.named = calloc(t->names + 1, sizeof(*p.named));
	p.counted = calloc(t->names + 1, sizeof(*p.counted));
	p.track = calloc(TRACKS_MAX + 1, sizeof(*p.track));
	if (!p.named || !p.counted || !p.track)
		err = -ENOMEM;
	/* Clocks of several machines meet in wall time, if all of them say what theirs is. */
	for (size_t i = 0; i < t->files; i++)
		wall = wall && t->file[i].wall_offset_ns;
	for (p.file = 0; p.file < t->files && !err; p.file++) {
		if (w->o->file >= 0 && p.file != (uint32_t)w->o->file)
			continue;
		p.shift = p.machines && wall ? t->file[p.file].wall_offset_ns : 0;
		memset(p.counted, 0, (t->names + 1) * sizeof(*p.counted));
		err = put_file(&p);
	}
	pb_free(&packet);
	free(p.track);
	free(p.counted);
	free(p.named);
	return err;
}
