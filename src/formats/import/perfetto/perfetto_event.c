/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_event.c - Perfetto's events.
 *
 *	TrackEvent  3 category_iids  4 debug_annotations  6 legacy_event  9 type  10 name_iid
 *	            11 track_uuid  22 categories  23 name  30 counter_value  36, 47 flow_ids
 *	            42, 48 terminating_flow_ids  44 double_counter_value
 *	DebugAnnotation  1 name_iid  2 bool  3 uint  4 int  5 double  6 text  10 name  17 text_iid
 *	GpuRenderStageEvent  2 duration  3 hw_queue_id  4 stage_id  5 context  11 gpu_id
 *	            13 hw_queue_iid  14 stage_iid  17 name  20 name_iid
 *
 * The category says what a slice is: a word of aon's own export, of Kineto, or of rocprofv3.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "import/perfetto/perfetto.h"

#define SLICES_MAX 10000000u   /* open at a time */
#define FLOW_CORR  0x80000000u /* correlation ids that are numbers of flows */

enum { TYPE_NONE, TYPE_BEGIN, TYPE_END, TYPE_INSTANT, TYPE_COUNTER };

enum note {
	NOTE_NONE,
#define ANNOTATION(ID, text) NOTE_##ID,
#include "model/annotation.tbl.h"
	NOTE_COUNT,
};

static const struct {
	const char *text;
	enum note note;
} note_words[] = {
#define ANNOTATION(ID, text) { text, NOTE_##ID },
#include "model/annotation.tbl.h"
	{ "corr_id", NOTE_CORRELATION },   { "correlation_id", NOTE_CORRELATION },
	{ "External id", NOTE_EXTERNAL },  { "Bytes", NOTE_BYTES },
	{ "copy_bytes", NOTE_BYTES },      { "VGPR_Count", NOTE_REGISTERS },
	{ "LDS_Block_Size", NOTE_STATIC },
};

/* What categories mean: the kind of event, and of a range its owner. */
enum kineto_what {
	W_NONE,
	W_HOST,
	W_OP,
	W_USER,
	W_CALL,
	W_KERNEL,
	W_COPY,
	W_SET,
	W_SYNC,
	W_MTIA,
	W_GPU
};

static const struct {
	const char *text;
	uint8_t what, range;
} categories[] = {
#define CAT(name, what, range) { name, W_##what, range },
#include "import/kineto.tbl.h"
	{ "kernel_dispatch", W_KERNEL, 0 }, { "memory_copy", W_COPY, 0 },
	{ "hip_api", W_CALL, 0 },           { "hsa_api", W_CALL, 0 },
	{ "rccl_api", W_CALL, 0 },          { "marker_api", W_USER, TRACE_USER },
	{ "rocm_hip_api", W_CALL, 0 },      { "rocm_hsa_api", W_CALL, 0 },
};

struct meaning {
	uint8_t kind, range;
};

/* What an event says. */
struct said {
	uint64_t type, track, flow;
	uint32_t name, category;
	uint64_t value, note[NOTE_COUNT];
	uint32_t text[NOTE_COUNT], notes; /* names of texts; bit by note */
	bool real, has_track, has_value;
	uint64_t legacy_dur_us;
	bool legacy_complete;
};

static bool has(const struct said *s, enum note n)
{
	return s->notes >> n & 1;
}

static enum note note_of(struct perfetto *p, uint32_t name)
{
	uint64_t v = map_get(&p->note_of, name);
	enum note n = NOTE_NONE;

	if (v)
		return (enum note)(v - 1);
	for (size_t i = 0; i < sizeof(note_words) / sizeof(*note_words); i++)
		if (!strcmp(trace_text(p->t, name), note_words[i].text))
			n = note_words[i].note;
	(void)map_put(&p->note_of, name, (uint64_t)n + 1);
	return n;
}

static struct meaning mean(uint8_t what, uint8_t range)
{
	static const uint8_t kinds[] = {
		[W_CALL] = EVENT_API,  [W_KERNEL] = EVENT_KERNEL, [W_MTIA] = EVENT_KERNEL,
		[W_COPY] = EVENT_COPY, [W_SET] = EVENT_MEMSET,    [W_SYNC] = EVENT_SYNC,
		[W_GPU] = 0,
	};
	uint8_t kind = what < sizeof(kinds) ? kinds[what] : 0;

