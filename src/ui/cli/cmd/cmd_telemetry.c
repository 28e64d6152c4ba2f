/* SPDX-License-Identifier: Apache-2.0 */
/* aon telemetry - what collectors measured, from a store. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/num.h"
#include "base/order.h"
#include "base/vec.h"
#include "cli/cluster/fleet_ask.h"
#include "cli/core/locate.h"
#include "cli/core/out.h"
#include "model/telemetry.h"
#include "store/store.h"

#define SINCE_S   300u
#define SINCE_MAX 31536000u

/* A series as it was in the time that is asked for. */
struct line {
	struct series s;
	const struct metric *metric;  /* NULL: not asked for */
	double last, min, max, sum_s; /* sum_s: value times seconds */
	double seconds;
	uint64_t at_ns; /* of the last change */
	uint64_t changes;
	bool there; /* at the end */
};

struct show {
	const struct opts *opts;
	const struct out *out;
	struct json *j;    /* NULL: text */
	struct line *line; /* owned, by id */
	size_t lines;
	uint64_t from_ns, last_ns;
	int64_t wall_offset_ns;
	size_t shown;
};

static bool asked(const struct show *x, const struct series *s, const struct metric *m)
{
	const char *metric = x->opts->val[OPT_OFMETRIC], *device = x->opts->val[OPT_OFDEVICE];

	if (metric && !strcasestr(m->name, metric))
		return false;
	return !device || strcasestr(s->device, device) || strcasestr(s->labels, device);
}

static int on_series(void *arg, const struct series *s)
{
	struct show *x = arg;
	const struct metric *m = metric_get(s->metric);

	if (vec_room0(&x->line, &x->lines, (size_t)s->id + 1, sizeof(*x->line)) < 0)
		return -ENOMEM;
	if (m && asked(x, s, m))
		x->line[s->id] = (struct line){
			.s = *s, .metric = m, .last = NAN, .min = INFINITY, .max = -INFINITY
		};
	return 0;
}

/* A line of --changes. */
static void show_change(struct show *x, const struct line *l, const struct telemetry_block *b,
			const struct change *c)
{
	uint64_t wall = b->tick_ns[c->tick] + (uint64_t)b->wall_offset_ns;
	char when[FMT_LEN], value[32] = "gone";

	x->shown++;
	fmt_wall(when, wall);
	if (!isnan(c->value))
		snprintf(value, sizeof(value), "%.15g", c->value);
	if (!x->j) {
		printf("%.19s.%03uZ  %-44s %-12s %s%s%s\n", when,
		       (unsigned)(wall / 1000000u % 1000u), l->metric->name, l->s.device, value,
		       *l->s.labels ? "  " : "", l->s.labels);
		return;
	}
	json_open(x->j, NULL, '{');
	json_members(x->j, J_U64("wall_ns", wall), J_STR("metric", l->metric->name),
		     J_STR("device", l->s.device), J_STR("labels", l->s.labels));
	if (isnan(c->value))
		json_null(x->j, "value");
	else
		json_double(x->j, "value", c->value);
	json_close(x->j);
}

/* Its value held from that tick to the next change, or the block's end. */
static void add(struct show *x, struct line *l, const struct telemetry_block *b, uint32_t i)
{
	const struct change *c = &b->change[i];
	bool more = i + 1 < b->changes && b->change[i + 1].series == c->series;
	uint64_t from = b->tick_ns[c->tick],
		 to = b->tick_ns[more ? b->change[i + 1].tick : b->ticks - 1];

	if (to < x->from_ns)
		return;
	from = from < x->from_ns ? x->from_ns : from;
	if (x->opts->val[OPT_CHANGES]) {
		/* The first tick of a block repeats what is there. */
		if (!(c->tick == 0 && l->changes && l->last == c->value))
			show_change(x, l, b, c);
	}
	l->changes++;
	l->there = !isnan(c->value);
	if (!l->there)
		return;
	l->last = c->value;
	l->at_ns = from;
	l->min = c->value < l->min ? c->value : l->min;
	l->max = c->value > l->max ? c->value : l->max;
	l->sum_s += c->value * (double)(to - from) / 1e9;
	l->seconds += (double)(to - from) / 1e9;
}

static int on_block(void *arg, const struct telemetry_block *b)
{
	struct show *x = arg;

	x->last_ns = b->tick_ns[b->ticks - 1];
	x->wall_offset_ns = b->wall_offset_ns;
	for (uint32_t i = 0; i < b->changes; i++) {
		uint32_t id = b->change[i].series;

		if (id < x->lines && x->line[id].metric)
			add(x, &x->line[id], b, i);
	}
	return 0;
}

static int on_end(void *arg, const struct telemetry_block *b)
{
	uint64_t end = b->tick_ns[b->ticks - 1], *last = arg;

	*last = end > *last ? end : *last;
	return 0;
}

static struct show *sorting;

static int by_metric(const void *a, const void *b)
{
	const struct line *x = &sorting->line[*(const uint32_t *)a],
			  *y = &sorting->line[*(const uint32_t *)b];

	return strcmp(x->metric->name, y->metric->name) ?:
	       strverscmp(x->s.device, y->s.device) ?: strcmp(x->s.labels, y->s.labels);
}

