/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry.c - see telemetry.h. */
#include "serve/telemetry.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/vec.h"
#include "model/telemetry.h"
#include "serve/serve.h"
#include "store/store.h"

/* blocks to read before the first scrape: collectors repeat every value within them */
#define FIRST   128u
#define OLD_NS  30000000000ull /* a value is dropped if no collector confirmed it for this long */
#define SERIES  65536u
#define GPUS    64u
#define JOB_LEN 64u

struct line {
	const struct metric *metric; /* NULL: no such series */
	char *text;                  /* owned: "name{labels} "; NULL: must be formatted */
	char *labels;                /* owned */
	double value;
	uint64_t seen_ns; /* when it last had this value */
	uint32_t gpu;     /* index of an NVIDIA GPU; GPUS: none */
};

/* The telemetry of one store. */
struct part {
	struct line *line; /* owned, by series id */
	size_t lines;
	uint32_t last;
	uint32_t *order; /* owned: series ids, sorted by metric */
	uint32_t ordered;
	uint64_t after; /* the last block that was read */
	char job[GPUS][JOB_LEN], pod[GPUS][JOB_LEN];
	uint64_t jobs_of; /* checksum of the processes that the labels name */
};

struct tele {
	struct part *part; /* owned, by source */
	size_t parts;
	bool begun;
	char host[64];
};

int tele_new(struct tele **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

static void part_fini(struct part *p)
{
	for (uint32_t i = 0; i < p->lines; i++) {
		free(p->line[i].text);
		free(p->line[i].labels);
	}
	free(p->line);
	free(p->order);
}

void tele_free(struct tele *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->parts; i++)
		part_fini(&t->part[i]);
	free(t->part);
	free(t);
}

/* --- series --- */

static int grow(struct part *p, uint32_t id)
{
	return id > SERIES ? -E2BIG
			   : vec_room0(&p->line, &p->lines, (size_t)id + 1, sizeof(*p->line));
}

static int on_series(void *arg, const struct series *s)
{
	struct part *p = arg;
	const struct metric *m = metric_get(s->metric);
	char all[SERIES_DEVICE_MAX + SERIES_LABELS_MAX + 64] = "", gpu[16];
	struct line *l;
	int err = grow(p, s->id);

	p->last = s->id > p->last ? s->id : p->last;
	if (err == -E2BIG || !m)
		return 0;
	if (err)
		return err;
	l = &p->line[s->id];
	if (*s->device && m->device[0])
		snprintf(all, sizeof(all), "%s=\"%s\"", m->device, s->device);
	if (*s->labels)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", *all ? "," : "",
			 s->labels);
	free(l->labels);
	l->labels = strdup(all);
	if (!l->labels)
		return -ENOMEM;
	l->metric = m;
	l->value = NAN;
	l->gpu = GPUS;
	if (!strncmp(s->device, "nvidia", 6) &&
	    series_label_get(s->labels, "gpu", gpu, sizeof(gpu)))
		l->gpu = (uint32_t)num_front(gpu, NULL) < GPUS ? (uint32_t)num_front(gpu, NULL)
							       : GPUS;
	return 0;
}

static struct part *sorting; /* guarded by the lock of metrics.c */

