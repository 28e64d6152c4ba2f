/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_rows.c - see kernel_rows.h. */
#include "serve/kernel_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

int krows_init(struct krows *rs)
{
	*rs = (struct krows){ 0 };
	return 0;
}

void krows_fini(struct krows *rs)
{
	for (size_t i = 0; i < rs->n; i++)
		sketch_fini(&rs->row[i].sketch);
	free(rs->row);
	lookup_fini(&rs->by_key);
}

struct krow *krows_of(struct krows *rs, const char *name, int32_t rank)
{
	uint64_t hash = fnv_text(FNV_BASIS ^ (uint32_t)rank, name);
	uint32_t i;

	for (size_t at = 0; lookup_next(&rs->by_key, hash, &at, &i);)
		if (rs->row[i].rank == rank && !strcmp(rs->row[i].name, name))
			return &rs->row[i];
	if (vec_more(&rs->row, rs->n, sizeof(*rs->row)) < 0 ||
	    lookup_put(&rs->by_key, hash, (uint32_t)rs->n) < 0)
		return NULL;
	rs->row[rs->n] =
		(struct krow){ .name = name, .rank = rank, .class = NO_CLASS, .min = UINT64_MAX };
	return &rs->row[rs->n++];
}

static uint32_t cell_of(uint64_t ns)
{
	uint32_t bits = ns ? 64u - (uint32_t)__builtin_clzll(ns) : 0;

	return bits < 6 ? 0 : bits - 6 < ROW_CELLS ? bits - 6 : ROW_CELLS - 1;
}

int krow_add(struct krow *r, uint64_t ns, uint64_t bytes)
{
	r->ns += ns;
	r->calls++;
	r->bytes += bytes;
	r->min = ns < r->min ? ns : r->min;
	r->max = ns > r->max ? ns : r->max;
	r->hist[cell_of(ns)]++;
	return sketch_add(&r->sketch, ns, 1);
}

static uint32_t part_of(const struct krows *rs, uint64_t at_ns)
{
	double part = (double)(at_ns - rs->from_ns) * ROW_PARTS / (double)(rs->to_ns - rs->from_ns);

	return part < ROW_PARTS ? (uint32_t)part : ROW_PARTS - 1;
}

static uint64_t part_end(const struct krows *rs, uint32_t part)
{
	return rs->from_ns + (uint64_t)((double)(rs->to_ns - rs->from_ns) * (part + 1) / ROW_PARTS);
}

static uint64_t within(const struct krows *rs, uint64_t ns)
{
	return ns < rs->from_ns ? rs->from_ns : ns > rs->to_ns ? rs->to_ns : ns;
}

void krow_trend(const struct krows *rs, struct krow *r, uint64_t from_ns, uint64_t to_ns,
		uint64_t ns)
{
	uint64_t from = within(rs, from_ns), to = within(rs, to_ns), at = from, left = ns;
	uint32_t part, last;

	if (rs->to_ns <= rs->from_ns)
		return;
	part = part_of(rs, from);
	last = to > from ? part_of(rs, to - 1) : part;
	for (; part < last; part++) {
		uint64_t end = part_end(rs, part), share;
		double some = end > at ? (double)ns * (double)(end - at) / (double)(to - from) : 0;

		share = some < (double)left ? (uint64_t)some : left;
		share = share < left ? share : left;
		r->trend[part] += share;
		left -= share;
		at = end > at ? end : at;
	}
	r->trend[part] += left;
}

static double sort_key(const struct krow *r, enum krows_sort by)
{
	switch (by) {
	case SORT_CALLS:
		return (double)r->calls;
	case SORT_AVG:
		return r->calls ? (double)r->ns / (double)r->calls : 0;
	case SORT_MAX:
		return (double)r->max;
	default:
		return (double)r->ns;
	}
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct krow *x = a, *y = b;
	enum krows_sort by = *(enum krows_sort *)arg;
	double kx = sort_key(x, by), ky = sort_key(y, by);
	int names = strcmp(x->name, y->name);

	if (by != SORT_NAME && kx != ky)
		return kx < ky ? 1 : -1;
	return names ? names : (x->rank > y->rank) - (x->rank < y->rank);
}

void krows_sort(struct krows *rs, enum krows_sort by)
{
	if (rs->n)
		qsort_r(rs->row, rs->n, sizeof(*rs->row), compare, &by);
	lookup_clear(&rs->by_key); /* the rows have moved */
}

uint64_t krows_total(const struct krows *rs)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rs->n; i++)
		sum += rs->row[i].ns;
	return sum;
}

char *krow_short(char *out, size_t cap, const char *name)
{
	static const char nowhere[] = "(anonymous namespace)::";
	size_t n = 0, depth = 0;

	if (!strncmp(name, "void ", 5))
		name += 5;
	for (const char *p = name; *p && n + 1 < cap; p++) {
		if (!strncmp(p, nowhere, sizeof(nowhere) - 1)) {
			p += sizeof(nowhere) - 2;
			continue;
		}
		/* A bracket after a space belongs to the name: "Memcpy DtoD (Device -> Device)". */
		depth += (*p == '<' || *p == '(') && p != name && p[-1] != ' ';
		if (!depth)
			out[n++] = *p;
		depth -= depth && ((*p == '>' && p[-1] != '-') || *p == ')');
	}
	while (n && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
	if (!n)
		snprintf(out, cap, "%s", name);
	return out;
}

static uint64_t quantile(const struct krow *r, uint64_t known, double q)
{
	uint64_t v = known ? known : sketch_quantile(&r->sketch, q);

	return v > r->max ? r->max : v < r->min ? r->min : v;
}

void krow_id(char out[9], const char *name)
{
	uint64_t h = fnv_text(FNV_BASIS, name);

	snprintf(out, 9, "%08x", (uint32_t)(h ^ h >> 32));
}

static void krow_json(struct json *j, const struct krow *r, uint64_t total)
{
	char text[512];

	json_open(j, NULL, '{');
	krow_id(text, r->name);
	json_str(j, "id", text);
	json_members(j, J_STR("name", r->name),
		     J_STR("short", krow_short(text, sizeof(text), r->name)),
		     J_STR("class", r->class < CLASSES ? class_word[r->class] : NULL),
		     J_I64_IF("rank", r->rank != TRACE_NO_RANK, r->rank), J_U64("ns", r->ns),
		     J_REAL("share", total ? (double)r->ns / (double)total : 0),
		     J_U64("calls", r->calls), J_U64("min", r->calls ? r->min : 0),
		     J_U64("max", r->max), J_U64("p50", quantile(r, r->p50, 0.5)),
		     J_U64("p99", quantile(r, r->p99, 0.99)), J_U64("bytes", r->bytes));
	json_open(j, "hist", '[');
	for (size_t i = 0; i < ROW_CELLS; i++)
		json_u64(j, NULL, r->hist[i]);
	json_close(j);
	json_open(j, "trend", '[');
	for (size_t i = 0; i < ROW_PARTS; i++)
		json_u64(j, NULL, r->trend[i]);
	json_close(j);
	json_members(j, J_STR("bound", r->bound), J_REAL("limit", r->limit > 0 ? r->limit : NAN),
		     J_I64_IF("wasted", r->limit > 0,
			      r->limit < 1 ? (int64_t)((1 - r->limit) * (double)r->ns) : 0));
	json_null(j, "src");
	json_close(j);
}

void krows_json(struct json *j, const struct krows *rs, size_t from, size_t most)
{
	uint64_t total = krows_total(rs);

	for (size_t i = from; i < rs->n && i - from < most; i++)
		krow_json(j, &rs->row[i], total);
}