	return (struct meaning){ kind ? kind : EVENT_RANGE, range ? range : TRACE_OTHER_HOST };
}

static struct meaning meaning_of(struct perfetto *p, uint32_t category)
{
	uint64_t v = category ? map_get(&p->kind_of, category) : 0;
	struct meaning m = { EVENT_RANGE, TRACE_OTHER_HOST };
	const char *s = trace_text(p->t, category);

	if (v)
		return (struct meaning){ (uint8_t)(v - 1), (uint8_t)((v - 1) >> 8) };
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++)
		if (!strcmp(s, categories[i].text))
			m = mean(categories[i].what, categories[i].range);
	for (uint32_t i = 1; i < EVENT_MAX; i++)
		if (i != EVENT_SAMPLE && i != EVENT_FLOW && !strcmp(s, event_word(i)))
			m.kind = (uint8_t)i;
	if (category)
		(void)map_put(&p->kind_of, category, (m.kind | (uint64_t)m.range << 8) + 1);
	return m;
}

/* --- reading --- */

static int read_note(struct perfetto *p, const struct perfetto_seq *q, struct said *s, struct pb in)
{
	uint32_t name = 0, text = 0;
	uint64_t v = 0;
	struct pb_field f;
	int err = 0;
	enum note n;

	while (!err && pb_next(&in, &f)) {
		if (f.num == 1)
			name = perfetto_iid(&q->notes, f.v);
		else if (f.num == 10 && f.wire == 2)
			err = perfetto_text(p, f.data, &name);
		else if (f.num == 6 && f.wire == 2)
			err = note_of(p, name) ? perfetto_text(p, f.data, &text) : 0;
		else if (f.num == 17)
			text = perfetto_iid(&q->texts, f.v);
		else if (f.num >= 2 && f.num <= 4)
			v = f.v;
	}
	n = err || !name ? NOTE_NONE : note_of(p, name);
	if (n != NOTE_NONE) {
		s->notes |= 1u << n;
		s->note[n] = v;
		s->text[n] = text;
	}
	return err;
}

/* An event as Chrome's old way of tracing has it: 1 name_iid 2 phase 3 duration_us. */
static void read_legacy(struct said *s, const struct perfetto_seq *q, struct pb in)
{
	struct pb_field f;

	while (pb_next(&in, &f)) {
		if (f.num == 1)
			s->name = perfetto_iid(&q->names, f.v);
		else if (f.num == 3)
			s->legacy_dur_us = f.v;
		else if (f.num == 2 && s->type == TYPE_NONE) {
			s->legacy_complete = f.v == 'X';
			s->type = f.v == 'B' || f.v == 'X'   ? TYPE_BEGIN
				  : f.v == 'E'               ? TYPE_END
				  : f.v == 'I' || f.v == 'i' ? TYPE_INSTANT
							     : TYPE_NONE;
		}
	}
}

static int read_said(struct perfetto *p, const struct perfetto_seq *q, struct said *s, struct pb in)
{
	struct pb_field f;
	struct pb legacy = { 0 };
	int err = 0;

	while (!err && pb_next(&in, &f)) {
		switch (f.num) {
		case 3:
			s->category = s->category || f.wire ? s->category
							    : perfetto_iid(&q->categories, f.v);
			break;
		case 4:
			err = f.wire == 2 ? read_note(p, q, s, f.data) : 0;
			break;
		case 6:
			legacy = f.data;
			break;
		case 9:
			s->type = f.v;
			break;
		case 10:
			s->name = perfetto_iid(&q->names, f.v);
			break;
		case 11:
			s->track = f.v;
			s->has_track = true;
			break;
		case 22:
			err = f.wire == 2 && !s->category ? perfetto_text(p, f.data, &s->category)
							  : 0;
			break;
		case 23:
			err = f.wire == 2 ? perfetto_text(p, f.data, &s->name) : 0;
			break;
		case 30:
		case 44:
			s->value = f.v;
			s->has_value = true;
			s->real = f.num == 44;
			break;
		case 36:
		case 42:
		case 47:
		case 48:
			s->flow = f.wire == 2 ? s->flow : f.v;
			break;
		}
	}
	if (legacy.p)
		read_legacy(s, q, legacy);
	return err ? err : in.bad ? -EBADMSG : 0;
}

