/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xplane.c - an XSpace: planes of devices and of the host. Fields by their numbers in xplane.proto:
 *
 *	XSpace  1 planes  4 hostnames
 *	XPlane  2 name  3 lines  4 event_metadata  5 stat_metadata  6 stats
 *	XLine   1 id  2 name  3 timestamp_ns  4 events
 *	XEvent  1 metadata_id  2 offset_ps  3 duration_ps  4 stats  5 num_occurrences
 *	XStat   1 metadata_id  2 double  3 uint64  4 int64  5 str  6 bytes  7 ref
 *	XEventMetadata  1 id  2 name  4 display_name  5 stats
 *
 * What a plane's events are called stands behind them, so a plane is walked twice.
 */
#include "import/xplane.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

#define PROGRESS_LINES 16u

static const char *const stat_names[XSTAT_COUNT] = {
#define XSTAT(ID, name) [XSTAT_##ID] = name,
#include "import/xplane.tbl.h"
};

static int by_id(const void *a, const void *b)
{
	const struct xname *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

struct xname *xnames_find(struct xnames *x, uint64_t id)
{
	struct xname key = { .id = id };

	/* Nearly always 1, 2, 3, ... */
	if (id - 1 < x->n && x->x[id - 1].id == id)
		return &x->x[id - 1];
	return x->n ? bsearch(&key, x->x, x->n, sizeof(key), by_id) : NULL;
}

/* An entry of a map<int64, X*Metadata>: 1 key, 2 value with 1 id, 2 name. */
static int read_name(struct xnames *x, struct pb in, bool stat)
{
	struct xname n = { 0 };
	struct pb_field f, g;

	n.text = n.shown = n.all = (struct pb){ in.p, in.p, false };
	while (pb_next(&in, &f)) {
		if (f.num == 1)
			n.id = f.v;
		if (f.num == 2 && f.wire == 2)
			n.all = f.data;
		while (f.num == 2 && f.wire == 2 && pb_next(&f.data, &g)) {
			if (g.num == 2 && g.wire == 2)
				n.text = g.data;
			else if (g.num == 4 && g.wire == 2)
				n.shown = g.data;
			n.stats |= g.num == 5;
		}
	}
	for (unsigned i = 1; stat && i < XSTAT_COUNT; i++)
		if (pb_is(&n.text, stat_names[i]))
			n.stat = (uint8_t)i;
	if (vec_room(&x->x, &x->cap, x->n + 1, sizeof(*x->x)) < 0)
		return -ENOMEM;
	x->x[x->n++] = n;
	return 0;
}

static int read_names(struct xplane *x, struct pb plane)
{
	struct pb_field f;
	int err = 0;

	x->event.n = x->stat.n = 0;
	x->name = (struct pb){ plane.p, plane.p, false };
	x->streams = false;
	while (!err && pb_next(&plane, &f)) {
		struct pb_field g;

		if (f.wire != 2)
			continue;
		if (f.num == 2)
			x->name = f.data;
		else if (f.num == 4)
			err = read_name(&x->event, f.data, false);
		else if (f.num == 5)
			err = read_name(&x->stat, f.data, true);
		while (f.num == 3 && pb_next(&f.data, &g))
			if (g.num == 2 && g.wire == 2 && g.data.end - g.data.p > 8 &&
			    !memcmp(g.data.p, "Stream #", 8))
				x->streams = true;
	}
	if (x->event.n)
		qsort(x->event.x, x->event.n, sizeof(*x->event.x), by_id);
	if (x->stat.n)
		qsort(x->stat.x, x->stat.n, sizeof(*x->stat.x), by_id);
	return err;
}

/* "/device:GPU:4", "/device:TPU:0 ...". */
static const char device_word[] = "/device:";

static bool is_device(struct pb name)
{
	size_t len = (size_t)(name.end - name.p), word = sizeof(device_word) - 1;

	return len > sizeof(device_word) && !memcmp(name.p, device_word, word) &&
	       !memmem(name.p + word, len - word, "CUSTOM", 6);
}

static bool has_devices(struct pb space)
{
	struct pb_field plane, f;

	while (pb_next(&space, &plane))
		while (plane.num == 1 && plane.wire == 2 && pb_next(&plane.data, &f))
			if (f.num == 2 && f.wire == 2 && is_device(f.data))
				return true;
	return false;
}

static void name_device(struct xplane *x)
{
	const uint8_t *p = x->name.p + sizeof(device_word) - 1;

	x->device = is_device(x->name);
	x->index = 0;
	while (x->device && p < x->name.end && *p != ':')
		p++;
	for (p++; x->device && p < x->name.end && *p >= '0' && *p <= '9' && x->index < 100000; p++)
		x->index = x->index * 10 + (uint32_t)(*p - '0');
}

/* What a plane says of itself as a whole. */
static int read_plane_stat(struct xplane *x, struct pb in)
{
	const struct xname *name = NULL;
	struct pb text = { 0 };
	struct pb_field f;
	uint64_t v = 0;
	uint32_t device;
	int err;

	while (pb_next(&in, &f)) {
		if (f.num == 1)
			name = xnames_find(&x->stat, f.v);
		else if (f.wire == 2)
			text = f.data;
		else
			v = f.v;
	}
	if (!name || name->stat == XSTAT_OTHER)
		return 0;
	if (name->stat == XSTAT_START_TIME && v < INT64_MAX)
		importing_file(x->im)->wall_offset_ns = (int64_t)v;
	if (!x->device)
		return 0;
	err = trace_device(x->t, x->process, x->index, &device);
	if (err)
		return err;
	if (name->stat == XSTAT_CORES)
		x->t->device[device].sms = (uint32_t)v;
	else if (name->stat == XSTAT_MEMORY)
		x->t->device[device].memory_bytes = v;
	else if (name->stat == XSTAT_TYPE && text.p)
		err = trace_name(x->t, (const char *)text.p, (size_t)(text.end - text.p),
				 &x->t->device[device].name);
	return err;
}

static int read_plane(struct xplane *x, struct pb plane, bool lines)
{
	const struct import_opts *o = x->im->o;
	struct pb in = plane;
	struct pb_field f;
	unsigned n = 0;
	int err = read_names(x, plane);

	name_device(x);
	while (!err && pb_next(&in, &f)) {
		if (f.num == 3 && f.wire == 2) {
			err = xplane_line(x, f.data);
			lines = true;
			if (!err && ++n % PROGRESS_LINES == 0 && o && o->progress)
				err = o->progress(o->arg, x->im->path, (uint64_t)(in.p - x->base),
						  0);
		}
	}
	if (!err && pb_rest(&in, &f) && f.num == 3)
		err = xplane_line(x, f.data);
	for (in = plane; !err && pb_next(&in, &f);)
		if (f.num == 6 && f.wire == 2 && (lines || !x->device))
			err = read_plane_stat(x, f.data);
	if (in.bad)
		import_broke(x->im, (uint64_t)(in.p - x->base), "not XPlane at byte %llu",
			     (unsigned long long)(in.p - x->base));
	return err;
}

/* "jit_train(15)": the number that kernels have. */
static uint64_t program_number(const struct xname *event)
{
	const uint8_t *p = event->text.end;
	uint64_t v = 0, ten = 1;

	if (p == event->text.p || *--p != ')')
		return event->id;
	for (; p > event->text.p && p[-1] >= '0' && p[-1] <= '9'; p--, ten *= 10)
		v += ten * (uint64_t)(p[-1] - '0');
	return p > event->text.p && p[-1] == '(' ? v : event->id;
}

/* Programs stand in a plane of their own, each as a stat of an event of its name. */
static int read_program(struct xplane *x, const struct xname *event)
{
	struct pb in = event->all;
	struct pb_field f, g;
	int err = 0;

	while (!err && pb_next(&in, &f)) {
		const struct xname *stat = NULL;

		while (f.num == 5 && f.wire == 2 && !err && pb_next(&f.data, &g)) {
			if (g.num == 1)
				stat = xnames_find(&x->stat, g.v);
			else if (g.num == 6 && stat && stat->stat == XSTAT_HLO_PROTO)
				err = hlo_read(&x->hlo, program_number(event), g.data);
		}
	}
	return err;
}

static int read_programs(struct xplane *x, struct pb space)
{
	struct pb_field plane;
	int err = 0;

	while (!err && pb_next(&space, &plane)) {
		struct pb name;

		if (plane.num != 1 || plane.wire != 2)
			continue;
		name = hlo_part(plane.data, 2);
		if (!pb_is(&name, "/host:metadata"))
			continue;
		err = read_names(x, plane.data);
		for (size_t i = 0; i < x->event.n && !err; i++)
			if (x->event.x[i].stats)
				err = read_program(x, &x->event.x[i]);
	}
	return err;
}

static int read_space(struct xplane *x, struct pb in)
{
	struct trace_file *f = importing_file(x->im);
	struct pb_field field;
	int err = trace_process(x->t, x->im->file, 0, &x->process);

	x->devices = has_devices(in);
	err = err ? err : read_programs(x, in);
	while (!err && pb_next(&in, &field)) {
		if (field.num == 1 && field.wire == 2)
			err = read_plane(x, field.data, false);
		else if (field.num == 4 && field.wire == 2)
			err = trace_name(x->t, (const char *)field.data.p,
					 (size_t)(field.data.end - field.data.p),
					 &x->t->process[x->process].name);
	}
	/* A file that was cut ends inside a plane: its whole parts count. */
	if (!err && pb_rest(&in, &field) && field.num == 1)
		err = read_plane(x, field.data, false);
	err = err ? err : xplane_ops(x);
	if (err)
		return import_say(x->im->why, err, "%s: %s", x->im->path, strerror(-err));
	if (in.bad)
		import_broke(x->im, (uint64_t)(in.p - x->base), "not XPlane at byte %llu",
			     (unsigned long long)(in.p - x->base));
	if (f->broke_at != UINT64_MAX && !f->imported)
		return import_say(x->im->why, -EMEDIUMTYPE, "%s: not a trace: %s", x->im->path,
				  f->why);
	if (!f->rows)
		return import_say(x->im->why, -EMEDIUMTYPE, "%s: XPlane without events",
				  x->im->path);
	return 0;
}

int xplane_import(const struct importing *im, struct source *src)
{
	struct xplane x = { .im = im, .t = im->t };
	char *bytes = NULL;
	size_t len = 0;
	int err = source_all(src, &bytes, &len);

	if (err)
		return import_say(im->why, err, "%s: %s", im->path, strerror(-err));
	x.base = (const uint8_t *)bytes;
	err = read_space(&x, (struct pb){ x.base, x.base + len, false });
	if (!err && *source_why(src)) {
		importing_file(im)->broke_at = UINT64_MAX;
		import_broke(im, source_at(src), "%s", source_why(src));
	}
	free(x.event.x);
	free(x.stat.x);
	free(x.op);
	free(x.first_op);
	hlo_fini(&x.hlo);
	free(bytes);
	return err;
}
