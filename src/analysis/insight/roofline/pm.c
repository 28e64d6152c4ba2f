/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pm.c - samples of a device's counters, attributed to its kernels; see pm.h.
 *
 *	values of counters -> points: one moment of one device, all its counters
 *	kernels x points   -> parts: how long a name ran in a point
 *	parts by point     -> each name's share of the point, summed by name
 */
#include "insight/roofline/pm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/vec.h"
#include "insight/state.h"

#define PERCENT_MAX 1000.0 /* more is no percentage */
#define BUSY_LEAST  0.05   /* of a sample: what is left of less is noise */

const char *const pm_word[PM_COUNTERS] = {
#define PM(ID, name, word, first, second) [PM_##ID] = word,
#include "base/pm.tbl.h"
};

struct value {
	uint64_t ns;
	uint32_t device;
	enum pm_counter counter;
	double v;
};

struct point {
	uint64_t ns, end_ns;
	uint32_t device;
	double v[PM_COUNTERS]; /* NAN: not read */
};

struct slice {
	size_t point;
	uint32_t name;
	uint64_t ns;
};

struct join {
	struct value *value;
	struct point *point;
	struct slice *part;
	size_t values, points, parts;
};

static int value_cmp(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	return cmp_num(x->device, y->device) ?: cmp_num(x->ns, y->ns);
}

static int part_cmp(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	return cmp_num(x->point, y->point) ?: cmp_num(x->name, y->name);
}

/* By name of the trace: + 1, or 0. NULL: no counter of ours is in it, or no memory. */
static uint8_t *series(const struct trace *t, int *err)
{
	static const char *const text[PM_COUNTERS] = {
#define PM(ID, name, word, first, second) [PM_##ID] = name,
#include "base/pm.tbl.h"
	};
	uint8_t *of = calloc(t->names + 1, 1);
	bool any = false;

	*err = of ? 0 : -ENOMEM;
	for (size_t i = 0; of && i < t->names; i++)
		for (enum pm_counter k = 0; k < PM_COUNTERS; k++)
			if (!strcmp(t->name[i].s, text[k])) {
				of[i] = (uint8_t)(k + 1);
				any = true;
			}
	if (!any) {
		free(of);
		of = NULL;
	}
	return of;
}

static bool is_value(const struct trace *t, const struct event *e, const uint8_t *of)
{
	return e->kind == EVENT_COUNTER && event_counts(e) && e->flags & EVENT_FLOAT &&
	       e->name < t->names && of[e->name] && t->track[e->track].device != TRACK_HOST;
}

static int collect(struct join *j, const struct trace *t, const uint8_t *of)
{
	size_t n = 0;

	for (size_t i = 0; i < t->events; i++)
		n += is_value(t, &t->event[i], of);
	j->value = malloc((n + 1) * sizeof(*j->value));
	j->point = malloc((n + 1) * sizeof(*j->point));
	if (!j->value || !j->point)
		return -ENOMEM;
	for (size_t i = 0; i < t->events; i++) {
		const struct event *e = &t->event[i];
		double v;

		if (!is_value(t, e, of))
			continue;
		memcpy(&v, &e->a, sizeof(v));
		if (v >= 0 && v <= PERCENT_MAX)
			j->value[j->values++] =
				(struct value){ .ns = e->start_ns,
						.device = t->track[e->track].device,
						.counter = (enum pm_counter)(of[e->name] - 1),
						.v = v };
	}
	qsort(j->value, j->values, sizeof(*j->value), value_cmp);
	return 0;
}

static void make_points(struct join *j)
{
	for (size_t i = 0; i < j->values; i++) {
		const struct value *v = &j->value[i];
		struct point *p = j->points ? &j->point[j->points - 1] : NULL;

		if (!p || p->ns != v->ns || p->device != v->device) {
			p = &j->point[j->points++];
			*p = (struct point){ .ns = v->ns, .device = v->device };
			for (int k = 0; k < PM_COUNTERS; k++)
				p->v[k] = NAN;
		}
		p->v[v->counter] = v->v;
	}
}