/* --- making --- */

static void read_three(const char *s, uint32_t v[3])
{
	if (sscanf(s, "%u x %u x %u", &v[0], &v[1], &v[2]) != 3)
		sscanf(s, "[%u, %u, %u]", &v[0], &v[1], &v[2]);
}

static int put_geo(struct perfetto *p, const struct said *s, struct event *e)
{
	struct geo g = { .regs = (uint32_t)s->note[NOTE_REGISTERS],
			 .smem_static = (uint32_t)s->note[NOTE_STATIC],
			 .smem_dynamic = (uint32_t)s->note[NOTE_DYNAMIC] };
	uint32_t geo = 0;
	int err;

	if (!has(s, NOTE_GRID) && !has(s, NOTE_REGISTERS))
		return 0;
	read_three(trace_text(p->t, s->text[NOTE_GRID]), g.grid);
	read_three(trace_text(p->t, s->text[NOTE_BLOCK]), g.block);
	err = trace_geo(p->t, &g, &geo);
	e->a = geo;
	return err;
}

static int put_comm(struct perfetto *p, const struct said *s, uint32_t *comm)
{
	struct trace_comm c = { .name = s->text[NOTE_COLLECTIVE],
				.group = s->text[NOTE_GROUP],
				.dtype = s->text[NOTE_DTYPE],
				.rank = TRACE_NO_RANK,
				.size = (uint32_t)s->note[NOTE_RANKS],
				.bytes_in = s->note[NOTE_BYTES_IN],
				.bytes_out = s->note[NOTE_BYTES_OUT] };
	int err;

	if (!has(s, NOTE_COLLECTIVE))
		return 0;
	err = trace_comm_add(p->t, &c, comm);
	*comm += !err;
	return err;
}

static bool is_work(uint8_t kind)
{
	return kind == EVENT_KERNEL || kind == EVENT_COPY || kind == EVENT_MEMSET ||
	       kind == EVENT_GRAPH;
}

/* "cudaLaunchKernel", "hipMemcpy", "cuLaunchKernel" of a writer whose categories are its own. */
static bool is_call(const char *name)
{
	return !strncmp(name, "cuda", 4) || !strncmp(name, "hip", 3) ||
	       (!strncmp(name, "cu", 2) && isupper((unsigned char)name[2]));
}

static void put_ids(struct perfetto *p, const struct said *s, struct event *e)
{
	uint64_t external = s->note[NOTE_EXTERNAL] & 0x7fffffff;

	e->corr = (uint32_t)s->note[NOTE_CORRELATION];
	if (e->kind == EVENT_RANGE || e->kind == EVENT_STEP) {
		e->corr = (uint32_t)s->note[NOTE_EXTERNAL];
		return;
	}
	if (!e->corr && s->flow && (is_work(e->kind) || e->kind == EVENT_API))
		e->corr = map_number(&p->flows, s->flow) | FLOW_CORR;
	if (e->kind == EVENT_API)
		e->b = s->note[NOTE_EXTERNAL];
	else if (is_work(e->kind))
		e->b |= external << 32 | (s->note[NOTE_NODE] & UINT32_MAX);
}

