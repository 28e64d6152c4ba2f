/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - see ask.h. */
#include "fleet/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/vec.h"
#include "fleet/priv.h"

#define HOUR_NS UINT64_C(3600000000000)

void ask_where(struct sql *q, const struct fleet *f, const char *job)
{
	sql_add(q, "cluster = ");
	sql_text(q, f->cluster);
	if (!job)
		return;
	sql_add(q, " AND job = ");
	sql_text(q, job);
}

int ask_rows(const struct question *q, const char *fmt, ...)
{
	const char *from = fmt, *at;
	struct sql words, sql;
	va_list ap;

	sql_init(&words);
	for (; (at = strchr(from, '{')); from = strchr(at, '}') + 1) {
		sql_add(&words, "%.*s", (int)(at - from), from);
		if (!strncmp(at, "{hours}", 7))
			sql_add(&words, " AND hour_ns >= %" PRIu64 " AND hour_ns < %" PRIu64,
				q->span.from_ns / HOUR_NS * HOUR_NS, q->span.to_ns);
		else
			ask_where(&words, q->f, at[1] == 'j' ? q->job : NULL);
	}
	sql_add(&words, "%s", from);
	sql_init(&sql);
	va_start(ap, fmt);
	/* inserted texts have no percent sign: sql_text() escapes it */
	if (sql_done(&words) && sql.f)
		vfprintf(sql.f, words.text, ap);
	va_end(ap);
	sql_fini(&words);
	return ask_sql(q->f, &sql, q->types, q->most, q->fn, q->arg, q->why);
}

int ask_sql(struct fleet *f, struct sql *q, const char *types, uint64_t most, rowin_fn *fn,
	    void *arg, struct store_why *why)
{
	const char *text;
	int err;

	sql_add(q, " FORMAT RowBinary");
	text = sql_done(q);
	err = text ? fleet_ask(f, text, types, most, fn, arg, why) : -ENOMEM;

	sql_fini(q);
	return err;
}

void *ask_grow(void *array, size_t *n, size_t size)
{
	char **list = array;

	if (vec_more(array, *n, size) < 0)
		return NULL;
	return memset(*list + (*n)++ * size, 0, size);
}

void ask_word(char *out, size_t cap, const struct rowin_field *f)
{
	snprintf(out, cap, "%s", f->text);
}

static double sane(double v)
{
	return isfinite(v) && v > 0 ? v : 0;
}

void ask_sum(struct fleet_sum *s, const struct rowin_field *f)
{
	s->steps = f[0].u;
	s->step_ns = sane(f[1].d);
	s->compute_ns = sane(f[2].d);
	s->exposed_ns = sane(f[3].d);
	s->idle_ns = sane(f[4].d);
	s->lost_ns = sane(f[5].d);
}

void ask_sum_add(struct fleet_sum *into, const struct fleet_sum *s)
{
	into->steps += s->steps;
	into->held_ns += s->held_ns;
	into->step_ns += s->step_ns;
	into->compute_ns += s->compute_ns;
	into->exposed_ns += s->exposed_ns;
	into->idle_ns += s->idle_ns;
	into->lost_ns += s->lost_ns;
}
