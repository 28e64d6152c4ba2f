/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - known nodes, and the rate of each: a node that floods delays only itself. */
#include <string.h>

#include "base/clock.h"
#include "relay/priv.h"

#define BURST_S    8u
#define FORGET_S   3600u
#define NODE_LEAST (5u << 20) /* one batch of maximum size */

static double burst(const struct relay *r)
{
	uint64_t b = r->o.node_bytes_s * BURST_S;

	return (double)(b > NODE_LEAST ? b : NODE_LEAST);
}

/* Reuses the slot of a node that has been silent for long. */
static struct node *reuse(struct relay *r, uint64_t now)
{
	for (size_t i = 0; i < r->nodes; i++)
		if (!r->node[i].uploads && now - r->node[i].seen_ns > FORGET_S * SECOND)
			return &r->node[i];
	return NULL;
}

struct node *node_of(struct relay *r, const char *name)
{
	uint64_t now = clock_mono_ns();
	struct node *n;

	for (size_t i = 0; i < r->nodes; i++)
		if (!strcmp(r->node[i].name, name)) {
			r->node[i].seen_ns = now;
			return &r->node[i];
		}
	n = r->nodes < NODES_MAX ? &r->node[r->nodes++] : reuse(r, now);
	if (!n)
		return NULL;
	*n = (struct node){ .tokens = burst(r), .fed_ns = now, .seen_ns = now };
	strcpy(n->name, name);
	return n;
}

bool node_may(struct relay *r, struct node *n, size_t bytes, unsigned *retry_s)
{
	uint64_t now = clock_mono_ns();
	double rate = (double)r->o.node_bytes_s;

	n->tokens += (double)(now - n->fed_ns) / (double)SECOND * rate;
	if (n->tokens > burst(r))
		n->tokens = burst(r);
	n->fed_ns = now;
	/*
	 * A trace may exceed the bucket: it passes when the bucket is full, and the debt is paid
	 * later.
	 */
	if (n->tokens < ((double)bytes < burst(r) ? (double)bytes : burst(r))) {
		*retry_s = 1 + (unsigned)(((double)bytes - n->tokens) / rate);
		return false;
	}
	n->tokens -= (double)bytes;
	n->bytes += bytes;
	return true;
}
