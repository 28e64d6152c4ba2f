/* SPDX-License-Identifier: Apache-2.0 */
/* trace_priv.h - a store that is being read into a trace: shared by trace.c and feed.c. */
#pragma once

#include <stdbool.h>

#include "model/trace.h"
#include "store/store.h"
#include "store/trace.h"

struct ids {
	uint32_t *to; /* by id of the store: that of the trace + 1 */
	size_t n;
};

struct from_store {
	struct trace *t;
	const char *path;
	uint32_t own; /* file of what aon recorded, + 1 */
	struct ids name, geo, stack, track, process, file;
	struct ids comm; /* by name: what a MARK of that name says about the event that follows */
	uint32_t sms, memory; /* names of COUNTERs that describe a device; 0: none */
	struct owner *owner;  /* by process of the trace, from first_process on */
	size_t first_process, owners;
	struct store_filter part;
	store_trace_fn *go_on; /* NULL: not called */
	store_work_fn *work;   /* of store_trace_work() */
	store_step_fn *step;
	bool overwritten;      /* events of some processes are gone */
	bool parted;           /* of store_feed: only what trace_stretch() takes */
	uint64_t lo_ns, hi_ns; /* starts that are reported now, or the stretch */
	void *arg;
};

struct owner {
	bool imported;
	bool sampled;        /* some of its steps are unsampled */
	uint32_t step_track; /* whose steps count, + 1; 0: none yet */
	uint32_t comm;       /* of its next event, + 1 */
};

static inline uint32_t ids_get(const struct ids *x, uint32_t id, uint32_t or_else)
{
	return id < x->n && x->to[id] ? x->to[id] - 1 : or_else;
}

int from_rows(struct from_store *s, struct store *st); /* all but the events */
int from_events(void *from_store, uint32_t process, const struct event_columns *c);
int from_rolled(struct from_store *s, struct store *st); /* rolled.c: samples that are gone */
void from_fini(struct from_store *s);
/* Whether a counter describes a device, and is not an event of the trace. `name` is the store's. */
bool from_is_size(const struct from_store *s, uint32_t track, uint32_t kind, uint32_t name);
