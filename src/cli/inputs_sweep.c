/* SPDX-License-Identifier: Apache-2.0 */
/* inputs_sweep.c - from a store to its breakdown, with no events between. */
#include <errno.h>

#include "read/demangle.h"
#include "cli/inputs.h"
#include "insight/sweep.h"
#include "store/trace.h"

struct sweeping {
	struct trace *t;
	struct sweep *s; /* owned; made with the first event, when all lanes and names are there */
	bool queues;
};

static int begin(struct sweeping *x)
{
	demangle_trace(x->t); /* the sweep takes classes from names */
	return sweep_new(&x->s, x->t);
}

static int on_work(void *arg, const struct work *w)
{
	struct sweeping *x = arg;
	int err = x->s ? 0 : begin(x);

	if (x->queues && (w->kind == EVENT_API || w->kind == EVENT_SYNC))
		return -EOPNOTSUPP;
	return err < 0 ? err : sweep_add(x->s, w);
}

int inputs_store_sweep(struct trace *t, struct store *st, const char *path, bool queues,
		       struct insight **out)
{
	struct sweeping x = { .t = t, .queues = queues };
	int err = store_trace_work(t, st, path, on_work, &x);

	if (!err && !x.s)
		err = begin(&x);
	err = err ? err : sweep_end(x.s, out);
	sweep_free(x.s);
	return err;
}
