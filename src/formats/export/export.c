/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - picks the format's writer; see export.h. */
#include "export/export.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "export/walk.h"

#define TELL_EVERY 65536u

const struct export_kind export_kinds[EXPORT_COUNT] = {
#define FORMAT(ID, name, ending, flags, what) [EXPORT_##ID] = { name, ending, what, flags },
#include "export/format.tbl.h"
};

static export_fn *const writers[EXPORT_COUNT] = {
	[EXPORT_PERFETTO] = export_perfetto,
	[EXPORT_KINETO] = export_kineto,
	[EXPORT_PPROF] = export_pprof,
	[EXPORT_COLLAPSED] = export_collapsed,
	[EXPORT_OTLP_PROFILE] = export_otlp_profile,
	[EXPORT_CSV] = export_csv,
};

static bool ends(const char *path, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len > n && !strncasecmp(path + len - n, with, n);
}

/* Beside the usual endings, those that the tools' own files have. */
int export_format_of(const char *path, bool *gz)
{
	static const struct {
		const char *ending;
		enum export_format format;
	} more[] = {
		{ ".perfetto-trace", EXPORT_PERFETTO },
		{ ".perfetto", EXPORT_PERFETTO },
		{ ".pprof", EXPORT_PPROF },
		{ ".folded", EXPORT_COLLAPSED },
		{ ".prof", EXPORT_PPROF },
	};
	size_t len = strlen(path);

	*gz = ends(path, len, ".gz");
	len -= *gz ? 3 : 0;
	for (int i = 0; i < EXPORT_COUNT; i++)
		if (ends(path, len, export_kinds[i].ending))
			return i;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (ends(path, len, more[i].ending))
			return (int)more[i].format;
	return -1;
}

int walk_step(struct walk *w, const struct event *e)
{
	w->n->events++;
	w->n->gpu += link_is_work(e);
	if (++w->seen % TELL_EVERY == 0 && w->o->progress && !w->s->err)
		w->s->err = w->o->progress(w->o->arg, w->seen, w->all);
	return w->s->err;
}

const char *walk_event_name(const struct walk *w, const struct event *e, char *room, size_t cap)
{
	static const char *const copy[16] = { "Memcpy",      "Memcpy HtoD", "Memcpy DtoH",
					      "Memcpy DtoD", "Memcpy HtoH", "Memcpy PtoP" };
	const char *text = walk_name(w, e->name);

	if (*text)
		return text;
	switch (e->kind) {
	case EVENT_COPY:
		text = copy[e->flags >> EVENT_COPY_SHIFT];
		return text ? text : copy[0];
	case EVENT_MEMSET:
		return "Memset (Device)";
	case EVENT_GRAPH:
		snprintf(room, cap, "graph %llu", (unsigned long long)e->a);
		return room;
	case EVENT_STEP:
		snprintf(room, cap, "ProfilerStep#%llu", (unsigned long long)e->a);
		return room;
	default:
		return "(no name)";
	}
}

int export_trace(const struct trace *t, const struct export_opts *o, struct export_count *count)
{
	struct walk w = { .t = t, .o = o, .n = count, .all = t->events };
	bool gz = o->gz || export_kinds[o->format].flags & EXPORT_GZ;
	int err, end;

	*count = (struct export_count){ 0 };
	if (t->events && !t->track_first)
		return -EINVAL;
	err = sink_new(&w.s, o->write, o->arg, gz);
	if (err)
		return err;
	err = link_all(&w.links, t, o->file,
		       o->format == EXPORT_PPROF || o->format == EXPORT_COLLAPSED);
	err = err ? err : writers[o->format](&w);
	link_free(&w.links);
	end = sink_end(w.s);
	return err ? err : end;
}
