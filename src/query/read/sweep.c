/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - computes a store's breakdown without loading its events; see sweep.h. */
#include "read/sweep.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "insight/sweep.h"
#include "model/trace_demangle.h"
#include "read/cuts.h"
#include "store/store.h"
#include "store/trace.h"

struct sweeping {
	struct trace *t;
	/* owned; created with the first event, when all tracks and names are known */
	struct sweep *s;
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

	if (err < 0)
		return err;
	if (!w)
		return sweep_flush(x->s);
	if (x->queues && (w->kind == EVENT_API || w->kind == EVENT_SYNC))
		return -EOPNOTSUPP;
	return sweep_add(x->s, w);
}

static int on_step(void *arg, uint32_t process, uint64_t start_ns, uint64_t dur_ns, uint32_t weight)
{
	struct sweeping *x = arg;
	int err = x->s ? 0 : begin(x);

	return err < 0 ? err : sweep_step(x->s, process, start_ns, dur_ns, weight);
}

int read_sweep(struct trace *t, struct store *st, const char *path, const struct store_filter *part,
	       bool queues, size_t stretch, struct insight **out)
{
	struct sweeping x = { .t = t, .queues = queues };
	uint64_t *cut;
	size_t cuts;
	int err = read_cuts(st, part, stretch, &cut, &cuts);

	err = err ? err : store_trace_work(t, st, path, part, cut, cuts, on_work, on_step, &x);
	if (!err && !x.s)
		err = begin(&x);
	err = err ? err : sweep_end(x.s, out);
	sweep_free(x.s);
	free(cut);
	return err;
}
