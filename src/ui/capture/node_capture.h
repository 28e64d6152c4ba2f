/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_capture.h - captures by aond itself, for the command, the page and orders of a cluster.
 *
 * Processes rise to tier full for a number of steps, or a time; the trace holds that time and what
 * was recorded before:
 *
 *	err = node_capture_begin(&c, run_dir);
 *	err = err ? err : node_capture_wait(&c, look, arg);
 *	err = err ? err : node_capture_store(&c, &t);
 *
 * aond identifies the client at its socket, and checks, limits, journals and audits the request;
 * the capture ends when the socket closes. Results are 0 or -errno, and then c.said explains it in
 * a line: -EINVAL wrong request, -ESRCH no such process, -ECANCELED cancelled. Different captures
 * may be used by different threads.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;
struct trace;

#define NODE_CAPTURE_MS 10000 /* aond answers within */

/* Defaults. */
#define NODE_TIMEOUT_MS 60000u
#define NODE_EXPIRES_S  3600u /* of a trigger */
#define NODE_COOL_S     60u
#define NODE_BEFORE_MS  5000u /* a trigger fires after the step that it is about */

/* A request: steps or ms; with neither the capture covers the past only, and aond is not asked. */
struct node_want {
	const char *pids, *ranks; /* "41,42"; NULL: all */
	const char *job;          /* NULL: any */
	const char *trigger;      /* NULL: at once */
	uint64_t steps, ms, before_ms, timeout_ms;
	uint64_t from;              /* of steps: not before this one */
	uint64_t expires_s, cool_s; /* of a trigger */
	uint32_t count;
	bool keep; /* the trigger stays in aond */
};

/* One process of a capture, by aond and by the store. */
struct node_proc {
	uint32_t pid, id;     /* id: of the store */
	int32_t rank;         /* -1: not known */
	char end[12];         /* "through", "left", "late"; "": only its past was there */
	uint64_t first, last; /* steps that it was to capture; 0: by time */
	uint64_t step;        /* that it has begun */
	uint64_t emitted, lost;

	char job[48];
	uint64_t from_ns, to_ns;        /* its part of the trace */
	uint64_t first_step, last_step; /* whole ones in there; last < first: none */
	uint64_t unsampled;             /* of these, unsampled: only their ranges were recorded */
	uint64_t held_ns;               /* the recorder holds nothing older; 0: it holds all */
};

struct node_capture {
	struct node_want want;  /* its texts are borrowed */
	int ask;                /* owned: socket of aond; -1: none */
	uint64_t id;            /* 0: aond was not asked */
	uint64_t chosen;        /* processes */
	bool kept;              /* an alarm started it: its events were protected */
	size_t armed;           /* that its trigger waits for, */
	char values[160];       /* and those of one of them */
	uint32_t times;         /* that it has fired and was written */
	uint64_t begin_ns;      /* CLOCK_MONOTONIC */
	char state[12];         /* last heard */
	char store[PATH_MAX];   /* aond's; "": not known */
	char why[200];          /* it fired; "": at once */
	char error[200];        /* of the store; "": none */
	char said[600];         /* why a call failed */
	struct node_proc *proc; /* owned */
	size_t n, cap;
};

void node_capture_init(struct node_capture *c, const struct node_want *w);
void node_capture_fini(struct node_capture *c);

/* Asks the aond of run_dir (NULL: that of the first pid, else the node's). */
int node_capture_begin(struct node_capture *c, const char *run_dir);
/* The socket alone, and a line on it: for those that begin nothing. */
int node_capture_open(struct node_capture *c, const char *run_dir);
int node_capture_ask(struct node_capture *c, const char *line);

/* Until it is done. `look` (NULL allowed) is called again and again; what it returns but 0 ends the capture. */
typedef int node_look_fn(void *arg, struct node_capture *c);
int node_capture_wait(struct node_capture *c, node_look_fn *look, void *arg);
/* Arms its trigger once more, after a time. */
int node_capture_again(struct node_capture *c);

/* Loads what that store recorded, as a trace that the caller frees; c->proc describes it. */
int node_capture_load(struct node_capture *c, struct store *st, const char *path,
		      struct trace **out);
/* The same out of aond's own store. */
int node_capture_store(struct node_capture *c, struct trace **out);

/* Tells what the capture lacks, a line each. `lacks`: a process gave less than requested. */
typedef void node_trouble_fn(void *arg, const char *line, bool lacks);
void node_capture_troubles(const struct node_capture *c, node_trouble_fn *fn, void *arg);