static int put_detail(struct perfetto *p, const struct said *s, struct event *e, uint8_t range)
{
	const char *name = trace_text(p->t, e->name);
	size_t len = p->t->name[e->name].len;
	uint64_t step;

	switch (e->kind) {
	case EVENT_KERNEL:
		return put_geo(p, s, e);
	case EVENT_COPY:
		e->flags = import_copy(name, len, &e->b);
		e->a = s->note[NOTE_BYTES];
		if (s->note[NOTE_PAGEABLE])
			e->b |= TRACE_PAGEABLE;
		return 0;
	case EVENT_ALLOC:
		e->a = s->note[NOTE_BYTES];
		e->b = s->note[NOTE_ADDRESS];
		e->flags = (uint8_t)((s->note[NOTE_FREED] ? 2u : 1u) << EVENT_COPY_SHIFT);
		return 0;
	case EVENT_MEMSET:
		e->a = s->note[NOTE_BYTES];
		return 0;
	case EVENT_COLLECTIVE:
		e->a = s->note[NOTE_BYTES];
		e->b = s->note[NOTE_SEQUENCE];
		return 0;
	case EVENT_SYNC:
		e->a = has(s, NOTE_WAITS_FOR) ? s->note[NOTE_WAITS_FOR] + 1 : 0;
		return 0;
	case EVENT_STEP:
		e->a = s->note[NOTE_STEP];
		return 0;
	case EVENT_RANGE:
		e->a = has(s, NOTE_RANGE) ? s->note[NOTE_RANGE] & 7 : range;
		e->b = (uint64_t)s->text[NOTE_SHAPES] << 33 |
		       (s->note[NOTE_PASS] & ((1ull << 33) - 1));
		if (e->a != TRACE_GPU_USER && import_step(name, len, &step)) {
			e->kind = EVENT_STEP;
			e->a = step;
		} else if (range == TRACE_OTHER_HOST && is_call(name)) {
			e->kind = import_is_sync(name, len) ? EVENT_SYNC : EVENT_API;
			e->a = 0;
		}
		return 0;
	case EVENT_API:
		if (import_is_sync(name, len))
			e->kind = EVENT_SYNC;
	}
	return 0;
}

/* The track of an event; a step of aon's own export says its thread. */
static int place(struct perfetto *p, const struct said *s, struct perfetto_track *l,
		 struct event *e)
{
	struct trace_track k = { .device = TRACK_HOST, .stream = s->note[NOTE_THREAD] };

	perfetto_find_place(p, l, is_work(e->kind));
	if (!l->place)
		return -ENOMEM;
	if (e->kind == EVENT_STEP && has(s, NOTE_THREAD)) {
		k.process = l->owner;
		return trace_track(p->t, &k, &e->track);
	}
	return perfetto_place(p, l, is_work(e->kind) ? (uint32_t)s->note[NOTE_CONTEXT] : 0,
			      &e->track);
}

static int make(struct perfetto *p, const struct said *s, struct perfetto_track *l,
		struct perfetto_slice *out, uint64_t ns)
{
	struct meaning m = meaning_of(p, s->category);
	struct event *e = &out->e;
	int err;

	*e = (struct event){ .kind = m.kind, .name = s->name, .start_ns = ns };
	err = put_detail(p, s, e, m.range);
	if (err)
		return err;
	put_ids(p, s, e);
	err = put_comm(p, s, &out->comm);
	return err ? err : place(p, s, l, e);
}

static int begin(struct perfetto *p, const struct said *s, struct perfetto_track *l, uint64_t ns)
{
	struct perfetto_slice x = { .below = 0 };
	uint32_t at = p->free_slice;
	int err = make(p, s, l, &x, ns);

	if (err)
		return err;
	if (s->legacy_complete) {
		x.e.dur_ns = s->legacy_dur_us < INT64_MAX / 2000 ? s->legacy_dur_us * 1000 : 0;
		err = trace_add(p->t, &x.e, x.comm);
		return err ? err : 1;
	}
	if (at) {
		p->free_slice = p->slice[at - 1].below;
	} else {
		if (p->slices >= SLICES_MAX)
			return -EBADMSG;
		if (vec_more(&p->slice, p->slices, sizeof(x)) < 0)
			return -ENOMEM;
		at = (uint32_t)++p->slices;
	}
	x.below = l->open;
	l->open = at;
	p->slice[at - 1] = x;
	return 1;
}

static int end(struct perfetto *p, struct perfetto_track *l, uint64_t ns, uint8_t flags)
{
	struct perfetto_slice *x;
	uint32_t at = l->open;

	if (!at)
		return 0;
	x = &p->slice[at - 1];
	l->open = x->below;
	x->below = p->free_slice;
	p->free_slice = at;
	importing_file(p->im)->mended += ns < x->e.start_ns;
	x->e.dur_ns = ns > x->e.start_ns ? ns - x->e.start_ns : 0;
	x->e.flags |= flags;
	return trace_add(p->t, &x->e, x->comm);
}

