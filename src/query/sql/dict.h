/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dict.h - the meaning of the ids in events: names, tracks, geometries, processes, in memory.
 *
 * Entry 0 of names and tracks is "none"; unknown ids map to it, too.
 */
#pragma once

#include <stdint.h>

#include "model/process.h"
#include "store/store.h"

/* Maps an id to an index. Ids are nearly dense, but the lowest ones may be missing. */
struct dict_map {
	uint32_t *at; /* owned: index of id `first` + i; 0: none */
	uint32_t first, span;
};

struct dict_name {
	char *text; /* owned; NULL for entry 0 */
	uint32_t id, len;
};

struct dict_track {
	struct track track;
	uint32_t process; /* index of the process; 0: not known */
};

struct dict {
	struct dict_name *name; /* owned, as all below */
	struct dict_track *track;
	struct geo *geo;
	struct process *process;
	const char **class; /* class of each name, as a kernel's; NULL before dict_classes() */
	uint32_t names, tracks, geos, processes;
	struct dict_map by_name, by_track, by_geo, by_process;
	uint64_t last_blob; /* names and tracks of all blobs up to this one are loaded */
	uint64_t events;    /* events in these blobs */
};

int dict_load(struct dict *d, struct store *st);
void dict_fini(struct dict *d);
/* Fills d->class, once. */
int dict_classes(struct dict *d);

static inline uint32_t dict_at(const struct dict_map *m, uint32_t id)
{
	return id - m->first < m->span ? m->at[id - m->first] : 0;
}

static inline uint32_t dict_name(const struct dict *d, uint32_t id)
{
	return dict_at(&d->by_name, id);
}

static inline uint32_t dict_track(const struct dict *d, uint32_t id)
{
	return dict_at(&d->by_track, id);
}
