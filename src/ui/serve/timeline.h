/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - the runs that are shown as timelines: a few views, kept while they are requested. */
#pragma once

#include "serve/serve.h"
#include "tile/tile.h"

struct timelines;
struct timeline;

int timelines_new(struct timelines **out);
void timelines_free(struct timelines *t); /* NULL is allowed */

/* Begins to read the newest run that `who` may see, before somebody asks. */
void timelines_ahead(struct serve *s, const struct viewer *who);

/* The view of the run that is asked for, as new as the run is; timeline_put() it. Everything was
 * read, unless the question says soon=1. */
int timeline_get(struct ask *q, struct timeline **out, struct tile_view **v);
/* Whether that takes no wait. */
bool timeline_ready(const struct ask *q);
void timeline_put(struct ask *q, struct timeline *t);
