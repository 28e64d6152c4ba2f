/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.c - the table `finding`: the findings of `aon why` for the store. It needs all events,
 * which takes time, so it is computed only when the table is read.
 */
#include "sql/static_tables.h"

#include <errno.h>
#include <stdio.h>

#include "insight/find/finding.h"
#include "store/trace.h"

static int go_on(void *arg, const struct trace *t)
{
	const struct sql_source *src = arg;

	if (t->events > src->memory_bytes / sizeof(*t->event))
		return -E2BIG;
	return source_late(src);
}

static void put(struct cells *c, const struct trace *t, const struct finding *f)
{
	char seen[FINDING_SEEN * (FINDING_TEXT + 2)] = "";
	size_t n = 0;

	for (size_t i = 0; i < FINDING_SEEN && *f->seen[i]; i++)
		n += (size_t)snprintf(seen + n, sizeof(seen) - n, "%s%s", i ? "; " : "",
				      f->seen[i]);
	cell_text(c, family_table[f->family].word);
	cell_text(c, f->title);
	cell_maybe(c, f->rank != TRACE_NO_RANK, f->rank);
	cell_maybe(c, !f->on->host, f->on->host ? 0 : (int64_t)t->device[f->on->device].device);
	cell_int(c, (int64_t)(f->cost_ns / f->steps));
	cell_text(c, f->on->account.steps ? "step" : "trace");
	cell_real(c, f->share);
	cell_text(c, sure_word[f->sure]);
	cell_maybe(c, f->gain_known, (int64_t)(f->gain_lo_ns / f->steps));
	cell_maybe(c, f->gain_known, (int64_t)(f->gain_hi_ns / f->steps));
	cell_text(c, seen);
	cell_text(c, f->action);
	cell_text(c, f->expect);
}

int source_insight(struct sql_source *src, struct trace **out, struct insight **in)
{
	struct trace *t;
	int err = trace_new(&t);

	if (err < 0)
		return err;
	err = store_trace(t, src->st, "the store", go_on, src);
	err = err < 0 ? err : trace_seal(t);
	err = err < 0 ? err : source_late(src);
	err = err < 0 ? err : insight_new(in, t);
	err = err < 0 ? err : source_late(src);
	*out = t;
	return err;
}

int fill_finding(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	struct findings *fs = NULL;
	struct insight *in = NULL;
	struct trace *t = NULL;
	int err = source_insight(src, &t, &in);

	(void)ask;
	err = err < 0 ? err : findings_new(&fs, in);
	for (size_t i = 0; err >= 0 && i < fs->n; i++) {
		cell_int(c, (int64_t)i + 1);
		put(c, t, &fs->f[i]);
	}
	findings_free(fs);
	insight_free(in);
	trace_free(t);
	return err < 0 ? err : c->err;
}
