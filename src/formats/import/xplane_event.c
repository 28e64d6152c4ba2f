/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xplane_event.c - a line of a plane: a stream of a device, a thread of the host, or rows that the
 * profiler derived from a device's streams (ops, name scopes, steps), which are no GPU work.
 */
#include <errno.h>
#include <stdio.h>

#include "base/vec.h"
#include "import/xplane.h"

#define DERIVED      (1ull << 62) /* in the stream of a track that is no stream */
#define OPS          (DERIVED - 1)
#define EXTERNAL_MAX 0x7ffffffeu
#define TEXT_MAX     240 /* bytes of a name that is made of two */

struct xstats {
	uint32_t have; /* bit of enum xstat */
	uint64_t v[XSTAT_COUNT];
	struct pb text[XSTAT_COUNT];
};
_Static_assert(XSTAT_COUNT <= 32, "they are bits of one word");

struct xline {
	uint64_t id, start_ns;
	struct pb name;
	uint32_t track;
	enum { LINE_STREAM, LINE_HOST, LINE_STEPS, LINE_DERIVED } what;
};

static bool has(const struct xstats *s, enum xstat id)
{
	return s->have >> id & 1;
}

static bool begins(const struct pb *text, const char *with)
{
	size_t len = strlen(with);

	return (size_t)(text->end - text->p) >= len && !memcmp(text->p, with, len);
}

/* The number behind `word` in a text, or 0; *next (if not NULL) gets what follows it. */
static uint64_t number_behind(const struct pb *text, const char *word, const uint8_t **next)
{
	const uint8_t *p = memmem(text->p, (size_t)(text->end - text->p), word, strlen(word));
	uint64_t v = 0;

	if (next)
		*next = text->end;
	if (!p)
		return 0;
	for (p += strlen(word); p < text->end && *p >= '0' && *p <= '9'; p++)
		v = v < UINT64_MAX / 16 ? v * 10 + (uint64_t)(*p - '0') : v;
	if (next)
		*next = p;
	return v;
}

static void read_stat(struct xplane *x, struct pb in, struct xstats *s)
{
	struct xname *name = NULL;
	struct pb text = { 0 };
	struct pb_field f;
	uint64_t v = 0;

	while (pb_next(&in, &f)) {
		if (f.num == 1)
			name = xnames_find(&x->stat, f.v);
		else if (f.num == 5 || f.num == 6)
			text = f.data;
		else if (f.num == 7) {
			const struct xname *ref = xnames_find(&x->stat, f.v);

			text = ref ? ref->text : text;
		} else if (f.num == 2 && f.wire == 1) {
			double d;

			memcpy(&d, &f.v, sizeof(d));
			v = d >= 0 && d < 1e18 ? (uint64_t)d : 0;
		} else
			v = f.v;
	}
	if (!name || name->stat == XSTAT_OTHER || has(s, name->stat))
		return;
	s->have |= 1u << name->stat;
	s->v[name->stat] = v;
	s->text[name->stat] = text;
}

static void three(uint32_t out[3], const struct pb *text, const char *word)
{
	struct pb rest = *text;

	for (int i = 0; i < 3; i++) {
		uint64_t v = number_behind(&rest, i ? "," : word, &rest.p);

		out[i] = v <= UINT32_MAX ? (uint32_t)v : 0;
		if (rest.p >= rest.end || *rest.p != ',')
			break;
	}
}

static int kernel(struct xplane *x, const struct xstats *s, struct event *e)
{
	const struct pb *d = &s->text[XSTAT_KERNEL];
	struct geo g = { 0 };
	uint32_t id = 0;

	if (has(s, XSTAT_KERNEL) && d->p) {
		three(g.grid, d, "grid:");
		three(g.block, d, "block:");
		g.regs = (uint32_t)number_behind(d, "regs:", NULL);
		g.smem_static = (uint32_t)(number_behind(d, "static_shared:", NULL) +
					   number_behind(d, "shm:", NULL) +
					   number_behind(d, "group_mem:", NULL));
		g.smem_dynamic = (uint32_t)number_behind(d, "dynamic_shared:", NULL);
	}
	e->kind = EVENT_KERNEL;
	if (trace_geo(x->t, &g, &id) < 0)
		return -ENOMEM;
	e->a = id;
	return 0;
}

#define SAME_NAME 64u /* programs that have an operation of the same name */

