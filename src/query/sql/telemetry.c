/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry.c - the table of telemetry: a row for each change of a series. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "model/telemetry.h"
#include "sql/static_tables.h"

struct fill_telemetry {
	struct cells *c;
	struct series *series; /* owned, by id; metric 0: none */
	/* owned, by id: the last value, which blocks repeat at their begin */
	double *last;
	size_t n;
};

static int add_series(void *arg, const struct series *s)
{
	struct fill_telemetry *f = arg;
	size_t had = f->n, n = had;

	if (vec_room0(&f->series, &n, (size_t)s->id + 1, sizeof(*f->series)) < 0 ||
	    vec_room(&f->last, &f->n, n, sizeof(*f->last)) < 0)
		return -ENOMEM;
	for (size_t i = had; i < f->n; i++)
		f->last[i] = NAN;
	f->series[s->id] = *s;
	return 0;
}

static int add_block(void *arg, const struct telemetry_block *b)
{
	struct fill_telemetry *f = arg;

	for (uint32_t i = 0; i < b->changes && !f->c->err; i++) {
		const struct change *ch = &b->change[i];
		const struct metric *m;

		if (ch->series >= f->n || !f->series[ch->series].metric ||
		    f->last[ch->series] == ch->value)
			continue;
		m = metric_get(f->series[ch->series].metric);
		f->last[ch->series] = ch->value;
		cell_int(f->c, (int64_t)(b->tick_ns[ch->tick] + (uint64_t)b->wall_offset_ns));
		cell_text(f->c, m ? m->name : "?");
		cell_text(f->c, f->series[ch->series].device);
		cell_text(f->c, f->series[ch->series].labels);
		cell_text(f->c, m ? m->unit : "");
		if (isnan(ch->value))
			cell_null(f->c);
		else
			cell_real(f->c, ch->value);
	}
	return f->c->err;
}

int fill_telemetry(struct cells *c, struct sql_source *src, const struct small_ask *ask)
{
	struct fill_telemetry f = { .c = c };
	int err = store_each_series(src->st, 0, add_series, &f);

	(void)ask;
	err = err ? err : store_each_telemetry(src->st, 0, 0, add_block, &f);
	free(f.series);
	free(f.last);
	return err;
}
