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

struct intern {
	send_fn *send;
	void *arg;
	struct map ids;          /* owned: hash -> id, blame << 32 */
	uint32_t n;              /* stacks so far; ids are 1 to n */
	struct natives *natives; /* borrowed */
};

void intern_fini(struct intern *x);
/* There is no room for further ones: a new connection has room again. */
bool intern_full(const struct intern *x);

/*
 * The id of the stack of a look, sent if it is new, and the frame that is to blame (UINT32_MAX:
 * none). *id is 0 if there are no frames, or the process has too many new stacks. -errno of send.
 */
int intern_stack(struct intern *x, struct process *p, struct look *look, uint64_t now_ns,
		 uint32_t *id, uint32_t *blame);