/* What a stat says, or the program. */
static int work_of_op(struct xplane *x, const struct xstats *s, const struct pb *op, uint32_t *out)
{
	const struct hlo_work *known = hlo_find(&x->hlo, s->v[XSTAT_PROGRAM], op);
	struct op_gemm g = { .type = known ? known->gemm.type : UINT32_MAX };
	char text[OP_COUNTED_MAX];
	struct op_work w;

	if (has(s, XSTAT_FLOPS) || has(s, XSTAT_ACCESSED))
		w = (struct op_work){ s->v[XSTAT_FLOPS], s->v[XSTAT_ACCESSED] };
	else if (known)
		w = known->work;
	else
		return 0;
	if (known && known->gemm.k && w.flops == known->work.flops)
		g = known->gemm;
	if (g.type > UINT8_MAX)
		g.type = OP_TYPE_FLOAT; /* a device's work is mostly that */
	op_counted_text(text, &w, &g);
	return trace_name(x->t, text, strlen(text), out);
}

/* The operation of that name in that program, and when its first kernel starts. */
static int note_op(struct xplane *x, const struct xstats *s, const struct pb *op, uint32_t name,
		   struct event *e)
{
	uint64_t program = s->v[XSTAT_PROGRAM];
	uint32_t at, n = 0;
	int err = vec_room0(&x->first_op, &x->names, (size_t)name + 1, sizeof(*x->first_op));

	if (err)
		return err;
	for (at = x->first_op[name]; at; at = x->op[at - 1].next)
		if (x->op[at - 1].program == program || ++n == SAME_NAME)
			break;
	if (!at) {
		if (vec_more(&x->op, x->ops, sizeof(*x->op)) < 0)
			return -ENOMEM;
		x->op[x->ops] = (struct xop){ .program = program,
					      .first_ns = e->start_ns,
					      .name = name,
					      .next = x->first_op[name] };
		err = work_of_op(x, s, op, &x->op[x->ops].shapes);
		at = (uint32_t)++x->ops;
		x->first_op[name] = at;
	}
	if (n == SAME_NAME)
		x->op[at - 1].shapes = 0; /* it stands for several */
	if (e->start_ns < x->op[at - 1].first_ns)
		x->op[at - 1].first_ns = e->start_ns;
	if (at < EXTERNAL_MAX)
		e->b |= (uint64_t)at << 32;
	return err;
}

int xplane_ops(struct xplane *x)
{
	struct trace_track track = { .process = x->process, .device = TRACK_HOST, .stream = OPS };
	int err = 0;

	for (uint32_t i = 0; i < x->ops && !err; i++) {
		const struct xop *o = &x->op[i];
		struct event op = { .kind = EVENT_RANGE, .a = TRACE_DEVICE_OP, .name = o->name };

		op.corr = i + 1;
		op.b = o->shapes ? trace_op(false, 0, o->shapes) : 0;
		op.start_ns =
			o->first_ns - (o->first_ns > 0); /* before all that is joined with it */
		err = trace_name(x->t, "HLO", 3, &track.name);
		err = err ? err : trace_track(x->t, &track, &op.track);
		err = err ? err : trace_add(x->t, &op, 0);
	}
	return err;
}

static int length(const struct pb *text)
{
	return text->end - text->p < TEXT_MAX ? (int)(text->end - text->p) : TEXT_MAX;
}

/* "jit_train/fusion.3"; of a TPU the event is the operation. */
static int join_op(struct xplane *x, const struct xstats *s, const struct xname *is,
		   struct event *e)
{
	const struct pb *module = &s->text[XSTAT_HLO_MODULE], *op = &s->text[XSTAT_HLO_OP];
	char text[2 * TEXT_MAX + 2];
	uint32_t name;
	int n, err;

	if ((!has(s, XSTAT_HLO_OP) || !op->p) && is &&
	    (has(s, XSTAT_FLOPS) || has(s, XSTAT_ACCESSED)))
		op = is->shown.p < is->shown.end ? &is->shown : &is->text;
	if (!op->p || op->p == op->end)
		return 0;
	n = snprintf(text, sizeof(text), "%.*s%s%.*s", module->p ? length(module) : 0,
		     module->p ? (const char *)module->p : "", module->p ? "/" : "", length(op),
		     (const char *)op->p);
	err = trace_name(x->t, text, (size_t)n, &name);
	return err ? err : note_op(x, s, op, name, e);
}

static int on_stream(struct xplane *x, const struct pb *name, const struct xname *is,
		     const struct xstats *s, struct event *e)
{
	const struct pb *d = &s->text[XSTAT_MEMCPY];

	e->corr = s->v[XSTAT_CORRELATION] <= UINT32_MAX ? (uint32_t)s->v[XSTAT_CORRELATION] : 0;
	if (begins(name, "Memset") || has(s, XSTAT_MEMSET)) {
		e->kind = EVENT_MEMSET;
		if (s->text[XSTAT_MEMSET].p)
			e->a = number_behind(&s->text[XSTAT_MEMSET], "size:", NULL);
		return 0;
	}
	if (!begins(name, "Memcpy") && !has(s, XSTAT_MEMCPY)) {
		int err = kernel(x, s, e);

		return err ? err : join_op(x, s, is, e);
	}
	e->kind = EVENT_COPY;
	e->flags = import_copy((const char *)name->p, (size_t)(name->end - name->p), NULL);
	if (d->p) {
		e->a = number_behind(d, "size:", NULL);
		import_copy((const char *)d->p, (size_t)(d->end - d->p), &e->b);
	}
	return 0;
}