/* A point lasts to the next one, but no longer than is usual: an idle GPU sends no points. */
static int end_points(struct join *j, uint64_t *usual)
{
	uint64_t *gap = malloc((j->points + 1) * sizeof(*gap));
	size_t n = 0;

	if (!gap)
		return -ENOMEM;
	for (size_t i = 1; i < j->points; i++)
		if (j->point[i].device == j->point[i - 1].device)
			gap[n++] = j->point[i].ns - j->point[i - 1].ns;
	qsort(gap, n, sizeof(*gap), cmp_u64);
	*usual = n ? gap[n / 2] : 0;
	free(gap);
	for (size_t i = 0; i < j->points; i++) {
		struct point *p = &j->point[i];

		p->end_ns = p->ns + *usual;
		if (i + 1 < j->points && p[1].device == p->device && p[1].ns < p->end_ns)
			p->end_ns = p[1].ns;
	}
	return 0;
}

/* The first point that ends after `ns`. */
static size_t point_at(const struct join *j, uint32_t device, uint64_t ns)
{
	const struct point *p = j->point;

	return first_where(i, 0, j->points,
			   p[i].device > device || (p[i].device == device && p[i].end_ns > ns));
}

static int add_part(struct join *j, size_t point, uint32_t name, uint64_t ns)
{
	if (vec_more(&j->part, j->parts, sizeof(*j->part)) < 0)
		return -ENOMEM;
	j->part[j->parts++] = (struct slice){ point, name, ns };
	return 0;
}

static int lay_over(struct join *j, const struct trace *t)
{
	int err = 0;

	for (size_t i = 0; i < t->events && !err; i++) {
		const struct event *e = &t->event[i];
		uint32_t device = t->track[e->track].device;
		uint64_t end = e->start_ns + e->dur_ns;

		if (e->kind != EVENT_KERNEL || device == TRACK_HOST)
			continue;
		for (size_t p = point_at(j, device, e->start_ns);
		     p < j->points && j->point[p].device == device && j->point[p].ns < end && !err;
		     p++) {
			uint64_t from = e->start_ns > j->point[p].ns ? e->start_ns : j->point[p].ns;
			uint64_t to = end < j->point[p].end_ns ? end : j->point[p].end_ns;

			if (from < to)
				err = add_part(j, p, e->name, to - from);
		}
	}
	if (j->parts)
		qsort(j->part, j->parts, sizeof(*j->part), part_cmp);
	return err;
}

static struct pm_use *use_of(struct pm_uses *out, uint32_t name)
{
	uint32_t n = map_number(&out->by_name, (uint64_t)name + 1);

	if (!n)
		return NULL;
	if (n > out->uses) {
		if (vec_more(&out->use, out->uses, sizeof(*out->use)) < 0)
			return NULL;
		out->use[out->uses++] = (struct pm_use){ .name = name };
	}
	return &out->use[n - 1];
}

/* The parts of one point. */
static int share(struct pm_uses *out, const struct point *p, const struct slice *part, size_t n)
{
	double busy = 0, of_time;

	for (size_t i = 0; i < n; i++)
		busy += (double)part[i].ns;
	of_time = busy / (double)(p->end_ns - p->ns);
	if (of_time < BUSY_LEAST)
		return 0;
	of_time = of_time > 1 ? 1 : of_time;
	for (size_t i = 0, next; i < n; i = next) {
		struct pm_use *u = use_of(out, part[i].name);
		double ns = 0;

		if (!u)
			return -ENOMEM;
		for (next = i; next < n && part[next].name == part[i].name; next++)
			ns += (double)part[next].ns;
		u->seen_ns += (uint64_t)ns;
		u->alone += ns * ns / busy;
		for (int k = 0; k < PM_COUNTERS; k++) {
			if (isnan(p->v[k]))
				continue;
			u->mean[k] += p->v[k] / of_time * ns;
			u->weight[k] += ns;
		}
	}
	return 0;
}

