/* SPDX-License-Identifier: Apache-2.0 */
/* ask_running.c - running jobs, their newest steps, a rank's state: aon diagnose --follow. */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/step_rec.h"

#define PARTIAL "bitAnd(flags, 8)" /* STEP_F_PARTIAL */
_Static_assert(STEP_F_PARTIAL == 8, "the questions say so");

static int on_running(void *arg, const struct rowin_field *f)
{
	struct fleet_runnings *rs = arg;
	struct fleet_running *x = ask_grow(&rs->r, &rs->n, sizeof(*x));

	if (!x)
		return -ENOMEM;
	ask_word(x->job, sizeof(x->job), &f[0]);
	x->world = f[1].u < UINT32_MAX ? (uint32_t)f[1].u : 0;
	x->live = f[2].u != 0;
	x->begin_ns = f[3].u;
	x->end_ns = f[4].u;
	return 0;
}

int fleet_running(struct fleet_runnings *out, struct fleet *f, const char *job, uint64_t since_ns,
		  size_t most, struct store_why *why)
{
	struct fleet_runnings rs = { .n = 0 };
	int err = ask_rows(
		&(struct question){ f, job, { 0 }, "sqqqq", most, on_running, &rs, why },
		"SELECT job, toUInt64(greatest(max(w), max(r) + 1)), sum(l), min(b), max(e) "
		"FROM (SELECT job, proc, max(toInt64(world)) AS w, max(toInt64(rank)) AS r, "
		"toUInt64(argMax(live, end_ns)) AS l, min(begin_ns) AS b, max(end_ns) AS e "
		"FROM process WHERE {job} AND job != '' AND end_ns >= %" PRIu64
		" GROUP BY job, proc) WHERE r >= 0 GROUP BY job ORDER BY job LIMIT %zu",
		since_ns, most);

	if (err)
		free(rs.r);
	else
		*out = rs;
	return err;
}

struct steps {
	fleet_new_step_fn *fn;
	void *arg;
};

static int on_new_step(void *arg, const struct rowin_field *f)
{
	const struct steps *x = arg;
	struct fleet_new_step s = { f[0].u, f[1].u, f[2].u, f[3].u };

	return x->fn(x->arg, &s);
}

int fleet_new_steps(struct fleet *f, const char *job, uint64_t first, uint64_t from_ns, size_t most,
		    fleet_new_step_fn *fn, void *arg, struct store_why *why)
{
	struct steps x = { fn, arg };

	return ask_rows(&(struct question){ f, job, { 0 }, "qqqq", most, on_new_step, &x, why },
			"SELECT toUInt64(step), toUInt64(countIf(" PARTIAL
			" = 0)), toUInt64(countIf(" PARTIAL
			" != 0)), min(t_ns) FROM step WHERE {job} AND step >= %" PRIu64
			" AND t_ns >= %" PRIu64
			" AND rec != '' GROUP BY step ORDER BY step LIMIT %zu",
			first, from_ns, most);
}

struct newest {
	struct step_rec *rec; /* owned */
	size_t n;
};

static int on_partial(void *arg, const struct rowin_field *f)
{
	struct newest *x = arg;
	struct step_rec r, *to;

	if (step_rec_decode(&r, f[0].text, f[0].len) < 0)
		return 0;
	to = ask_grow(&x->rec, &x->n, sizeof(*to));
	if (to)
		*to = r;
	return to ? 0 : -ENOMEM;
}

int fleet_stand(struct step_rec **out, size_t *n, struct fleet *f, const char *job, uint64_t first,
		uint64_t from_ns, size_t most, struct store_why *why)
{
	struct newest x = { .n = 0 };
	int err = ask_rows(
		&(struct question){ f, job, { 0 }, "s", most, on_partial, &x, why },
		"SELECT rec FROM step WHERE {job} AND step >= %" PRIu64 " AND t_ns >= %" PRIu64
		" AND " PARTIAL
		" != 0 AND rec != '' ORDER BY rank, step DESC, bitAnd(flags, %u) DESC, seq "
		"DESC LIMIT 1 BY rank LIMIT %zu",
		first, from_ns, (unsigned)STEP_F_GONE, most);

	if (err) {
		free(x.rec);
		return err;
	}
	*out = x.rec;
	*n = x.n;
	return 0;
}

struct gones {
	uint32_t *rank; /* owned */
	size_t n;
};

static int on_gone(void *arg, const struct rowin_field *f)
{
	struct gones *x = arg;
	uint32_t *to = ask_grow(&x->rank, &x->n, sizeof(*to));

	if (to)
		*to = (uint32_t)f[0].u;
	return to ? 0 : -ENOMEM;
}

int fleet_gone(uint32_t **rank, size_t *n, struct fleet *f, const char *job, uint64_t from_ns,
	       size_t most, struct store_why *why)
{
	struct gones x = { .n = 0 };
	int err = ask_rows(
		&(struct question){ f, job, { 0 }, "q", most, on_gone, &x, why },
		"SELECT toUInt64(rank) FROM process WHERE {job} AND rank >= 0 AND end_ns >= "
		"%" PRIu64 " GROUP BY rank HAVING argMax(live, end_ns) = 0 ORDER BY rank LIMIT %zu",
		from_ns, most);

	if (err) {
		free(x.rank);
		return err;
	}
	*rank = x.rank;
	*n = x.n;
	return 0;
}

static int on_place(void *arg, const struct rowin_field *f)
{
	struct fleet_place *p = arg;

	ask_word(p->host, sizeof(p->host), &f[0]);
	p->proc = f[1].u;
	return 0;
}

int fleet_place(struct fleet_place *out, struct fleet *f, const char *job, uint32_t rank,
		struct store_why *why)
{
	struct fleet_place p = { .proc = 0 };
	int err = ask_rows(&(struct question){ f, job, { 0 }, "sq", 1, on_place, &p, why },
			   "SELECT host, proc FROM process WHERE {job} AND rank = %" PRIu32
			   " ORDER BY end_ns DESC LIMIT 1",
			   rank);

	if (!err)
		*out = p;
	return err;
}