/* "GPU_0_bfc" allocated or freed. */
static int allocation(struct xplane *x, const struct pb *name, const struct xstats *s,
		      struct event *e)
{
	struct trace_track l = { .process = x->process, .stream = TRACE_NO_STREAM };
	uint64_t device = number_behind(&s->text[XSTAT_ALLOCATOR], "GPU_", NULL);
	bool freed = begins(name, "MemoryDeallocation");
	int err;

	if (device >= TRACK_HOST)
		return -EBADMSG;
	err = trace_device(x->t, x->process, (uint32_t)device, &l.device);
	err = err ? err : trace_track(x->t, &l, &e->track);
	e->kind = EVENT_ALLOC;
	e->dur_ns = 0;
	e->flags = (uint8_t)((freed ? 2u : 1u) << EVENT_COPY_SHIFT);
	e->a = s->v[XSTAT_BYTES];
	e->b = s->v[XSTAT_ADDRESS];
	return err;
}

/* Of HLO those that only contain others. */
static bool is_control(const struct pb *name)
{
	return begins(name, "call") || begins(name, "while") || begins(name, "conditional");
}

/* Where the CPU is the device, XLA's threads are its streams. */
static int on_cpu(struct xplane *x, const struct xline *l, const struct xstats *s, struct event *e)
{
	static const char cpu[] = "CPU";
	struct trace_track track = { .process = x->process, .stream = l->id };
	uint64_t ordinal = s->v[XSTAT_ORDINAL];
	int err;

	if (ordinal >= TRACK_HOST)
		return -EBADMSG;
	track.name = x->t->track[l->track].name;
	err = trace_device(x->t, x->process, (uint32_t)ordinal, &track.device);
	err = err ? err : trace_track(x->t, &track, &e->track);
	if (!err && !x->t->device[track.device].name)
		err = trace_name(x->t, cpu, sizeof(cpu) - 1, &x->t->device[track.device].name);
	err = err ? err : kernel(x, s, e);
	return err ? err : join_op(x, s, NULL, e);
}

static int on_host(struct xplane *x, const struct xline *l, const struct pb *name,
		   const struct xstats *s, struct event *e)
{
	if (!x->devices && has(s, XSTAT_HLO_OP) && has(s, XSTAT_HLO_MODULE) && !is_control(name))
		return on_cpu(x, l, s, e);
	if (begins(name, "Memory") && has(s, XSTAT_BYTES) && has(s, XSTAT_ALLOCATOR) &&
	    s->text[XSTAT_ALLOCATOR].p && begins(&s->text[XSTAT_ALLOCATOR], "GPU_"))
		return allocation(x, name, s, e);
	if (has(s, XSTAT_CORRELATION)) {
		e->kind = import_is_sync((const char *)name->p, (size_t)(name->end - name->p))
				  ? EVENT_SYNC
				  : EVENT_API;
		e->corr = s->v[XSTAT_CORRELATION] <= UINT32_MAX ? (uint32_t)s->v[XSTAT_CORRELATION]
								: 0;
		return 0;
	}
	e->kind = EVENT_RANGE;
	e->a = has(s, XSTAT_TF_OP) || has(s, XSTAT_HLO_OP) ? TRACE_OP
	       : name->p < name->end && *name->p == '$'    ? TRACE_PYTHON
							   : TRACE_OTHER_HOST;
	if (has(s, XSTAT_STEP_NUM)) {
		e->kind = EVENT_STEP;
		e->a = s->v[XSTAT_STEP_NUM];
	}
	return 0;
}

static int classify(struct xplane *x, const struct xline *l, const struct pb *name,
		    const struct xname *is, const struct xstats *s, struct event *e)
{
	struct pb digits = *name;

	switch (l->what) {
	case LINE_STREAM:
		return on_stream(x, name, is, s, e);
	case LINE_HOST:
		return on_host(x, l, name, s, e);
	case LINE_STEPS:
		e->kind = EVENT_STEP;
		e->a = number_behind(&digits, "", NULL);
		return 0;
	default:
		e->kind = EVENT_RANGE;
		e->a = TRACE_GPU_USER;
		return 0;
	}
}