static int instant(struct perfetto *p, const struct said *s, struct perfetto_track *l, uint64_t ns)
{
	struct perfetto_slice x = { .below = 0 };
	int err = make(p, s, l, &x, ns);

	if (!err && x.e.kind == EVENT_ALLOC && !has(s, NOTE_FREED))
		x.e.kind = EVENT_MARK;
	if (!err && x.e.kind != EVENT_COLLECTIVE && x.e.kind != EVENT_ALLOC)
		x.e = (struct event){
			.kind = EVENT_MARK, .name = s->name, .start_ns = ns, .track = x.e.track
		};
	err = err ? err : trace_add(p->t, &x.e, x.comm);
	return err ? err : 1;
}

static int counter(struct perfetto *p, const struct said *s, struct perfetto_track *l, uint64_t ns)
{
	struct event e = { .kind = EVENT_COUNTER, .start_ns = ns, .a = s->value };
	int err;

	if (!s->has_value)
		return 0;
	e.flags = s->real ? EVENT_FLOAT : 0;
	e.name = l->name;
	l->counter = true;
	err = place(p, s, l, &e);
	err = err ? err : trace_add(p->t, &e, 0);
	return err ? err : 1;
}

int perfetto_event(struct perfetto *p, const struct perfetto_packet *k, struct pb in)
{
	struct said s = { .track = k->seq->track };
	struct perfetto_track *l;
	int err = read_said(p, k->seq, &s, in);

	if (!err && !k->timed)
		err = -EBADMSG;
	/* Without any track it is of its writer. */
	if (!s.track && !s.has_track)
		s.track = ~k->seq->id;
	err = err ? err : perfetto_track(p, s.track, &l);
	if (err)
		return err;
	switch (s.type) {
	case TYPE_BEGIN:
		return begin(p, &s, l, k->ns);
	case TYPE_END:
		err = end(p, l, k->ns, 0);
		return err ? err : PERFETTO_SAME;
	case TYPE_INSTANT:
		return instant(p, &s, l, k->ns);
	case TYPE_COUNTER:
		return counter(p, &s, l, k->ns);
	default:
		return 0;
	}
}

int perfetto_stage(struct perfetto *p, const struct perfetto_packet *k, struct pb in)
{
	struct event e = { .kind = EVENT_KERNEL, .start_ns = k->ns };
	struct trace_track l = { 0 };
	uint64_t gpu = 0;
	uint32_t stage = 0, queue = 0;
	struct pb_field f;
	int err = 0;

	while (!err && pb_next(&in, &f)) {
		if (f.num == 2)
			e.dur_ns = f.v < INT64_MAX / 2 ? f.v : 0;
		else if (f.num == 3 || f.num == 13)
			l.stream = f.v;
		else if (f.num == 5)
			l.context = (uint32_t)f.v;
		else if (f.num == 11)
			gpu = f.v;
		else if (f.num == 14)
			stage = perfetto_iid(&k->seq->specs, f.v);
		else if (f.num == 17 && f.wire == 2)
			err = perfetto_text(p, f.data, &e.name);
		else if (f.num == 20)
			e.name = perfetto_iid(&k->seq->names, f.v);
		if (f.num == 13)
			queue = perfetto_iid(&k->seq->specs, f.v);
	}
	if (!err && (in.bad || !k->timed || gpu >= TRACK_HOST))
		err = -EBADMSG;
	e.name = e.name ? e.name : stage;
	if (!err && !e.name)
		err = trace_name(p->t, "GPU stage", 9, &e.name);
	l.name = queue;
	err = err ? err : perfetto_process(p, 0, &l.process);
	err = err ? err : trace_device(p->t, l.process, (uint32_t)gpu, &l.device);
	err = err ? err : trace_track(p->t, &l, &e.track);
	err = err ? err : trace_add(p->t, &e, 0);
	return err ? err : 1;
}

int perfetto_finish(struct perfetto *p)
{
	int err = 0;

	for (size_t i = 0; i < p->tracks; i++)
		while (!err && p->track[i].open)
			err = end(p, &p->track[i], p->last_ns, EVENT_OPEN);
	return err;
}
