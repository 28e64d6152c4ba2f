/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role.c - groups ranks that do the same work, from the records alone. A role is the ranks with the
 * same collectives and kernels; a cell is the ranks of a role whose batches in this step are alike.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/state.h"

static uint32_t role_add(struct diag *d, uint32_t hash)
{
	uint32_t k = 0;

	while (k < d->roles && d->role[k].hash != hash)
		k++;
	if (k < d->roles || k == ROLES_MAX)
		return k < ROLES_MAX ? k : NOBODY;
	d->role[d->roles] = (struct diag_role){ .hash = hash };
	return d->roles++;
}

/* The first and the last stage of a pipeline communicate alike: one begins by sending, the other by
 * receiving. */
static uint32_t role_hash(const struct step_rec *rec)
{
	uint32_t is[] = { step_rec_role(rec), STEP_OP_OTHER };
	float first = INFINITY;

	for (uint32_t i = 0; i < rec->slots; i++) {
		const struct step_slot *s = &rec->slot[i];

		if ((s->op == STEP_OP_SEND || s->op == STEP_OP_RECV) && s->count &&
		    s->probe[0].start < first) {
			first = s->probe[0].start;
			is[1] = s->op;
		}
	}
	return (uint32_t)step_hash(is, sizeof(is), 6);
}

static void forget(struct diag_rank *r)
{
	for (int s = 0; s < OWNS; s++)
		track_reset(&r->own[s]);
	r->copy_base = r->copy = r->alloc = r->expert = r->expert_base = 0;
	r->copies = r->allocs = r->experts = 0;
	r->clock_mhz = 0;
}

/* Of a rank that does something else now the past says nothing. */
static bool place(struct diag *d, struct diag_rank *r, const struct step_rec *rec)
{
	uint32_t role;

	if (!r->known || r->regime != rec->regime || r->host != rec->host) {
		role = role_add(d, role_hash(rec));
		if (role == NOBODY)
			return false;
		if (!r->known || role != r->role)
			forget(r);
		d->regrouped |= !r->known || role != r->role || r->host != rec->host;
		r->role = role;
		r->host = rec->host;
		r->leaf = rec->leaf;
		r->regime = rec->regime;
		r->known = true;
	}
	r->cell = r->role;
	if (rec->flags & STEP_F_INFER) {
		uint32_t is[] = { d->role[r->role].hash, rec->tokens };

		r->cell = role_add(d, (uint32_t)step_hash(is, sizeof(is), 3));
	}
	return r->cell != NOBODY;
}

/* Ranks by cell, each cell's in order. */
static void sort_by_cell(struct diag *d)
{
	uint32_t at = 0;

	for (uint32_t k = 0; k < d->roles; k++) {
		d->role[k].n = 0;
		d->role[k].first = NOBODY;
		d->role[k].many = false;
	}
	for (uint32_t r = 0; r < d->world; r++) {
		uint32_t both[] = { d->rank[r].cell, d->rank[r].role };

		for (int i = 0; i < 2 && d->rank[r].rec; i++) {
			struct diag_role *k = &d->role[both[i]];

			if (k->first == NOBODY) {
				k->first = r;
				k->host = d->rank[r].host;
			}
			k->many |= k->host != d->rank[r].host;
			k->n += i == 0;
		}
	}
	for (uint32_t k = 0; k < d->roles; k++) {
		d->role[k].from = at;
		at += d->role[k].n;
		d->role[k].n = 0;
	}
	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].rec) {
			struct diag_role *k = cell_of(d, r);

			d->order[k->from + k->n++] = r;
		}
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint32_t root(const struct diag *d, uint32_t r)
{
	while (d->rank[r].pipe != r)
		r = d->rank[r].pipe;
	return r;
}

/* How many hosts there are, and which ranks are stages of one pipeline. */
static void regroup(struct diag *d)
{
	uint32_t *host = d->order, n = 0, *size = d->order;

	for (uint32_t r = 0; r < d->world; r++)
		if (d->rank[r].known)
			host[n++] = d->rank[r].host;
	qsort(host, n, sizeof(*host), by_value);
	d->hosts = 0;
	for (uint32_t i = 0; i < n; i++)
		d->hosts += !i || host[i] != host[i - 1];
	for (uint32_t r = 0; r < d->world; r++)
		d->rank[r].pipe = r;
	for (uint32_t r = 0; r < d->world; r++)
		for (uint32_t i = 0; d->rank[r].rec && i < d->rank[r].rec->slots; i++) {
			const struct step_slot *s = &d->rank[r].rec->slot[i];

			if ((s->op == STEP_OP_SEND || s->op == STEP_OP_RECV) && s->peer < d->world)
				d->rank[root(d, s->peer)].pipe = root(d, r);
		}
	memset(size, 0, d->world * sizeof(*size));
	d->stages = 1;
	for (uint32_t r = 0; r < d->world; r++) {
		uint32_t *is = &size[d->rank[r].pipe = root(d, r)];

		d->stages = ++*is > d->stages ? *is : d->stages;
	}
	d->regrouped = false;
}

int roles_take(struct diag *d, const struct step_rec *rec, size_t n)
{
	for (uint32_t r = 0; r < d->world; r++)
		d->rank[r].rec = NULL;
	d->ranks = 0;
	for (size_t i = 0; i < n; i++) {
		struct diag_rank *r;

		if (rec[i].rank >= d->world || rec[i].slots > STEP_SLOTS)
			continue;
		r = &d->rank[rec[i].rank];
		if (r->rec)
			continue;
		if (!place(d, r, &rec[i])) { /* too many kinds of steps: all anew */
			d->roles = 0;
			for (uint32_t k = 0; k < d->world; k++)
				d->rank[k].known = false;
			return -1;
		}
		r->rec = &rec[i];
		d->ranks++;
		d->infer |= rec[i].flags & STEP_F_INFER;
		d->micro = rec[i].micro_batches;
	}
	if (d->regrouped)
		regroup(d);
	sort_by_cell(d);
	return 0;
}

bool part_has(const struct diag *d, struct diag_part p, uint32_t rank)
{
	const struct diag_rank *r = &d->rank[rank];

	switch (p.level) {
	case DIAG_RANK:
		return rank == p.index;
	case DIAG_HOST:
		return r->host == p.index;
	case DIAG_LEAF:
		return r->leaf == p.index;
	case DIAG_STAGE:
		return r->role == d->rank[p.index].role;
	default:
		return true;
	}
}
