/* SPDX-License-Identifier: Apache-2.0 */
/* ask_record.c - reads records of a job's steps for the diagnosis, a step's ranks together. */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/step_rec.h"

#define AT_ONCE 40000u /* records per query: about 24 MiB */

struct records {
	struct step_rec *rec; /* owned: records of the step that is being read */
	size_t n;
	fleet_step_fn *fn;
	void *arg;
	uint64_t undecoded;
};

static int give(struct records *x)
{
	int err = x->n ? x->fn(x->arg, x->rec, x->n) : 0;

	free(x->rec);
	x->rec = NULL;
	x->n = 0;
	return err;
}

static int on_record(void *arg, const struct rowin_field *f)
{
	struct records *x = arg;
	struct step_rec r, *to;
	int err = 0;

	if (step_rec_decode(&r, f[0].text, f[0].len) < 0) {
		x->undecoded++;
		return 0;
	}
	if (x->n && x->rec[0].step != r.step)
		err = give(x);
	to = err ? NULL : ask_grow(&x->rec, &x->n, sizeof(*to));
	if (to)
		*to = r;
	return err ? err : to ? 0 : -ENOMEM;
}

int fleet_records(struct fleet *f, const char *job, uint32_t ranks, uint64_t first, uint64_t last,
		  fleet_step_fn *fn, void *arg, struct store_why *why)
{
	uint64_t steps = ranks && ranks < AT_ONCE ? AT_ONCE / ranks : 1;
	struct records x = { .fn = fn, .arg = arg };
	int err = 0;

	for (uint64_t at = first; at <= last && !err; at += steps) {
		uint64_t end = last - at < steps ? last : at + steps - 1;

		err = ask_rows(
			&(struct question){ f, job, { 0 }, "s", 2 * AT_ONCE, on_record, &x, why },
			"SELECT rec FROM step WHERE {job} AND step >= %" PRIu64
			" AND step <= %" PRIu64 " AND rec != '' ORDER BY step, rank",
			at, end);
		err = err ? err : give(&x);
	}
	free(x.rec);
	return err;
}