static int by_metric(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct metric *m = sorting->line[x].metric, *n = sorting->line[y].metric;

	if (m != n)
		return m->number < n->number ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int sort(struct part *p)
{
	uint32_t n = 0;

	if (vec_resize(&p->order, p->lines + 1, sizeof(*p->order)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->lines; i++)
		if (p->line[i].metric)
			p->order[n++] = i;
	sorting = p;
	qsort(p->order, n, sizeof(*p->order), by_metric);
	p->ordered = n;
	return 0;
}

/* --- values --- */

/* Changes are sorted by series, then tick: the last change of a series is its current value. */
static int on_block(void *arg, const struct telemetry_block *b)
{
	struct part *p = arg;

	for (uint32_t i = 0; i < b->changes; i++) {
		const struct change *c = &b->change[i];

		if (i + 1 < b->changes && b->change[i + 1].series == c->series)
			continue;
		if (c->series >= p->lines || !p->line[c->series].metric)
			continue;
		/*
		 * A complete block replaces its partial ones: it has nothing older than they had.
		 */
		if (b->tick_ns[b->ticks - 1] < p->line[c->series].seen_ns)
			continue;
		p->line[c->series].value = c->value;
		p->line[c->series].seen_ns = b->tick_ns[b->ticks - 1];
	}
	return 0;
}

/* --- the job on each GPU --- */

struct users {
	struct part *p;
	const struct process *process;
	size_t processes;
	char (*job)[JOB_LEN], (*pod)[JOB_LEN];
};

static int on_track(void *arg, const struct track *l)
{
	struct users *u = arg;

	if (l->device >= GPUS)
		return 0;
	for (size_t i = 0; i < u->processes; i++)
		if (u->process[i].id == l->process && u->process[i].connected)
			snprintf(u->job[l->device], JOB_LEN, "%.63s", u->process[i].job);
	return 0;
}

struct seen {
	struct process *process; /* owned */
	size_t n;
	uint64_t sum;
};

static int on_process(void *arg, const struct process *p)
{
	struct seen *s = arg;

	if (!p->connected || !*p->job)
		return 0;
	if (vec_more(&s->process, s->n, sizeof(*s->process)) < 0)
		return -ENOMEM;
	s->process[s->n++] = *p;
	s->sum = hash_mix(hash_mix(s->sum, p->id), p->first_ns);
	return 0;
}

/* Labels are made again when other jobs use the GPUs. */
static int find_jobs(struct part *p, struct store *st)
{
	struct seen s = { .sum = 1 };
	int err = store_each_process(st, on_process, &s);

	if (!err && s.sum != p->jobs_of) {
		struct users u = { p, s.process, s.n, p->job, p->pod };

		memset(p->job, 0, sizeof(p->job));
		err = s.n ? store_each_track(st, 0, on_track, &u) : 0;
		for (uint32_t i = 0; i < p->lines; i++) {
			free(p->line[i].text);
			p->line[i].text = NULL;
		}
		p->jobs_of = s.sum;
	}
	free(s.process);
	return err;
}

static int gather_part(struct tele *t, struct part *p, struct store *st)
{
	uint32_t had = p->last;
	uint64_t last = 0;
	int err = store_each_series(st, p->last, on_series, p);

	if (!err && p->last != had)
		err = sort(p);
	if (!err && !t->begun) {
		err = store_last_telemetry(st, &last);
		p->after = last > FIRST ? last - FIRST : 0;
	}
	err = err ? err : store_new_telemetry(st, &p->after, on_block, p);
	return err || !p->ordered ? err : find_jobs(p, st);
}

int tele_gather(struct tele *t, struct serve *s)
{
	int err = 0;

	if (!t->part) {
		t->part = calloc(s->sources + 1, sizeof(*t->part));
		if (!t->part)
			return -ENOMEM;
		t->parts = s->sources;
		snprintf(t->host, sizeof(t->host), "%s", s->host);
	}
	for (size_t i = 0; i < t->parts && !err; i++)
		err = gather_part(t, &t->part[i], s->source[i]->st);
	t->begun |= !err;
	return err;
}

/* --- text --- */

static bool live(const struct line *l, uint64_t now)
{
	return l->metric && !isnan(l->value) && l->seen_ns + OLD_NS > now;
}

bool tele_has(const struct tele *t, uint32_t metric)
{
	uint64_t now = clock_mono_ns();

	for (size_t i = 0; i < t->parts; i++)
		for (uint32_t k = 0; k < t->part[i].ordered; k++) {
			const struct line *l = &t->part[i].line[t->part[i].order[k]];

			if (l->metric->number == metric && live(l, now))
				return true;
		}
	return false;
}

static const char *text_of(const struct tele *t, const struct part *p, struct line *l)
{
	char more[2 * JOB_LEN + SERIES_LABELS_MAX + 1] = "", *text = NULL;

	if (l->text)
		return l->text;
	if (l->gpu < GPUS || !strncmp(l->metric->name, "DCGM_", 5))
		series_label(more, "Hostname", t->host);
	if (l->gpu < GPUS && *p->job[l->gpu])
		series_label(more, "hpc_job", p->job[l->gpu]);
	if (!*l->labels && !*more)
		text = strdup(l->metric->name);
	else if (asprintf(&text, "%s{%s%s%s}", l->metric->name, l->labels,
			  *l->labels && *more ? "," : "", more) < 0)
		text = NULL;
	return l->text = text;
}

static const char *const type_word[] = { "gauge", "counter", "untyped" };

static size_t put_number(char out[32], double v)
{
	char digits[24];
	uint64_t n;
	size_t k = 0, at = 0;

	if (v != floor(v) || fabs(v) >= 1e15)
		return (size_t)snprintf(out, 32, "%.15g", v);
	n = (uint64_t)fabs(v);
	do
		digits[k++] = (char)('0' + n % 10);
	while (n /= 10);
	if (v < 0)
		out[at++] = '-';
	while (k)
		out[at++] = digits[--k];
	return at;
}

static void put_part(struct tele *t, struct part *p, uint64_t now, FILE *f)
{
	const struct metric *head = NULL;

	for (uint32_t k = 0; k < p->ordered; k++) {
		struct line *l = &p->line[p->order[k]];
		const char *text = live(l, now) ? text_of(t, p, l) : NULL;
		char value[32];

		if (!text)
			continue;
		if (head != l->metric)
			fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", l->metric->name, l->metric->help,
				l->metric->name, type_word[l->metric->type]);
		head = l->metric;
		fputs(text, f);
		fputc(' ', f);
		fwrite(value, 1, put_number(value, l->value), f);
		fputc('\n', f);
	}
}

/* If several stores have a metric, the first one is used: a metric must appear once. */
void tele_write(struct tele *t, FILE *f)
{
	uint64_t now = clock_mono_ns();

	for (size_t i = 0; i < t->parts; i++)
		for (uint32_t k = 0; k < t->part[i].ordered; k++)
			if (live(&t->part[i].line[t->part[i].order[k]], now)) {
				put_part(t, &t->part[i], now, f);
				return;
			}
}
