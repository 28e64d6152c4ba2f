/* SPDX-License-Identifier: Apache-2.0 */
/* panel.c - shared by the baselines. */
#include "lab/panel.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int panel_init(struct panel *p, uint32_t world)
{
	*p = (struct panel){ .world = world };
	p->at = calloc(world, sizeof(*p->at));
	p->role = calloc(world, sizeof(*p->role));
	p->role_hash = calloc(world, sizeof(*p->role_hash));
	p->room = calloc(world + PAST, sizeof(*p->room));
	p->past = calloc((size_t)SERIES * world * PAST, sizeof(*p->past));
	p->base = calloc((size_t)SERIES * world, sizeof(*p->base));
	if (p->at && p->role && p->role_hash && p->room && p->past && p->base)
		return 0;
	panel_fini(p);
	return -ENOMEM;
}

void panel_fini(struct panel *p)
{
	free(p->at);
	free(p->role);
	free(p->role_hash);
	free(p->room);
	free(p->past);
	free(p->base);
}

double panel_value(const struct step_rec *r, enum series s)
{
	const float v[SERIES] = {
		[OF_COMPUTE] = r->t.compute, [OF_HOST] = r->t.host, [OF_INPUT] = r->t.input,
		[OF_EXPOSED] = r->t.exposed, [OF_COPY] = r->t.copy, [OF_STEP] = r->t.step
	};

	return v[s];
}

static void learn(struct panel *p)
{
	uint32_t slot = p->seen - SKIP;

	for (int s = 0; s < SERIES; s++)
		for (uint32_t r = 0; r < p->world; r++) {
			float *past = &p->past[((size_t)s * p->world + r) * PAST];

			past[slot] = p->at[r] ? (float)panel_value(p->at[r], (enum series)s)
				     : slot   ? past[slot - 1]
					      : 0;
			if (slot + 1 < PAST)
				continue;
			for (uint32_t i = 0; i < PAST; i++)
				p->room[i] = past[i];
			p->base[(size_t)s * p->world + r] = (float)panel_middle(p->room, PAST);
		}
	p->learnt = slot + 1 == PAST;
}

bool panel_take(struct panel *p, const struct step_rec *rec, size_t n)
{
	bool usual = n > 0;

	memset(p->at, 0, p->world * sizeof(*p->at));
	for (size_t i = 0; i < n; i++) {
		uint32_t hash = step_rec_role(&rec[i]), k = 0;

		if (rec[i].rank >= p->world)
			continue;
		p->at[rec[i].rank] = &rec[i];
		usual &= !(rec[i].flags & (STEP_F_CKPT | STEP_F_PARTIAL));
		while (k < p->roles && p->role_hash[k] != hash)
			k++;
		if (k == p->roles && k < p->world)
			p->role_hash[p->roles++] = hash;
		p->role[rec[i].rank] = k;
	}
	if (!usual)
		return false;
	if (p->seen >= SKIP && p->seen < SKIP + PAST)
		learn(p);
	p->seen++;
	return true;
}

double panel_base_own(const struct panel *p, uint32_t rank)
{
	return panel_base(p, OF_COMPUTE, rank) + panel_base(p, OF_HOST, rank) +
	       panel_base(p, OF_INPUT, rank);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

double panel_middle(double *v, size_t n)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double panel_role(struct panel *p, uint32_t role, panel_value_fn *value, enum series s, double *mad)
{
	size_t n = 0;
	double mid;

	for (uint32_t r = 0; r < p->world; r++)
		if (p->at[r] && p->role[r] == role)
			p->room[n++] = value(p, r, s);
	mid = panel_middle(p->room, n);
	for (size_t i = 0; mad && i < n; i++)
		p->room[i] = fabs(p->room[i] - mid);
	if (mad)
		*mad = 1.4826 * panel_middle(p->room, n);
	return mid;
}

uint8_t panel_kind(const struct step_rec *r, const double was[SERIES])
{
	static const uint8_t kind[] = {
		[OF_COMPUTE] = 4, [OF_HOST] = 9, [OF_INPUT] = 13, [OF_EXPOSED] = 19, [OF_COPY] = 7
	};
	double most = 0;
	int is = OF_COMPUTE;

	for (int s = 0; s < OF_EXPOSED; s++)
		if (panel_value(r, (enum series)s) - was[s] > most) {
			most = panel_value(r, (enum series)s) - was[s];
			is = s;
		}
	if (is == OF_COMPUTE && r->throttle)
		return r->throttle & 0x4 ? 2 : 1;
	return kind[is];
}

void panel_say(diag_say_fn *say, void *arg, enum diag_level level, uint32_t index, uint8_t kind,
	       double gain)
{
	struct diag_finding f = { .part = { { (uint8_t)level, index } },
				  .parts = 1,
				  .kind = kind,
				  .act = true,
				  .gain = (float)(gain > 0 ? gain < 1 ? gain : 1 : 0),
				  .confidence = 1 };

	say(arg, &f);
}

/* --- groups --- */

static int by_group(const void *a, const void *b)
{
	const struct panel_member *x = a, *y = b;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

int panel_groups(struct panel_groups *g, const struct panel *p)
{
	g->n = 0;
	for (uint32_t r = 0; r < p->world; r++)
		for (uint32_t i = 0; p->at[r] && i < p->at[r]->slots; i++) {
			const struct step_slot *s = &p->at[r]->slot[i];

			if (g->n == g->cap) {
				size_t cap = g->cap ? g->cap * 2 : 1024;
				struct panel_member *m = realloc(g->m, cap * sizeof(*m));

				if (!m)
					return -ENOMEM;
				g->m = m;
				g->cap = cap;
			}
			if (!(s->flags & STEP_SLOT_MERGED))
				g->m[g->n++] = (struct panel_member){ s->comm, s, r, s->op };
		}
	if (g->n)
		qsort(g->m, g->n, sizeof(*g->m), by_group);
	return 0;
}

size_t panel_group_end(const struct panel_groups *g, size_t i)
{
	size_t end = i + 1;

	while (end < g->n && g->m[end].comm == g->m[i].comm && g->m[end].op == g->m[i].op)
		end++;
	return end;
}

double panel_transfer(const struct panel_groups *g, size_t i, size_t end)
{
	double least = INFINITY;

	for (; i < end; i++)
		least = fmin(least, g->m[i].slot->sum);
	return least;
}

void panel_say_group(diag_say_fn *say, void *arg, const struct panel_groups *g, size_t i,
		     size_t end, uint8_t kind, double gain)
{
	struct diag_finding f = {
		.kind = kind, .act = true, .gain = (float)fmin(fmax(gain, 0), 1), .confidence = 1
	};

	for (; i < end && f.parts < DIAG_PARTS; i++)
		f.part[f.parts++] = (struct diag_part){ DIAG_RANK, g->m[i].rank };
	say(arg, &f);
}
