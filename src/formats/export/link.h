/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - from GPU work to its launch and the ranges around it, by process and correlation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "model/trace.h"

#define LINK_CALL 0x1u /* the call was seen */
#define LINK_WORK 0x2u /* its work was seen */

struct link {
	uint64_t key; /* process << 32 | corr */
	uint32_t flags;
	uint32_t stack; /* of the call: a node of link_stacks */
};

/* A frame on top of another. Node 0 is the bottom. */
struct stack_node {
	uint32_t below, name;
	uint32_t file;      /* of a bottom frame: index + 1, else 0 */
	uint64_t ns, count; /* of what ended on it */
};

struct links {
	struct map launch;       /* by link's key: stack << 32 | flags */
	struct stack_node *node; /* owned */
	size_t nodes;
	struct map by_frame; /* below << 32 | name: node */
};

/* GPU work: what stands on a device's track and takes its time. */
static inline bool link_is_work(const struct event *e)
{
	return e->kind == EVENT_KERNEL || e->kind == EVENT_COPY || e->kind == EVENT_MEMSET ||
	       e->kind == EVENT_GRAPH;
}

/* Reads all events of the trace (of one file, if file >= 0). With `stacks`, keeps those of calls. */
int link_all(struct links *l, const struct trace *t, int32_t file, bool stacks);
void link_free(struct links *l);

/* False: neither a launch with that id was seen nor its work. */
bool link_find(struct link *out, const struct links *l, uint32_t process, uint32_t corr);

/* The frame `name` on `below`: found, or made. */
int link_frame(struct links *l, uint32_t below, uint32_t name, uint32_t *node);
