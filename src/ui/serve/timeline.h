/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - the runs that are shown as timelines: a few views, kept while they are used. */
#pragma once

#include "serve/serve.h"
#include "tile/tile.h"

struct timelines;
struct timeline;

int timelines_new(struct timelines **out);
void timelines_free(struct timelines *t); /* NULL is allowed */

/* Starts reading the newest run that `who` may see, before anybody asks for it. */
void timelines_ahead(struct serve *s, const struct viewer *who);

/*
 * The view of the requested run, up to date; give it back with timeline_put(). All of the run was
 * read, unless the request says soon=1.
 */
int timeline_get(struct ask *q, struct timeline **out, struct tile_view **v);
/* Whether timeline_get() would return at once. */
bool timeline_ready(const struct ask *q);
void timeline_put(struct ask *q, struct timeline *t);
