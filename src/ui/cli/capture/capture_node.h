/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture_node.h - captures by aond itself: processes rise to tier full for so many steps, or so long;
 * what was recorded before and what is then, one trace.
 */
#ifndef AON_CAPTURE_NODE_H
#define AON_CAPTURE_NODE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/core/cli.h"

struct process;

/* One process of a capture: what aond says of it, and what the store does. */
struct node_proc {
	uint32_t pid, id;     /* id: of the store */
	int32_t rank;         /* -1: not known */
	char end[12];         /* "through", "left", "late"; "": only its past was there */
	uint64_t first, last; /* steps that were asked of it; 0: by time */
	uint64_t step;        /* that it has begun */
	uint64_t emitted, lost;

	char job[48];
	uint64_t from_ns, to_ns;        /* of it in the trace */
	uint64_t first_step, last_step; /* whole ones in there; last < first: none */
	uint64_t left_out;              /* of these, steps of which aond left out all but ranges */
	uint64_t held_ns; /* the recorder holds nothing from before; 0: it holds all */
};

/* What is asked for. */
struct node_want {
	uint64_t steps, ms, before_ms, timeout_ms;
	uint64_t from;              /* of steps: not before this one */
	uint64_t expires_s, cool_s; /* of a trigger */
	uint32_t count;
	bool keep; /* the trigger stays in aond */
};

struct node_capture {
	const struct opts *o;
	struct node_want want;
	char to[PATH_MAX];      /* file or folder */
	int ask;                /* owned: socket of aond; -1: none */
	uint64_t id;            /* 0: aond was not asked */
	uint64_t chosen;        /* processes */
	bool kept;              /* it was raised by an alarm: its time was kept */
	size_t armed;           /* that its trigger waits for, */
	char values[160];       /* and those of one of them */
	uint32_t times;         /* that it has fired and was written */
	uint64_t begin_ns;      /* CLOCK_MONOTONIC */
	char state[12];         /* last heard */
	char store[PATH_MAX];   /* aond's; "": look for it */
	char why[200];          /* it fired; "": at once */
	char error[96];         /* of the store; "": none */
	struct node_proc *proc; /* owned */
	size_t n, cap;
};

/* aon capture of aond's own: an exit status. */
int capture_node(const struct opts *o, const struct node_want *w);
int capture_node_keep(const struct opts *o, const struct node_want *w);
int capture_raised(const struct opts *o);
int capture_node_list(const struct opts *o);
int capture_node_cancel(const struct opts *o);

/* capture_trace.c: out of the store, into the file. An exit status. */
int capture_trace(struct node_capture *c);

#endif /* AON_CAPTURE_NODE_H */