static int sum_up(struct pm_uses *out, const struct join *j)
{
	int err = 0;

	for (size_t i = 0, next; i < j->parts && !err; i = next) {
		for (next = i; next < j->parts && j->part[next].point == j->part[i].point; next++)
			;
		err = share(out, &j->point[j->part[i].point], &j->part[i], next - i);
	}
	return err;
}

/* --- ranges: counters of a kernel's name on tracks that tell what they are --- */

enum {
	RANGE_NONE = PM_COUNTERS,
#define RANGE(ID, word, first, second) RANGE_##ID,
#include "base/range.tbl.h"
	RANGE_WORDS
};

static int range_word(const struct trace *t, uint32_t track)
{
	static const char *const word[RANGE_WORDS] = {
#define PM(ID, name, text, first, second) [PM_##ID] = text,
#include "base/pm.tbl.h"
#define RANGE(ID, text, first, second) [RANGE_##ID] = text,
#include "base/range.tbl.h"
	};
	const char *name = trace_text(t, t->track[track].name);

	if (t->track[track].device == TRACK_HOST ||
	    strncmp(name, RANGE_TRACK, strlen(RANGE_TRACK)) != 0)
		return RANGE_NONE;
	for (int i = 0; i < RANGE_WORDS; i++)
		if (word[i] && !strcmp(name + strlen(RANGE_TRACK), word[i]))
			return i;
	return RANGE_NONE;
}

static void add_range(struct pm_use *u, int word, double v)
{
	if (word == RANGE_DRAM_BYTES) {
		u->dram_bytes += v;
		u->dram_reads++;
	} else if (word == RANGE_TIME) {
		u->seen_ns += (uint64_t)v;
		u->alone += v;
	} else if (v <= PERCENT_MAX) {
		u->ranges += word == PM_SM_ISSUE;
		u->mean[word] += v;
		u->weight[word]++;
	}
}

static int add_ranges(struct pm_uses *p, const struct trace *t)
{
	for (uint32_t l = 0; l < t->tracks; l++) {
		int word = range_word(t, l);

		for (size_t i = t->track_first[l]; word != RANGE_NONE && i < t->track_first[l + 1];
		     i++) {
			const struct event *e = &t->event[i];
			struct pm_use *u;
			double v;

			if (e->kind != EVENT_COUNTER || !(e->flags & EVENT_FLOAT) ||
			    !event_counts(e))
				continue;
			u = use_of(p, e->name);
			if (!u)
				return -ENOMEM;
			memcpy(&v, &e->a, sizeof(v));
			if (v >= 0 && v < 1e18)
				add_range(u, word, v);
		}
	}
	return 0;
}

int pm_add(struct pm_uses *p, const struct trace *t)
{
	struct join j = { 0 };
	int err;
	uint8_t *of = series(t, &err);

	err = err ? err : add_ranges(p, t);
	if (of && !err)
		err = collect(&j, t, of);
	if (!err && j.values) {
		make_points(&j);
		err = end_points(&j, &p->interval_ns);
		err = err ? err : lay_over(&j, t);
		err = err ? err : sum_up(p, &j);
		p->samples += j.points;
	}
	free(of);
	free(j.value);
	free(j.point);
	free(j.part);
	return err;
}

void pm_end(struct pm_uses *p)
{
	for (size_t i = 0; i < p->uses; i++) {
		struct pm_use *u = &p->use[i];

		u->alone = u->seen_ns ? u->alone / (double)u->seen_ns : u->ranges > 0;
		u->dram_bytes /= u->dram_reads ? (double)u->dram_reads : 1;
		for (int k = 0; k < PM_COUNTERS; k++)
			u->mean[k] = u->weight[k] > 0 ? u->mean[k] / u->weight[k] : -1;
	}
}

void pm_fini(struct pm_uses *p)
{
	free(p->use);
	map_fini(&p->by_name);
}

const struct pm_use *pm_of_name(const struct pm_uses *p, uint32_t name)
{
	uint32_t n = map_get(&p->by_name, (uint64_t)name + 1);

	return n ? &p->use[n - 1] : NULL;
}