static void show_json(struct json *j, const struct line *l)
{
	json_object(j, NULL, J_STR("metric", l->metric->name), J_U64("number", l->metric->number),
		    J_STR("unit", l->metric->unit), J_STR("device", l->s.device),
		    J_STR("labels", l->s.labels), J_BOOL("there", l->there),
		    J_DOUBLE("last", l->last), J_DOUBLE("min", l->min),
		    J_DOUBLE("mean", l->seconds > 0 ? l->sum_s / l->seconds : l->last),
		    J_DOUBLE("max", l->max), J_U64("changes", l->changes));
}

static void show_text(const struct show *x, const struct line *l, const char **head)
{
	double mean = l->seconds > 0 ? l->sum_s / l->seconds : l->last;
	char who[96], clean[128];

	if (*head != l->metric->name) {
		if (*head)
			putchar('\n');
		out_line(x->out, OUT_BOLD, "%s%s%s%s", l->metric->name,
			 *l->metric->unit ? "  (" : "", l->metric->unit,
			 *l->metric->unit ? ")" : "");
	}
	*head = l->metric->name;
	snprintf(who, sizeof(who), "%.40s%s%.50s", l->s.device,
		 *l->s.device && *l->s.labels ? "  " : "", l->s.labels);
	if (l->metric->type == METRIC_GAUGE)
		printf("  %-64s %14.10g  %.6g .. %.6g .. %.6g%s\n",
		       fmt_clean(clean, sizeof(clean), who, x->out->ascii), l->last, l->min, mean,
		       l->max, l->there ? "" : "  gone");
	else
		printf("  %-64s %14.10g  +%.10g%s\n",
		       fmt_clean(clean, sizeof(clean), who, x->out->ascii), l->last,
		       l->max - l->min, l->there ? "" : "  gone");
}

static int show_all(struct show *x)
{
	uint32_t *order = calloc(x->lines + 1, sizeof(*order));
	const char *head = NULL;
	size_t n = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < x->lines; i++)
		if (x->line[i].metric && x->line[i].max >= x->line[i].min)
			order[n++] = (uint32_t)i;
	sorting = x;
	qsort(order, n, sizeof(*order), by_metric);
	for (size_t i = 0; i < n; i++) {
		if (x->j)
			show_json(x->j, &x->line[order[i]]);
		else
			show_text(x, &x->line[order[i]], &head);
	}
	x->shown = n;
	free(order);
	return 0;
}

static int look(struct store *st, struct show *x, uint64_t since_s)
{
	uint64_t last = 0, newest = 0;
	int err = store_last_telemetry(st, &newest);

	/* The end is that of the newest block, whatever the clock says now. */
	newest = newest > 64 ? newest - 64 : 0;
	err = err ? err : store_new_telemetry(st, &newest, on_end, &last);
	x->from_ns = last > since_s * 1000000000u ? last - since_s * 1000000000u : 0;
	err = err ? err : store_each_series(st, 0, on_series, x);
	err = err ? err : store_each_telemetry(st, x->from_ns, 0, on_block, x);
	return err || x->opts->val[OPT_CHANGES] ? err : show_all(x);
}

static int since_of(const struct opts *o, uint64_t *out)
{
	const char *text = o->val[OPT_SINCE];

	*out = SINCE_S;
	return text ? num_u64(text, 1, SINCE_MAX, out) : 0;
}

int cmd_telemetry(const struct opts *o)
{
	struct show x = { .opts = o };
	char path[PATH_MAX];
	uint64_t since_s;
	struct store *st;
	struct json j;
	struct out out;
	int rc, err;

	if (o->argc > 1)
		return cli_misuse("takes one store, not '%s' too", o->argv[1]);
	if (since_of(o, &since_s) < 0)
		return cli_misuse("--since takes seconds, 1 to %u, not '%s'", SINCE_MAX,
				  o->val[OPT_SINCE]);
	if (fleet_listed(o))
		return fleet_list_cmd(o);
	rc = fleet_not_asked(o);
	if (rc == CLI_OK)
		rc = locate_open(o->argc ? o->argv[0] : NULL, &st, path);
	if (rc != CLI_OK)
		return rc;
	out_init(&out, stdout, o);
	x.out = &out;
	if (o->val[OPT_JSON]) {
		x.j = &j;
		json_begin(&j, stdout, "aon.telemetry/1");
		json_str(&j, "store", path);
		json_open(&j, o->val[OPT_CHANGES] ? "changes" : "series", '[');
	}
	err = look(st, &x, since_s);
	if (x.j)
		json_end(&j);
	if (err < 0)
		rc = locate_broke(path, err);
	else if (!x.shown)
		rc = cli_say(CLI_UNSURE,
			     "%s: nothing%s was measured in the last %" PRIu64
			     " s. Is aon-collect running?",
			     path, o->val[OPT_OFMETRIC] || o->val[OPT_OFDEVICE] ? " of that" : "",
			     since_s);
	free(x.line);
	store_close(st);
	return rc;
}
