/* SPDX-License-Identifier: Apache-2.0 */
/* api_telemetry.c - the telemetry of the node and its devices during a run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/order.h"
#include "base/vec.h"
#include "serve/api/api.h"
#include "serve/series.h"
#include "serve/http/url.h"
#include "store/store.h"

#define CELLS_DEFAULT 300u
#define CELLS_MOST    2000u
#define CHOSEN_MOST   128u
#define EVENTS_MOST   500u
#define GPUS          64u
/*
 * A larger difference means another boot, with another CLOCK_MONOTONIC. Setting the clock moves it
 * less.
 */
#define SAME_BOOT_NS 300000000000ll

static const struct usual {
	uint32_t metric;
	const char *name, *label;
} usuals[] = {
#define USUAL(metric, name, label) { metric, name, label },
#include "serve/metrics/default_metrics.tbl.h"
};
#define USUALS (sizeof(usuals) / sizeof(usuals[0]))

/* A requested series. */
struct chosen {
	struct series s;
	const struct usual *usual; /* its default metric; NULL: it is not one */
	int gpu;                   /* index of the NVIDIA GPU; -1: none */
	struct series_graph graph;
};

struct look {
	struct ask *q;
	struct json *j;
	struct series_graph_span span;
	struct chosen *chosen; /* owned, sorted by id */
	size_t n, left;        /* left: series that did not fit */
	uint64_t asked[CHOSEN_MOST];
	size_t asks;
	uint64_t gpus;       /* bit mask of the run's GPUs */
	char uuid[GPUS][48]; /* UUIDs of these GPUs, if known */
	size_t uuids;
	size_t events;
};

/* --- the GPUs of the run --- */

/* In "GPU-a,GPU-b" the first one is the process's device 0. */
static void take_uuid(struct look *x, const char *list, uint32_t device)
{
	for (; device && *list; device--)
		list += strcspn(list, ",") + (list[strcspn(list, ",")] == ',');
	if (*list && x->uuids < GPUS)
		snprintf(x->uuid[x->uuids++], sizeof(x->uuid[0]), "%.*s", (int)strcspn(list, ","),
			 list);
}

static int on_track(void *arg, const struct track *l)
{
	struct look *x = arg;
	const struct run *r = &x->q->run;

	for (size_t i = 0; l->device < GPUS && i < r->processes; i++) {
		if (r->process[i].id != l->process)
			continue;
		if (*r->process[i].ident.gpu_uuid)
			take_uuid(x, r->process[i].ident.gpu_uuid, l->device);
		else
			x->gpus |= 1ull << l->device;
	}
	return 0;
}

static int find_gpus(struct look *x)
{
	int err = 0;

	for (size_t i = 0; i < x->q->run.processes && !err; i++)
		err = store_each_track(x->q->run.src->st, x->q->run.process[i].id, on_track, x);
	return err;
}

static int gpu_of(const struct series *s)
{
	char gpu[16];

	if (strncmp(s->device, "nvidia", 6) ||
	    !series_label_get(s->labels, "gpu", gpu, sizeof(gpu)))
		return -1;
	return (int)(num_front(gpu, NULL) % 1000);
}

static bool of_run(const struct look *x, const struct series *s, int gpu)
{
	char uuid[64];

	if (gpu < 0)
		return true;
	if (series_label_get(s->labels, "UUID", uuid, sizeof(uuid)))
		for (size_t i = 0; i < x->uuids; i++)
			if (!strcmp(uuid, x->uuid[i]))
				return true;
	return gpu < (int)GPUS && x->gpus >> gpu & 1;
}

static const struct usual *usual_of(const struct look *x, const struct series *s)
{
	for (size_t i = 0; i < USUALS; i++)
		if (usuals[i].metric == s->metric && strstr(s->labels, usuals[i].label))
			return of_run(x, s, gpu_of(s)) && strcmp(s->device, "lo") ? &usuals[i]
										  : NULL;
	return NULL;
}

/* --- which series --- */

static bool is_asked(const struct look *x, const struct series *s)
{
	for (size_t i = 0; i < x->asks; i++)
		if (x->asked[i] == s->id)
			return true;
	return !x->asks && usual_of(x, s);
}

