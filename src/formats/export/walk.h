/* SPDX-License-Identifier: Apache-2.0 */
/* walk.h - shared by the writers of formats: the trace, the sink, and counts. */
#pragma once

#include "base/json.h"
#include "export/link.h"
#include "export/sink.h"

struct walk {
	const struct trace *t;
	const struct export_opts *o;
	struct sink *s;
	struct json j; /* onto the sink, of those who write JSON */
	struct export_count *n;
	struct links links;
	uint64_t seen, all;
};

static inline bool walk_has_track(const struct walk *w, size_t track)
{
	return w->o->file < 0 ||
	       w->t->process[w->t->track[track].process].file == (uint32_t)w->o->file;
}

static inline const char *walk_name(const struct walk *w, uint32_t name)
{
	return name ? trace_text(w->t, name) : "";
}

/* Reports progress, now and then; an error of the sink or of the progress function ends a walk. */
int walk_step(struct walk *w, const struct event *e);

/* The name of an event without a name of its own: "Memcpy HtoD", "graph 7". */
const char *walk_event_name(const struct walk *w, const struct event *e, char *room, size_t cap);

typedef int export_fn(struct walk *w);
export_fn export_perfetto, export_kineto, export_pprof, export_collapsed, export_csv,
	export_otlp_profile;
