/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler.h - aond's side of aon-sample: says whom to sample, takes what it says, keeps it alive.
 *
 *	sampler.c          the connection at sample.sock (sample/wire.h): samples become events
 *	sampler_targets.c  the threads of live processes, and how often; the budget
 *	sampler_child.c    aon-sample as a child, where aond itself may read its clients
 *
 * One sampler at a time: a child, or the node's service (deploy/aon-sample.service.in), which has the
 * capability that aond does not have. It reads the memory of strangers: nothing that it says is believed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/map.h"
#include "daemon/budget/shed.h"
#include "daemon/core/loop.h"
#include "daemon/sample/preempt.h"
#include "sample/wire.h"

#define SAMPLER_RATE    (4u << 20) /* bytes that it may say in a second */
#define SAMPLER_HOLDERS 64u        /* threads that were not asked for, but held a GIL */
#define SAMPLER_OFF     5u         /* level at which nothing is sampled */

struct aond;
struct json;

/* A thread that it was asked for, or that held a GIL. */
struct sampled_thread {
	uint32_t pid, tid, own_tid; /* own_tid: as the process calls it */
	uint64_t sess;              /* id of its session */
};

/* A stack of the connection: under its number - 1. */
struct sampled_stack {
	uint32_t id;     /* in the store; 0: it has no room */
	uint32_t n;      /* frames */
	uint32_t blame;  /* the frame that `text` is of */
	uint32_t text;   /* name of that frame as one is blamed: with its file and line */
	uint32_t *names; /* owned: names of its functions */
};

struct sampler {
	struct aond *aond;           /* borrowed */
	struct watch listen, conn;   /* fds owned; -1: none */
	pid_t peer;                  /* of the connection */
	uint64_t bytes;              /* said in this second */
	bool deaf;                   /* until the next one */
	struct sampled_stack *stack; /* owned; of the connection */
	size_t stacks, stacks_cap;
	uint64_t seed;
	struct map names; /* hash of a text: its id in the store. As many as samples may use */
	bool names_full;  /* there were more */
	/* The list of its last message, and whether that was sent. */
	struct swire_target target[SWIRE_TARGETS];
	struct sampled_thread thread[SWIRE_TARGETS];
	struct sampled_thread holder[SAMPLER_HOLDERS];
	size_t targets, last, holders;
	struct map users;   /* by user + 1: its threads in the list, + 1 */
	struct map waiting; /* by pid: those that may wait for their workers */
	bool told;
	int64_t budget; /* the last one that was sent, permille of a CPU; -1: none yet */
	struct preempt preempt;
	uint64_t looked; /* ns of this second, for threads' numbers */
	/* What it said of itself. */
	uint64_t cpu_ns, missed;
	char reason[SWIRE_REASON + 1]; /* why some cannot be sampled; "": all can */
	/* The budget. */
	struct shed shed;
	uint32_t level, calm_s; /* 0 to SAMPLER_OFF */
	uint64_t moves, cpu_before_ns;
	double percent; /* of a core, lately */
	/* The child. */
	const char *run_dir; /* borrowed */
	bool ours;           /* aond itself is to start it */
	pid_t child;
	uint64_t child_ns, next_ns; /* when it was started; not again before */
	uint32_t wait_s;
	bool missing; /* it is not installed */
};

/* Owns `listen_fd` from here on, unless it fails. */
int sampler_init(struct sampler *s, struct aond *d, int listen_fd);
void sampler_fini(struct sampler *s);               /* ends the child, too */
void sampler_tick(struct sampler *s, uint64_t now); /* every second */
double sampler_percent(const struct sampler *s);    /* CPU of a core */
void sampler_json(const struct sampler *s, struct json *j);
/* One line: does it sample, and if not, or not all, why. "": nothing is to be said. */
const char *sampler_why(const struct sampler *s);

/* --- between its files --- */
void sampler_aim(struct sampler *s, uint64_t now); /* makes the list, tells it if it is new */
void sampler_budget(struct sampler *s, uint64_t now);
/* Starts it where it is needed, ends it where it is not `on`, reaps it. */
void sampler_child(struct sampler *s, uint64_t now, bool on);
void sampler_child_end(struct sampler *s);
/* The thread, or NULL. `held`: it may be one that was not asked for. */
const struct sampled_thread *sampler_thread(struct sampler *s, uint32_t pid, uint32_t tid,
					    bool held);