static int on_series(void *arg, const struct series *s)
{
	struct look *x = arg;
	const struct metric *m = metric_get(s->metric);
	int err;

	if (!m || !is_asked(x, s))
		return 0;
	if (x->n == CHOSEN_MOST) {
		x->left++;
		return 0;
	}
	if (vec_more(&x->chosen, x->n, sizeof(*x->chosen)) < 0)
		return -ENOMEM;
	x->chosen[x->n] = (struct chosen){ .s = *s, .usual = usual_of(x, s), .gpu = gpu_of(s) };
	err = series_graph_new(&x->chosen[x->n].graph, m, &x->span);
	x->n += !err;
	return err;
}

static struct chosen *chosen_of(struct look *x, uint32_t id)
{
	size_t lo = 0, hi = x->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (x->chosen[mid].s.id == id)
			return &x->chosen[mid];
		if (x->chosen[mid].s.id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* --- their values --- */

static int on_block(void *arg, const struct telemetry_block *b)
{
	struct look *x = arg;

	if (llabs(b->wall_offset_ns - x->q->run.wall_offset_ns) > SAME_BOOT_NS)
		return 0;
	for (uint32_t i = 0, end; i < b->changes; i = end) {
		struct chosen *c = chosen_of(x, b->change[i].series);

		for (end = i; end < b->changes && b->change[end].series == b->change[i].series;)
			end++;
		if (c)
			series_graph_block(&c->graph, &x->span, b, i, end);
	}
	return 0;
}

/* --- what happened --- */

static bool is_fault(const char *what, bool all)
{
	static const char *const words[] = { "xid", "ecc",  "gpu", "nvrm", "nvlink",
					     "mce", "edac", "aer", "link", "thermal" };
	/*
	 * Kinds of kernel log entries. They name programs, so not everybody may see
	 * them.
	 */
	static const char *const named[] = { "oom", "hung_task", "lockup", "disk" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(what, words[i]))
			return true;
	for (size_t i = 0; all && i < sizeof(named) / sizeof(named[0]); i++)
		if (!strcmp(what, named[i]))
			return true;
	return false;
}

static int on_entry(void *arg, const struct journal_entry *e)
{
	char text[ENTRY_TEXT];
	struct look *x = arg;
	const struct run *r = &x->q->run;
	uint64_t at = e->wall_ns - (uint64_t)r->wall_offset_ns,
		 end = x->span.from_ns + x->span.n * x->span.width_ns;

	if (at < x->span.from_ns || at >= end || x->events == EVENTS_MOST ||
	    !is_fault(entry_what(e), source_is_open_to(r->src, x->q->who)))
		return 0;
	x->events++;
	json_object(x->j, NULL, J_U64("at_ns", at - r->t0), J_STR("what", entry_what(e)),
		    J_STR("text", entry_text(e, text)));
	return 0;
}

/* --- answers --- */

static void name_json(struct json *j, const struct series *s, const struct usual *u, int gpu)
{
	const struct metric *m = metric_get(s->metric);

	json_members(j, J_U64("id", s->id), J_STR("metric", m->name), J_STR("device", s->device),
		     J_STR("labels", s->labels), J_I64_IF("gpu", gpu >= 0, gpu),
		     J_STR("unit", m->unit),
		     J_STR("how", m->type == METRIC_COUNTER ? "rate"
				  : metric_is_mask(m)       ? "mask"
							    : "value"),
		     J_STR("name", u ? u->name : NULL), J_BOOL("usual", u != NULL));
}

/* Hides devices without any activity: loopbacks, ports without a cable. */
static bool is_idle(const struct look *x, const struct chosen *c)
{
	if (x->asks || !*c->s.device || c->gpu >= 0 || c->graph.metric->type != METRIC_COUNTER)
		return false;
	for (uint32_t i = 0; i < x->span.n; i++)
		if (c->graph.cell[i].max > 0)
			return false;
	return true;
}

static bool is_empty(const struct look *x, const struct chosen *c)
{
	for (uint32_t i = 0; i < x->span.n; i++)
		if (c->graph.cell[i].ns > 0)
			return false;
	return !x->asks;
}

static int by_usual(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;
	unsigned gx = x->gpu < 0 ? GPUS : (unsigned)x->gpu,
		 gy = y->gpu < 0 ? GPUS : (unsigned)y->gpu;

	return cmp_num(gx, gy) ?: cmp_num(x->usual, y->usual) ?: cmp_num(x->s.id, y->s.id);
}

static void values_json(struct look *x)
{
	if (x->n)
		qsort(x->chosen, x->n, sizeof(*x->chosen), by_usual);
	json_members(x->j, J_U64("from_ns", x->span.from_ns - x->q->run.t0),
		     J_U64("width_ns", x->span.width_ns), J_U64("cells", x->span.n),
		     J_U64("left", x->left));
	json_open(x->j, "series", '[');
	for (size_t i = 0; i < x->n; i++) {
		const struct chosen *c = &x->chosen[i];

		if (is_empty(x, c) || is_idle(x, c))
			continue;
		json_open(x->j, NULL, '{');
		name_json(x->j, &c->s, c->usual, c->gpu);
		series_graph_json(x->j, "points", &c->graph, &x->span);
		json_close(x->j);
	}
	json_close(x->j);
}

static int read_ids(struct look *x, const char *list)
{
	size_t n;

	do {
		n = strspn(list, "0123456789");
		if (!n || n > 9 || x->asks == CHOSEN_MOST)
			return -EINVAL;
		x->asked[x->asks++] = num_front(list, NULL);
		list += n;
	} while (*list++ == ',');
	return list[-1] ? -EINVAL : 0;
}

static int read_args(struct look *x)
{
	struct ask *q = x->q;
	const char *list = url_get(&q->url, "series");
	uint64_t t0, t1, n = CELLS_DEFAULT, span = q->run.t1 - q->run.t0 + 1;

	if (ask_range(q, &t0, &t1) < 0 || ask_number(q, "n", 1, CELLS_MOST, &n) < 0)
		return -EINVAL;
	if (list && read_ids(x, list) < 0)
		return ask_mistake(q, "series is a list of up to %u ids, with commas", CHOSEN_MOST);
	t0 = t0 < span ? t0 : span;
	t1 = t1 < span ? t1 : span;
	x->span.from_ns = q->run.t0 + t0;
	x->span.width_ns = (t1 - t0 + n - 1) / n;
	x->span.width_ns += !x->span.width_ns;
	x->span.n = (uint32_t)((t1 - t0 + x->span.width_ns - 1) / x->span.width_ns);
	x->span.n += !x->span.n;
	return 0;
}

static int look_all(struct look *x)
{
	struct store *st = x->q->run.src->st;
	uint64_t from = x->span.from_ns, to = from + x->span.n * x->span.width_ns;
	int err = find_gpus(x);

	err = err ? err : store_each_series(st, 0, on_series, x);
	if (!err && x->n)
		err = store_each_telemetry(st,
					   from > SERIES_BEFORE_NS ? from - SERIES_BEFORE_NS : 0,
					   to + SERIES_BEFORE_NS, on_block, x);
	for (size_t i = 0; i < x->n && !err; i++)
		series_graph_end(&x->chosen[i].graph, &x->span);
	return err;
}

int api_telemetry(struct ask *q, struct json *j)
{
	struct look x = { .q = q, .j = j };
	int err = read_args(&x);

	/* Telemetry of a finished run may still arrive. */
	q->fleeting = true;
	err = err ? err : look_all(&x);
	if (!err) {
		values_json(&x);
		json_open(j, "events", '[');
		err = store_each_entry(q->run.src->st, on_entry, &x);
		json_close(j);
	}
	for (size_t i = 0; i < x.n; i++)
		series_graph_fini(&x.chosen[i].graph);
	free(x.chosen);
	return err;
}

/* --- the list of series --- */

static int list_series(void *arg, const struct series *s)
{
	struct look *x = arg;
	const struct metric *m = metric_get(s->metric);

	if (!m)
		return 0;
	json_open(x->j, NULL, '{');
	name_json(x->j, s, usual_of(x, s), gpu_of(s));
	json_str(x->j, "help", m->help);
	json_close(x->j);
	return 0;
}

int api_series(struct ask *q, struct json *j)
{
	struct look x = { .q = q, .j = j };
	int err = find_gpus(&x);

	q->fleeting = true;
	json_open(j, "series", '[');
	err = err ? err : store_each_series(q->run.src->st, 0, list_series, &x);
	json_close(j);
	return err;
}