/* Picoseconds from the line's start: both ends are cut to nanoseconds, so that none overlap. */
static bool times(const struct xline *l, uint64_t offset_ps, uint64_t dur_ps, struct event *e)
{
	uint64_t end_ps;

	if (offset_ps > INT64_MAX || __builtin_add_overflow(offset_ps, dur_ps, &end_ps) ||
	    end_ps > INT64_MAX || l->start_ns > INT64_MAX / 2)
		return false;
	e->start_ns = l->start_ns + offset_ps / 1000;
	e->dur_ns = l->start_ns + end_ps / 1000 - e->start_ns;
	return true;
}

/* 1 an event, 0 none, -EBADMSG damaged, else -errno. */
static int read_event(struct xplane *x, const struct xline *l, struct pb in)
{
	struct event e = { .track = l->track };
	uint64_t offset_ps = 0, dur_ps = 0, id = 0;
	struct xstats s = { .have = 0 };
	bool summed = false;
	struct xname *name;
	struct pb_field f;
	int err;

	memset(s.v, 0, sizeof(s.v));
	memset(s.text, 0, sizeof(s.text));
	while (pb_next(&in, &f)) {
		switch (f.num) {
		case 1:
			id = f.v;
			break;
		case 2:
			offset_ps = f.v;
			break;
		case 3:
			dur_ps = f.v;
			break;
		case 4:
			read_stat(x, f.data, &s);
			break;
		case 5:
			summed = true;
			break;
		}
	}
	name = xnames_find(&x->event, id);
	/* What all events of that name have; their own come first. */
	for (struct pb all = name && name->stats ? name->all : (struct pb){ 0 }; pb_next(&all, &f);)
		if (f.num == 5 && f.wire == 2)
			read_stat(x, f.data, &s);
	if (in.bad || (!summed && !times(l, offset_ps, dur_ps, &e)))
		return -EBADMSG;
	if (summed)
		return 0; /* how often, not when */
	if (name && !name->name) {
		uint32_t to;

		err = trace_name(x->t, (const char *)name->text.p,
				 (size_t)(name->text.end - name->text.p), &to);
		if (err)
			return err;
		name->name = to + 1;
	}
	e.name = name ? name->name - 1 : 0;
	err = classify(x, l, name ? &name->text : &(struct pb){ in.end, in.end, false }, name, &s,
		       &e);
	err = err ? err : trace_add(x->t, &e, 0);
	return err ? err : 1;
}

static int place(struct xplane *x, struct xline *l)
{
	struct trace_track track = { .process = x->process, .device = TRACK_HOST, .stream = l->id };
	int err = 0;

	l->what = LINE_HOST;
	if (x->device && pb_is(&l->name, "Steps")) {
		l->what = LINE_STEPS;
		track.stream = DERIVED | x->index;
	} else if (x->device) {
		bool stream = begins(&l->name, "Stream #");

		l->what = stream || (!x->streams && pb_is(&l->name, "XLA Ops")) ? LINE_STREAM
										: LINE_DERIVED;
		track.stream = stream ? number_behind(&l->name, "Stream #", NULL)
				      : DERIVED | (l->id & (DERIVED - 1));
		err = trace_device(x->t, x->process, x->index, &track.device);
	}
	err = err ? err
		  : trace_name(x->t, (const char *)l->name.p, (size_t)(l->name.end - l->name.p),
			       &track.name);
	return err ? err : trace_track(x->t, &track, &l->track);
}

int xplane_line(struct xplane *x, struct pb line)
{
	struct trace_file *file = importing_file(x->im);
	struct xline l = { 0 };
	struct pb in = line;
	struct pb_field f;
	int r = 0;

	l.name = (struct pb){ line.p, line.p, false };
	while (pb_next(&in, &f)) {
		if (f.num == 1)
			l.id = f.v;
		else if (f.num == 2 && f.wire == 2)
			l.name = f.data;
		else if (f.num == 3)
			l.start_ns = f.v;
	}
	r = place(x, &l);
	for (in = line; !r && pb_next(&in, &f);) {
		if (f.num != 4 || f.wire != 2)
			continue;
		r = read_event(x, &l, f.data);
		file->rows++;
		file->imported += r > 0;
		file->left += r == 0;
		file->lost += r == -EBADMSG;
		if (r == -EBADMSG)
			import_broke(x->im, (uint64_t)(f.data.p - x->base),
				     "an event that is none at byte %llu",
				     (unsigned long long)(f.data.p - x->base));
		r = r < 0 && r != -EBADMSG ? r : 0;
	}
	if (in.bad)
		import_broke(x->im, (uint64_t)(in.p - x->base), "not XPlane at byte %llu",
			     (unsigned long long)(in.p - x->base));
	return r;
}
