/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.h - the stacks that were sent to the other side: each once, by the hash of its texts, so that
 * ranks that run the same program share them.
 */
#pragma once

#include "base/map.h"
#include "sample/natives.h"
#include "sample/thread.h"
#include "sample/wire.h"

/* Sends a message whole. 0, or -errno: it was not sent. */
typedef int send_fn(void *arg, const void *msg, size_t n);

#define INTERN_WAITING 128u

struct waiting;

struct intern {
	send_fn *send;
	void *arg;
	struct map ids;  /* owned: hash -> id */
	uint32_t *blame; /* owned, by id; room for .blame_cap */
	size_t blame_cap;
	uint32_t n;              /* stacks so far; ids are 1 to n, */
	uint32_t sent;           /* and of those up to `sent` the other side knows */
	struct natives *natives; /* borrowed */
	struct waiting *waiting[INTERN_WAITING]; /* owned: the others, for lines of their frames */
};

void intern_fini(struct intern *x);
/* There is no room for further ones: a new connection has room again. */
bool intern_full(const struct intern *x);

/*
 * Sends the stacks that wait, in order, as far as they wait for nothing; `now` all of them. True: all that
 * have an id are sent. False: samples of others must wait, too.
 */
bool intern_flush(struct intern *x, bool now);

/*
 * The id of the stack of a look. A new one is sent, or waits for lines. *id is 0 if there are no frames,
 * or the process has too many new stacks. -errno of send.
 */
int intern_stack(struct intern *x, struct process *p, struct look *look, uint64_t now_ns,
		 uint32_t *id);
/* The frame that is to blame in a stack that was sent; UINT32_MAX: none. */
uint32_t intern_blame(const struct intern *x, uint32_t id);
