/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offset.h - by how much the clocks of nodes differ, from collectives that end for all ranks
 * together.
 *
 * For each collective of two nodes, the difference of its ends on their clocks is the difference of
 * the clocks plus how much later one node left. The median over many is the estimate. Its error is
 * half of the interquartile range, at least OFFSET_FLOOR_NS: real ends differ by as much. Nodes are
 * joined by a spanning tree over shared collectives, the surest edges first; errors add up along
 * the tree. A steady drift is reported as such. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OFFSET_FLOOR_NS 20000 /* completion skew of collectives */
#define OFFSET_LEAST    3u    /* collectives that two nodes must share */
#define OFFSET_DRIFT    16u   /* that a drift is estimated from */

struct offset_end {
	uint64_t what; /* which collective: communicator, kind and number */
	uint32_t node; /* from 0 on */
	int64_t ns;    /* when it ended there, on that node's clock */
};

struct offset {
	bool known;
	int64_t off_ns; /* the node's clock less the first node's, at at_ns of its own */
	int64_t err_ns;
	int64_t at_ns;
	double drift;   /* ns for each ns of the node's clock */
	uint32_t pairs; /* collectives behind the estimate; of the first node 0 */
};

/* Sorts `e`; fills out[nodes], relative to node 0. -ENOMEM, -EINVAL: a node beyond `nodes`. */
int offset_find(struct offset *out, uint32_t nodes, struct offset_end *e, size_t n);

/* The correction to subtract from a time of the node's clock. */
int64_t offset_at(const struct offset *o, int64_t ns);

struct trace;
/* Corrects the wall times of a trace's files that come from several stores, and returns the largest
 * correction and error; both 0: there was none. */
struct offset_most {
	int64_t off_ns, err_ns;
};
int offset_trace(struct trace *t, struct offset_most *most);
